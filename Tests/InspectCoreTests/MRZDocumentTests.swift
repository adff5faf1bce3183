import Testing

@testable import InspectCore

/// The specimens of the fictional State of Utopia in ICAO Doc 9303, and MRZs made by hand.
struct MRZDocumentTests {
    private let today = CalendarDate(year: 2026, month: 11, day: 21)

    private func parse(_ lines: String...) throws -> MRZDocument {
        try #require(MRZDocument(lines: lines, today: self.today))
    }

    @Test func `The passport of Doc 9303-4 is parsed`() throws {
        let document = try self.parse(
            "P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<", "L898902C36UTO7408122F1204159ZE184226B<<<<<10")
        #expect(document.format == .td3)
        #expect(document.documentCode == "P")
        #expect(document.issuingState == "UTO")
        #expect(document.surname == "ERIKSSON")
        #expect(document.givenNames == "ANNA MARIA")
        #expect(document.documentNumber == "L898902C3")
        #expect(document.nationality == "UTO")
        #expect(document.birthDate?.date == CalendarDate(year: 1974, month: 8, day: 12))
        #expect(document.sex == "F")
        #expect(document.expiryDate?.date == CalendarDate(year: 2012, month: 4, day: 15))
        #expect(document.personalNumber == "ZE184226B")
        #expect(document.checks.count == 5 && document.checksHold)
        #expect(!document.nameMayBeTruncated)
    }

    @Test func `The TD1 card of Doc 9303-5 is parsed`() throws {
        let document = try self.parse(
            "I<UTOD231458907<<<<<<<<<<<<<<<", "7408122F1204159UTO<<<<<<<<<<<6", "ERIKSSON<<ANNA<MARIA<<<<<<<<<<")
        #expect(document.format == .td1)
        #expect(document.documentNumber == "D23145890")
        #expect(document.surname == "ERIKSSON")
        #expect(document.optionalData == ["", ""])
        #expect(document.personalNumber == nil)
        #expect(Set(document.checks.keys) == [.documentNumber, .birthDate, .expiryDate, .composite])
        #expect(document.checksHold)
    }

    @Test func `The TD2 card of Doc 9303-6 is parsed`() throws {
        let document = try self.parse("I<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<", "D231458907UTO7408122F1204159<<<<<<<6")
        #expect(document.format == .td2)
        #expect(document.documentNumber == "D23145890")
        #expect(document.givenNames == "ANNA MARIA")
        #expect(document.checksHold)
    }

    @Test func `The visas of Doc 9303-7 have no composite check digit`() throws {
        let wide = try self.parse(
            "V<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<", "L8988901C4XXX4009078F96121096ZE184226B<<<<<<")
        #expect(wide.format == .mrva)
        #expect(wide.optionalData == ["6ZE184226B"])
        #expect(wide.nationality == "XXX")
        #expect(Set(wide.checks.keys) == [.documentNumber, .birthDate, .expiryDate] && wide.checksHold)
        let narrow = try self.parse("V<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<", "L8988901C4XXX4009078F9612109<<<<<<<<")
        #expect(narrow.format == .mrvb && narrow.checksHold)
    }

    @Test func `A long document number continues in the optional data`() throws {
        let document = try self.parse(
            "I<UTOD23145890<7349<<<<<<<<<<<", "3407127M9507122UTO<<<<<<<<<<<2", "STEVENSON<<PETER<JOHN<<<<<<<<<")
        #expect(document.documentNumber == "D23145890734")
        #expect(document.optionalData == ["", ""])
        #expect(document.checksHold)
    }

    @Test(arguments: [("<", true), ("0", true), ("7", false)])
    func `The check digit of an empty personal number may be a filler`(digit: String, holds: Bool) throws {
        let lines = [
            "P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<", "L898902C36UTO7408122F1204159<<<<<<<<<<<<<<\(digit)",
        ]
        let covered = Array(lines[1].utf8)
        let composite = MRZText.checkDigit(covered[0..<10] + covered[13..<20] + covered[21..<43])
        let document = try self.parse(lines[0], lines[1] + String(composite))
        #expect(document.checks[.personalNumber] == holds)
        #expect(document.checks[.composite] == true)
        #expect(document.personalNumber == "")
    }

