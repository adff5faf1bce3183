/// An address as printed, split into its parts if its lines make clear which is which.
struct VIZAddress: Hashable {
    var street: String?
    var city: String?
    var subdivision: String?
    var postalCode: String?

    /// - Parameter text: The printed lines.
    init?(_ text: String) {
        var lines = text.split(separator: "\n").map { Self.numbered($0.trimmingBlanks) }.filter { !$0.isEmpty }
        guard !lines.isEmpty else { return nil }
        // `KOELN, HEIDESTR. 17`: on one line, commas separate what others print on two.
        if lines.count == 1, Self.american(lines[0]) == nil {
            let parts = lines[0].split(separator: ",").map { $0.trimmingBlanks }.filter { !$0.isEmpty }
            // A town stands after the comma only if its postal code says so: `12 HIGH STREET, FLAT B`.
            if parts.count == 2,
                parts.contains(where: { Self.european($0) != nil })
                    || !Self.hasHouseNumber(parts[0]) && !Self.isPartOfHouse(parts[0])
            {
                lines = parts
            }
        }
        if let last = lines.last, let american = Self.american(last) {
            (self.city, self.subdivision, self.postalCode) = american
            lines.removeLast()
        } else if let index = lines.firstIndex(where: { Self.european($0) != nil }),
            let (code, city) = Self.european(lines[index])
        {
            (self.postalCode, self.city) = (code, city)
            lines.remove(at: index)
        } else if lines.count == 2, let number = lines.firstIndex(where: Self.hasHouseNumber),
            !Self.hasHouseNumber(lines[1 - number]), !Self.isPartOfHouse(lines[1 - number])
        {
            self.city = lines.remove(at: 1 - number)
        }
        self.street = lines.isEmpty ? nil : lines.joined(separator: ", ")
    }

    /// Words of digits and O alone are numbers: many fonts print O and 0 alike.
    private static func numbered(_ line: String) -> String {
        line.split(separator: " ", omittingEmptySubsequences: false).map { word in
            let isNumber = word.contains(where: \.isNumber) && word.allSatisfy { $0.isNumber || "O,-".contains($0) }
            return String(isNumber ? word.replacing("O", with: "0") : word)
        }.joined(separator: " ")
    }

    /// `BIGTOWN, MA, 02801`, `YOUR CITY WA 99999-1234`, `TORONTO, ON M4B 1B3`
    private static func american(_ line: String) -> (String?, String?, String?)? {
        // Nearly every line fails here, and a regular expression is compiled at each use.
        guard line.last?.isNumber == true else { return nil }
        let pattern =
            /^(?<city>[\p{L} .'-]+?)[,.]? +(?<state>[A-Z]{2})[,.]? *(?<code>[0-9]{5}(-[0-9]{4})?|[A-Z][0-9][A-Z] ?[0-9][A-Z][0-9])$/
        guard let match = line.wholeMatch(of: pattern) else { return nil }
        return (String(match.city), String(match.state), String(match.code))
    }

    static func isAmericanCity(_ line: String) -> Bool { self.american(line) != nil }

    static func isEuropeanCity(_ line: String) -> Bool {
        line.first.map { $0.isNumber || $0.isLetter } == true && line.contains(where: \.isNumber)
            && self.european(line) != nil
    }

    /// `51147 KÖLN`, `L-1466 LUXEMBOURG`, `110 00 PRAHA 1`, `00-950 WARSZAWA`, `1012 AB AMSTERDAM`
    private static func european(_ line: String) -> (String, String)? {
        let pattern =
            /^(?<code>([A-Z]{1,2}-)?([0-9]{4,6}|[0-9]{3} [0-9]{2}|[0-9]{2}-[0-9]{3}|[0-9]{4} ?[A-Z]{2})) (?<city>\p{L}[\p{L}0-9 .'\/()-]*)$/
        guard let match = line.wholeMatch(of: pattern) else { return nil }
        // `1012 MARKET STREET` is no city: states with four digits before a name have a street without a number above.
        return (String(match.code), String(match.city))
    }

    /// `FLAT B`, which some documents print before the street.
    private static func isPartOfHouse(_ line: String) -> Bool {
        let words: Set = ["FLAT", "APARTMENT", "APT", "UNIT", "SUITE", "ROOM", "FLOOR", "BLOCK"]
        return VIZLabel.plain(line).contains(where: words.contains)
    }

    /// `HEIDESTR. 17`, `17 MAIN STREET`
    private static func hasHouseNumber(_ line: String) -> Bool {
        let words = line.split(separator: " ")
        return words.count > 1 && [words[0], words[words.count - 1]].contains { $0.first?.isNumber == true }
    }
}
