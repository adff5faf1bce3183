import InspectCore
import Testing

@testable import InspectCore

/// Fields of the VIZ by their labels, where they stand and how they are printed.
@Suite struct VIZFieldsTests {
    private static let today = CalendarDate(year: 2026, month: 6, day: 1)
    private static let mrz = MRZDocument(
        lines: ["P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<", "L898902C36UTO7408122F3404159ZE184226B<<<<<16"],
        today: Self.today)!

    private func line(
        _ text: String, x: Double = 0.36, y: Double, height: Double = 0.017, confidence: Double = 0.99,
        confirmed: Bool? = nil
    ) -> VIZLine {
        let quad = Quad(
            topLeft: Point(x: 0, y: 0), topRight: Point(x: 9, y: 0), bottomRight: Point(x: 9, y: 2),
            bottomLeft: Point(x: 0, y: 2))
        return VIZLine(
            text: text, confidences: [Double](repeating: confidence, count: text.count), quad: quad,
            place: Box(x: x, y: y, width: 0.6 * height * Double(text.count), height: height), height: height,
            isConfirmed: confirmed)
    }

    private func label(_ text: String, x: Double = 0.36, y: Double) -> VIZLine {
        self.line(text, x: x, y: y, height: 0.01, confidence: 0.6)
    }

    private func fields(_ lines: [VIZLine], days: VIZDays = VIZDays()) -> VIZFields {
        VIZFields(VIZFacts(lines: lines, found: lines.count, modelSHA256: ""), dates: days)
    }

    private func days(_ lines: [VIZLine]) -> VIZDays {
        VIZDays(VIZExpectation(Self.mrz, confidences: []), lines: lines, today: Self.today)
    }

    // MARK: Labels

    @Test(arguments: [
        ("Surname / Nom", VIZField.lastName), ("01 PŘÍJMENÍ/SURNAME/NOM", .lastName), ("Soyadı/Surname", .lastName),
        ("Given names / Prénoms", .firstName), ("Apellidos", .lastName), ("Nazwisko / Surname", .lastName),
        ("Date of birth / Date de naissance", .dateOfBirth), ("4. Gebuer den/Date de naissance/", .dateOfBirth),
        ("Place of birth/ Lieu de naissance", .placeOfBirth), ("Miejsce urodzenia", .placeOfBirth),
        ("Datum vydání/Date of issue", .issuingDate), ("Verilmə tarixi/Date of issue", .issuingDate),
        ("Date of expiry/ Date d’expiration", .expiryDate), ("Behörde/Authority/Autorité", .issuingAuthority),
        ("Anschrift/Address/Adresse", .address), ("Sex/Sexe", .gender), ("3 DOB", .dateOfBirth),
        ("Personal No./ N° personnel", .personalNumber), ("Kansalaisuus·Nationalitet", .nationality),
        ("Utfärdande myndighet/Issuing authority", .issuingAuthority), ("Entidade emissora", .issuingAuthority),
        ("Hjemsted/Place of residence", .address), ("Rijksregisternummer", .personalNumber),
        ("Country of birth", .placeOfBirth), ("Réamhainm(neacha)", .firstName), ("Välja antud", .issuingDate),
        ("Tempat lahir", .placeOfBirth), ("Válido até", .expiryDate), ("Dátum platnosti", .expiryDate),
        ("Maykapangyarihang nagkaloob", .issuingAuthority), ("Lugar ng kapanganakan", .placeOfBirth),
        ("Warganegara", .nationality), ("Číslo cestovného dokladu", .documentNumber),
    ])
    func `Labels are known in every language`(text: String, field: VIZField) {
        #expect(VIZLabel.field(text) == field)
    }

    @Test(arguments: [
        ("Datc of birtb / Datedenaissance", VIZField.dateOfBirth), ("Plaoe of birth", .placeOfBirth),
        ("Sumame", .lastName), ("Dale of issuc/Date de delivrance", .issuingDate), ("Givcn narnes", .firstName),
    ])
    func `A label may have misread letters`(text: String, field: VIZField) {
        #expect(VIZLabel.field(text) == field)
    }

