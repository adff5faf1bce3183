import InspectCore
import Testing

@testable import InspectCore

/// VIZ text against machine-readable data.
@Suite struct VIZTests {
    private static let today = CalendarDate(year: 2026, month: 6, day: 1)
    private static let mrz = [
        "P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<", "L898902C36UTO7408122F3404159ZE184226B<<<<<16",
    ]

    private func line(
        _ text: String, x: Double = 0.36, y: Double, height: Double = 0.017, confidence: Double = 0.99,
        confirmed: Bool? = true
    ) -> VIZLine {
        VIZLine(
            text: text, confidences: [Double](repeating: confidence, count: text.count), quad: Self.quad,
            place: Box(x: x, y: y, width: 0.01 * Double(text.count), height: height), height: height,
            isConfirmed: confirmed)
    }

    private static let quad = Quad(
        topLeft: Point(x: 0, y: 0), topRight: Point(x: 9, y: 0), bottomRight: Point(x: 9, y: 2),
        bottomLeft: Point(x: 0, y: 2))

    private func facts(_ lines: [VIZLine]) -> VIZFacts {
        VIZFacts(lines: lines, found: lines.count, modelSHA256: "")
    }

    private func page(surname: String = "ERIKSSON", number: String = "L898902C3", birth: String = "12 AUG 1974")
        -> [VIZLine]
    {
        [
            self.line("Passport No. / N° de passeport", x: 0.7, y: 0.09, height: 0.01),
            self.line(number, x: 0.7, y: 0.11), self.line("Surname / Nom", y: 0.15, height: 0.01),
            self.line(surname, y: 0.17), self.line("Given names / Prénoms", y: 0.21, height: 0.01),
            self.line("ANNA MARIA", y: 0.23), self.line("Date of birth / Date de naissance", y: 0.31, height: 0.01),
            self.line(birth, y: 0.33), self.line("15 APR 2034", y: 0.5),
        ]
    }

    private func outcomes(_ lines: [VIZLine], mrz: [String] = Self.mrz) -> [VIZField: VIZRules.Outcome] {
        Dictionary(uniqueKeysWithValues: self.findings(lines, mrz: mrz).map { ($0.field, $0.outcome) })
    }

    private func findings(_ lines: [VIZLine], mrz: [String] = Self.mrz) -> [VIZRules.Finding] {
        let mrz = MRZDocument(lines: mrz, today: Self.today)!
        return VIZRules(self.facts(lines), expected: VIZExpectation(mrz, confidences: [])).findings
    }

    @Test(arguments: [
        ("MÜLLER", "MUELLER", true), ("MÜLLER", "MULLER", true), ("MULLER", "MUELLER", true), ("GROß", "GROSS", true),
        ("SØRENSEN", "SOERENSEN", true), ("ÅBERG", "AABERG", true), ("NUÑEZ", "NUNXXEZ", true),
        ("ŁUKASZ", "LUKASZ", true),
        ("DVOŘÁK", "DVORAK", true), ("MEIER", "MEYER", false), ("ERIKSSON", "ERIKSON", false), ("ÞÓR", "THOR", true),
    ])
    func `Names are compared through every spelling that the standard allows`(
        printed: String, mrz: String, equal: Bool
    ) {
        #expect(VIZText.spells(printed, mrz) == equal)
    }

