/// The labels next to or above a field, found in a line that may have been read with a few wrong letters.
enum VIZLabel {
    /// One label in a line.
    struct Mark: Hashable {
        /// `nil` for a label of something else, a signature or a height for example.
        var field: VIZField?
        /// The position of its characters in the line.
        var characters: Range<Int>
        var letters: Int
    }

    // MARK: Names

    private struct Name {
        var field: VIZField?
        var letters: [UInt8]
        var mask: UInt32
        /// Letters that may be misread.
        var errors: Int
    }

    /// Shorter names are common words, or parts of them: they must be a whole part of the line, without any wrong letter.
    private static let leastLetters = 7

    private static let all: [Name] = {
        let listed =
            Self.names.flatMap { field, names in names.map { (Optional(field), $0) } }
            + Self.others.map { (VIZField?.none, $0) }
        return listed.map { field, name in
            let letters = Self.folded(name).flatMap { $0 }
            return Name(field: field, letters: letters, mask: Self.mask(letters[...]), errors: letters.count / 6)
        }
    }()

    private static let long = Self.all.filter { $0.letters.count >= Self.leastLetters }
    private static let short: [[UInt8]: VIZField?] = Dictionary(
        Self.all.filter { $0.letters.count < Self.leastLetters }.map { ($0.letters, $0.field) }
    ) { first, _ in first }

    /// Short names that count as a label only if the same line names the field again in another language.
    private static let doubtful = Set(Self.short.keys).subtracting(Self.clear)
    private static let clear: Set<[UInt8]> = Set(
        [
            "SEX", "SEXE", "SEXO", "SESSO", "DOB", "EXP", "ISS", "DLN", "LIC", "FN", "LN", "DL", "EYES", "HGT", "WGT",
            "HAIR", "REST", "END", "DD", "REV", "CLASS", "TYPE", "GENDER", "EXPIRY", "ISSUED", "HEIGHT", "TAILLE",
            "FIRMA", "PRENOM", "PESEL", "DONOR",
        ].map { Self.folded($0).flatMap { $0 } })

    // MARK: Letters

    private static let base: [Character: String] = [
        "Ł": "L", "Đ": "D", "Ð": "D", "Ø": "O", "Æ": "AE", "Œ": "OE", "ß": "SS", "ẞ": "SS", "Þ": "TH", "Ə": "E",
        "ı": "I", "Ħ": "H", "Ŧ": "T",
    ]

    /// The words of a text as letters; letters that look alike in small print are made equal.
    private static func folded(_ text: String) -> [[UInt8]] {
        VIZText.words(text).map { Self.fold($0) }.filter { !$0.isEmpty }
    }