    @Test(arguments: [
        "PASSPORT OFFICE", "MINISTRY OF FOREIGN AFFAIRS", "BRITISH CITIZEN", "ANNA MARIA", "ZENITH", "12 AUG 1974",
        "LAND TRANSPORT AUTHORITY OF SINGAPORE", "Holder's signature / Signature du titulaire", "NAME", "UTOPIAN",
    ])
    func `Values and labels of other things name no field`(text: String) {
        #expect(VIZLabel.field(text) == nil)
    }

    // MARK: Places

    private var page: [VIZLine] {
        [
            self.label("Surname / Nom", y: 0.15), self.line("ERIKSSON", x: 0.37, y: 0.165),
            self.label("Given names / Prénoms", y: 0.21), self.line("ANNA MARIA", x: 0.37, y: 0.225),
            self.label("Date of birth / Date de naissance", y: 0.31), self.line("12 AUG/AOUT 74", x: 0.37, y: 0.325),
            self.label("Sex/Sexe", y: 0.36), self.label("Place of birth/Lieu de naissance", x: 0.55, y: 0.36),
            self.line("F", x: 0.37, y: 0.375), self.line("ZENITH", x: 0.57, y: 0.375),
            self.label("Date of issue/ Date de délivrance", y: 0.41),
            self.label("Authority/ Autorité", x: 0.7, y: 0.41),
            self.line("16 APR/AVR 24", x: 0.37, y: 0.425), self.line("PASSPORT OFFICE.", x: 0.71, y: 0.425),
            self.label("Date of expiry/ Date d’expiration", y: 0.46),
            self.label("Holder’s signature/ Signature du titulaire", x: 0.65, y: 0.46),
            self.line("15 APR/AVR 34", x: 0.37, y: 0.475), self.line("Anna Maria Eriksson", x: 0.68, y: 0.475),
        ]
    }

    @Test func `Values stand under their labels, in two columns`() {
        let read = self.fields(self.page, days: self.days(self.page))
        #expect(read[.placeOfBirth]?.value == "ZENITH")
        #expect(read[.issuingAuthority]?.value == "PASSPORT OFFICE")
        #expect(read[.issuingDate]?.date == CalendarDate(year: 2024, month: 4, day: 16))
        #expect(read[.gender]?.value == "F")
        #expect(read[.lastName]?.value == "ERIKSSON")
    }

    @Test func `Values stand right of their labels`() {
        let read = self.fields([
            self.line("Surname:", x: 0.05, y: 0.1), self.line("SMITH", x: 0.25, y: 0.1),
            self.line("Place of birth:", x: 0.05, y: 0.15), self.line("LEEDS", x: 0.25, y: 0.15),
            self.line("Document No.: A12345678", x: 0.05, y: 0.2),
        ])
        #expect(read[.lastName]?.value == "SMITH")
        #expect(read[.placeOfBirth]?.value == "LEEDS")
        #expect(read[.documentNumber]?.value == "A12345678")
    }

    @Test func `A label of two lines has its value under the second`() {
        let read = self.fields([
            self.label("6. Gebuer zou/Lieu de naissance/", y: 0.3), self.label("Place of birth", x: 0.37, y: 0.311),
            self.line("LUXEMBOURG", x: 0.37, y: 0.325),
        ])
        #expect(read[.placeOfBirth]?.value == "LUXEMBOURG")
    }

    @Test func `A label in an unknown language stands between, and capitals as small as the label are a value`() {
        let between = self.fields([
            self.label("Place of birth", y: 0.3), self.label("Zu naskimovar", y: 0.311), self.line("ZENITH", y: 0.325),
        ])
        #expect(between[.placeOfBirth]?.value == "ZENITH")
        let small = self.fields([self.label("Place of birth", y: 0.3), self.line("ZENITH", y: 0.311, height: 0.01)])
        #expect(small[.placeOfBirth]?.value == "ZENITH")
        let unread = self.fields([self.label("Place of birth", y: 0.3), self.label("Zu naskimovar", y: 0.311)])
        #expect(unread[.placeOfBirth] == nil)
    }

