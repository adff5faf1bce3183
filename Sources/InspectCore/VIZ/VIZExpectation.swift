/// The values that the VIZ should show by the MRZ or the barcode.
package struct VIZExpectation: Sendable, Hashable {
    /// A field and its value, spelt as in its source.
    package struct Value: Sendable, Hashable {
        /// The field that should show the value.
        package var field: VIZField
        var text: String
        var date: CalendarDate?
        /// The source may have cut it.
        var isTruncated = false
        /// The MRZ has a filler where the name may begin: the reader may have misread the first letter as a filler.
        var mayLackStart = false

        /// Approximate number of printed characters; dates range from `1.2.74` to `30 MAR/MAR 1972`.
        package var lengths: ClosedRange<Int> {
            guard self.date == nil else { return 6...13 }
            let count = max(self.text.count { $0 != " " }, 1)
            return count...count
        }

        /// Whether `text` shows it.
        package func isShown(in text: String) -> Bool {
            if let date = self.date { return VIZDate.readings(text).contains(date) }
            return self.field == .documentNumber
                ? VIZText.holds(text, number: self.text)
                : VIZText.holds(text, name: self.text, isTruncated: self.isTruncated)
        }
    }

    /// Only fields that the machine-readable data have.
    package var values: [Value]
    /// The issuing state by the MRZ.
    var state: String?
    /// Whether a state of North America issued the document, by its MRZ or its barcode.
    var isAmerican = false
    /// Whether the MRZ is a passport's, whose page has names above all that the MRZ lacks (Doc 9303-4 §4.1).
    var isBooklet = false
    /// Whether the MRZ is that of a card's back.
    var isCard = false
    /// Whether the MRZ is that of a visa in the states of Schengen's uniform format.
    var isSchengenVisa = false
    /// The names, even if the reader was not sure of them: a VIZ that shows them proves both.
    var names: [Value] = []

    /// As in an MRZ.
    private static let schengen: Set<String> = [
        "AUT", "BEL", "BGR", "CHE", "CYP", "CZE", "D", "DNK", "ESP", "EST", "FIN", "FRA", "GRC", "HRV", "HUN", "ISL",
        "ITA", "LIE", "LTU", "LUX", "LVA", "MLT", "NLD", "NOR", "POL", "PRT", "ROU", "SVK", "SVN", "SWE",
    ]

    /// Fields of an MRZ that its check digits prove, and names that the reader was sure of.
    ///
    /// - Parameter confidences: The reader's confidence in every character.
    init(_ mrz: MRZDocument, confidences: [[Double]]) {
        self.values = []
        self.state = mrz.issuingState
        self.isAmerican = ["USA", "CAN"].contains(mrz.issuingState)
        self.isBooklet = mrz.format == .td3
        self.isCard = mrz.format == .td1
        self.isSchengenVisa =
            (mrz.format == .mrva || mrz.format == .mrvb) && Self.schengen.contains(mrz.issuingState)
        let layout = MRZLayout(mrz.format)
        func isSure(_ span: MRZSpan) -> Bool {
            guard confidences.indices.contains(span.line), span.range.upperBound <= confidences[span.line].count
            else { return true }
            return confidences[span.line][span.range].allSatisfy { $0 >= Limits.sureCharacter }
        }
        func add(_ field: VIZField, _ text: String, date: CalendarDate? = nil, isTruncated: Bool = false) {
            guard date != nil || !text.isEmpty else { return }
            self.values.append(Value(field: field, text: text, date: date, isTruncated: isTruncated))
        }
        for (field, name) in [(VIZField.lastName, mrz.surname), (.firstName, mrz.givenNames)] where !name.isEmpty {
            self.names.append(Value(field: field, text: name))
        }
        if isSure(layout.name) {
            add(.lastName, mrz.surname, isTruncated: mrz.nameMayBeTruncated && mrz.givenNames.isEmpty)
            add(.firstName, mrz.givenNames, isTruncated: mrz.nameMayBeTruncated)
            let name = mrz.lines[layout.name.line].utf8.dropFirst(layout.name.range.lowerBound)
            let parts = MRZText.string(Array(name.prefix(layout.name.range.count)))
            let lacksStart =
                parts.hasPrefix("<")
                || parts.firstRange(of: "<<<").map { parts[$0.upperBound...].contains { $0 != "<" } } == true
            for index in self.values.indices { self.values[index].mayLackStart = lacksStart }
        }
        if mrz.checks[.documentNumber] != false, isSure(layout.number) { add(.documentNumber, mrz.documentNumber) }
        if mrz.checks[.birthDate] != false, let date = mrz.birthDate?.date { add(.dateOfBirth, "", date: date) }
        if mrz.checks[.expiryDate] != false, let date = mrz.expiryDate?.date { add(.expiryDate, "", date: date) }
    }

    /// Fields of a licence's barcode, whose error correction proves them.
    init(_ card: AAMVACard) {
        self.values = []
        self.isAmerican = card.country != "MEX"
        func add(_ field: VIZField, _ text: String?, isTruncated: Bool? = nil) {
            guard let text, !text.isEmpty else { return }
            self.values.append(Value(field: field, text: text.uppercased(), isTruncated: isTruncated ?? false))
        }
        add(.lastName, card.surname, isTruncated: card.isSurnameTruncated)
        add(.firstName, card.firstName, isTruncated: card.isFirstNameTruncated)
        add(.documentNumber, card.documentNumber)
        for (field, date) in [
            (VIZField.dateOfBirth, card.birthDate), (.expiryDate, card.expiryDate), (.issuingDate, card.issueDate),
        ] {
            if let date { self.values.append(Value(field: field, text: "", date: date)) }
        }
    }

    /// The values by the sides' own machine-readable data; `nil` if there are none.
    package init?(sides: [DocumentFacts], today: CalendarDate) {
        for side in sides {
            if let reading = side.mrz, let mrz = MRZDocument(lines: reading.lines, today: today) {
                self.init(mrz, confidences: reading.confidences)
                return
            }
        }
        for side in sides {
            for barcode in side.barcodes {
                if let card = AAMVACard(barcode.text) {
                    self.init(card)
                    return
                }
            }
        }
        return nil
    }

    /// `line` in the letters that the issuing state prints.
    package func corrected(_ line: VIZLine) -> VIZLine { VIZAlphabet.corrected(line, state: self.state) }

    /// The values that none of `lines` shows.
    package func missing(in lines: some Collection<String>) -> [Value] {
        self.values.filter { value in !lines.contains { value.isShown(in: $0) } }
    }
}
