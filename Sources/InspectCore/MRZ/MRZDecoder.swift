import Foundation

/// Turns lattices into the likeliest MRZ.
///
/// Every candidate text is weighed by what the reader saw, by the alphabets of its positions and by how rarely a printed
/// MRZ violates its check digits. The weights are finite on purpose: specimens whose MRZ is wrong as printed exist, so
/// a character that is clearly seen stands against any rule, and only if the reader itself hesitates do the check
/// digits decide.
package struct MRZDecoder: Sendable {
    package init() {}

    /// Log-odds of a character that its position does not allow (a digit in a name, a letter in a date): about 1 in 150.
    private static let foreignCharacter: Double = -5
    /// Log-odds of an MRZ printed with one failing check digit: about 1 in 50.
    private static let failedCheck: Double = -3.9
    /// A wrong character fails its own check digit and the composite one together.
    private static let failedComposite: Double = -1.6
    /// Log-odds of a document code that the format does not have, once for its character and once for the layout: a code
    /// distinguishes formats, so it must not be read into a part of another one.
    private static let foreignCode: Double = -3
    /// Log-odds of a state or nationality that Doc 9303-3 §5 does not list: about 1 in 50 of what is printed.
    private static let unknownState: Double = -3.9
    /// Log-odds of six digits that are no date: specimens exist, about 1 in 50.
    private static let impossibleDate: Double = -3.9
    /// Log-odds of a single letter among the fillers after a name.
    private static let strayLetter: Double = -5
    /// Less than this share of the best character's probability is never worth considering.
    private static let negligible: Float = 0.0005
    /// Mean log-probability of the likeliest characters below which an MRZ would be invented rather than read: legible
    /// images stay above −0.1, strongly blurred or glared ones below −0.24 (measured).
    private static let illegible: Double = -0.2

    /// Probability of a cell's likeliest character below which the cell shows none: legible cells, however faint, stay above
    /// 0.5, those under glare or a finger fall to 0.05 to 0.3 (measured).
    private static let veiled: Float = 0.3
    /// The same for cells in a row.
    private static let veiledInRow: Float = 0.5
    /// The number of cells, in total or in a row, from which a part of the MRZ counts as hidden. Fewer are left to the check digits.
    private static let mostVeiled = 3

    /// The outcome of decoding an image's lattices.
    package enum Outcome: Sendable {
        case mrz(MRZDecoding)
        /// An MRZ with an illegible part, for which no text is invented.
        case illegible
        case none
    }

    /// The likeliest MRZ among `lattices`, or whether there is one that is not legible.
    package func outcome(_ lattices: [MRZLattice]) -> Outcome {
        var best: (score: Double, decoding: MRZDecoding)?
        var illegible = false
        for (index, lattice) in lattices.enumerated() {
            for format in MRZFormat.allCases where format.lineLengths == lattice.lines.map(\.count) {
                let candidate: Candidate
                switch self.candidate(lattice, format: format) {
                case .text(let text): candidate = text
                case .illegible:
                    illegible = true
                    continue
                case .none: continue
                }
                let cells = Double(format.lineLengths.reduce(0, +))
                // Layouts of different size compare per cell; the rules' odds count once.
                let score = candidate.score / cells + lattice.layoutScore
                if best == nil || score > best!.score {
                    best = (score, self.decoding(candidate, lattice: lattice, format: format, index: index))
                }
            }
        }
        if let best { return .mrz(best.decoding) }
        return illegible ? .illegible : .none
    }

    private enum Reading {
        case text(Candidate)
        case illegible
        case none
    }

    private struct Candidate {
        var text: [[UInt8]]
        var score: Double
        /// For each cell and character the probability given the cell's alphabet.
        var posteriors: [[[Double]]] = []
    }

    private struct Choice {
        var line: Int
        var cell: Int
        var byte: UInt8
        /// The cost against the likeliest character at that position, as a negative log-ratio.
        var cost: Double
    }

    /// Whether a part of the MRZ is hidden.
    private func isVeiled(_ lattice: MRZLattice) -> Bool {
        lattice.lines.contains { line in
            let tops = line.map { $0.max() ?? 0 }
            var row = 0
            for top in tops {
                row = top < Self.veiledInRow ? row + 1 : 0
                if row >= Self.mostVeiled { return true }
            }
            return tops.count { $0 < Self.veiled } >= Self.mostVeiled
        }
    }

    /// The likeliest text of one format.
    private func candidate(_ lattice: MRZLattice, format: MRZFormat) -> Reading {
        let layout = MRZLayout(format)
        var alphabets = format.lineLengths.map { [MRZAlphabet](repeating: .any, count: $0) }
        for (span, alphabet) in layout.alphabets {
            for cell in span.range { alphabets[span.line][cell] = alphabet }
        }
        var text = format.lineLengths.map { [UInt8](repeating: MRZText.filler, count: $0) }
        var choices: [Choice] = []
        var posteriors = format.lineLengths.map { [[Double]](repeating: [], count: $0) }
        var seen = 0.0
        var clarity = 0.0
        for (line, cells) in lattice.lines.enumerated() {
            for (cell, probabilities) in cells.enumerated() {
                guard probabilities.count == MRZText.alphabet.count, let top = probabilities.max() else { return .none }
                let alphabet = alphabets[line][cell]
                let penalty = alphabet.isCode ? Self.foreignCode : Self.foreignCharacter
                let weighed = zip(MRZText.alphabet, probabilities).compactMap { byte, probability in
                    probability < top * Self.negligible
                        ? nil
                        : (
                            byte: byte,
                            log: log(Double(max(probability, 1e-6)))
                                + (alphabet.allows(byte) ? 0 : penalty)
                        )
                }.sorted { $0.log > $1.log }
                let weights = zip(MRZText.alphabet, probabilities).map { byte, probability in
                    Double(probability) * (alphabet.allows(byte) ? 1 : exp(penalty))
                }
                let sum = weights.reduce(0, +)
                posteriors[line][cell] = weights.map { $0 / max(sum, 1e-12) }
                text[line][cell] = weighed[0].byte
                seen += weighed[0].log
                clarity += log(Double(max(top, 1e-6)))
                for other in weighed.dropFirst().prefix(3) {
                    choices.append(Choice(line: line, cell: cell, byte: other.byte, cost: other.log - weighed[0].log))
                }
            }
        }
        let fits = self.codeFits(text, layout: layout, format: format)
        let isClear = clarity / Double(format.lineLengths.reduce(0, +)) > Self.illegible && !self.isVeiled(lattice)
        guard isClear else {
            let state = MRZText.words(text[layout.state.line][layout.state.range])
            return fits && IssuingState.isKnown(state) ? .illegible : .none
        }
        self.dropStrayLetters(&text, in: layout.name, lattice: lattice)
        let score = seen + (fits ? 0 : Self.foreignCode)
        var plain = Candidate(text: text, score: score, posteriors: posteriors)
        for span in [layout.state, layout.nationality].compactMap({ $0 }) {
            self.settleState(&plain, span: span, choices: choices)
        }
        let best = self.repaired(plain, choices: choices, layout: layout)
        // Neither the format's document code nor its check digits fit: this is other text, or an incomplete MRZ.
        let checks = MRZChecks.evaluate(best.text, layout: layout)
        guard fits || (checks[.composite] != nil && checks.values.allSatisfy { $0 }) else { return .none }
        // Other text that begins like an MRZ: a state that does not exist, and digits that prove nothing.
        let state = MRZText.words(best.text[layout.state.line][layout.state.range])
        let failed = checks.values.count { !$0 }
        return IssuingState.isKnown(state) || checks.isEmpty || failed * 2 <= checks.count ? .text(best) : .none
    }

    /// Prefers a code that exists if the reader is uncertain about one or two of its letters.
    private func settleState(_ candidate: inout Candidate, span: MRZSpan, choices: [Choice]) {
        func isKnown(_ text: [[UInt8]]) -> Bool {
            IssuingState.isKnown(MRZText.words(text[span.line][span.range]))
        }
        guard !isKnown(candidate.text) else { return }
        let near = choices.filter { $0.line == span.line && span.range.contains($0.cell) }
        var best: (cost: Double, text: [[UInt8]])?
        for (index, first) in near.enumerated() {
            for second in [nil] + near[(index + 1)...].map(Optional.some) {
                guard second?.cell != first.cell else { continue }
                var text = candidate.text
                text[first.line][first.cell] = first.byte
                if let second { text[second.line][second.cell] = second.byte }
                let cost = first.cost + (second?.cost ?? 0)
                if cost > best?.cost ?? Self.unknownState, isKnown(text) { best = (cost, text) }
            }
        }
        candidate.score += best?.cost ?? Self.unknownState
        if let best { candidate.text = best.text }
    }

    /// `<<K<<` after the end of a name is a smeared filler, if the reader sees a possible filler there at all.
    private func dropStrayLetters(_ text: inout [[UInt8]], in span: MRZSpan, lattice: MRZLattice) {
        let filler = MRZText.filler
        var line = text[span.line]
        func isFiller(_ cell: Int) -> Bool { !span.range.contains(cell) || line[cell] == filler }
        guard let end = span.range.dropLast().first(where: { line[$0] == filler && line[$0 + 1] == filler })
        else { return }
        for cell in span.range where cell > end + 2 && !isFiller(cell) {
            guard (1...2).allSatisfy({ isFiller(cell - $0) && isFiller(cell + $0) }),
                let chosen = MRZText.alphabet.firstIndex(of: line[cell])
            else { continue }
            let seen = lattice.lines[span.line][cell]
            let odds = log(Double(max(seen[MRZText.alphabet.count - 1], 1e-6)) / Double(max(seen[chosen], 1e-6)))
            if odds > Self.strayLetter { line[cell] = filler }
        }
        text[span.line] = line
    }

    /// Tries the doubtful characters against the check digits: one of each field, two at most, since a digit holds for one in
    /// ten wrong texts.
    private func repaired(_ plain: Candidate, choices: [Choice], layout: MRZLayout) -> Candidate {
        let checked = layout.checks.flatMap { $0.covered + [$0.digit] }
        let doubtful = choices.filter { choice in
            choice.cost > Self.failedCheck + Self.failedComposite
                && checked.contains { $0.line == choice.line && $0.range.contains(choice.cell) }
        }.sorted { $0.cost > $1.cost }.prefix(24)
        let fields = layout.checks.filter { $0.key != .composite }.map { $0.covered + [$0.digit] }
        func field(_ choice: Choice) -> Int? {
            fields.firstIndex { $0.contains { $0.line == choice.line && $0.range.contains(choice.cell) } }
        }
        let base = plain.score
        var best = plain
        best.score += self.checkScore(plain.text, layout: layout)
        var text = plain.text
        func attempt(_ start: Int, _ cost: Double, _ other: Choice?) {
            for index in start..<doubtful.count {
                let choice = doubtful[index]
                if let other, field(other) == field(choice) { continue }
                // Even an MRZ without any failure could not outweigh this.
                guard base + cost + choice.cost > best.score else { break }
                let before = text[choice.line][choice.cell]
                guard before == plain.text[choice.line][choice.cell] else { continue }
                text[choice.line][choice.cell] = choice.byte
                let score = base + cost + choice.cost + self.checkScore(text, layout: layout)
                if score > best.score { best = Candidate(text: text, score: score, posteriors: plain.posteriors) }
                if other == nil { attempt(index + 1, cost + choice.cost, choice) }
                text[choice.line][choice.cell] = before
            }
        }
        attempt(0, 0, nil)
        return best
    }

    private func checkScore(_ text: [[UInt8]], layout: MRZLayout) -> Double {
        let results = MRZChecks.evaluate(text, layout: layout)
        let impossible = [layout.birth, layout.expiry].compactMap { $0 }.filter { span in
            !MRZDate.isPlausible(text[span.line][span.range])
        }
        let dates = Double(impossible.count) * Self.impossibleDate
        return dates + self.checkScore(results)
    }

    private func checkScore(_ results: [MRZCheckKey: Bool]) -> Double {
        let failed = results.filter { !$0.value && $0.key != .composite }.count
        guard results[.composite] == false else { return Double(failed) * Self.failedCheck }
        return Double(failed) * Self.failedCheck + (failed == 0 ? Self.failedCheck : Self.failedComposite)
    }

    /// Whether the MRZ begins as its format must.
    private func codeFits(_ text: [[UInt8]], layout: MRZLayout, format: MRZFormat) -> Bool {
        let first = text[layout.code.line][layout.code.range.lowerBound]
        let begin = MRZText.string(text[layout.code.line].prefix(5))
        return switch format {
        case .td1, .td2: MRZAlphabet.cardCode.allows(first)
        case .td3: MRZAlphabet.passportCode.allows(first)
        case .mrva, .mrvb: MRZAlphabet.visaCode.allows(first)
        case .frenchID: begin == "IDFRA"
        case .frenchLicence: begin == "D1FRA"
        case .swissLicence: begin == "FACHE"
        }
    }

    private func decoding(
        _ candidate: Candidate, lattice: MRZLattice, format: MRZFormat, index: Int
    ) -> MRZDecoding {
        var corrections = 0
        var confidences: [[Double]] = []
        var posteriors: [[Double]] = []
        for (line, cells) in lattice.lines.enumerated() {
            confidences.append([])
            posteriors.append([])
            for (cell, probabilities) in cells.enumerated() {
                let chosen = MRZText.alphabet.firstIndex(of: candidate.text[line][cell]) ?? 0
                confidences[line].append(Double(probabilities[chosen]))
                posteriors[line].append(candidate.posteriors[line][cell][chosen])
                corrections += probabilities[chosen] < (probabilities.max() ?? 0) ? 1 : 0
            }
        }
        return MRZDecoding(
            format: format, lines: candidate.text.map { MRZText.string($0) }, confidences: confidences,
            posteriors: posteriors, corrections: corrections, lattice: index)
    }
}