    @Test func `Two labels on one line have their own values`() {
        let read = self.fields([
            self.label("Sex/Sexe   Place of birth/Lieu de naissance", y: 0.36), self.line("F", x: 0.36, y: 0.375),
            self.line("ZENITH", x: 0.45, y: 0.375),
        ])
        #expect(read[.gender]?.value == "F")
        #expect(read[.placeOfBirth]?.value == "ZENITH")
    }

    @Test func `An empty field takes no value of its neighbours`() {
        let read = self.fields([
            self.label("Place of birth/Lieu de naissance", y: 0.3), self.label("Sex/Sexe", y: 0.325),
            self.line("F", y: 0.34),
        ])
        #expect(read[.placeOfBirth] == nil)
        #expect(read.withoutValue == [.placeOfBirth])
    }

    @Test func `Licences print the place of birth after the day, and the class after its number`() {
        let read = self.fields([
            self.line("1. NOWAK", y: 0.1), self.line("2. ZOFIA", y: 0.15), self.line("3. 03.02.1991 KRAKOW", y: 0.2),
            self.line("4a. 24.01.2023", y: 0.25), self.line("9. AM/B1/B", y: 0.4),
        ])
        #expect(read[.placeOfBirth]?.value == "KRAKOW")
        #expect(read[.dateOfBirth]?.date == CalendarDate(year: 1991, month: 2, day: 3))
        #expect(read[.categories]?.value == "AM/B1/B")
        let american = self.fields([
            self.line("DRIVER LICENSE", y: 0.02), self.line("9 CLASS D", y: 0.1), self.line("15 SEX F", y: 0.15),
            self.line("8 100 MARKET STREET", y: 0.2), self.line("BIGTOWN, MA, 02801", x: 0.38, y: 0.22),
            self.line("3 DOB 01/06/1958", y: 0.3),
        ])
        #expect(american[.categories]?.value == "D")
        #expect(american[.gender]?.value == "F")
        #expect(american[.address]?.value == "100 MARKET STREET\nBIGTOWN, MA, 02801")
        #expect(american[.dateOfBirth]?.date == CalendarDate(year: 1958, month: 1, day: 6))
    }

    @Test(arguments: [
        (0.98, false, true), (0.94, false, false), (0.94, true, true), (0.4, true, true), (0.3, true, false),
    ])
    func `A number is certain at once, or by the other network's word`(
        confidence: Double, confirmed: Bool, certain: Bool
    ) {
        let read = self.fields([
            self.label("Document No.", y: 0.1),
            self.line("T64235789", y: 0.115, confidence: confidence, confirmed: confirmed),
        ])
        #expect(read[.documentNumber]?.isCertain == certain)
    }

    @Test(arguments: [
        ("12 AUG 74", 0.95, 0.9), ("ZENITH COUNTY", 0.95, 0.9), ("ZENITH COUNTY", 0.6, Limits.reportedVIZText),
    ])
    func `The other network must be sure where the first is not nearly so`(
        text: String, confidence: Double, limit: Double
    ) {
        let lines = [
            self.label(text.contains("AUG") ? "Date of birth" : "Authority / Autorité", y: 0.3),
            self.line(text, y: 0.315, confidence: confidence),
        ]
        let facts = VIZFacts(lines: lines, found: 2, modelSHA256: "")
        let doubts = VIZFields.unconfirmed(facts, expected: nil, today: Self.today)
        #expect(doubts[1]?.values == [text] && doubts[1]?.limit == limit)
        #expect(self.line("PASSP0RT OFFICE", y: 0).shows("PASSPORT OFFICE", confidence: 0.9))
        #expect(self.line("A0123", y: 0).shows("AO123", confidence: 0.9) == false)
        #expect(self.line("1O MAIN STREET", y: 0).shows("10 MAIN STREET", confidence: 0.9))
    }

    // MARK: Places without a legible label

