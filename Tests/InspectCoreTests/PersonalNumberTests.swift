import Testing

@testable import InspectCore

/// Personal numbers in the optional data of cards. The numbers are computed for these tests.
@Suite struct PersonalNumberTests {
    private static let today = CalendarDate(year: 2026, month: 6, day: 1)

    private func card(_ state: String, _ first: String, birth: String, second: String = "") -> MRZDocument {
        func filled(_ text: String, _ count: Int) -> String {
            text + String(repeating: "<", count: count - text.count)
        }
        let lines = [
            "I<" + filled(state, 3) + "AB12345670" + filled(first, 15),
            birth + "0F3001010" + filled(state, 3) + filled(second, 11) + "0",
            filled("SPECIMEN<<ANNA", 30),
        ]
        return MRZDocument(lines: lines, today: Self.today)!
    }

    @Test(arguments: [
        ("EST", "47101010033", "710101"), ("HRV", "12345678903", "710101"), ("TUR", "10000000146", "710101"),
        ("ESP", "12345678Z", "710101"), ("NLD", "111222333", "710101"), ("SRB", "0101971710005", "710101"),
        ("UKR", "1971010100026", "710101"), ("LVA", "010171<10001", "710101"),
    ])
    func `A card's optional data give the personal number that the state's rule proves`(
        state: String, number: String, birth: String
    ) {
        let data = self.card(state, number, birth: birth)
        #expect(PersonalNumber.find(in: data) == number.filter { $0 != "<" })
    }

    @Test func `Belgium's number stands in the second line`() {
        let body = 710_101_001
        let number = "\(body)" + "\(97 - body % 97)"
        #expect(PersonalNumber.find(in: self.card("BEL", "", birth: "710101", second: number)) == number)
    }

    @Test(arguments: [
        ("EST", "47101010034"), ("HRV", "12345678904"), ("ESP", "12345678A"), ("SRB", "0201971710004"),
        ("UTO", "12345678903"), ("HRV", ""),
    ])
    func `Optional data that no rule proves are no personal number`(state: String, number: String) {
        #expect(PersonalNumber.find(in: self.card(state, number, birth: "710101")) == nil)
    }
}
