import Testing

@testable import InspectCore

/// Scanners of VIZ text beside the regular expressions that say what they find.
@Suite struct VIZScannerTests {
    /// Short texts of the characters that dates consist of, so that many of them nearly are one.
    private static func texts(_ alphabet: String, count: Int, seed: UInt64) -> [String] {
        var random = SplitMix64(seed: seed)
        let characters = Array(alphabet)
        return (0..<count).map { _ in
            String((0..<Int.random(in: 0...14, using: &random)).map { _ in characters.randomElement(using: &random)! })
        }
    }

    @Test func `The first day in numbers is where the expression finds it`() {
        for text in Self.texts("0123..//--. Aé٣", count: 20_000, seed: 1) {
            let match = text.firstMatch(of: /[0-9]{1,2}([.\/-])[0-9]{1,2}\1([0-9]{4}|[0-9]{2})(?![0-9])/)
            let expected = match.map { match in
                text.distance(
                    from: text.startIndex, to: match.range.lowerBound)..<text.distance(
                        from: text.startIndex, to: match.range.upperBound)
            }
            #expect(VIZDate.range(text) == expected, "\(text)")
        }
    }

    @Test(arguments: [
        ("3. 03.02.1991 KRAKÓW", 3..<13), ("4aiss01/06/2015", 5..<15), ("1-2-99", 0..<6), ("123.4.2020", 1..<10),
    ])
    func `A day is found in its line`(text: String, characters: Range<Int>) {
        #expect(VIZDate.range(text) == characters)
    }

    @Test(arguments: ["01.02.20201", "01.02-2020", "1.2.202", "001/02", "", "."])
    func `What is no day in numbers is not found`(text: String) {
        #expect(VIZDate.range(text) == nil)
    }

    @Test func `Days between full stops are recognised as by the expression`() {
        for text in Self.texts("012...  A", count: 20_000, seed: 2) {
            #expect(VIZDate.hasFullStops(text) == text.contains(/[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{2}/), "\(text)")
        }
    }

    @Test(arguments: [
        ("YOUR CITY WA 99999-1234", true), ("TORONTO, ON M4B 1B3", true), ("BIGTOWN, MA, 02801", true),
        ("51147 KÖLN", false), ("MAIN STREET 7", false), ("BIGTOWN, MA", false),
    ])
    func `A line with city, state and code is told from others`(text: String, isCity: Bool) {
        #expect(VIZAddress.isAmericanCity(text) == isCity)
    }
}
