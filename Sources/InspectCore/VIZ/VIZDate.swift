import Foundation

/// Dates as documents print them.
enum VIZDate {
    /// The first three letters of months, accents dropped, in the languages of Europe and the Americas that write Latin
    /// letters. A word that names different months in different languages stands for each of them.
    private static let months: [String: Set<Int>] = {
        let names = [
            1: "JAN GEN ENE JAA STY LED SIJ IAN YAN OCA JAU", 2: "FEB FEV HEL LUT UNO VEL SUB FEV",
            3: "MAR MRT MRZ MAE MAA BRE OZU TRA MAC", 4: "APR AVR ABR HUH KWI DUB AVI NIS TRA",
            5: "MAI MAY MEI MAG TOU MAJ KVE SVI MAE", 6: "JUN JUI GIU KES CZE LIP HAZ CER",
            7: "JUL JUI LUG HEI LIP SRP TEM CER", 8: "AUG AOU AGO ELO SIE SRP KOL AGU KOV",
            9: "SEP SET SYY WRZ ZAR RUJ EYL ZAR", 10: "OCT OKT OTT OUT LOK PAZ RIJ LIS EKI OUG",
            11: "NOV MAR LIS STU KAS NOE", 12: "DEC DEZ DIC JOU GRU PRO ARA DES",
        ]
        var table: [String: Set<Int>] = [:]
        for (month, words) in names {
            for word in words.split(separator: " ") { table[String(word), default: []].insert(month) }
        }
        return table
    }()

    /// Whether day or month stands first if both are numbers.
    enum Order: Hashable {
        case dayFirst
        case monthFirst
    }

    /// The order of all dates of a document, where one of them has a number that is no month; full stops are written where days
    /// stand first.
    static func order(_ texts: [String]) -> Order? {
        var found: Set<Order> = []
        for text in texts {
            let (day, month) = (self.readings(text, order: .dayFirst), self.readings(text, order: .monthFirst))
            if day.isEmpty != month.isEmpty { found.insert(month.isEmpty ? .dayFirst : .monthFirst) }
        }
        if found.isEmpty, texts.contains(where: self.hasFullStops) { return .dayFirst }
        return found.count == 1 ? found.first : nil
    }

    // Scanners by hand: a regular expression is compiled anew for every line, which took most of a document's decision.

    /// Whether a day, a month and a year stand in numbers between full stops.
    static func hasFullStops(_ text: String) -> Bool {
        let characters = text.map { $0.asciiValue ?? 0 }
        return characters.indices.contains { first in
            guard characters[first] == UInt8(ascii: "."), first > 0, self.isDigit(characters[first - 1]) else {
                return false
            }
            let second = first + 1 + self.digits(characters[(first + 1)...])
            return (first + 2...first + 3).contains(second) && second < characters.count
                && characters[second] == UInt8(ascii: ".") && self.digits(characters[(second + 1)...]) >= 2
        }
    }

    /// Whether `text` is a day's numbers and nothing else, and no calendar has that day, whether day or month stands first.
    ///
    /// Zeros are unknown parts, and years far off are other eras or no limit. Nepal's months have up to 32 days, which no other
    /// state's have, and a month of another calendar may have more days than the Gregorian one.
    ///
    /// - Parameter state: The issuing state by the MRZ.
    static func isOfNoCalendar(_ text: String, state: String? = nil) -> Bool {
        let parts = text.split(separator: text.first { "./-".contains($0) } ?? "/", omittingEmptySubsequences: false)
        guard parts.map(\.count) == [2, 2, 4],
            parts.allSatisfy({ $0.allSatisfy { $0.isASCII && $0.isNumber } })
        else { return false }
        let numbers = parts.compactMap { Int($0) }
        guard numbers.count == 3, (1900...2099).contains(numbers[2]) else { return false }
        let (less, more) = (min(numbers[0], numbers[1]), max(numbers[0], numbers[1]))
        return less > 0 && (less > 12 || more > (state == "NPL" ? 32 : 31))
    }

    /// The characters of the first day in `text` that is written in numbers alone: one or two digits, a full stop, slash or
    /// hyphen, one or two digits, the same once more, and a year of four or two digits; or the year with four digits first. A
    /// field's number may touch the day.
    static func range(_ text: String) -> Range<Int>? {
        let characters = text.map { $0.asciiValue ?? 0 }
        for begin in characters.indices where begin == 0 || !self.isDigit(characters[begin - 1]) {
            let first = begin + self.digits(characters[begin...])
            guard (1...4).contains(first - begin), first < characters.count,
                [".", "/", "-"].contains(UnicodeScalar(characters[first]))
            else { continue }
            let second = first + 1 + self.digits(characters[(first + 1)...])
            guard (2...3).contains(second - first), second < characters.count, characters[second] == characters[first]
            else { continue }
            let last = self.digits(characters[(second + 1)...])
            let end = second + 1 + last
            // The last two digits of 2017 in 2017-12-07 are no day.
            if first - begin == 4, (1...2).contains(last) { return begin..<end }
            if last == 4 || last == 2, first - begin < 4 || last == 4 { return max(begin, first - 2)..<end }
        }
        return nil
    }

