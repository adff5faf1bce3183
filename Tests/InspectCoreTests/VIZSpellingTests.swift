import InspectCore
import Testing

@testable import InspectCore

/// Days and spellings that a kind of document has, and where they stand.
@Suite struct VIZSpellingTests {
    private static let today = CalendarDate(year: 2026, month: 6, day: 1)

    private func line(_ text: String, x: Double = 0.36, y: Double, height: Double = 0.017) -> VIZLine {
        let quad = Quad(
            topLeft: Point(x: 0, y: 0), topRight: Point(x: 9, y: 0), bottomRight: Point(x: 9, y: 2),
            bottomLeft: Point(x: 0, y: 2))
        return VIZLine(
            text: text, confidences: [Double](repeating: 0.99, count: text.count), quad: quad,
            place: Box(x: x, y: y, width: 0.6 * height * Double(text.count), height: height), height: height)
    }

    private func printed(_ text: String, _ name: String, field: VIZField) -> String? {
        VIZNames.printed(
            VIZExpectation.Value(field: field, text: name), [self.line(text, y: 0.1)], labelled: nil, others: [],
            state: "FRA")?.text
    }

    @Test func `A Schengen visa's day of issue stands below the days between which it is valid`() {
        let mrz = MRZDocument(
            lines: ["VCNORERIKSSON<<ANNA<MARIA<<<<<<<<<<<", "L8988901C4XXX4009078F2605018<<<<<<<<"], today: Self.today)!
        func issue(from: String = "01-02-26", _ others: String...) -> CalendarDate? {
            let lines =
                [self.line(from, x: 0.3, y: 0.20), self.line("01-05-26", x: 0.6, y: 0.20)]
                + others.enumerated().map { self.line($0.element, x: 0.5, y: 0.3 + 0.05 * Double($0.offset)) }
            return VIZDays(VIZExpectation(mrz, confidences: []), lines: lines, today: Self.today).issue(lines)?.day
        }
        #expect(issue("20-01-26") == CalendarDate(year: 2026, month: 1, day: 20))
        #expect(issue("2026-01-20") == CalendarDate(year: 2026, month: 1, day: 20))
        // After the first day of validity, beside another day, or none.
        #expect(issue("20-03-26") == nil)
        #expect(issue("20-01-26", "19-01-26") == nil)
        #expect(issue() == nil)
    }

    @Test func `Another state's visa may show a day of issue whole years before the expiry`() {
        func issue(_ state: String) -> CalendarDate? {
            let mrz = MRZDocument(
                lines: ["VC\(state)ERIKSSON<<ANNA<MARIA<<<<<<<<<<<", "L8988901C4XXX4009078F2605018<<<<<<<<"],
                today: Self.today)!
            let lines = [self.line("02-05-21", x: 0.3, y: 0.20), self.line("01-05-26", x: 0.6, y: 0.20)]
            return VIZDays(VIZExpectation(mrz, confidences: []), lines: lines, today: Self.today).issue(lines)?.day
        }
        #expect(issue("UTO") == CalendarDate(year: 2021, month: 5, day: 2))
        // There it is the first day of validity.
        #expect(issue("NOR") == nil)
        #expect(issue("D<<") == nil)
    }

    @Test(arguments: [
        ("2017-12-07", "2017-12-07"), ("2017.12.07.", "2017.12.07"), ("07-12-2017", "07-12-2017"),
        ("7/12/17", "7/12/17"), ("307.12.2017", "07.12.2017"), ("1507/12/2017", "07/12/2017"), ("2017-12", ""),
        ("20171207", ""),
    ])
    func `A day in numbers is found whole, its year first or last`(text: String, day: String) {
        #expect(VIZDate.range(text).map { String(Array(text)[$0]) } ?? "" == day)
    }

    @Test func `A day of issue that is written from the year to the day is reported as that day`() {
        let mrz = MRZDocument(
            lines: ["P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<", "L898902C36UTO7408122F3404159ZE184226B<<<<<16"],
            today: Self.today)!
        let lines = [
            self.line("1974-08-12", y: 0.2), self.line("Date of issue", y: 0.26, height: 0.01),
            self.line("2024-10-16", y: 0.28), self.line("2034-04-15", y: 0.4),
        ]
        let days = VIZDays(VIZExpectation(mrz, confidences: []), lines: lines, today: Self.today)
        let fields = VIZFields(VIZFacts(lines: lines, found: 4, modelSHA256: ""), dates: days)
        #expect(fields[.issuingDate]?.date == CalendarDate(year: 2024, month: 10, day: 16))
    }

