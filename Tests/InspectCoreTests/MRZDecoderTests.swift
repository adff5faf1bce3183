import Testing

@testable import InspectCore

struct MRZDecoderTests {
    private static let passport = [
        "P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<", "L898902C36UTO7408122F1204159ZE184226B<<<<<10",
    ]

    /// A lattice in which every character of `lines` is seen with 0.99; `doubts` name a cell and what else it may be.
    private func lattice(
        _ lines: [String], doubts: [(line: Int, cell: Int, other: Character, share: Float)] = [], score: Double = -0.05
    ) -> MRZLattice {
        let alphabet = MRZText.alphabet
        var cells = lines.map { line in
            line.utf8.map { byte in
                alphabet.map { $0 == byte ? Float(0.99) : Float(0.01 / 36) }
            }
        }
        for doubt in doubts {
            let chosen = Array(lines[doubt.line].utf8)[doubt.cell]
            cells[doubt.line][doubt.cell] = alphabet.map {
                $0 == chosen ? 1 - doubt.share : $0 == doubt.other.asciiValue ? doubt.share : 1e-6
            }
        }
        return MRZLattice(lines: cells, layoutScore: score)
    }

    @Test(arguments: [
        ["P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<", "L898902C36UTO7408122F1204159ZE184226B<<<<<10"],
        ["I<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<", "D231458907UTO7408122F1204159<<<<<<<6"],
        ["I<UTOD231458907<<<<<<<<<<<<<<<", "7408122F1204159UTO<<<<<<<<<<<6", "ERIKSSON<<ANNA<MARIA<<<<<<<<<<"],
        ["V<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<", "L8988901C4XXX4009078F96121096ZE184226B<<<<<<"],
    ])
    func `Clear characters are returned unchanged`(lines: [String]) throws {
        let decoding = try #require(MRZDecoder().decode([self.lattice(lines)]))
        #expect(decoding.lines == lines)
        #expect(decoding.corrections == 0)
        #expect(decoding.format == MRZFormat(lines: lines))
        #expect(decoding.confidences.map(\.count) == lines.map(\.count))
    }

    @Test func `A digit in a name and a letter in a date become what they resemble`() throws {
        var lines = Self.passport
        lines[0] = lines[0].replacingOccurrences("ERIKSSON", "ERIKSS0N")
        lines[1] = lines[1].replacingOccurrences("7408122", "74O8122")
        let doubts: [(line: Int, cell: Int, other: Character, share: Float)] = [(0, 11, "O", 0.1), (1, 15, "0", 0.1)]
        let decoding = try #require(MRZDecoder().decode([self.lattice(lines, doubts: doubts)]))
        #expect(decoding.lines == Self.passport)
        #expect(decoding.corrections == 2)
        #expect(abs(decoding.confidences[0][11] - 0.1) < 1e-6)
    }

