import Testing

@testable import InspectCore

struct MRZTextTests {
    /// Worked examples of ICAO Doc 9303-3 Appendix A and the specimens of parts 4 to 6.
    @Test(arguments: [
        ("520727", 3), ("AB2134<<<", 5), ("HA672242<", 6), ("HA672242<658022549601086<<<<<<<<<<<<<<0", 8),
        ("L898902C3", 6), ("740812", 2), ("120415", 9), ("ZE184226B<<<<<", 1), ("<<<<<<<<<<<<<<", 0),
    ])
    func `Check digits match the examples of Doc 9303`(text: String, digit: Int) {
        #expect(MRZText.checkDigit(text.utf8) == UInt8(digit))
    }

    @Test func `Fillers become spaces inside words and vanish at the ends`() {
        #expect(MRZText.words(Array("<<AB<<C<<<".utf8)) == "AB  C")
        #expect(MRZText.words(Array("<<<".utf8)) == "")
    }

    @Test(arguments: [
        ("740812", "1974-08-12"), ("261121", "2026-11-21"), ("261122", "1926-11-22"), ("000229", "2000-02-29"),
    ])
    func `A birth date lies in the latest century that is not after today`(text: String, day: String) {
        let today = CalendarDate(year: 2026, month: 11, day: 21)
        #expect(MRZDate(Array(text.utf8), kind: .birth, today: today).date?.iso8601 == day)
    }

    @Test(arguments: [("690101", "2069-01-01"), ("700101", "1970-01-01"), ("280815", "2028-08-15")])
    func `An expiry date lies in this century, or from 1970 on`(text: String, day: String) {
        let today = CalendarDate(year: 2026, month: 11, day: 21)
        #expect(MRZDate(Array(text.utf8), kind: .expiry, today: today).date?.iso8601 == day)
    }

    @Test func `Days that do not exist are impossible, and unknown parts are not`() {
        let today = CalendarDate(year: 2026, month: 11, day: 21)
        for text in ["110229", "741301", "740229", "74O812", "741300", "740032"] {
            let date = MRZDate(Array(text.utf8), kind: .birth, today: today)
            #expect(date.isImpossible && date.date == nil, "\(text)")
        }
        let unknown = MRZDate(Array("74<<<<".utf8), kind: .birth, today: today)
        #expect(!unknown.isImpossible && unknown.isUnknown && unknown.date == nil)
    }

    @Test(arguments: ["650000", "650500", "000000"])
    func `Zeros for month or day are unknown parts`(text: String) {
        for kind in [MRZDate.Kind.birth, .expiry] {
            let date = MRZDate(Array(text.utf8), kind: kind, today: CalendarDate(year: 2026, month: 11, day: 21))
            #expect(!date.isImpossible && date.isUnknown && date.date == nil)
        }
    }
}
