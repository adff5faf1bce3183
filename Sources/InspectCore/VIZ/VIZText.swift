import Foundation

/// Compares VIZ text with the text of an MRZ.
///
/// An MRZ spells a name by ICAO Doc 9303-3 §6; several spellings are allowed for one letter, and the recogniser may miss
/// an accent, so the printed letter stands for a set of spellings.
enum VIZText {
    /// Spellings in an MRZ of what is printed (Doc 9303-3 §6.A), the plain letter first if the accent may have been lost.
    private static let spellings: [Character: [[Character]]] =
        ([
            "A": ["A", "AE", "AA"], "Ä": ["AE", "A"], "Å": ["AA", "A"], "Æ": ["AE"], "Ð": ["D"], "Đ": ["D"],
            "N": ["N", "NXX"], "Ñ": ["N", "NXX"], "O": ["O", "OE"], "Ö": ["OE", "O"], "Ø": ["OE", "O"], "Œ": ["OE"],
            "U": ["U", "UE", "UXX"], "Ü": ["UE", "UXX", "U"], "Þ": ["TH"], "ẞ": ["SS"], "ß": ["SS"], "B": ["B", "SS"],
            "Ĳ": ["IJ"], "Ł": ["L"], "Ħ": ["H"], "Ŧ": ["T"], "ı": ["I"], "Ŋ": ["N"],
        ] as [Character: [String]]).mapValues { $0.map(Array.init) }

    /// Characters that recognisers and people confuse.
    private static let alike: [Character: Character] = [
        "O": "0", "Q": "0", "D": "0", "I": "1", "L": "1", "|": "1", "Z": "2", "S": "5", "G": "6", "B": "8",
    ]

    /// Upper-case words; hyphens and commas separate, apostrophes vanish (Doc 9303-3 §4.6).
    static func words(_ text: String) -> [String] { VIZMemo.value(of: text, in: \.words, Self.split) }

    private static func split(_ text: String) -> [String] {
        var words: [String] = [""]
        for character in text.uppercased() {
            if self.isApostrophe(character) { continue }
            if character.isPartOfWord {
                words[words.count - 1].append(character)
            } else if words.last != "" {
                words.append("")
            }
        }
        return words.filter { !$0.isEmpty }
    }

    static func isApostrophe(_ character: Character) -> Bool {
        switch character {
        case "'", "’", "‘", "`", "´": return true
        default: return false
        }
    }

    /// The ASCII characters that are left once accents are taken off.
    static func ascii(_ text: some StringProtocol) -> String {
        if text.utf8.allSatisfy({ $0 < 0x80 }) { return String(text) }
        return String(
            text.decomposedStringWithCanonicalMapping.unicodeScalars.filter { $0.isASCII }.map { Character($0) })
    }

    /// Letters and digits only, with those that look alike made equal.
    static func folded(_ text: String) -> String {
        String(self.words(text).joined().map { self.alike[$0] ?? $0 })
    }

    /// Whether the printed letters can be spelt as `mrz` in an MRZ.
    ///
    /// - Parameter isPrefix: The MRZ may have cut the name (Doc 9303-3 §4.6): then its beginning is enough.
    static func spells(_ printed: String, _ mrz: String, isPrefix: Bool = false) -> Bool {
        let printed = Array(printed)
        let mrz = Array(mrz)
        // A letter is spelt with at least one, and with three at most.
        guard isPrefix || (printed.count...3 * printed.count).contains(mrz.count) else { return false }
        // Positions in the MRZ's text that some spelling of the printed letters so far reaches.
        var reached: Set<Int> = [0]
        for letter in printed {
            if isPrefix, reached.contains(mrz.count) { return true }
            var next: Set<Int> = []
            for spelling in self.alternatives(letter) {
                for start in reached where start + spelling.count <= mrz.count {
                    if Array(mrz[start..<start + spelling.count]) == spelling { next.insert(start + spelling.count) }
                }
            }
            reached = next
            if reached.isEmpty { return false }
        }
        return reached.contains(mrz.count)
    }

