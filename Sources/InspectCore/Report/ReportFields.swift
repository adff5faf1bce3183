/// The extracted data: each field with its sources, each check digit, each MRZ and barcode verbatim.
struct ReportFields {
    let extraction: ExtractionRules
    let facts: InspectionFacts
    /// Whether a field has one row, with a column for each source.
    var isCompared = false

    var markup: [Markup] {
        let data = self.extraction.data
        var sections: [Markup] = []
        if self.extraction.hasData || data.extractionMethod != "NONE" {
            sections.append(ReportPage.section("Fields", [self.isCompared ? self.comparedFields : self.fields]))
        } else if let reason = data.reason {
            sections.append(ReportPage.section("Fields", ["<p>\(reason)</p>\n"]))
        }
        sections += self.mrzs
        sections += self.barcodes
        if let viz = data.viz { sections.append(self.vizMarkup(viz)) }
        if let chip = data.chip, let rules = self.extraction.chip {
            sections.append(ReportChip.section(chip, rules: rules))
        }
        return sections
    }

    // MARK: Fields

    /// One source of fields.
    private struct Source {
        var name: String
        var data: ExtractionData
        var mrz: MRZDocument?
        var reading: MRZReading?
        var chip: ChipRules?
        var isVIZ = false
    }

    private var sources: [Source] {
        let mrzs = self.extraction.mrzs.map { mrz in
            var data = ExtractionData(extractionMethod: "MRZ")
            ExtractionRules.fill(&data, from: mrz.value)
            return Source(
                name: "MRZ (\(mrz.part))", data: data, mrz: mrz.value,
                reading: self.facts.documents?.sides[mrz.part]?.mrz)
        }
        let cards = self.extraction.cards.map { card in
            var data = ExtractionData(extractionMethod: "BARCODE")
            ExtractionRules.fill(&data, from: card.value)
            return Source(name: "barcode (\(card.part))", data: data)
        }
        let chip = self.extraction.chipMRZ.map { mrz in
            var data = ExtractionData(extractionMethod: "CHIP")
            ExtractionRules.fill(&data, from: mrz)
            if let chip = self.facts.documents?.chip { ExtractionRules.fill(&data, from: chip) }
            return Source(name: "chip", data: data, mrz: mrz, chip: self.extraction.chip)
        }
        let viz = self.extraction.viz.flatMap { record -> Source? in
            guard self.extraction.data.extractionMethod == "OCR" else { return nil }
            return Source(name: "VIZ (\(record.part))", data: self.extraction.data, isVIZ: true)
        }
        return mrzs + cards + [chip, viz].compactMap { $0 }
    }

    private struct Field: Sendable {
        var name: String
        var value: @Sendable (ExtractionData) -> String?
        /// The field's span in an MRZ, and the check digit that covers it.
        var span: @Sendable (MRZLayout) -> MRZSpan? = { _ in nil }
        var check: MRZCheckKey?
    }

    private static let known: [Field] = [
        Field(name: "type", value: \.type, span: { $0.code }),
        Field(name: "issuingCountry", value: \.issuingCountry, span: { $0.state }),
        Field(name: "lastName", value: \.lastName, span: { $0.name }),
        Field(name: "firstName", value: \.firstName, span: { $0.name }),
        Field(name: "dateOfBirth", value: \.dateOfBirth, span: { $0.birth }, check: .birthDate),
        Field(name: "placeOfBirth", value: \.placeOfBirth),
        Field(name: "gender", value: \.gender, span: { $0.sex }),
        Field(name: "nationality", value: \.nationality, span: { $0.nationality }),
        Field(name: "documentNumber", value: \.documentNumber, span: { $0.number }, check: .documentNumber),
        Field(name: "personalNumber", value: \.personalNumber, span: { $0.optional.first }, check: .personalNumber),
        Field(name: "issuingDate", value: \.issuingDate),
        Field(name: "issuingAuthority", value: \.issuingAuthority),
        Field(name: "expiryDate", value: \.expiryDate, span: { $0.expiry }, check: .expiryDate),
        Field(name: "address line", value: \.address?.line1), Field(name: "city", value: \.address?.city),
        Field(name: "subdivision", value: \.address?.subdivision),
        Field(name: "postalCode", value: \.address?.postalCode), Field(name: "categories", value: \.categories),
    ]