    private func page(_ more: VIZLine...) -> VIZFields {
        let lines =
            [
                self.line("ERIKSSON", y: 0.1), self.line("ANNA MARIA", y: 0.16), self.line("12 AUG 1974", y: 0.3),
                self.line("16 APR 2024", y: 0.5), self.line("15 APR 2034", y: 0.6),
            ] + more
        return self.fields(lines, days: self.days(lines))
    }

    @Test func `A passport's place of birth stands between the days, its authority beside the day of issue`() {
        let read = self.page(
            self.line("ZENITH", x: 0.5, y: 0.4), self.line("PASSPORT OFFICE", x: 0.7, y: 0.5),
            self.line("Anna Maria Eriksson", x: 0.6, y: 0.6))
        #expect(read[.placeOfBirth]?.value == "ZENITH")
        #expect(read[.issuingAuthority]?.value == "PASSPORT OFFICE")
    }

    @Test func `Of two lines that may be one, neither is taken, nor a stamp, small print or another label's value`() {
        #expect(self.page(self.line("ZENITH", y: 0.4), self.line("TEACHER", x: 0.7, y: 0.4))[.placeOfBirth] == nil)
        #expect(self.page(self.line("SPECIMEN", y: 0.4))[.placeOfBirth] == nil)
        #expect(self.page(self.line("Zenith", y: 0.4, height: 0.01))[.placeOfBirth] == nil)
        let other = self.page(self.label("Colour of eyes", y: 0.385), self.line("BROWN", y: 0.4))
        #expect(other[.placeOfBirth] == nil)
        #expect(self.fields([self.line("ZENITH", y: 0.4)])[.placeOfBirth] == nil)
    }

    @Test func `Without a legible day of issue, the day of expiry bounds a passport's places`() {
        func page(_ more: VIZLine...) -> VIZFields {
            let lines =
                [
                    self.line("ERIKSSON", y: 0.1), self.line("ANNA MARIA", y: 0.16), self.line("12 AUG 1974", y: 0.3),
                    self.line("15 APR 2034", y: 0.6),
                ] + more
            return self.fields(lines, days: self.days(lines))
        }
        let read = page(self.line("ZENITH", y: 0.4), self.line("ZENITH COUNTY", x: 0.7, y: 0.6))
        #expect(read[.placeOfBirth]?.value == "ZENITH")
        #expect(read[.issuingAuthority]?.value == "ZENITH COUNTY")
        // The authority above the day of expiry.
        #expect(page(self.line("ZENITH COUNTY", y: 0.5))[.placeOfBirth] == nil)
        #expect(page(self.line("MINISTRY OF THE INTERIOR", y: 0.4))[.placeOfBirth] == nil)
    }

    @Test func `On a front, an address without a legible label has its postal code`() {
        func front(_ town: String) -> String? {
            self.fields([
                self.line("ERIKSSON", x: 0.5, y: 0.1), self.line(town, x: 0.5, y: 0.3),
                self.line("HEIDESTR. 17", x: 0.5, y: 0.32),
            ])[.address]?.value
        }
        #expect(front("51147 KÖLN") == "51147 KÖLN\nHEIDESTR. 17")
        #expect(front("KÖLN") == nil)
    }

    @Test func `The back of a card shows an address without a legible label, and names its authority`() {
        let mrz = MRZDocument(
            lines: [
                "I<UTOD231458907<<<<<<<<<<<<<<<", "7408122F1204159UTO<<<<<<<<<<<6", "ERIKSSON<<ANNA<MARIA<<<<<<<<<<",
            ],
            today: Self.today)!
        let lines = [
            self.line("160 cm", x: 0.1, y: 0.1), self.line("KÖLN", x: 0.5, y: 0.1),
            self.line("HEIDESTR. 17", x: 0.5, y: 0.12), self.line("STADT KÖLN", x: 0.1, y: 0.3),
        ]
        let days = VIZDays(VIZExpectation(mrz, confidences: []), lines: lines, today: Self.today)
        let read = self.fields(lines, days: days)
        #expect(read[.address]?.value == "KÖLN\nHEIDESTR. 17")
        #expect(read[.issuingAuthority]?.value == "STADT KÖLN")
        #expect(self.fields(lines)[.address] == nil)
        // The authority's own address stands under its name.
        for texts in [["STADT KÖLN", "HEIDESTR. 17"], ["PREFECTURE DE POLICE 75", "HEIDESTR. 17", "KÖLN"]] {
            let own = texts.enumerated().map { self.line($1, x: 0.5, y: 0.3 + 0.02 * Double($0)) }
            let ownDays = VIZDays(VIZExpectation(mrz, confidences: []), lines: own, today: Self.today)
            #expect(self.fields(own, days: ownDays)[.address] == nil)
        }
    }

