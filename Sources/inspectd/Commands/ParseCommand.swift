import Foundation
import InspectCore

extension Command {
    static let parse = Command(
        name: "parse",
        summary: "parses the text of MRZs and of AAMVA barcodes",
        synopsis: "LINE...\n       inspectd parse --batch LIST.jsonl",
        takesOperands: true,
        options: [
            .value(
                "batch", "FILE",
                #"lines of {"mrz": [LINE, ...]} or {"barcode": TEXT} (- for standard input); one answer per line"#
            )
        ],
        body: { arguments in
            let today = CalendarDate(Date())
            guard let list = arguments["batch"] else {
                guard !arguments.operands.isEmpty else {
                    throw UsageError("'parse' needs the lines of an MRZ, or --batch")
                }
                guard let answer = ParsedText(mrz: arguments.operands, today: today) else {
                    throw InspectError(.payloadInvalid, "the lines match no known MRZ format")
                }
                return Output.line(ResultEnvelope.json(answer))
            }
            guard arguments.operands.isEmpty else {
                throw UsageError("'parse' takes no lines with --batch")
            }
            try await Batch.run(list, count: 1) { line in
                guard let text = try? JSONDecoder().decode(Text.self, from: line) else {
                    return ResultEnvelope.json(ParsedText())
                }
                let parsed =
                    text.mrz.flatMap { ParsedText(mrz: $0, today: today) }
                    ?? text.barcode.flatMap { ParsedText(barcode: $0) }
                return ResultEnvelope.json(parsed ?? ParsedText())
            }
        }
    )

    private struct Text: Decodable {
        var mrz: [String]?
        var barcode: String?
    }
}

/// The fields of a text as printed; without a format if it is neither an MRZ nor an AAMVA barcode.
private struct ParsedText: Encodable {
    var format: String?
    var fields: [String: String] = [:]
    /// Check digit to whether it holds.
    var checks: [String: Bool] = [:]
    /// AAMVA elements.
    var elements: [String: String] = [:]

    init() {}

    init?(mrz lines: [String], today: CalendarDate) {
        guard let mrz = MRZDocument(lines: lines, today: today) else { return nil }
        self.format = mrz.format.rawValue
        self.checks = mrz.checksByName
        self.fields = [
            "documentCode": mrz.documentCode, "issuingState": mrz.issuingState, "documentNumber": mrz.documentNumber,
            "surname": mrz.surname, "givenNames": mrz.givenNames, "nationality": mrz.nationality, "sex": mrz.sex,
        ]
        self.fields["birthDate"] = mrz.birthDate?.text
        self.fields["birthDay"] = mrz.birthDate?.date?.iso8601
        self.fields["expiryDate"] = mrz.expiryDate?.text
        self.fields["expiryDay"] = mrz.expiryDate?.date?.iso8601
        self.fields["personalNumber"] = mrz.personalNumber
        for (index, data) in mrz.optionalData.enumerated() { self.fields["optionalData\(index + 1)"] = data }
    }

    init?(barcode text: String) {
        guard let card = AAMVACard(text) else { return nil }
        self.format = "AAMVA"
        self.elements = card.elements.fields
        self.fields["issuer"] = card.elements.issuer
        self.fields["version"] = String(card.elements.version)
        self.fields["surname"] = card.surname
        self.fields["firstName"] = card.firstName
        self.fields["middleNames"] = card.middleNames
        self.fields["documentNumber"] = card.documentNumber
        self.fields["birthDay"] = card.birthDate?.iso8601
        self.fields["issueDay"] = card.issueDate?.iso8601
        self.fields["expiryDay"] = card.expiryDate?.iso8601
        self.fields["street"] = card.street
        self.fields["city"] = card.city
        self.fields["jurisdiction"] = card.jurisdiction
        self.fields["sex"] = card.sex?.rawValue
    }
}
