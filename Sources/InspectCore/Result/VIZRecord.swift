/// A document's VIZ text by field, compared with its machine-readable data.
package struct VIZRecord: Codable, Sendable {
    package struct Field: Codable, Sendable {
        /// The name that the field has in ``ExtractionData``.
        package var name: String
        /// As printed; `nil` where it was not found. Dates that can be read in one way only are `YYYY-MM-DD`.
        package var value: String?
        /// Confidence of the line's least certain character, 0–1; `nil` where there is no value.
        package var confidence: Double?
        /// Comparison with the machine-readable data; `nil` where these lack the field.
        package var comparison: VIZRules.Outcome?
    }

    /// The side that was read.
    package var part: String
    package var fields: [Field]
    /// The part whose machine-readable data it was compared with; `nil` if there are none.
    package var comparedWith: String?
    var linesFound: Int
    var linesRead: Int
    /// Processor time that finding and reading took, in milliseconds; part of the document stage's.
    package var cpuMs: Double
    package var modelSHA256: String

    init?(sides: [(part: String, facts: DocumentFacts)], today: CalendarDate) {
        guard let side = sides.first(where: { $0.facts.viz != nil }), let facts = side.facts.viz else {
            return nil
        }
        self.part = side.part
        self.linesFound = facts.found
        self.linesRead = facts.lines.count
        self.cpuMs = facts.cpuMs
        self.modelSHA256 = facts.modelSHA256
        self.fields = []
        let ordered = [side] + sides.filter { $0.part != side.part }
        let expected = VIZExpectation(sides: ordered.map(\.facts), today: today)
        self.comparedWith = ordered.first { VIZExpectation(sides: [$0.facts], today: today) != nil }?.part
        let read = VIZFields(facts)
        if let expected {
            for finding in VIZRules(facts, expected: expected).findings {
                let line = finding.line.map { facts.lines[$0] }
                self.fields.append(
                    Field(
                        name: finding.field.rawValue, value: line?.text, confidence: line?.confidence,
                        comparison: finding.outcome))
            }
        }
        for reading in read.readings where !self.fields.contains(where: { $0.name == reading.field.rawValue }) {
            self.fields.append(
                Field(
                    name: reading.field.rawValue, value: reading.date?.iso8601 ?? reading.value,
                    confidence: reading.confidence, comparison: nil))
        }
    }

    /// Adds values that only the VIZ has: every field where there is no other source, otherwise the date of issue.
    func fill(_ data: inout ExtractionData, isOnlySource: Bool) {
        for field in self.fields where field.comparison == nil {
            guard let value = field.value, let confidence = field.confidence, confidence >= Limits.reportedVIZText,
                let name = VIZField(rawValue: field.name), !name.isDate || Self.isDay(value)
            else { continue }
            if name == .issuingDate, data.issuingDate == nil { data.issuingDate = value }
            guard isOnlySource else { continue }
            switch name {
            case .lastName: data.lastName = String(value.prefix(100))
            case .firstName: data.firstName = String(value.prefix(100))
            case .documentNumber: data.documentNumber = String(value.filter { $0 != " " }.prefix(100))
            case .dateOfBirth: data.dateOfBirth = value
            case .expiryDate: data.expiryDate = value
            case .issuingDate: break
            case .issuingAuthority, .categories: continue
            }
            data.extractionMethod = "OCR"
        }
    }

    private static func isDay(_ text: String) -> Bool {
        text.count == 10 && text.allSatisfy { $0.isNumber || $0 == "-" }
    }
}
