import Testing

@testable import InspectCore

/// Licences by directive 2006/126/EC annex I: numbered fields, and the sign of the state on the EU emblem.
@Suite struct VIZEuropeanLicenceTests {
    private static let today = CalendarDate(year: 2026, month: 6, day: 1)

    private func line(
        _ text: String, x: Double = 0.35, y: Double, confidence: Double = 0.99, confirmed: Bool? = nil
    ) -> VIZLine {
        let quad = Quad(
            topLeft: Point(x: 0, y: 0), topRight: Point(x: 9, y: 0), bottomRight: Point(x: 9, y: 2),
            bottomLeft: Point(x: 0, y: 2))
        return VIZLine(
            text: text, confidences: [Double](repeating: confidence, count: text.count), quad: quad,
            place: Box(x: x, y: y, width: 0.012 * Double(text.count), height: 0.02), height: 0.02,
            isConfirmed: confirmed)
    }

    /// A licence's lines from top to bottom.
    private func facts(_ texts: [String], sign: VIZLine? = nil) -> VIZFacts {
        let lines = texts.enumerated().map { self.line($1, y: 0.1 + 0.05 * Double($0)) }
        var facts = VIZFacts(lines: lines, found: lines.count, modelSHA256: "")
        facts.emblem = sign
        return facts
    }

    private func record(_ facts: VIZFacts, mrz: [String] = []) throws -> VIZRecord {
        let quad = self.line("", y: 0).quad
        let side = DocumentFacts(
            image: ImageFacts(format: .jpeg, width: 1500, height: 1000, orientation: 1), outline: nil,
            quality: QualityFacts(
                laplacianVariance: 300, edgeWidth: 2.5, brightness: 150, contrast: 50, glareShare: 0, chroma: 60,
                backgroundChroma: 40, documentWidth: 1250, printShare: 0.05, midtoneShare: 0.8, moire: 1.5),
            mrz: mrz.isEmpty
                ? nil : MRZReading(lines: mrz, confidences: [], quad: quad, pitch: 20, corrections: 0),
            barcodes: [], faces: [], viz: facts)
        return try #require(VIZRecord(sides: [("FRONT", side)], today: Self.today))
    }

    private let polish = [
        "1. NOWAK", "2. ZOFIA", "3. 03.02.1991 ŁÓDŹ", "4a. 09.01.2023 4c. PREZYDENT M. ŁODZI", "4b. 09.01.2033",
        "4d. 91020312345", "5. 00123/23/1061", "9. B",
    ]

    @Test func `Two fields may share a row, and a number may have slashes`() {
        let read = VIZFields(self.facts(self.polish))
        #expect(read[.issuingDate]?.date == CalendarDate(year: 2023, month: 1, day: 9))
        #expect(read[.issuingAuthority]?.value == "PREZYDENT M. ŁODZI")
        #expect(read[.expiryDate]?.date == CalendarDate(year: 2033, month: 1, day: 9))
        #expect(read[.documentNumber]?.value == "00123/23/1061")
        #expect(read[.placeOfBirth]?.value == "ŁÓDŹ")
        let days = VIZFields(self.facts(["1 Jansen", "2 Sanne", "4a 15.09.2025 4b 15.09.2035"]))
        #expect(days[.issuingDate]?.date == CalendarDate(year: 2025, month: 9, day: 15))
        #expect(days[.expiryDate]?.date == CalendarDate(year: 2035, month: 9, day: 15))
    }

    @Test(arguments: ["FLAT 4B, 12 HIGH STREET", "HAUPTSTR. 4a, 50667 KOELN"])
    func `A house number in an address begins no field`(address: String) {
        let read = VIZFields(self.facts(self.polish + ["8. " + address]))
        #expect(read[.address]?.value == address)
        #expect(read[.issuingDate]?.date == CalendarDate(year: 2023, month: 1, day: 9))
        #expect(read[.expiryDate]?.date == CalendarDate(year: 2033, month: 1, day: 9))
        // On the days' row, a day must follow.
        let authority = VIZFields(self.facts(["1 Jansen", "2 Sanne", "4a 15.09.2025 4c BUREAU 4B WEST"]))
        #expect(authority[.issuingAuthority]?.value == "BUREAU 4B WEST")
    }