    private var fields: Markup {
        let sources = self.sources
        let rows = Self.known.flatMap { field -> [Markup] in
            let found = sources.compactMap { source in field.value(source.data).map { (source, $0) } }
            let printed = self.printed(field.name)
            if found.isEmpty, let printed {
                // The result may give what only the VIZ shows.
                let value = field.value(self.extraction.data)
                let source = value == nil ? nil : self.extraction.viz.map { "VIZ (\($0.part))" }
                let shown: Markup = value.map { "<b>\($0)</b>" } ?? "—"
                return [
                    """
                    <tr><td>\(ReportTables.spaced(field.name))</td><td>\(shown)</td><td>\(source ?? "")</td><td></td><td></td>\
                    <td>\(printed)</td></tr>

                    """
                ]
            }
            return found.enumerated().map { index, entry in
                let (source, value) = entry
                let differs = Set(found.map(\.1)).count > 1
                let agreement: Markup =
                    found.count < 2
                    ? "<span class='none'>only source</span>"
                    : differs
                        ? "<span class='fail'>✗ sources differ</span>" : "<span class='pass'>✓ sources agree</span>"
                return """
                    <tr><td>\(index == 0 ? ReportTables.spaced(field.name) : "")</td><td><b>\(value)</b></td>\
                    <td>\(source.name)</td><td>\(Self.checks(field, source))</td><td>\(agreement)</td>\
                    <td>\(index == 0 ? printed ?? "" : "")</td></tr>

                    """
            }
        }
        return ReportPage.table(["field", "value", "source", "checks", "other sources", "VIZ"], rows)
    }

    /// Each field in one row: what each source says, and whether they agree.
    private var comparedFields: Markup {
        let sources = self.sources
        // VIZ text that is the only source is a source already.
        let hasVIZ = self.extraction.viz != nil && !sources.contains(where: \.isVIZ)
        let rows = Self.known.compactMap { field -> Markup? in
            let values = sources.map { field.value($0.data) }
            let printed = hasVIZ ? self.printed(field.name) : nil
            let found = values.compactMap { $0 }
            guard !found.isEmpty || printed != nil else { return nil }
            let isContradicted =
                self.extraction.viz?.fields.first { $0.name == field.name }?.comparison == .contradicts && hasVIZ
            let differs = Set(found).count > 1 || isContradicted
            let cells = zip(sources, values).map { source, value -> Markup in
                guard let value else { return "<td>—</td>" }
                return "<td><b>\(value)</b><br/>\(Self.checks(field, source))</td>"
            }
            let agreement: Markup =
                differs
                ? "<span class='fail'>✗ sources differ</span>"
                : found.count > 1
                    ? "<span class='pass'>✓ sources agree</span>" : "<span class='none'>only source</span>"
            let viz: Markup = hasVIZ ? "<td>\(printed ?? "—")</td>" : ""
            return """
                <tr\(differs ? " class='differs'" : "" as Markup)><th scope='row'>\(ReportTables.spaced(field.name))</th>\(cells)\(viz)\
                <td>\(agreement)</td></tr>

                """
        }
        return ReportPage.table(
            ["field"] + sources.map(\.name) + (hasVIZ ? ["VIZ"] : []) + ["sources"], rows)
    }

    /// The field as the document shows it to the eye; `nil` if it was not looked for.
    private func printed(_ name: String) -> Markup? {
        guard let field = self.extraction.viz?.fields.first(where: { $0.name == name }) else { return nil }
        return "<b>\(field.value ?? "—")</b><br/>\(Self.remark(field))"
    }

    private static func comparison(_ outcome: VIZRules.Outcome?) -> Markup {
        switch outcome {
        case .agrees: "<span class='pass'>✓ as machine-readable</span>"
        case .contradicts: "<span class='fail'>✗ contradicts the machine-readable data</span>"
        case .notFound: "<span class='none'>not found with certainty</span>"
        case nil: "<span class='none'>nothing to compare with</span>"
        }
    }

    private static func remark(_ field: VIZRecord.Field) -> Markup {
        switch field.reason {
        case nil: self.comparison(field.comparison)
        case .notCertain: "<span class='none'>left out: a character is hard to read</span>"
        case .ambiguous: "<span class='none'>left out: two values, or a day that can be read in two ways</span>"
        case .noValue: "<span class='none'>label without a legible value</span>"
        case .notFound: "<span class='none'>not found, although documents of this kind bear it</span>"
        }
    }

    private static func checks(_ field: Field, _ source: Source) -> Markup {
        guard let mrz = source.mrz else {
            return source.isVIZ
                ? "<span class='soft'>none: nothing proves VIZ text</span>"
                : "<span class='soft'>error correction of the barcode</span>"
        }
        let layout = MRZLayout(mrz.format)
        var parts: [Markup] = []
        if let check = field.check, let holds = mrz.checks[check] {
            parts.append("own digit \(ReportPage.verdict(holds))")
        }
        if field.check != nil, let holds = mrz.checks[.composite] {
            parts.append("composite digit \(ReportPage.verdict(holds))")
        }
        if let chip = source.chip {
            parts.append("passive authentication \(ReportPage.verdict(ReportChip.outcome(chip.status)))")
        }
        if parts.isEmpty { parts.append("<span class='soft'>no check digit covers it</span>") }
        if let span = field.span(layout), let least = self.leastConfidence(span, in: source.reading) {
            parts.append("<span class='\(ReportImage.grade(least)) text'>least certain character \(least)</span>")
        }
        return Markup(parts.enumerated().map { $0.offset == 0 ? $0.element : "<br/>\($0.element)" })
    }

