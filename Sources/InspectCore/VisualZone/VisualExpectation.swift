/// What the visual zone should show, because a machine-readable zone or a barcode says so.
package struct VisualExpectation: Sendable, Hashable {
    /// A field and its value, spelt as its source spells it.
    package struct Value: Sendable, Hashable {
        package var field: VisualField
        var text: String
        var date: CalendarDate?
        /// The source may have cut it.
        var isTruncated = false

        /// About how many characters its print has; dates from `1.2.74` to `30 MAR/MAR 1972`.
        package var lengths: ClosedRange<Int> {
            guard self.date == nil else { return 6...13 }
            let count = max(self.text.count { $0 != " " }, 1)
            return count...count
        }

        /// Whether `text` shows it.
        package func isShown(in text: String) -> Bool {
            if let date = self.date { return VisualDate.readings(text).contains(date) }
            return self.field == .documentNumber
                ? VisualText.holds(text, number: self.text)
                : VisualText.holds(text, name: self.text, isTruncated: self.isTruncated)
        }
    }

    package var values: [Value]

    /// Fields of a zone that its check digits prove; names have none, and count where the reader was sure of them.
    ///
    /// - Parameter confidences: How sure the reader was of every character.
    init(_ zone: MRZDocument, confidences: [[Double]]) {
        self.values = []
        let layout = MRZLayout(zone.format)
        func isSure(_ span: MRZSpan) -> Bool {
            guard confidences.indices.contains(span.line), span.range.upperBound <= confidences[span.line].count
            else { return true }
            return confidences[span.line][span.range].allSatisfy { $0 >= Limits.sureCharacter }
        }
        func add(_ field: VisualField, _ text: String, date: CalendarDate? = nil, isTruncated: Bool = false) {
            guard date != nil || !text.isEmpty else { return }
            self.values.append(Value(field: field, text: text, date: date, isTruncated: isTruncated))
        }
        if isSure(layout.name) {
            add(.lastName, zone.surname, isTruncated: zone.nameMayBeTruncated && zone.givenNames.isEmpty)
            add(.firstName, zone.givenNames, isTruncated: zone.nameMayBeTruncated)
        }
        if zone.checks[.documentNumber] != false, isSure(layout.number) { add(.documentNumber, zone.documentNumber) }
        if zone.checks[.birthDate] != false, let date = zone.birthDate?.date { add(.dateOfBirth, "", date: date) }
        if zone.checks[.expiryDate] != false, let date = zone.expiryDate?.date { add(.expiryDate, "", date: date) }
    }

    /// Fields of a licence's barcode, whose error correction proves them.
    init(_ card: AAMVACard) {
        self.values = []
        func add(_ field: VisualField, _ text: String?, isTruncated: Bool? = nil) {
            guard let text, !text.isEmpty else { return }
            self.values.append(Value(field: field, text: text.uppercased(), isTruncated: isTruncated ?? false))
        }
        add(.lastName, card.surname, isTruncated: card.isSurnameTruncated)
        add(.firstName, card.firstName, isTruncated: card.isFirstNameTruncated)
        add(.documentNumber, card.documentNumber)
        for (field, date) in [
            (VisualField.dateOfBirth, card.birthDate), (.expiryDate, card.expiryDate), (.issuingDate, card.issueDate),
        ] {
            if let date { self.values.append(Value(field: field, text: "", date: date)) }
        }
    }

    /// What the sides' own machine-readable data say about the print; `nil` where there are none.
    package init?(sides: [DocumentFacts], today: CalendarDate) {
        for side in sides {
            if let mrz = side.mrz, let zone = MRZDocument(lines: mrz.lines, today: today) {
                self.init(zone, confidences: mrz.confidences)
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

    /// The values that none of `lines` shows.
    package func missing(in lines: some Collection<String>) -> [Value] {
        self.values.filter { value in !lines.contains { value.isShown(in: $0) } }
    }
}