    @Test func `Numbers and days make no licence without an authority, a number or the emblem`() throws {
        func type(_ texts: [String], sign: VIZLine? = nil) throws -> String? {
            var data = ExtractionData(extractionMethod: "NONE")
            try self.record(self.facts(texts, sign: sign)).fill(&data, isOnlySource: true)
            return data.type
        }
        let list = ["1. BREAD", "2. MILK", "3. 03.02.2026 EGGS", "4a. 09.01.2026", "4b. 09.01.2027"]
        #expect(try type(list) == nil)
        #expect(try type(list + ["4c. PREZYDENT M. ŁODZI"]) == "DRIVING_LICENSE")
        #expect(try type(list + ["5. 00123/23/1061"]) == "DRIVING_LICENSE")
        #expect(try type(list, sign: self.line("PL", x: 0.1, y: 0.05, confirmed: true)) == "DRIVING_LICENSE")
        let reversed = list.prefix(3) + ["4a. 09.01.2026", "4b. 09.01.2025", "5. 00123/23/1061"]
        #expect(try type(Array(reversed)) == nil)
    }

    @Test func `An emblem on a face is not the card's`() {
        func isOnFace(_ face: Box) -> Bool {
            // The sign's centre is (4.5, 1).
            VIZEmblem.isOnFace(self.line("D", y: 0).quad, faces: [Box(x: 90, y: 90, width: 9, height: 9), face])
        }
        #expect(isOnFace(Box(x: 3, y: 0, width: 4, height: 4)))
        #expect(!isOnFace(Box(x: 3, y: 1.5, width: 4, height: 4)))
        #expect(!isOnFace(Box(x: 5, y: 0, width: 4, height: 4)))
    }

    @Test(arguments: [
        ("257024TH STREET", "2570 24TH STREET", "2570 24TH STREET"),
        ("14 BURNSCRESCENT,AYR", "14BURNS CRESCENT, AYR", "14 BURNS CRESCENT, AYR"),
        ("257024TH STREET", "2570 24TH STREFT", "257024TH STREET"), ("5-7 WAY", "5 - 7 WAY", "5-7 WAY"),
    ])
    func `The other network's blanks count where its letters are the same`(
        text: String, other: String, expected: String
    ) {
        let line = self.line(text, y: 0).withBlanks(of: self.line(other, y: 0, confidence: 0.5))
        #expect(line.text == expected)
        #expect(line.confidences.count == expected.count && line.confidence == 0.99)
    }

    @Test func `The blanks of an address are in question on each of its lines`() {
        let texts = ["1. NOWAK", "2. ZOFIA", "4a. 09.01.2023", "8. BURNSCRESCENT 14", "51147 KÖLN"]
        var facts = self.facts(texts)
        facts.lines[4].place.y = facts.lines[3].place.y + 0.03
        #expect(VIZFields.addressLines(facts, today: Self.today) == [3, 4])
        #expect(VIZFields.addressLines(self.facts(self.polish), today: Self.today).isEmpty)
    }

    @Test func `A number that touches its value is still a number, and days come before months`() {
        let read = VIZFields(
            self.facts(["1SILVA", "2.MARIA", "3.12.08.1984 PORTO", "4a05.04.2019", "4b. 05.04.2029", "5 P-1234567"]))
        #expect(read[.lastName]?.value == "SILVA")
        #expect(read[.firstName]?.value == "MARIA")
        #expect(read[.dateOfBirth]?.date == CalendarDate(year: 1984, month: 8, day: 12))
        #expect(read[.placeOfBirth]?.value == "PORTO")
        #expect(read[.issuingDate]?.date == CalendarDate(year: 2019, month: 4, day: 5))
    }

