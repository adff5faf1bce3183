extension DataCheckRules {
    /// Passive authentication as a data check.
    static func authenticity(_ chip: ChipRules) -> DataCheckData.Check {
        let reasons = chip.reasons.map(\.rawValue).joined(separator: ", ")
        return switch chip.status {
        case .valid: DataCheckData.Check(name: "chipAuthentic", outcome: .pass)
        case .invalid: DataCheckData.Check(name: "chipAuthentic", outcome: .fail, reason: reasons)
        case .inconclusive: DataCheckData.Check(name: "chipAuthentic", outcome: .inconclusive, reason: reasons)
        }
    }

    /// A printed character read with less confidence proves nothing against the chip.
    private static let leastConfidence = 0.9

    /// DG1 repeats the printed MRZ (Doc 9303-10 §4.7.1), so every field must be the same.
    static func agreement(_ extraction: ExtractionRules) -> DataCheckData.Check {
        let name = "chipAgrees"
        guard let chip = extraction.chipMRZ else {
            return DataCheckData.Check(name: name, outcome: .inconclusive, reason: "DG1 was not read")
        }
        guard !extraction.mrzs.isEmpty else {
            return DataCheckData.Check(
                name: name, outcome: .inconclusive, reason: "no printed MRZ was read")
        }
        var differing: Set<String> = []
        for mrz in extraction.mrzs {
            guard mrz.value.format == chip.format else {
                differing.insert("format")
                continue
            }
            differing.formUnion(
                Self.differences(mrz.value, chip, confidences: extraction.confidences[mrz.part] ?? []))
        }
        return differing.isEmpty
            ? DataCheckData.Check(name: name, outcome: .pass)
            : DataCheckData.Check(name: name, outcome: .fail, reason: differing.sorted().joined(separator: ", "))
    }

    /// Names of the fields in which the two MRZs differ.
    private static func differences(_ printed: MRZDocument, _ chip: MRZDocument, confidences: [[Double]]) -> [String] {
        let layout = MRZLayout(chip.format)
        let fields: [(String, MRZSpan?)] = [
            ("documentCode", layout.code), ("issuingCountry", layout.state), ("documentNumber", layout.number),
            ("name", layout.name), ("nationality", layout.nationality), ("dateOfBirth", layout.birth),
            ("gender", layout.sex), ("expiryDate", layout.expiry),
        ]
        let printedLines = printed.lines.map { Array($0.utf8) }
        let storedLines = chip.lines.map { Array($0.utf8) }
        return fields.compactMap { name, span in
            guard let span else { return nil }
            let differs = span.range.contains { cell in
                let sure =
                    confidences.indices.contains(span.line) && confidences[span.line].indices.contains(cell)
                    ? confidences[span.line][cell] : 1
                return printedLines[span.line][cell] != storedLines[span.line][cell] && sure >= Self.leastConfidence
            }
            return differs ? name : nil
        }
    }
}
