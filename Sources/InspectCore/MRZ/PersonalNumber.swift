/// Personal numbers that states put into the optional data of cards (TD1, TD2) by their own rules; Doc 9303 leaves the use of
/// these characters to the state.
///
/// A number is taken only if the state's rule proves it: by its check digit, or by the date of birth within.
enum PersonalNumber {
    /// - Returns: `nil` if the state's cards have none there, or the rule does not hold.
    static func find(in mrz: MRZDocument) -> String? {
        guard mrz.format == .td1 || mrz.format == .td2, let rule = self.rules[mrz.issuingState] else { return nil }
        let birth = Birth(mrz)
        for data in mrz.optionalData {
            let text = data.filter { $0 != " " }
            if let birth, rule(text, birth) { return text }
        }
        return nil
    }

    /// The date of birth as the MRZ prints it: `YYMMDD`.
    struct Birth {
        var digits: String
        var year: Int?
        var ddmm: String { String(self.digits.suffix(2) + self.digits.dropFirst(2).prefix(2)) }

        init?(_ mrz: MRZDocument) {
            guard let span = MRZLayout(mrz.format).birth else { return nil }
            self.digits = MRZText.string(Array(mrz.lines[span.line].utf8)[span.range])
            self.year = mrz.birthDate?.date?.year
            guard self.digits.count == 6, self.digits.allSatisfy(\.isNumber) else { return nil }
        }
    }

    private typealias Rule = @Sendable (String, Birth) -> Bool

    private static let rules: [String: Rule] = [
        "ALB": albania, "BEL": belgium, "BGR": bulgaria, "BIH": jmbg, "CZE": czechia, "ESP": spain, "EST": baltic,
        "HRV": croatia, "KAZ": birthFirst(12), "LTU": baltic, "LVA": latvia, "MKD": jmbg, "MNE": jmbg,
        "NLD": netherlands,
        "POL": poland, "ROU": romania, "SRB": jmbg, "SVK": czechia, "SVN": jmbg, "TUR": turkey, "UKR": ukraine,
    ]

    private static func digits(_ text: String, _ count: Int) -> [Int]? {
        let values = text.compactMap(\.wholeNumberValue)
        return text.count == count && values.count == count && text.allSatisfy(\.isASCII) ? values : nil
    }

    private static func sum(_ digits: some Sequence<Int>, _ weights: [Int]) -> Int {
        zip(digits, weights).reduce(0) { $0 + $1.0 * $1.1 }
    }

    /// Isikukood and asmens kodas: century and sex, YYMMDD, three digits, a check digit.
    private static let baltic: Rule = { text, birth in
        guard let digits = digits(text, 11), text.dropFirst().hasPrefix(birth.digits) else { return false }
        let first = sum(digits, [1, 2, 3, 4, 5, 6, 7, 8, 9, 1]) % 11
        let second = sum(digits, [3, 4, 5, 6, 7, 8, 9, 1, 2, 3]) % 11 % 10
        return digits[10] == (first < 10 ? first : second)
    }

    /// Personas kods: DDMMYY, a dash or blank, five digits.
    private static let latvia: Rule = { text, birth in
        digits(text, 11) != nil && text.hasPrefix(birth.ddmm + birth.digits.prefix(2))
    }