    private static func alternatives(_ letter: Character) -> [[Character]] {
        if let known = self.spellings[letter] { return known }
        // A digit among letters stands for the letter that it resembles.
        if let digit = letter.wholeNumberValue {
            return ["0": ["O"], "1": ["I", "L"], "2": ["Z"], "5": ["S"], "6": ["G"], "8": ["B"]][
                String(digit), default: []
            ]
            .map { [$0] }
        }
        if letter.isASCII { return [[letter]] }
        let plain = String(letter).decomposedStringWithCanonicalMapping.unicodeScalars.filter { $0.isASCII }
        return plain.isEmpty ? [] : [plain.map(Character.init)]
    }

    /// Whether some words of `text`, one after another, spell `name` (words separated by blanks).
    static func holds(_ text: String, name: String, isTruncated: Bool) -> Bool {
        let words = self.words(text)
        let target = name.filter { $0 != " " }
        guard !target.isEmpty else { return false }
        for start in words.indices {
            var run = ""
            for word in words[start...] where run.count <= target.count {
                run += word
                if self.spells(run, target) { return true }
            }
            // A long name that the MRZ had no room for.
            if isTruncated, run.count >= target.count, self.spells(run, target, isPrefix: true) { return true }
        }
        return false
    }

    /// The characters of `text` that spell `name`, words one after another; `nil` if none do.
    static func run(_ text: String, name: String) -> Range<Int>? {
        let target = name.filter { $0 != " " }
        let characters = Array(text)
        var starts: [Int] = []
        for index in characters.indices where characters[index].isLetter || characters[index].isNumber {
            if index == 0 || !characters[index - 1].isLetter && !characters[index - 1].isNumber { starts.append(index) }
        }
        guard !target.isEmpty else { return nil }
        for start in starts {
            var end = start
            var run = ""
            while end < characters.count {
                let character = characters[end]
                end += 1
                if character.isLetter || character.isNumber { run.append(contentsOf: character.uppercased()) }
                let isWordEnd = end == characters.count || !characters[end].isLetter && !characters[end].isNumber
                guard isWordEnd, character.isLetter || character.isNumber else { continue }
                if self.spells(run, target) { return start..<end }
                if run.count > target.count + 3 { break }
            }
        }
        return nil
    }

    /// States that write Ø and Æ where others write Ö and Ä.
    private static let nordic: Set<String> = ["DNK", "NOR", "FRO", "GRL"]

    /// `printed` with the diacritics that its MRZ proves: MULLER for MUELLER is MÜLLER, since the recogniser may miss an accent and
    /// Doc 9303-3 §6.A spells no other letter so.
    static func deduced(_ printed: String, name: String, state: String?) -> String {
        let isNordic = state.map { self.nordic.contains($0) } ?? false
        let proofs: [Character: [(spelling: String, letter: Character)]] = [
            "A": [("AA", "Å")] + (isNordic ? [] : [("AE", "Ä")]), "O": [("OE", isNordic ? "Ø" : "Ö")],
            "U": [("UE", "Ü"), ("UXX", "Ü")], "N": [("NXX", "Ñ")],
        ]
        let letters = Array(printed)
        let target = Array(name.filter { $0 != " " })
        // The letters chosen so far, or nothing if the rest cannot be spelt so.
        func rest(_ index: Int, _ position: Int) -> [Character]? {
            guard index < letters.count else { return position == target.count ? [] : nil }
            let letter = letters[index]
            guard letter.isLetter else { return rest(index + 1, position).map { [letter] + $0 } }
            let upper = Character(String(letter.uppercased().prefix(1)))
            for spelling in self.alternatives(upper) where target[position...].starts(with: spelling) {
                guard let tail = rest(index + 1, position + spelling.count) else { continue }
                let proof = proofs[upper]?.first { Array($0.spelling) == spelling }
                guard let proof else { return [letter] + tail }
                return [letter.isUppercase ? proof.letter : Character(proof.letter.lowercased())] + tail
            }
            return nil
        }
        return rest(0, 0).map { String($0) } ?? printed
    }

    /// Whether `text` shows `number`, blanks and punctuation left out.
    static func holds(_ text: String, number: String) -> Bool {
        let wanted = self.folded(number)
        guard wanted.count >= 4 else { return false }
        return self.folded(text).contains(wanted)
    }
}

extension Character {
    /// Whether it is a letter or a digit. Most text is ASCII, which needs no table of Unicode's.
    var isPartOfWord: Bool {
        guard let ascii = self.asciiValue else { return self.isLetter || self.isNumber }
        switch ascii {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            return true
        default: return false
        }
    }
}
