/// A document's VIZ text by field, compared with its machine-readable data.
package struct VIZRecord: Codable, Sendable {
    /// A field and its value in the VIZ.
    package struct Field: Codable, Sendable {
        /// The name that the field has in ``ExtractionData``.
        package var name: String
        /// As printed; `nil` if it was not found. Dates that can be read in one way only are `YYYY-MM-DD`.
        package var value: String?
        /// Confidence of the line's least certain character, 0–1; `nil` if there is no value.
        package var confidence: Double?
        /// Comparison with the machine-readable data; `nil` if these lack the field.
        package var comparison: VIZRules.Outcome?
        /// Why the field's value is not reported as the document's; `nil` if it is.
        package var reason: Reason?
        /// Whether the value is the printed spelling of what the machine-readable data say.
        var isSpelling: Bool?
        /// Whether the contradiction is only a suspicion.
        var isSuspicion: Bool?

        private enum CodingKeys: String, CodingKey {
            case name, value, confidence, comparison, reason
        }
    }

    /// Why a printed field is left out.
    package enum Reason: String, Codable, Sendable {
        /// A character was hard to read.
        case notCertain = "NOT_CERTAIN"
        /// Two values stand there, or a day that can be read in two ways.
        case ambiguous = "AMBIGUOUS"
        /// The label was found, but nothing that can be its value.
        case noValue = "NO_VALUE"
        /// Documents of this kind bear the field, but neither its label nor its value was found.
        case notFound = "NOT_FOUND"
    }

    private enum CodingKeys: String, CodingKey {
        case part, fields, comparedWith, linesFound, linesRead, cpuMs, modelSHA256
    }

    /// The side that was read.
    package var part: String
    /// Those that were sought, found or not.
    package var fields: [Field]
    /// The part whose machine-readable data it was compared with; `nil` if there are none.
    package var comparedWith: String?
    /// The document's title; used if there is no machine-readable data.
    private var type: String?
    private var country: String?
    /// Whether it is a driving licence whose fields are numbered as those of EU licences are, or that bears the EU emblem.
    private(set) var isEuropeanLicence = false
    var linesFound: Int
    var linesRead: Int
    /// Processor time that finding and reading took, in milliseconds; part of the document stage's.
    package var cpuMs: Double
    /// SHA-256 of the model that read the text, in lower-case hexadecimal.
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
        self.country = VIZTitle.country(facts)
        let ordered = [side] + sides.filter { $0.part != side.part }
        let expected = VIZExpectation(sides: ordered.map(\.facts), today: today)
        self.comparedWith = ordered.first { VIZExpectation(sides: [$0.facts], today: today) != nil }?.part
        let read = VIZFields(facts, dates: VIZDays(expected, lines: facts.lines, today: today))
        let (isNumbered, hasEmblem) = (read.layout.isEuropeanLicence, facts.emblem != nil)
        let isLicence = read.isLicence || hasEmblem && isNumbered
        self.type = VIZTitle.type(facts) ?? (isLicence ? "DRIVING_LICENSE" : nil)
        // Identity cards bear the emblem too.
        self.isEuropeanLicence = self.type == "DRIVING_LICENSE" && (isNumbered || hasEmblem)
        if let expected {
            for finding in VIZRules(facts, expected: expected).findings {
                let line = finding.line.map { facts.lines[$0] }
                self.fields.append(
                    Field(
                        name: finding.field.rawValue, value: line?.text, confidence: line?.confidence,
                        comparison: finding.outcome, isSuspicion: finding.isSuspicion))
            }
            self.addNames(facts, expected, read)
        }
        for reading in read.readings where !self.fields.contains(where: { $0.name == reading.field.rawValue }) {
            // A value of another field means that its label was misread.
            guard expected?.values.contains(where: { $0.isShown(in: reading.value) }) != true else { continue }
            var field = Field(
                name: reading.field.rawValue, value: reading.date?.iso8601 ?? reading.value,
                confidence: reading.confidence, comparison: nil)
            if !reading.isCertain { field.reason = .notCertain }
            if reading.field.isText, !VIZAlphabet.isReadable(expected?.state ?? self.country) {
                field.reason = .notCertain
            }
            if reading.isCertain, reading.field.isDate, reading.date == nil { field.reason = .ambiguous }
            self.fields.append(field)
        }
        self.addIssue(facts, VIZDays(expected, lines: facts.lines, today: today))
        for field in VIZField.allCases.sorted(by: { $0.rawValue < $1.rawValue })
        where !self.fields.contains(where: { $0.name == field.rawValue }) {
            let reason: Reason? =
                read.ambiguous.contains(field)
                ? .ambiguous
                : read.withoutValue.contains(field) ? .noValue : self.bears(field, expected) ? .notFound : nil
            if let reason { self.fields.append(Field(name: field.rawValue, reason: reason)) }
        }
    }

    /// Whether every document of this kind bears the field, of those whose fields are known: passports (Doc 9303-4 §4.1; an authority or
    /// a place of issue) and EU licences (directive 2006/126/EC annex I).
    private func bears(_ field: VIZField, _ expected: VIZExpectation?) -> Bool {
        if expected?.isBooklet == true { return VIZField.ofPassports.contains(field) }
        return expected == nil && self.isEuropeanLicence && VIZField.ofLicences.contains(field)
    }

    /// Names in the VIZ's spelling, if the MRZ agrees.
    private mutating func addNames(_ facts: VIZFacts, _ expected: VIZExpectation, _ read: VIZFields) {
        let names = expected.names
        for name in names {
            let printed = VIZNames.printed(
                name, facts.lines, labelled: read[name.field]?.line, others: names.filter { $0.field != name.field },
                state: expected.state)
            guard let printed else { continue }
            let field = Field(
                name: name.field.rawValue, value: printed.text, confidence: printed.confidence, comparison: .agrees,
                isSpelling: true)
            if let index = self.fields.firstIndex(where: { $0.name == field.name }) {
                guard self.fields[index].comparison == .agrees else { continue }
                self.fields[index] = field
            } else {
                self.fields.append(field)
            }
        }
    }

    /// The day of issue if its label was not legible.
    private mutating func addIssue(_ facts: VIZFacts, _ days: VIZDays) {
        let index = self.fields.firstIndex { $0.name == VIZField.issuingDate.rawValue }
        guard index.map({ self.fields[$0].reason != nil }) ?? true, let issue = days.issue(facts.lines) else { return }
        let line = facts.lines[issue.line]
        // The days that agree with the expiry prove most of its characters.
        guard line.confidence >= (line.isConfirmed == true ? Limits.doubtfulVIZText : Limits.agreeingVIZText)
        else { return }
        let field = Field(
            name: VIZField.issuingDate.rawValue, value: issue.day.iso8601, confidence: line.confidence, comparison: nil)
        if let index { self.fields[index] = field } else { self.fields.append(field) }
    }

    /// Adds values that only the VIZ has: every field if there is no other source, otherwise those that MRZs and barcodes lack.
    func fill(_ data: inout ExtractionData, isOnlySource: Bool) {
        if isOnlySource {
            data.type = data.type ?? self.type
            data.issuingCountry = data.issuingCountry ?? self.country
            if self.type != nil || self.country != nil { data.extractionMethod = "OCR" }
        }
        for field in self.fields where field.reason == nil {
            guard let value = field.value, let name = VIZField(rawValue: field.name) else { continue }
            if field.isSpelling == true {
                switch name {
                case .lastName: data.lastName = String(value.prefix(100))
                case .firstName: data.firstName = String(value.prefix(100))
                default: break
                }
            }
            guard field.comparison == nil, !name.isDate || Self.isDay(value) else { continue }
            Self.fillBeside(&data, name, value)
            guard isOnlySource else { continue }
            switch name {
            case .lastName: data.lastName = String(value.prefix(100))
            case .firstName: data.firstName = String(value.prefix(100))
            case .documentNumber: data.documentNumber = String(value.filter { $0 != " " }.prefix(100))
            case .dateOfBirth: data.dateOfBirth = value
            case .expiryDate: data.expiryDate = value
            case .gender: data.gender = value
            case .nationality:
                guard let code = VIZLabel.plain(value).last, code.count == 3, IssuingState.isKnown(code) else {
                    continue
                }
                data.nationality = code
            case .issuingDate, .issuingAuthority, .categories, .placeOfBirth, .personalNumber, .address: break
            }
            data.extractionMethod = "OCR"
        }
    }

    /// A value that machine-readable data lacks, within the contract's limits; a longer value is left out.
    private static func fillBeside(_ data: inout ExtractionData, _ name: VIZField, _ value: String) {
        let line = value.split(separator: "\n").joined(separator: " ")
        switch name {
        case .issuingDate: data.issuingDate = data.issuingDate ?? value
        case .issuingAuthority: data.issuingAuthority = data.issuingAuthority ?? (line.count <= 255 ? line : nil)
        case .placeOfBirth: data.placeOfBirth = data.placeOfBirth ?? (line.count <= 255 ? line : nil)
        case .personalNumber: data.personalNumber = data.personalNumber ?? (line.count <= 14 ? line : nil)
        case .categories: data.categories = data.categories ?? line
        case .address:
            guard data.address == nil, let address = VIZAddress(VIZAlphabet.street(value, state: data.issuingCountry))
            else { return }
            data.address = ExtractionData.Address(address)
        default: break
        }
    }

    private static func isDay(_ text: String) -> Bool {
        text.count == 10 && text.allSatisfy { $0.isNumber || $0 == "-" }
    }
}