    /// JMBG and EMŠO: DDMMYYY, six digits of which the last checks.
    private static let jmbg: Rule = { text, birth in
        guard let digits = digits(text, 13), text.hasPrefix(birth.ddmm),
            text.dropFirst(5).hasPrefix(birth.digits.prefix(2))
        else { return false }
        let rest = 11 - sum(digits, [7, 6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11
        return digits[12] == (rest > 9 ? 0 : rest)
    }

    /// OIB: ISO 7064, MOD 11,10.
    private static let croatia: Rule = { text, _ in
        guard let digits = digits(text, 11) else { return false }
        let rest = digits.dropLast().reduce(10) { rest, digit in
            let sum = (rest + digit) % 10
            return (sum == 0 ? 10 : sum) * 2 % 11
        }
        return (11 - rest) % 10 == digits[10]
    }

    /// Numéro national: YYMMDD, three digits, and 97 less the remainder; births from 2000 on are computed with a 2 in front.
    private static let belgium: Rule = { text, birth in
        guard digits(text, 11) != nil, text.hasPrefix(birth.digits), let body = Int(text.prefix(9)),
            let check = Int(text.suffix(2))
        else { return false }
        return check == 97 - ((birth.year ?? 0) >= 2000 ? body + 2_000_000_000 : body) % 97
    }

    /// EGN: YYMMDD with 40 added to the month from 2000 on.
    private static let bulgaria: Rule = { text, birth in
        guard let digits = digits(text, 10), text.hasPrefix(birth.digits.prefix(2)),
            text.dropFirst(4).hasPrefix(birth.digits.suffix(2))
        else { return false }
        return sum(digits, [2, 4, 8, 5, 10, 9, 7, 3, 6]) % 11 % 10 == digits[9]
    }

    /// Rodné číslo: YYMMDD with 50 added to a woman's month, four digits; a multiple of 11.
    private static let czechia: Rule = { text, birth in
        guard digits(text, 10) != nil, let number = Int(text) else { return false }
        return text.hasPrefix(birth.digits.prefix(2)) && text.dropFirst(4).hasPrefix(birth.digits.suffix(2))
            && number % 11 == 0
    }

    /// PESEL: YYMMDD with the century in the month.
    private static let poland: Rule = { text, birth in
        guard let digits = digits(text, 11), text.hasPrefix(birth.digits.prefix(2)),
            text.dropFirst(4).hasPrefix(birth.digits.suffix(2))
        else { return false }
        return (10 - sum(digits, [1, 3, 7, 9, 1, 3, 7, 9, 1, 3]) % 10) % 10 == digits[10]
    }

    /// CNP: century and sex, YYMMDD, six digits of which the last checks.
    private static let romania: Rule = { text, birth in
        guard let digits = digits(text, 13), text.dropFirst().hasPrefix(birth.digits) else { return false }
        let rest = sum(digits, [2, 7, 9, 1, 4, 6, 3, 5, 8, 2, 7, 9]) % 11
        return digits[12] == (rest == 10 ? 1 : rest)
    }

    /// T.C. kimlik numarası: two check digits.
    private static let turkey: Rule = { text, _ in
        guard let digits = digits(text, 11), digits[0] != 0 else { return false }
        let odd = digits[0] + digits[2] + digits[4] + digits[6] + digits[8]
        let even = digits[1] + digits[3] + digits[5] + digits[7]
        return ((odd * 7 - even) % 10 + 10) % 10 == digits[9] && digits.prefix(10).reduce(0, +) % 10 == digits[10]
    }

    /// DNI or NIE: eight characters and a letter that follows from them.
    private static let spain: Rule = { text, _ in
        let letters = Array("TRWAGMYFPDXBNJZSQVHLCKE")
        guard text.count == 9, let last = text.last, let first = text.first else { return false }
        let body = (["X": "0", "Y": "1", "Z": "2"][first] ?? String(first)) + text.dropFirst().dropLast()
        return Int(body).map { letters[$0 % 23] == last } ?? false
    }

    /// Burgerservicenummer: nine digits that pass the test of eleven.
    private static let netherlands: Rule = { text, _ in
        digits(text, 9).map { sum($0, [9, 8, 7, 6, 5, 4, 3, 2, -1]) % 11 == 0 } ?? false
    }

    /// A letter for the decade, YMMDD with 50 added to a woman's month, three digits, a letter.
    private static let albania: Rule = { text, birth in
        let characters = Array(text)
        guard characters.count == 10, characters[0].isLetter, characters[9].isLetter,
            characters[1...8].allSatisfy(\.isNumber)
        else { return false }
        return characters[1] == Array(birth.digits)[1] && String(characters[4...5]) == birth.digits.suffix(2)
    }

    /// The record's number: YYYYMMDD and five digits.
    private static let ukraine: Rule = { text, birth in
        digits(text, 13) != nil && text.dropFirst(2).hasPrefix(birth.digits)
    }

    private static func birthFirst(_ count: Int) -> Rule {
        { text, birth in digits(text, count) != nil && text.hasPrefix(birth.digits) }
    }
}