    private static func fold(_ word: String) -> [UInt8] {
        // A number is no word, nor is a field's number.
        guard word.contains(where: \.isLetter), word.count > 2 || word.allSatisfy(\.isLetter) else { return [] }
        var letters: [UInt8] = []
        for character in word.uppercased() {
            let plain = VIZText.ascii(
                character.isASCII ? String(character) : Self.base[character] ?? String(character))
            for scalar in plain.unicodeScalars {
                let letter: UInt8 =
                    switch scalar {
                    case "L", "1", "|", "!": UInt8(ascii: "I")
                    case "0", "Q": UInt8(ascii: "O")
                    case "5": UInt8(ascii: "S")
                    case "8": UInt8(ascii: "B")
                    default: UInt8(scalar.value)
                    }
                guard (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(letter) else { continue }
                // `rn` and `m` look the same.
                if letter == UInt8(ascii: "N"), letters.last == UInt8(ascii: "R") {
                    letters[letters.count - 1] = UInt8(ascii: "M")
                } else {
                    letters.append(letter)
                }
            }
        }
        return letters
    }

    private static func mask(_ letters: ArraySlice<UInt8>) -> UInt32 {
        letters.reduce(0) { $0 | 1 << UInt32($1 - UInt8(ascii: "A")) }
    }

    // MARK: Lines

    private struct Word {
        var letters: [UInt8]
        var characters: Range<Int>
        /// Which part of the line it stands in: parts are separated by slashes and the like.
        var part: Int
    }

    private static func words(_ text: String) -> [Word] {
        var words: [Word] = []
        var current = ""
        var start = 0
        var part = 0
        func close(_ end: Int) {
            let letters = Self.fold(current)
            if !letters.isEmpty { words.append(Word(letters: letters, characters: start..<end, part: part)) }
            current = ""
        }
        for (index, character) in text.enumerated() {
            if VIZText.isApostrophe(character) { continue }
            if character.isPartOfWord {
                if current.isEmpty { start = index }
                current.append(character)
                continue
            }
            close(index)
            if "/|:;,()·•".contains(character) { part += 1 }
        }
        close(text.count)
        return words
    }

    /// Every label in `text`, from left to right; none if the text is a value that happens to have a label's word.
    static func marks(_ text: String) -> [Mark] { VIZMemo.value(of: text, in: \.marks, Self.search) }

    private static func search(_ text: String) -> [Mark] {
        let words = Self.words(text)
        guard !words.isEmpty else { return [] }
        var found: [(mark: Mark, errors: Int, isDoubtful: Bool)] = []
        for first in words.indices {
            var letters: [UInt8] = []
            for last in first..<words.count {
                letters += words[last].letters
                let characters = words[first].characters.lowerBound..<words[last].characters.upperBound
                if letters.count < Self.leastLetters {
                    let isWhole =
                        (first == 0 || words[first - 1].part != words[first].part)
                        && (last + 1 == words.count || words[last + 1].part != words[last].part)
                        && words[first].part == words[last].part
                    if isWhole || first == 0, let field = Self.short[letters] {
                        let mark = Mark(field: field, characters: characters, letters: letters.count)
                        found.append((mark, 0, Self.doubtful.contains(letters)))
                    } else if isWhole, let last = words.last, last.part > words[0].part,
                        let field = Self.almost(letters)
                    {
                        // One wrong letter, next to the field's name in another language.
                        found.append((Mark(field: field, characters: characters, letters: letters.count), 1, true))
                    }
                }
                if letters.count + 1 >= Self.leastLetters, let near = Self.nearest(letters) {
                    found.append(
                        (Mark(field: near.field, characters: characters, letters: letters.count), near.errors, false))
                }
                if letters.count > 40 { break }
            }
        }
        // The best first: fewer wrong letters, then more letters.
        found.sort { ($0.errors, -$0.mark.letters) < ($1.errors, -$1.mark.letters) }
        var marks: [Mark] = []
        for candidate in found where !candidate.isDoubtful {
            guard !marks.contains(where: { $0.characters.overlaps(candidate.mark.characters) }) else { continue }
            marks.append(candidate.mark)
        }
        for candidate in found where candidate.isDoubtful {
            let others = marks + found.filter { $0.isDoubtful && $0.mark != candidate.mark }.map(\.mark)
            guard others.contains(where: { $0.field == candidate.mark.field && $0.field != nil }),
                !marks.contains(where: { $0.characters.overlaps(candidate.mark.characters) })
            else { continue }
            marks.append(candidate.mark)
        }
        return marks.sorted { $0.characters.lowerBound < $1.characters.lowerBound }
    }

    /// The field of the only short name that differs from `letters` in one; `nil` if those are of several fields.
    private static func almost(_ letters: [UInt8]) -> VIZField? {
        guard letters.count >= 5 else { return nil }
        let fields = Set(
            Self.short.filter { name, _ in
                name.count >= 5 && abs(name.count - letters.count) <= 1
                    && Self.distance(name, letters, most: 1) != nil
            }.map(\.value))
        return fields.count == 1 ? fields.first ?? nil : nil
    }

    /// The name of a label that `letters` are, of all with the fewest wrong letters; `nil` if those are of several fields.
    private static func nearest(_ letters: [UInt8]) -> (field: VIZField?, errors: Int)? {
        let mask = Self.mask(letters[...])
        var best: (field: VIZField?, errors: Int)?
        var isTie = false
        for name in Self.long {
            let most = min(name.errors, best?.errors ?? name.errors)
            guard abs(name.letters.count - letters.count) <= most,
                (name.mask & ~mask).nonzeroBitCount <= most, (mask & ~name.mask).nonzeroBitCount <= most,
                let errors = Self.distance(name.letters, letters, most: most)
            else { continue }
            if let known = best, known.errors == errors {
                if known.field != name.field { isTie = true }
                continue
            }
            best = (name.field, errors)
            isTie = false
        }
        return isTie ? nil : best
    }

    /// Insertions, deletions and substitutions from one to the other; `nil` for more than `most`.
    static func distance(_ left: [UInt8], _ right: [UInt8], most: Int) -> Int? {
        if most == 0 { return left == right ? 0 : nil }
        var row = Array(0...right.count)
        for (index, letter) in left.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            var least = row[0]
            for column in right.indices {
                let substituted = diagonal + (letter == right[column] ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(substituted, row[column] + 1, diagonal + 1)
                least = min(least, row[column + 1])
            }
            if least > most { return nil }
        }
        return row[right.count] <= most ? row[right.count] : nil
    }

    /// The field that `text` names; `nil` for a value, or if `text` names several fields.
    static func field(_ text: String) -> VIZField? {
        guard Self.isLabel(text) else { return nil }
        let fields = Set(Self.marks(text).map(\.field))
        return fields.count == 1 ? fields.first ?? nil : nil
    }

    /// Whether the line consists of labels and nothing else that counts.
    static func isLabel(_ text: String) -> Bool { Self.isLabel(text, marks: Self.marks(text)) }

    static func isLabel(_ text: String, marks: [Mark]) -> Bool {
        guard !marks.isEmpty else { return false }
        let words = Self.words(text)
        let other = words.filter { word in !marks.contains { $0.characters.overlaps(word.characters) } }
        let characters = Array(text)
        // Labels have no numbers except the field's number, and a value follows a colon.
        guard !other.contains(where: { characters[$0.characters].count(where: \.isNumber) > 1 }) else { return false }
        if let colon = characters.lastIndex(of: ":"), other.contains(where: { $0.characters.lowerBound > colon }) {
            return false
        }
        let total = words.reduce(0) { $0 + $1.letters.count }
        let named = marks.reduce(0) { $0 + $1.letters }
        if 10 * named >= 6 * total { return true }
        // One language may be unknown, or misread.
        let parts = Dictionary(grouping: words, by: \.part)
        guard parts.count > 1 else { return false }
        return parts.values.contains { part in
            let letters = part.reduce(0) { $0 + $1.letters.count }
            let covered = marks.filter { mark in part.contains { $0.characters.overlaps(mark.characters) } }
                .reduce(0) { $0 + $1.letters }
            return letters >= 6 && 10 * covered >= 9 * letters
        }
    }

    /// Whether the line consists only of labels, one of which names a field; labels in unknown languages are allowed.
    ///
    /// Stricter than ``isLabel(_:)``, for text that need be of no document: CLASS OF 2024 and PORT AUTHORITY have a label's word.
    static func isNothingElse(_ text: String) -> Bool {
        let marks = Self.marks(text)
        guard Self.isLabel(text, marks: marks), marks.contains(where: { $0.field != nil }),
            text.count(where: \.isNumber) <= 2
        else { return false }
        return Dictionary(grouping: Self.words(text), by: \.part).values.allSatisfy { part in
            let named = part.count { word in marks.contains { $0.characters.overlaps(word.characters) } }
            return named == 0 || named == part.count
        }
    }

    /// Upper-case words without accents.
    static func plain(_ text: String) -> [String] {
        VIZMemo.value(of: text, in: \.plainWords) { VIZText.words($0).map { VIZText.ascii($0) } }
    }
}
