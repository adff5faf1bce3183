internal import HTTPServer
internal import InspectCore

/// Results of other runs of a case, and of other jobs of the same person, next to its own.
struct HistoryPage {
    var session: ConsoleSession
    /// The case's.
    var id: String
    var document: ResultDocument
    var others: [HistoryRow]

    var response: HTTPResponse {
        var content: [Markup] = ["<p><a href='/cases/\(self.id)'>Back to the case</a></p>\n"]
        if self.others.isEmpty {
            content.append("<p>There is no other run, and no other job with the same userReference.</p>\n")
        } else {
            content.append(self.table)
        }
        return ConsolePage(
            title: "Earlier results of case \(self.id.suffix(12))", session: self.session, content: content
        ).response()
    }

    private var table: Markup {
        let documents = [self.document] + self.others.map(\.document)
        let heads = self.others.map { row -> Markup in
            """
            <th scope='col'>\(row.isRun ? "run" : "same person")<br/><code>\(String(row.id.suffix(12)))</code><br/>\
            \(ConsolePage.time(row.accepted))\(Self.sentence(row.result).map { "<br/>\($0)" as Markup } ?? "")</th>
            """
        }
        var rows: [Markup] = []
        func row(_ name: String, _ value: (ResultDocument) -> Markup?) {
            let cells = documents.map { $0.flatMap(value) ?? "–" }
            guard cells.contains(where: { $0.html != "–" }) else { return }
            // Values that differ from the case's own; a missing result is not compared.
            rows.append(
                """
                <tr><th scope='row'>\(name)</th>\(zip(cells, documents).map { cell, document -> Markup in
                    cell.html == cells[0].html || document == nil
                        ? "<td>\(cell)</td>" : "<td class='differs'>\(cell)</td>"
                })</tr>

                """)
        }
        row("decision") { document in
            "<b>\(document.decision.type.rawValue)</b>, \(document.decision.details.label)"
        }
        row("risk") { document in document.decision.risk.map { "\($0.score)" } }
        row("reasons") { document in
            document.rejectReasons.isEmpty
                ? nil : "\(document.rejectReasons.map(\.message).joined(separator: ", "))"
        }
        func capability(
            _ name: Capability, _ records: @escaping (ResultDocument) -> [(parts: [String], decision: Decision)]
        ) {
            row(name.rawValue) { document in
                let lines = records(document).map { record -> Markup in
                    "\(record.parts.joined(separator: ", ")): \(record.decision.type.rawValue), \(record.decision.details.label)<br/>"
                }
                return lines.isEmpty ? nil : Markup(lines)
            }
        }
        func pairs(_ records: [CapabilityRecord<some Codable & Sendable>]?) -> [(parts: [String], decision: Decision)] {
            (records ?? []).map { ($0.parts, $0.decision) }
        }
        capability(.usability) { pairs($0.capabilities.usability) }
        capability(.imageChecks) { pairs($0.capabilities.imageChecks) }
        capability(.extraction) { pairs($0.capabilities.extraction) }
        capability(.dataChecks) { pairs($0.capabilities.dataChecks) }
        capability(.similarity) { pairs($0.capabilities.similarity) }
        capability(.liveness) { pairs($0.capabilities.liveness) }
        for (name, value) in Self.fields {
            row(name) { document in
                let found = (document.capabilities.extraction ?? []).compactMap { $0.data.flatMap(value) }
                return found.first.map { "\($0)" }
            }
        }
        return """
            <div class='scroll' role='region' aria-label='Results side by side' tabindex='0'>
            <table class='beside'>
            <caption>Results side by side; differences from this case are marked</caption>
            <thead><tr><th scope='col'>What</th><th scope='col'>this case<br/><code>\(String(self.id.suffix(12)))</code></th>\
            \(heads)</tr></thead>
            <tbody>
            \(rows)</tbody>
            </table>
            </div>

            """
    }

    /// Why there is no result below.
    private static func sentence(_ result: HistoryRow.Result) -> String? {
        switch result {
        case .document: nil
        case .removed: "Its result was removed."
        case .none: "It ended without a result."
        case .unreadable: "Its result cannot be read here."
        }
    }

    private static let fields: [(name: String, value: @Sendable (ExtractionData) -> String?)] = [
        ("type", \.type), ("issuingCountry", \.issuingCountry), ("lastName", \.lastName), ("firstName", \.firstName),
        ("dateOfBirth", \.dateOfBirth), ("nationality", \.nationality), ("documentNumber", \.documentNumber),
        ("personalNumber", \.personalNumber), ("expiryDate", \.expiryDate),
    ]
}