    @Test(arguments: [
        ("Ministére des Affaires étrangėres", "Ministère des Affaires étrangères"), ("DAXÌLI iŞLƏR", "DAXİLİ İŞLƏR"),
        ("KRAKOW", "KRAKOW"), ("STADT KÖLN", "STADT KÖLN"), ("ÉLAN", "ÉLAN"),
    ])
    func `Diacritics of known words are no doubt, and none are added to a word that has none`(
        text: String, spelt: String
    ) {
        let sure = text.map { $0.isASCII ? 0.99 : 0.5 }
        let (characters, confidences) = VIZWords.spelt(Array(text), sure)
        #expect(String(characters) == spelt)
        #expect(confidences.min() == (spelt == "ÉLAN" ? 0.5 : 0.99))
    }

    @Test func `An authority's second language is no second line of its name`() {
        let read = self.fields([
            self.label("Authority / Autorité", y: 0.3), self.line("Poliisi/Lappeenranta", y: 0.315),
            self.line("Polisen/Villmanstrand", y: 0.335, confidence: 0.6),
        ])
        #expect(read[.issuingAuthority]?.value == "Poliisi/Lappeenranta")
        #expect(read[.issuingAuthority]?.isCertain == true)
    }

    @Test func `A value stands beside its label where nothing under it can be one`() {
        let read = self.fields([
            self.label("Issued in", x: 0.26, y: 0.247), self.line("B", x: 0.26, y: 0.26, height: 0.02),
            self.line("LONDON", x: 0.362, y: 0.247),
        ])
        #expect(read[.issuingAuthority]?.value == "LONDON")
    }

    // MARK: Days

    @Test func `The MRZ's days tell whether day or month stands first`() {
        let lines = [
            self.line("08/12/1974", y: 0.1), self.label("Date of issue", y: 0.2), self.line("04/05/2024", y: 0.215),
        ]
        let read = self.fields(lines, days: self.days(lines))
        #expect(read[.issuingDate]?.date == CalendarDate(year: 2024, month: 4, day: 5))
        #expect(self.fields(Array(lines.dropFirst()))[.issuingDate]?.date == nil)
    }

    @Test func `The only other day is the day of issue if it lies whole years before the expiry`() {
        let others = [self.line("12 AUG 1974", y: 0.1), self.line("15 APR 2034", y: 0.3)]
        func issue(_ texts: String...) -> CalendarDate? {
            let lines = others + texts.enumerated().map { self.line($0.element, y: 0.4 + 0.1 * Double($0.offset)) }
            return self.days(lines).issue(lines)?.day
        }
        #expect(issue("16 APR 2024") == CalendarDate(year: 2024, month: 4, day: 16))
        #expect(issue("16 APR 24") == CalendarDate(year: 2024, month: 4, day: 16))
        #expect(issue("20 SEP 2024") == nil)
        #expect(issue("16 APR 2024", "03 MAY 2021") == nil)
        #expect(issue() == nil)
    }

    // MARK: Names and addresses

    private func printed(_ text: String, _ name: String, field: VIZField = .lastName, state: String = "DEU") -> String?
    {
        let value = VIZExpectation.Value(field: field, text: name)
        let given = VIZExpectation.Value(field: .firstName, text: "ANNA")
        return VIZNames.printed(value, [self.line(text, y: 0.1)], labelled: nil, others: [given], state: state)?.text
    }