    @Test func `A check digit decides over a doubtful character`() throws {
        var lines = Self.passport
        lines[1] = lines[1].replacingOccurrences("L898902C3", "L8989O2C3")
        let decoding = try #require(
            MRZDecoder().decode([self.lattice(lines, doubts: [(line: 1, cell: 5, other: "0", share: 0.2)])]))
        #expect(decoding.lines == Self.passport)
    }

    /// Specimens exist whose MRZ is wrong as printed: what is seen without doubt stays, failing digits and all.
    @Test func `An MRZ that is printed wrong stays wrong`() throws {
        var lines = Self.passport
        lines[1] = lines[1].replacingOccurrences("L898902C36", "L898902C37")
        let decoding = try #require(
            MRZDecoder().decode([self.lattice(lines, doubts: [(line: 1, cell: 9, other: "6", share: 0.001)])]))
        #expect(decoding.lines == lines)
        let today = CalendarDate(year: 2026, month: 11, day: 21)
        let document = try #require(MRZDocument(lines: decoding.lines, today: today))
        #expect(document.checks[.documentNumber] == false && document.checks[.composite] == false)
    }

    /// A digit holds for one in ten wrong texts: it may decide over one character of its field, not over two.
    @Test func `A check digit decides over one character of its field, not two`() throws {
        var lines = Self.passport
        lines[1] = lines[1].replacingOccurrences("L898902C3", "L8989O2G3")
        let doubts: [(line: Int, cell: Int, other: Character, share: Float)] = [(1, 5, "0", 0.2), (1, 7, "C", 0.2)]
        let decoding = try #require(MRZDecoder().decode([self.lattice(lines, doubts: doubts)]))
        #expect(decoding.lines == lines)
    }

    @Test func `An existing state is preferred where characters are doubtful`() throws {
        var lines = Self.passport
        lines[0] = lines[0].replacingOccurrences("P<UTO", "P<UYO")
        lines[1] = lines[1].replacingOccurrences("36UTO", "36UTC")
        let doubts: [(line: Int, cell: Int, other: Character, share: Float)] = [(0, 3, "T", 0.1), (1, 12, "O", 0.1)]
        #expect(MRZDecoder().decode([self.lattice(lines, doubts: doubts)])?.lines == Self.passport)
        // What is clearly seen stays, although no such state exists.
        #expect(MRZDecoder().decode([self.lattice(lines)])?.lines == lines)
    }

    @Test(arguments: [3, 6])
    func `An MRZ with a hidden part is illegible`(hidden: Int) throws {
        var lattice = self.lattice(Self.passport)
        for cell in 13..<13 + hidden { lattice.lines[1][cell] = [Float](repeating: 1.0 / 37, count: 37) }
        guard case .illegible = MRZDecoder().outcome([lattice]) else {
            Issue.record("an MRZ was made up")
            return
        }
    }

    @Test func `Other text that begins like a visa is no MRZ`() {
        let lines = ["VOO3O5525QACRSCBOFUR<CWDRHTDLOFVB<<<", "ENGBNTHDQZXDW0WERRYBLOZWW0V0XMCUBQYQ"]
        guard case .none = MRZDecoder().outcome([self.lattice(lines)]) else {
            Issue.record("print was taken for an MRZ")
            return
        }
    }

    @Test func `A doubtful character without a check digit stays as it was read`() throws {
        let doubts: [(line: Int, cell: Int, other: Character, share: Float)] = [(0, 15, "M", 0.45)]
        let decoding = try #require(MRZDecoder().decode([self.lattice(Self.passport, doubts: doubts)]))
        #expect(decoding.lines == Self.passport)
    }

    @Test func `A smeared filler behind the name is a filler`() throws {
        var lines = Self.passport
        lines[0] = "P<UTOERIKSSON<<ANNA<MARIA<<<<<<K<<<<<<<<<<<<"
        let decoding = try #require(
            MRZDecoder().decode([self.lattice(lines, doubts: [(line: 0, cell: 31, other: "<", share: 0.1)])]))
        #expect(decoding.lines == Self.passport)
    }

    @Test func `The layout with the better score is read`() throws {
        let cut = Self.passport.map { String($0.prefix(36)) }
        let decoding = try #require(
            MRZDecoder().decode([self.lattice(cut, score: -0.6), self.lattice(Self.passport, score: -0.1)]))
        #expect(decoding.lattice == 1)
        #expect(decoding.lines == Self.passport)
    }

    /// A passport whose right quarter is outside the image has the shape of a TD2 card, but not its code or digits.
    @Test func `A cut MRZ is not taken for a smaller one`() {
        let cut = Self.passport.map { String($0.prefix(36)) }
        #expect(MRZDecoder().decode([self.lattice(cut)]) == nil)
    }

    @Test func `Without legible characters there is no MRZ`() {
        #expect(MRZDecoder().decode([]) == nil)
        let even = [[Float]](repeating: [Float](repeating: 1.0 / 37, count: 37), count: 44)
        #expect(MRZDecoder().decode([MRZLattice(lines: [even, even], layoutScore: 0)]) == nil)
    }

    @Test func `Lattices of a wrong shape are ignored`() {
        let short = [[Float]](repeating: [0.5, 0.5], count: 44)
        #expect(MRZDecoder().decode([MRZLattice(lines: [short, short], layoutScore: 0)]) == nil)
        #expect(MRZDecoder().decode([MRZLattice(lines: [[]], layoutScore: 0)]) == nil)
    }
}

extension String {
    fileprivate func replacingOccurrences(_ old: String, _ new: String) -> String {
        self.split(separator: old, omittingEmptySubsequences: false).joined(separator: new)
    }
}

extension MRZDecoder {
    /// The likeliest MRZ that one of `lattices` can be read as, or `nil` when none is legible.
    fileprivate func decode(_ lattices: [MRZLattice]) -> MRZDecoding? {
        if case .mrz(let decoding) = self.outcome(lattices) { decoding } else { nil }
    }
}