    @Test func `Words that reach the page's edge may be cut off, and are not certain`() {
        func isCertain(x: Double, width: Double? = nil) -> Bool? {
            let lines = [self.line("Authority", x: x, y: 0.26, height: 0.01), self.line("KOMMUN", x: x, y: 0.28)]
            let facts = VIZFacts(lines: lines, found: 2, width: width, modelSHA256: "")
            return VIZFields(facts)[.issuingAuthority]?.isCertain
        }
        #expect(isCertain(x: 0.6) == true)
        #expect(isCertain(x: 1 - 0.6 * 0.017 * 6) == false)
        #expect(isCertain(x: 0) == false)
        // In portrait format.
        #expect(isCertain(x: 0.6, width: 0.75) == true)
        #expect(isCertain(x: 0.75 - 0.6 * 0.017 * 6, width: 0.75) == false)
    }

    @Test func `A place of birth after the day may be cut off too, and has no zeros`() {
        func place(width: Double) -> VIZFields.Reading? {
            let lines = [
                self.line("1. NORDMANN", y: 0.1), self.line("2. KARI", y: 0.15),
                self.line("3. 03.02.1991 0SL0", y: 0.2), self.line("4a. 24.01.2023", y: 0.25),
            ]
            return VIZFields(VIZFacts(lines: lines, found: 4, width: width, modelSHA256: ""))[.placeOfBirth]
        }
        #expect(place(width: 1)?.value == "OSLO")
        #expect(place(width: 1)?.isCertain == true)
        #expect(place(width: 0.36 + 0.6 * 0.017 * 18)?.isCertain == false)
    }

    @Test func `Names and addresses of North American licences may be cut off`() {
        func read(x: Double, width: Double = 1) -> VIZFields {
            let lines = [
                self.line("DRIVER LICENSE", x: 0.4, y: 0.02), self.line("1TALBOT", x: x, y: 0.19),
                self.line("2LIAM R.", x: x, y: 0.21), self.line("8 100 MARKET STREET", x: x, y: 0.3),
                self.line("BIGTOWN, MA, 02801", x: x + 0.02, y: 0.32),
            ]
            return VIZFields(VIZFacts(lines: lines, found: lines.count, width: width, modelSHA256: ""))
        }
        let whole = read(x: 0.34)
        #expect(whole[.lastName]?.value == "TALBOT" && whole[.lastName]?.isCertain == true)
        #expect(whole[.address]?.value == "100 MARKET STREET\nBIGTOWN, MA, 02801")
        #expect(whole[.address]?.isCertain == true)
        #expect(read(x: 0)[.lastName]?.isCertain == false)
        #expect(read(x: 0.34, width: 0.35 + 0.6 * 0.017 * 19)[.address]?.isCertain == false)
    }

    @Test func `A value is cut off where its second line is`() {
        func authority(width: Double) -> VIZFields.Reading? {
            let lines = [
                self.line("Authority", y: 0.26, height: 0.01), self.line("KOMMUN", y: 0.28),
                self.line("STAVANGER SENTRUM", y: 0.3),
            ]
            return VIZFields(VIZFacts(lines: lines, found: 3, width: width, modelSHA256: ""))[.issuingAuthority]
        }
        #expect(authority(width: 1)?.value == "KOMMUN\nSTAVANGER SENTRUM")
        #expect(authority(width: 1)?.isCertain == true)
        #expect(authority(width: 0.36 + 0.6 * 0.017 * 17)?.isCertain == false)
    }

    @Test(arguments: [
        ("0SL0", "OSLO"), ("NEW Y0RK", "NEW YORK"), ("PARIS 10", "PARIS 10"), ("A0", "A0"), ("B20", "B20"), ("", ""),
    ])
    func `A zero in a town's name is an O`(text: String, town: String) {
        #expect(VIZWords.withoutZeros(text) == town)
    }

    @Test func `Given names keep the commas that some states print between them`() {
        #expect(self.printed("Marie, Hélène", "MARIE HELENE", field: .firstName) == "Marie, Hélène")
        #expect(self.printed("DE, LUCA", "DE LUCA", field: .lastName) == nil)
    }
}
