import InspectCore
import Testing

@Suite struct AAMVACardTests {
    /// A card of the version of 2020, laid out as Annex D.12 asks.
    private static let card2020 = """
        @\n\u{1E}\rANSI 636000100102DL00410300ZV03410010DLDAQD12345678\nDCSMUSTERMANN\nDDEN\nDACERIKA\nDDFT\nDADMARIA,ANNA\n\
        DDGN\nDCUJR\nDCAD\nDCBK\nDCDPH\nDBD06062019\nDBB02291988\nDBA12102024\nDBC2\nDAU068 in\nDAYBRO\nDAZBLN\n\
        DAG1 MAIN STREET\nDAHAPT 2\nDAIRICHMOND\nDAJVA\nDAK232690000  \nDCF24242\nDCGUSA\nDCK99\nDDAF\nDDB06062018\n\
        DDD1\nDDK1\nDDL1\rZVZVA01\rZVB\r
        """

    @Test func `Every element of the current version is read`() throws {
        let card = try #require(AAMVACard(Self.card2020))
        #expect(card.elements.issuer == "636000")
        #expect(card.elements.version == 10)
        #expect(card.elements.jurisdictionVersion == 1)
        #expect(card.elements.subfiles == ["DL", "ZV"])
        #expect(card.elements.fields["ZVA"] == "01")
        #expect(card.elements.fields["ZVB"] == "")
        #expect(card.kind == .drivingLicence)
        #expect(card.documentNumber == "D12345678")
        #expect(card.surname == "MUSTERMANN")
        #expect(card.firstName == "ERIKA")
        #expect(card.middleNames == "MARIA ANNA")
        #expect(card.givenNames == "ERIKA MARIA ANNA")
        #expect(card.suffix == "JR")
        #expect(card.isSurnameTruncated == false)
        #expect(card.isFirstNameTruncated == true)
        #expect(card.birthDate == CalendarDate(year: 1988, month: 2, day: 29))
        #expect(card.issueDate?.iso8601 == "2019-06-06")
        #expect(card.expiryDate?.iso8601 == "2024-12-10")
        #expect(card.cardRevisionDate?.iso8601 == "2018-06-06")
        #expect(card.sex == .female)
        #expect(card.heightInches == 68 && card.heightCentimetres == nil)
        #expect(card.eyeColour == "BRO" && card.hairColour == "BLN")
        #expect(card.street == "1 MAIN STREET" && card.street2 == "APT 2" && card.city == "RICHMOND")
        #expect(card.jurisdiction == "VA" && card.postalCode == "23269" && card.country == "USA")
        #expect(card.vehicleClass == "D" && card.restrictions == "K" && card.endorsements == "PH")
        #expect(card.documentDiscriminator == "24242" && card.inventoryControlNumber == "99")
        #expect(card.isCompliant == true && card.isLimitedDuration == true)
        #expect(card.isOrganDonor == true && card.isVeteran == true)
    }

    @Test func `Version 1 has its own names, dates and heights`() throws {
        let text =
            "@\n\u{1E}\rANSI 6360250102DL00390200ZM02390010DLDAAMUSTERMANN,ERIKA,MARIA,SR\nDAQ26798765\n"
            + "DAG1 MAIN ST\nDAIPHILADELPHIA\nDAJPA\nDAK191301234  \nDARC   \nDAS*/1   \nDAT---- \nDAU508\nDBA20300203\n"
            + "DBB19860202\nDBCF\nDBD20160104\nDBHY\n"
        let card = try #require(AAMVACard(text))
        #expect(card.elements.version == 1)
        #expect(card.elements.jurisdictionVersion == nil)
        #expect(card.surname == "MUSTERMANN" && card.firstName == "ERIKA" && card.middleNames == "MARIA")
        #expect(card.suffix == "SR")
        #expect(card.birthDate?.iso8601 == "1986-02-02" && card.expiryDate?.iso8601 == "2030-02-03")
        #expect(card.heightInches == 68)
        #expect(card.sex == .female)
        #expect(card.vehicleClass == "C" && card.endorsements == nil)
        #expect(card.postalCode == "191301234")
        #expect(card.country == nil)
        #expect(card.isSurnameTruncated == nil && card.isCompliant == nil)
        #expect(card.isOrganDonor == true)
    }