    private static func leastConfidence(_ span: MRZSpan, in reading: MRZReading?) -> Double? {
        guard let lines = reading?.confidences, lines.indices.contains(span.line) else { return nil }
        let line = lines[span.line]
        guard span.range.upperBound <= line.count else { return nil }
        return line[span.range].min()
    }

    // MARK: Sources verbatim

    private var mrzs: [Markup] {
        self.extraction.mrzs.map { source in
            let mrz = source.value
            let layout = MRZLayout(mrz.format)
            let bytes = mrz.lines.map { Array($0.utf8) }
            let rows = layout.checks.map { check -> Markup in
                let covered = check.covered.map { MRZText.string(bytes[$0.line][$0.range]) }.joined(separator: " ")
                let printed = MRZText.string(bytes[check.digit.line][check.digit.range])
                let computed = MRZText.checkDigit(check.covered.flatMap { bytes[$0.line][$0.range] })
                let holds = mrz.checks[check.key] ?? false
                // A filler instead of a digit, and numbers that continue in the optional data.
                let isException = holds && printed != String(computed)
                return """
                    <tr><td>\(ReportTables.spaced(check.key.rawValue))</td><td><code>\(covered)</code></td>\
                    <td class='number'><code>\(printed)</code></td><td class='number'><code>\(Int(computed))</code></td>\
                    <td>\(ReportPage.verdict(holds))</td>\
                    <td>\(isException ? "holds by an exception of the standard (long number, empty field)" : "")</td></tr>

                    """
            }
            var content: [Markup] = []
            if let reading = self.facts.documents?.sides[source.part]?.mrz {
                content.append(ReportImage.text(reading))
                content.append(
                    """
                    <p class='soft'>\(reading.corrections) characters were decided by alphabets and check digits where \
                    the reader hesitated. Green from 0.99, then 0.9, amber from 0.5, red below.</p>

                    """)
            }
            content.append(
                rows.isEmpty
                    ? "<p>The format has no check digits.</p>\n"
                    : ReportPage.table(["check digit of", "covers", "printed", "computed", "verdict", "note"], rows))
            return ReportPage.section(
                "MRZ: \(source.part), \(mrz.format.rawValue)", content)
        } + self.unparsed
    }

    /// MRZs whose lines are of no known format.
    private var unparsed: [Markup] {
        let parsed = Set(self.extraction.mrzs.map(\.part))
        return (self.facts.documents?.sides ?? [:]).sorted { $0.key < $1.key }.compactMap { part, side in
            guard let reading = side.mrz, !parsed.contains(part) else { return nil }
            return ReportPage.section(
                "MRZ of no known format: \(part)", [ReportImage.text(reading)])
        }
    }

    /// The VIZ text next to the machine-readable data, with what was not found.
    private func vizMarkup(_ record: VIZRecord) -> Markup {
        let rows = record.fields.map { field -> Markup in
            let comparison = Self.remark(field)
            let confidence: Markup =
                field.confidence.map { "<span class='\(ReportImage.grade($0)) text'>\($0)</span>" } ?? "—"
            return """
                <tr><td>\(ReportTables.spaced(field.name))</td><td><b>\(field.value ?? "—")</b></td>\
                <td>\(confidence)</td><td>\(comparison)</td></tr>

                """
        }
        return ReportPage.section(
            "VIZ: \(record.part)",
            [
                """
                <p class='soft'>\(record.linesRead) of \(record.linesFound) lines of VIZ text were read; \
                \(record.comparedWith.map { "compared with the machine-readable data of \($0)" } ?? "nothing machine-readable to compare with"). \
                The confidence is that of the line's least certain character.</p>

                """, ReportPage.table(["field", "as printed", "confidence", "comparison"], rows),
            ])
    }

    private var barcodes: [Markup] {
        PartKind.sides.flatMap { kind in
            (self.facts.documents?.sides[kind.rawValue]?.barcodes ?? []).map { barcode in
                var content: [Markup] = []
                if let elements = AAMVACard(barcode.text)?.elements {
                    let rows = elements.fields.sorted { $0.key < $1.key }.map { element, value -> Markup in
                        """
                        <tr><td><code>\(element)</code></td><td>\(elements.name(of: element) ?? "")</td>\
                        <td class='number'>\(value)</td></tr>

                        """
                    }
                    content.append(ReportPage.table(["AAMVA element", "name", "value"], rows))
                }
                content.append("<pre>\(barcode.text)</pre>\n")
                return ReportPage.section("Barcode: \(kind.rawValue), \(barcode.format)", content)
            }
        }
    }
}