    @Test(arguments: [
        ("Virtanen", "VIRTANEN", "Virtanen"), ("CHIEN-SHENG", "CHIEN SHENG", "CHIEN-SHENG"),
        ("MULLER", "MUELLER", "MÜLLER"), ("Müller", "MUELLER", "Müller"), ("MÜLLER", "MULLER", "MÜLLER"),
        ("ERIKSSON.", "ERIKSSON", "ERIKSSON"), ("O'CONNOR", "OCONNOR", "O'CONNOR"),
    ])
    func `A name is spelt as printed where the MRZ agrees`(text: String, mrz: String, name: String) {
        #expect(self.printed(text, mrz) == name)
    }

    @Test func `A blank that the MRZ has and the print seems to lack was overlooked`() {
        #expect(self.printed("ANNAMARIA", "ANNA MARIA") == nil)
        #expect(self.printed("ANNA-MARIA", "ANNA MARIA") == "ANNA-MARIA")
        #expect(self.printed("O'CONNOR LEE", "OCONNOR LEE") == "O'CONNOR LEE")
    }

    @Test func `A line of capitals with the family's name first is no signature`() {
        #expect(self.printed("NOWAK-KOWALSKA ANNA", "NOWAK KOWALSKA") == "NOWAK-KOWALSKA")
        #expect(self.printed("ANNA NOWAK-KOWALSKA", "NOWAK KOWALSKA") == nil)
        #expect(self.printed("Nowak-Kowalska Anna", "NOWAK KOWALSKA") == nil)
    }

    @Test func `What the recogniser drops follows from the MRZ's spelling and the state`() {
        #expect(self.printed("SORENSEN", "SOERENSEN", state: "DNK") == "SØRENSEN")
        #expect(self.printed("BJORN", "BJOERN", state: "SWE") == "BJÖRN")
        #expect(self.printed("MULLER", "MULLER") == "MULLER")
    }

    @Test(arguments: ["Anna Eriksson", "ERIKSSoN", "ER1KSSON", "PETROVIC"])
    func `A signature, a misread letter and another name give no spelling`(text: String) {
        #expect(self.printed(text, "ERIKSSON") == nil)
    }

    @Test func `Addresses are taken apart by what their lines say`() {
        let german = VIZAddress("51147 KÖLN\nHEIDESTRASSE 17")
        #expect(german?.postalCode == "51147" && german?.city == "KÖLN" && german?.street == "HEIDESTRASSE 17")
        let without = VIZAddress("KÖLN\nHEIDESTR. 17")
        #expect(without?.city == "KÖLN" && without?.street == "HEIDESTR. 17" && without?.postalCode == nil)
        let inline = VIZAddress("KÖLN, HEIDESTR. 17")
        #expect(inline?.city == "KÖLN" && inline?.street == "HEIDESTR. 17")
        let american = VIZAddress("123 STREET ADDRESS\nYOUR CITY WA 99999-1234")
        #expect(american?.city == "YOUR CITY" && american?.subdivision == "WA" && american?.postalCode == "99999-1234")
        #expect(american?.street == "123 STREET ADDRESS")
        // Many fonts print O and 0 alike.
        #expect(VIZAddress("10O MARKET STREET\nBIGTOWN, MA, O2801")?.street == "100 MARKET STREET")
        #expect(VIZAddress("10O MARKET STREET\nBIGTOWN, MA, O2801")?.postalCode == "02801")
        #expect(VIZAddress("1 O'HARA ROAD\nOXFORD")?.street?.contains("O'HARA") == true)
        for street in ["12 HIGH STREET, FLAT B", "FLAT B, 12 HIGH STREET"] {
            let flat = VIZAddress(street)
            #expect(flat?.street == street && flat?.city == nil)
        }
        #expect(VIZAddress("HEIDESTR. 17, 51147 KÖLN")?.city == "KÖLN")
        let unclear = VIZAddress("SOMEWHERE")
        #expect(unclear?.street == "SOMEWHERE" && unclear?.city == nil)
    }
}