    /// The older rule counts the filler between the parts: 7-3-1 weights shift by one position behind it.
    @Test(arguments: [true, false])
    func `Both rules for the check digit of a long number are accepted`(fillerCounts: Bool) throws {
        let principal = "123456789"
        let rest = "012"
        let digit = MRZText.checkDigit("\(principal)\(fillerCounts ? "<" : "")\(rest)".utf8)
        let first = "ID" + "BEL" + principal + "<" + rest + String(digit) + String(repeating: "<", count: 11)
        let document = try self.parse(first, "7408122F1204159BEL<<<<<<<<<<<6", "ERIKSSON<<ANNA<MARIA<<<<<<<<<<")
        #expect(document.documentNumber == principal + rest)
        #expect(document.checks[.documentNumber] == true)
    }

    @Test func `French cards until 2021 have a layout of their own`() throws {
        let begin = "IDFRADUPONT<DURAND<<<<<<<<<<<<751234"
        let number = "150475123456"
        let birth = "850321"
        var second = number + String(MRZText.checkDigit(number.utf8)) + "MARIE<<LOUISE<" + birth
        second += String(MRZText.checkDigit(birth.utf8)) + "F"
        second += String(MRZText.checkDigit((begin + second).utf8))
        let document = try self.parse(begin, second)
        #expect(document.format == .frenchID)
        #expect(document.surname == "DUPONT DURAND")
        #expect(document.givenNames == "MARIE LOUISE")
        #expect(document.documentNumber == number)
        #expect(document.expiryDate == nil)
        #expect(document.sex == "F")
        #expect(document.checksHold)
    }

    @Test func `Swiss licences have no check digits`() throws {
        let document = try self.parse("ABC123D<<", "FACHE123456789001<<800126<<<<<", "MUSTER<<ANNA<<<<<<<<<<<<<<<<<<")
        #expect(document.format == .swissLicence)
        #expect(document.documentNumber == "ABC123D")
        #expect(document.birthDate?.date?.iso8601 == "1980-01-26")
        #expect(document.checks.isEmpty)
    }

    /// Every check digit covers what it should: a change in one field fails that field's digit and the composite one.
    @Test(arguments: [
        (0, "documentNumber"), (13, "birthDate"), (21, "expiryDate"), (28, "personalNumber"),
    ])
    func `A wrong character fails its check digit and the composite one`(position: Int, key: String) throws {
        var line = Array("L898902C36UTO7408122F1204159ZE184226B<<<<<10".utf8)
        line[position] = line[position] == UInt8(ascii: "3") ? UInt8(ascii: "4") : UInt8(ascii: "3")
        let document = try self.parse(
            "P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<", String(decoding: line, as: UTF8.self))
        let failed = document.checks.filter { !$0.value }.keys.map(\.rawValue).sorted()
        #expect(failed == ["composite", key].sorted())
        #expect(document.checksByName[key] == false)
    }

    @Test func `A name without a separator is a surname, and a full field may be cut`() throws {
        let document = try self.parse(
            "P<UTOBENNELONG<WOOLOOMOOLOO<WARRANDYTE<WARNA", "L898902C36UTO7408122F1204159ZE184226B<<<<<10")
        #expect(document.surname == "BENNELONG WOOLOOMOOLOO WARRANDYTE WARNA")
        #expect(document.givenNames == "")
        #expect(document.nameMayBeTruncated)
    }

    @Test(arguments: [
        [], [""], ["P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<"],
        ["P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<", "L898902C36UTO7408122F1204159ZE184226B<<<<<10"],
        ["P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<a", "L898902C36UTO7408122F1204159ZE184226B<<<<<10"],
        ["P<UTOERIKSSON<<ANNA<MARIÄ<<<<<<<<<<<<<<<<<<", "L898902C36UTO7408122F1204159ZE184226B<<<<<10"],
    ])
    func `Lines of no known format are refused`(lines: [String]) {
        #expect(MRZDocument(lines: lines, today: self.today) == nil)
    }
}
