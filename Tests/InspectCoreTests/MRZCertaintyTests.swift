import Testing

@testable import InspectCore

struct MRZCertaintyTests {
    private static let passport = [
        "P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<", "L898902C36UTO7408122F1204159ZE184226B<<<<<10",
    ]

    /// What is not certain of `lines` where every character was read with 0.99 but for `doubts`.
    private func uncertain(
        _ lines: [String], _ doubts: [(line: Int, cell: Int, probability: Double)] = []
    ) throws -> [MRZCertainty.Field] {
        var posteriors = lines.map { [Double](repeating: 0.99, count: $0.utf8.count) }
        for doubt in doubts { posteriors[doubt.line][doubt.cell] = doubt.probability }
        let corner = Point(x: 0, y: 0)
        let quad = Quad(topLeft: corner, topRight: corner, bottomRight: corner, bottomLeft: corner)
        let reading = MRZReading(lines: lines, confidences: posteriors, quad: quad, pitch: 20, corrections: 0)
        let mrz = try #require(MRZDocument(lines: lines, today: CalendarDate(year: 2026, month: 11, day: 21)))
        return MRZCertainty(mrz, reading: reading).uncertain
    }

    @Test func `A field is certain if it is clear and its check digit holds`() throws {
        #expect(try self.uncertain(Self.passport) == [])
        // Check digits prove what is hard to read, but not what could as well be something else.
        #expect(try self.uncertain(Self.passport, [(1, 3, 0.6)]) == [])
        #expect(try self.uncertain(Self.passport, [(1, 3, 0.4)]) == [.documentNumber])
    }

    @Test func `Letters O whose check digit also holds with zeros must be clear`() throws {
        var lines = Self.passport
        lines[1] = "902707OO45UTO7408122F1204159ZE184226B<<<<<12"
        #expect(try self.uncertain(lines) == [])
        #expect(try self.uncertain(lines, [(1, 6, 0.9)]) == [.documentNumber])
        lines[1] = "9027070045UTO7408122F1204159ZE184226B<<<<<12"
        #expect(try self.uncertain(lines, [(1, 6, 0.9)]) == [])
    }

    @Test func `A field without a check digit must be clear`() throws {
        #expect(try self.uncertain(Self.passport, [(0, 8, 0.9)]) == [.lastName, .firstName])
        #expect(try self.uncertain(Self.passport, [(0, 1, 0.9), (1, 20, 0.9)]) == [.gender, .type])
        #expect(try self.uncertain(Self.passport, [(1, 11, 0.9)]) == [.nationality])
    }

    @Test func `No field is certain where the composite check digit fails`() throws {
        var lines = Self.passport
        lines[1] = "L898902C37UTO7408122F1204159ZE184226B<<<<<10"
        // The composite digit fails with it, so nothing is proven, and an unproven value is uncertain.
        #expect(try self.uncertain(lines) == MRZCertainty.Field.allCases)
    }

    @Test func `A state that does not exist is not certain`() throws {
        var lines = Self.passport
        lines[0] = "P<QQQERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<"
        #expect(try self.uncertain(lines) == [.issuingCountry])
    }

    @Test(arguments: ["D", "UTO", "RKS", "UNO", "XXB", "XOM", "GBD", "IAO", "FRA"])
    func `Special codes of Doc 9303 are known states`(code: String) { #expect(IssuingState.isKnown(code)) }

    /// Both readings of a long number's digit (Doc 9303 leaves the filler out, older Belgian cards count it).
    @Test(arguments: [
        ["I<BEL000590240<6013<<<<<<<<<<<", "8512017F1906234BEL<<<<<<<<<<<0", "ROGGE<<VICTORIA<ANNA<<<<<<<<<<"]
    ])
    func `A long document number is as certain as its check digit`(lines: [String]) throws {
        let mrz = try #require(MRZDocument(lines: lines, today: CalendarDate(year: 2026, month: 11, day: 21)))
        let uncertain = try self.uncertain(lines)
        #expect(
            uncertain.contains(.documentNumber)
                == !(mrz.checks[.documentNumber] == true && mrz.checks[.composite] == true))
        #expect(try self.uncertain(lines, [(0, 16, 0.3)]).contains(.documentNumber))
    }
}