    @Test func `A number is sought left of a line without one, where nothing else stands`() throws {
        var facts = self.facts(["FÜHRERSCHEIN", "Mustermann", "2. Jörg", "4b. 18.01.2038"])
        facts.lines[1].place.x = 0.39
        #expect(Set(VIZNumbering.places(facts).keys) == [1])
        let place = try #require(VIZNumbering.places(facts)[1])
        #expect(place.x < 0.35 && place.x + place.width < 0.39)
        var beside = facts
        beside.lines[2].place.y = facts.lines[1].place.y
        #expect(VIZNumbering.places(beside).isEmpty)
        let numbered = try #require(facts.lines[1].numbered(self.line("1.", x: 0.35, y: 0.15)))
        #expect(numbered.text == "1. Mustermann" && numbered.place.x == 0.35)
        #expect(numbered.confidences.count == numbered.text.count)
        for (text, confidence) in [("TT", 0.99), ("7", 0.99), ("1.", 0.6), ("", 0)] {
            #expect(facts.lines[1].numbered(self.line(text, y: 0.15, confidence: confidence)) == nil)
        }
        #expect(VIZNumbering.places(self.facts(["DRIVER LICENSE", "NOWAK", "1. A", "2. B"])).isEmpty)
        #expect(VIZNumbering.places(self.facts(["Surname", "NOWAK"])).isEmpty)
    }

    @Test func `Both values of a row need the second reading`() {
        var facts = self.facts(self.polish)
        facts.lines[3].confidences = facts.lines[3].confidences.map { _ in 0.5 }
        let doubts = VIZFields.unconfirmed(facts, expected: nil, today: Self.today)
        #expect(doubts[3]?.values == ["09.01.2023", "PREZYDENT M. ŁODZI"])
    }

    @Test(arguments: [
        ("D", true, "DEU"), ("PL", true, "POL"), ("l", true, "ITA"), ("L", true, "LUX"), ("F", false, nil),
        ("Q", true, nil),
    ])
    func `The emblem's sign names the state if two readings agree`(sign: String, agreed: Bool, country: String?) throws
    {
        let facts = self.facts(self.polish, sign: self.line(sign, x: 0.1, y: 0.05, confirmed: agreed))
        let record = try self.record(facts)
        var data = ExtractionData(extractionMethod: "MRZ")
        record.fill(&data, isOnlySource: true)
        #expect(data.issuingCountry == country)
        #expect(data.type == "DRIVING_LICENSE")
        #expect(VIZEmblem.isSame(self.line("I", y: 0), self.line("|", y: 0)))
        #expect(!VIZEmblem.isSame(self.line("I", y: 0), self.line("L", y: 0)))
    }

    @Test func `Every field of a licence that is not given has a reason`() throws {
        let sign = self.line("PL", x: 0.1, y: 0.05, confirmed: true)
        let record = try self.record(self.facts(["2. ZOFIA", "4a. 09.01.2023", "4b. 09.01.2033", "5. ?!"], sign: sign))
        let reasons = Dictionary(uniqueKeysWithValues: record.fields.map { ($0.name, $0.reason) })
        #expect(reasons["firstName"] == .some(nil) && reasons["expiryDate"] == .some(nil))
        for name in ["lastName", "dateOfBirth", "placeOfBirth", "issuingAuthority", "categories"] {
            #expect(reasons[name] == .notFound, "\(name)")
        }
        #expect(reasons["documentNumber"].flatMap { $0 } != nil)
        #expect(reasons["address"] == nil)
        // Nothing is known of what another document bears.
        #expect(try self.record(self.facts(["Name: RAMESH KUMAR"])).fields.allSatisfy { $0.reason != .notFound })
    }

    @Test func `Every field of a passport that neither MRZ nor VIZ gives has a reason`() throws {
        let record = try self.record(
            self.facts(["ERIKSSON", "ANNA MARIA", "12 AUG 1974", "15 APR 2034"]),
            mrz: [
                "P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<", "L898902C36UTO7408122F3404159ZE184226B<<<<<16",
            ])
        let reasons = Dictionary(uniqueKeysWithValues: record.fields.map { ($0.name, $0.reason) })
        for name in ["placeOfBirth", "issuingDate", "issuingAuthority"] {
            #expect(reasons[name] == .notFound, "\(name)")
        }
        #expect(reasons["lastName"] == .some(nil))
    }
}
