/// A document number that continues in the optional data because nine positions do not hold it (Doc 9303-5 §4.2.2
/// note j, -6 §4.2.2 note j): the place of its check digit holds a filler.
struct MRZLongNumber {
    /// Both parts, without check digit.
    var number: String
    /// Characters of the optional data that belong to the number, its check digit and the filler after it included.
    var remainderLength: Int
    /// Whether the check digit holds, with the filler between the parts left out (Doc 9303) or counted (older Belgian
    /// cards).
    var holds: Bool

    /// `nil` unless `lines` are of TD1 or TD2 and carry a long number.
    init?(_ lines: [[UInt8]], format: MRZFormat) {
        let principal: ArraySlice<UInt8>
        let rest: ArraySlice<UInt8>
        switch format {
        case .td1:
            guard lines[0][14] == MRZText.filler else { return nil }
            (principal, rest) = (lines[0][5..<14], lines[0][15..<30])
        case .td2:
            guard lines[1][9] == MRZText.filler else { return nil }
            (principal, rest) = (lines[1][0..<9], lines[1][28..<35])
        default: return nil
        }
        let end = rest.firstIndex(of: MRZText.filler) ?? rest.endIndex
        let remainder = rest[rest.startIndex..<end]
        guard remainder.count >= 2, let digit = remainder.last, MRZText.isDigit(digit),
            !principal.contains(MRZText.filler)
        else { return nil }
        let tail = remainder.dropLast()
        self.number = MRZText.string(principal + tail)
        self.remainderLength = min(remainder.count + 1, rest.count)
        let value = digit - 0x30
        self.holds =
            MRZText.checkDigit(principal + tail) == value
            || MRZText.checkDigit(principal + [MRZText.filler] + tail) == value
    }
}

enum MRZChecks {
    /// Which of the layout's check digits hold for `lines`, which have the layout's lengths.
    static func evaluate(_ lines: [[UInt8]], layout: MRZLayout) -> [MRZCheckKey: Bool] {
        var results: [MRZCheckKey: Bool] = [:]
        for check in layout.checks {
            results[check.key] = Self.holds(check, in: lines)
        }
        if results[.documentNumber] == false {
            for format in [MRZFormat.td1, .td2] where format.lineLengths == lines.map(\.count) {
                if let long = MRZLongNumber(lines, format: format) { results[.documentNumber] = long.holds }
            }
        }
        return results
    }

    private static func holds(_ check: MRZCheck, in lines: [[UInt8]]) -> Bool {
        let digit = lines[check.digit.line][check.digit.range.lowerBound]
        let covered = check.covered.flatMap { lines[$0.line][$0.range] }
        if digit == MRZText.filler {
            // The check digit of an empty optional field may be a filler (Doc 9303-4 §4.2.2.2); so prints of unknown
            // birth dates have it.
            return check.key != .composite && covered.allSatisfy { $0 == MRZText.filler }
        }
        return MRZText.isDigit(digit) && MRZText.checkDigit(covered) == digit - 0x30
    }
}