    /// The same for a part of `text`.
    static func range(_ text: String, in part: Range<Int>) -> Range<Int>? {
        self.range(String(text.dropFirst(part.lowerBound).prefix(part.count))).map {
            $0.lowerBound + part.lowerBound..<$0.upperBound + part.lowerBound
        }
    }

    private static func isDigit(_ character: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(character)
    }

    /// How many digits `characters` begin with.
    private static func digits(_ characters: ArraySlice<UInt8>) -> Int { characters.prefix(while: self.isDigit).count }

    /// Every day that a part of `text` may denote; where the order of day and month is ambiguous, both readings.
    static func readings(_ text: String, order: Order? = nil) -> Set<CalendarDate> {
        guard text.utf8.contains(where: self.isDigit) else { return [] }
        let table =
            switch order {
            case nil: 0
            case .dayFirst: 1
            case .monthFirst: 2
            }
        return VIZMemo.value(of: text, in: { $0.days[table] }) { self.days(in: $0, order) }
    }

    private static func days(in text: String, _ order: Order?) -> Set<CalendarDate> {
        var found: Set<CalendarDate> = []
        let tokens = self.tokens(text)
        for start in tokens.indices {
            let numbers = tokens[start...].prefix(3)
            if numbers.count == 3, numbers.allSatisfy(\.isNumber) {
                found.formUnion(self.days(numbers.map(\.text), order))
            }
            // 2005 0501, 200505-01: one of the hyphens was missed.
            if numbers.count > 1, numbers.prefix(2).allSatisfy(\.isNumber) {
                let (first, rest) = (numbers[start].text, numbers[start + 1].text)
                if [[4, 4], [6, 2]].contains([first.count, rest.count]), first.hasPrefix("19") || first.hasPrefix("20")
                {
                    let digits = Array(first + rest)
                    found.formUnion(
                        self.days([String(digits[..<4]), String(digits[4..<6]), String(digits[6...])], order))
                }
            }
            // 30 MAR/MAR 1972, 3 LIP/JUL 2006, 12 AUG 1974, AUG 12 1974
            guard tokens[start].isNumber else { continue }
            let after = tokens[(start + 1)...].prefix { !$0.isNumber }
            let day = Int(tokens[start].text) ?? 0
            if (1...3).contains(after.count), start + after.count + 1 < tokens.count {
                let year = tokens[start + after.count + 1].text
                found.formUnion(self.days(day: day, months: after.map(\.text), year: year))
            }
        }
        // Eight or six digits without any separation.
        for token in tokens where token.isNumber && token.text.count == 8 {
            let digits = Array(token.text)
            let four = [String(digits[0..<2]), String(digits[2..<4]), String(digits[4..<8])]
            found.formUnion(self.days(four, order))
            found.formUnion(self.days([String(digits[0..<4]), String(digits[4..<6]), String(digits[6..<8])], order))
        }
        return found
    }

    private struct Token {
        var text: String
        var isNumber: Bool
    }

    private static func tokens(_ text: String) -> [Token] {
        var tokens: [Token] = []
        var open = false
        for character in text.uppercased() {
            let isNumber = character.asciiValue.map(self.isDigit) ?? false
            guard isNumber || (character.isASCII ? character.isPartOfWord : character.isLetter) else {
                open = false
                continue
            }
            if open, tokens[tokens.count - 1].isNumber == isNumber {
                tokens[tokens.count - 1].text.append(character)
            } else {
                tokens.append(Token(text: String(character), isNumber: isNumber))
            }
            open = true
        }
        return tokens
    }

    private static func days(_ parts: [String], _ order: Order?) -> [CalendarDate] {
        let values = parts.compactMap { Int($0) }
        guard values.count == 3 else { return [] }
        if parts[0].count == 4, parts[1].count <= 2, parts[2].count <= 2 {
            return [CalendarDate(year: values[0], month: values[1], day: values[2])].filter(\.isValid)
        }
        guard parts[0].count <= 2, parts[1].count <= 2 else { return [] }
        return self.years(parts[2]).flatMap { year -> [CalendarDate] in
            let dayFirst = CalendarDate(year: year, month: values[1], day: values[0])
            let monthFirst = CalendarDate(year: year, month: values[0], day: values[1])
            switch order {
            case .dayFirst: return [dayFirst]
            case .monthFirst: return [monthFirst]
            case nil: return [dayFirst, monthFirst]
            }
        }.filter(\.isValid)
    }

    private static func days(day: Int, months words: [String], year: String) -> [CalendarDate] {
        let months = words.map { self.months[self.plain($0), default: []] }.filter { !$0.isEmpty }
        guard let first = months.first else { return [] }
        // Two languages name the same month: keep the months that both allow.
        let both = months.dropFirst().reduce(first) { $0.isDisjoint(with: $1) ? $0.union($1) : $0.intersection($1) }
        return self.years(year).flatMap { year in both.map { CalendarDate(year: year, month: $0, day: day) } }
            .filter(\.isValid)
    }

    private static func plain(_ word: String) -> String {
        VIZText.ascii(word.prefix(3))
    }

    private static func years(_ text: String) -> [Int] {
        guard let value = Int(text) else { return [] }
        switch text.count {
        case 4: return (1900...2099).contains(value) ? [value] : []
        case 2: return [1900 + value, 2000 + value]
        default: return []
        }
    }
}