    @Test func `Apostrophes vanish, hyphens separate, and a cut name is a beginning`() {
        #expect(VIZText.holds("O'Connor-Smith", name: "OCONNOR SMITH", isTruncated: false))
        #expect(VIZText.holds("Name: D'ARTAGNAN, Jean", name: "DARTAGNAN", isTruncated: false))
        #expect(
            VIZText.holds(
                "PAPANDROPOULOUS JONATHON ALEXANDROS", name: "PAPANDROPOULOUS JONATHON ALEC", isTruncated: true)
                == false)
        #expect(VIZText.holds("PAPANDROPOULOUS JONATHON", name: "PAPANDROPOULOUS JON", isTruncated: true))
        #expect(!VIZText.holds("PAPANDROPOULOUS JONATHON", name: "PAPANDROPOULOUS JON", isTruncated: false))
    }

    @Test(arguments: [
        ("12 AUG 1974", 1974, 8, 12), ("30 MAR/MAR 1972", 1972, 3, 30), ("3 LIP/JUL 2006", 2006, 7, 3),
        ("21.08.2011", 2011, 8, 21), ("08/12/1974", 1974, 8, 12), ("1974-08-12", 1974, 8, 12),
        ("12 08 74", 1974, 8, 12), ("1974 0812", 1974, 8, 12), ("197408-12", 1974, 8, 12),
        ("12AOÛT/AUG 74", 1974, 8, 12), ("Geburtsdatum 12.08.1974 Berlin", 1974, 8, 12), ("12081974", 1974, 8, 12),
    ])
    func `Dates are read as documents print them`(text: String, year: Int, month: Int, day: Int) {
        #expect(VIZDate.readings(text).contains(CalendarDate(year: year, month: month, day: day)))
    }

    @Test func `Text without a date gives no date`() {
        #expect(VIZDate.readings("ZE184226B").isEmpty)
        #expect(VIZDate.readings("31 FEB 2001").isEmpty)
        #expect(VIZDate.readings("4974 0812").isEmpty && VIZDate.readings("2005 1301").isEmpty)
        #expect(VIZDate.readings("100 MARKET STREET").isEmpty)
    }

    @Test func `A page that matches its MRZ agrees in every field`() {
        #expect(self.outcomes(self.page()).values.allSatisfy { $0 == .agrees })
    }

    @Test func `Another name, number or birth in the field's position contradicts`() {
        #expect(self.outcomes(self.page(surname: "PETROVIC"))[.lastName] == .contradicts)
        #expect(self.outcomes(self.page(number: "L898702C3"))[.documentNumber] == .contradicts)
        #expect(self.outcomes(self.page(birth: "13 AUG 1984"))[.dateOfBirth] == .contradicts)
    }

    @Test func `A day that no calendar has contradicts, and so does a name of which the MRZ lacks the first letter`() {
        for birth in ["45/05/2014", "33.12.1974", "05/45/2014", "14/13/1974", "32/05/2014"] {
            #expect(self.outcomes(self.page(birth: birth))[.dateOfBirth] == .contradicts, "\(birth)")
        }
        #expect(self.outcomes(self.page(birth: "45/05/20"))[.dateOfBirth] == .notFound)
        let both = self.page(surname: "VERIKSSON") + [self.line("ERIKSSON", y: 0.19)]
        #expect(self.outcomes(both)[.lastName] == .contradicts)
        #expect(self.outcomes(self.page(surname: "ERIKSSON") + [self.line("VERIKSSON", y: 0.7)])[.lastName] == .agrees)
    }

    @Test(arguments: [
        "12/07/1400", "05/04/2523", "31/02/2056", "00/00/1965", "00.05.1965", "31.12.9999", "45/05/2500",
    ])
    func `A day of another calendar, an unknown one and no limit contradict nothing`(birth: String) {
        #expect(self.outcomes(self.page(birth: birth))[.dateOfBirth] == .notFound)
    }

    @Test func `A day 32 is Nepal's alone`() {
        let nepal = [Self.mrz[0].replacing("UTO", with: "NPL"), Self.mrz[1].replacing("UTO", with: "NPL")]
        #expect(self.outcomes(self.page(birth: "32/02/2056"), mrz: nepal)[.dateOfBirth] == .notFound)
        #expect(self.outcomes(self.page(birth: "33/02/2056"), mrz: nepal)[.dateOfBirth] == .contradicts)
    }

    @Test func `A day of no calendar and a first letter are suspicions, and another number is none`() {
        func suspicions(_ lines: [VIZLine]) -> [VIZField] {
            self.findings(lines).filter(\.isSuspicion).map(\.field)
        }
        #expect(suspicions(self.page(birth: "45/05/2014")) == [.dateOfBirth])
        #expect(suspicions(self.page(surname: "VERIKSSON") + [self.line("ERIKSSON", y: 0.19)]) == [.lastName])
        #expect(suspicions(self.page(number: "L898702C3")).isEmpty)
    }

    @Test func `A first letter that the MRZ lacks contradicts only where its reader cannot have lost it`() {
        // No other line spells the name as the MRZ does.
        #expect(self.outcomes(self.page(surname: "VERIKSSON"))[.lastName] == .notFound)
        for name in ["<ERIKSSON<<ANNA<MARIA", "ERIKSSON<<<ANNA<MARIA"].map({ $0 + String(repeating: "<", count: 18) }) {
            let both = self.page(surname: "VERIKSSON") + [self.line("ERIKSSON", y: 0.19)]
            #expect(self.outcomes(both, mrz: ["P<UTO" + name, Self.mrz[1]])[.lastName] == .agrees, "\(name)")
        }
    }

    @Test func `English labels do not put the month first, and the document's days or its state do`() {
        func birth(_ lines: [(String, Double)]) -> CalendarDate? {
            let lines = [("DRIVER LICENSE", 0.02), ("3 DOB 05/06/1974", 0.3), ("4d DLN T64235789", 0.4)] + lines
            return VIZFields(self.facts(lines.map { self.line($0.0, y: $0.1) }))[.dateOfBirth]?.date
        }
        #expect(birth([]) == nil)
        #expect(birth([("4b EXP 25/04/2034", 0.2)]) == CalendarDate(year: 1974, month: 6, day: 5))
        #expect(birth([("WASHINGTON", 0.1)]) == CalendarDate(year: 1974, month: 5, day: 6))
        #expect(birth([("NEW YORK", 0.1)]) == CalendarDate(year: 1974, month: 5, day: 6))
        let dayFirst = birth([("WASHINGTON", 0.1), ("4b EXP 25/04/2034", 0.2)])
        #expect(dayFirst == CalendarDate(year: 1974, month: 6, day: 5))
    }

    @Test func `A contradicting name is read twice in its first word alone`() {
        let name = self.line("ADIL B", y: 0)
        #expect(name.saysTheSame(as: self.line("ADIL X", y: 0), confidence: 0.9, inFirstWord: true))
        #expect(!name.saysTheSame(as: self.line("ADIL X", y: 0), confidence: 0.9))
        #expect(!name.saysTheSame(as: self.line("ODIL B", y: 0), confidence: 0.9, inFirstWord: true))
    }

    @Test func `Uncertain text contradicts nothing`() {
        var weak = self.page(number: "L898702C3")
        weak[1].confidences[4] = 0.9
        #expect(self.outcomes(weak)[.documentNumber] == .notFound)
        var once = self.page(number: "L898702C3")
        once[1].isConfirmed = nil
        #expect(self.outcomes(once)[.documentNumber] == .notFound)
        // Cut off, an accent lost, a number of another kind, a label in doubt, a page of another document.
        #expect(self.outcomes(self.page(number: "L898902C"))[.documentNumber] == .notFound)
        #expect(self.outcomes(self.page(surname: "ERIKSON"))[.lastName] == .notFound)
        #expect(self.outcomes(self.page(number: "123456789"))[.documentNumber] == .notFound)
        #expect(self.outcomes(self.page(birth: "04/05/1974"))[.dateOfBirth] == .notFound)
        var prose = self.page(surname: "PETROVIC")
        prose[2].text = "Religious name or pseudonym"
        #expect(self.outcomes(prose)[.lastName] == .notFound)
        let other = [self.line("Surname / Nom", y: 0.15, height: 0.01), self.line("PETROVIC", y: 0.17)]
        #expect(self.outcomes(other)[.lastName] == .notFound)
    }

    @Test func `Fields of licences are found by their numbers, Europe's and America's`() {
        let european = VIZFields(
            self.facts([
                self.line("1. NOWAK", y: 0.1), self.line("2. ZOFIA", y: 0.15),
                self.line("3. 03.02.1991 KRAKOW", y: 0.2),
                self.line("4a. 24.01.2023", y: 0.25), self.line("4b. 24.01.2033", x: 0.6, y: 0.25),
                self.line("4c. STAROSTA", y: 0.3), self.line("5. D1234567", y: 0.35), self.line("9. AM/B1/B", y: 0.4),
            ]))
        #expect(european[.lastName]?.value == "NOWAK")
        #expect(european[.issuingDate]?.date == CalendarDate(year: 2023, month: 1, day: 24))
        #expect(european[.expiryDate]?.date == CalendarDate(year: 2033, month: 1, day: 24))
        #expect(european[.documentNumber]?.value == "D1234567")
        #expect(european[.issuingAuthority]?.value == "STAROSTA")
        let american = VIZFields(
            self.facts([
                self.line("DRIVER'S LICENSE", y: 0.02), self.line("4d DLN T64235789", y: 0.1),
                self.line("4b EXP", y: 0.2, height: 0.01), self.line("04/15/2034", y: 0.22),
                self.line("3 DOB 08/22/1974", y: 0.3), self.line("5 DD 03/12/2019", y: 0.4),
            ]))
        #expect(american[.documentNumber]?.value == "T64235789")
        #expect(american[.expiryDate]?.date == CalendarDate(year: 2034, month: 4, day: 15))
        #expect(american[.dateOfBirth]?.date == CalendarDate(year: 1974, month: 8, day: 22))
    }

    @Test func `Specimen words are found as whole words`() {
        #expect(SpecimenWords.line(self.facts([self.line("SPECIMEN", y: 0.1)])) == 0)
        #expect(SpecimenWords.line(self.facts([self.line("Muster GmbH", y: 0.1)])) == 0)
        #expect(SpecimenWords.line(self.facts([self.line("MUSTERMANN", y: 0.1)])) == nil)
        #expect(SpecimenWords.line(self.facts([self.line("SPECIMEN", y: 0.1, confidence: 0.7)])) == nil)
    }
}