    @Test(arguments: [
        ("MUSTERMANN,ERIKA MARIA", "MUSTERMANN", "ERIKA", "MARIA"),
        ("MUSTERMANN,ERIKA, ,", "MUSTERMANN", "ERIKA", nil),
        ("ERIKA MARIA ANNA MUSTERMANN", "MUSTERMANN", "ERIKA", "MARIA ANNA"),
        ("MUSTERMANN@ERIKA@MARIA", "MUSTERMANN", "ERIKA", "MARIA"),
        ("MUSTERMANN", "MUSTERMANN", nil, nil),
    ])
    func `Names of version 1 have several forms`(name: String, surname: String, first: String?, middle: String?) throws
    {
        let card = try #require(AAMVACard("@\n\u{1E}\rAAMVA6360060101DL00290100DAA\(name)\nDAQ1\r"))
        #expect(card.surname == surname && card.firstName == first && card.middleNames == middle)
    }

    @Test(arguments: ["ERIKA,MARIA ANNA", "ERIKA MARIA ANNA", "ERIKA,MARIA,ANNA"])
    func `Versions 2 and 3 have given names in one element`(given: String) throws {
        let card = try #require(AAMVACard("@\n\u{1E}\rANSI 636055030001DL00310100DLDCSMUSTER\nDCT\(given)\nDAQ1\n\r"))
        #expect(card.firstName == "ERIKA" && card.middleNames == "MARIA ANNA")
    }

    @Test(arguments: [
        ("05061980", "1980-05-06"), ("19800506", "1980-05-06"), ("12102024", "2024-12-10"), ("20121210", "2012-12-10"),
        ("10101910", "1910-10-10"), ("02291988", "1988-02-29"), ("02291989", nil), ("13131980", nil), ("0506198", nil),
        ("00000000", nil), ("05/06/1980", "1980-05-06"),
    ])
    func `Dates are read in either order`(text: String, expected: String?) throws {
        let card = try #require(AAMVACard("@\n\u{1E}\rANSI 636055080001DL00310100DLDAQ1\nDBB\(text)\r"))
        #expect(card.birthDate?.iso8601 == expected)
    }

    @Test(arguments: [
        ("08", "070 IN", 70, nil), ("08", "70in", 70, nil), ("08", "157 CM", nil, 157), ("01", "600", 72, nil),
        ("01", "070", 70, nil), ("08", "999 in", nil, nil), ("08", "", nil, nil),
    ])
    func `Heights keep their unit`(version: String, text: String, inches: Int?, centimetres: Int?) throws {
        let jurisdiction = version == "01" ? "" : "00"
        let card = try #require(
            AAMVACard("@\n\u{1E}\rANSI 636055\(version)\(jurisdiction)01DL00310100DLDAQ1\nDAU\(text)\r"))
        #expect(card.heightInches == inches && card.heightCentimetres == centimetres)
    }

    @Test func `Wrong offsets of subfiles are ignored`() throws {
        let wrong = Self.card2020.replacing("DL00410300ZV03410010", with: "DL99990001ZV00000000")
        let card = try #require(AAMVACard(wrong))
        #expect(card.elements.fields == AAMVACard(Self.card2020)?.elements.fields)
        #expect(card.documentNumber == "D12345678")
    }

    @Test func `Other separators and damaged control characters are read`() throws {
        let expected = try #require(AAMVACard(Self.card2020)?.elements.fields)
        for separator in ["\r\n", "\u{90}\n\u{90}", "\u{FFFD}", "\u{1D}"] {
            let text = "\u{FEFF}" + Self.card2020.replacing("\n", with: separator)
            #expect(AAMVACard(text)?.elements.fields == expected, "\(separator.debugDescription)")
        }
        let bars = "@||ANSI 636000080001DL00310100DLDAQ1234|DCSMUSTER|DACERIKA|DBB05061980"
        #expect(AAMVACard(bars)?.firstName == "ERIKA")
        let blanks = "@ ANSI 636000080001DL00310100DLDAQ1234 DCSMUSTER MANN DACERIKA DBB05061980"
        #expect(AAMVACard(blanks)?.surname == "MUSTER MANN")
        #expect(AAMVACard(blanks)?.birthDate?.iso8601 == "1980-05-06")
    }

    @Test func `An identification card is told from a driving licence`() throws {
        let card = try #require(AAMVACard("@\n\u{1E}\rANSI 636053060001ID00310100IDDAQ115\nDCSNONE\nDADNONE\r"))
        #expect(card.kind == .identificationCard)
        #expect(card.documentNumber == "115")
        #expect(card.surname == nil && card.middleNames == nil)
        #expect(card.elements.fields["DCS"] == "NONE")
    }

    @Test(arguments: [
        "", "@", "ANSI ", "@\n\u{1E}\rANSI 63600", "@\n\u{1E}\rANSI 636000100102DL00410300", "https://example.com/ANSI",
        "1234567890", "@\n\u{1E}\rANSI 6360001001", "ANSI 636000\u{0}\u{0}\u{0}\u{0}DAQ",
    ])
    func `Other text is no card`(text: String) {
        #expect(AAMVACard(text) == nil)
    }
}
