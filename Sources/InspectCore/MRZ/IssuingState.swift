/// Issuing states by their two codes: three letters in MRZs, two in certificates.
package enum IssuingState {
    /// ISO 3166-1, all 249 entries.
    private static let countries = """
        AFG:AF ALA:AX ALB:AL DZA:DZ ASM:AS AND:AD AGO:AO AIA:AI ATA:AQ ATG:AG ARG:AR ARM:AM ABW:AW AUS:AU AUT:AT \
        AZE:AZ BHS:BS BHR:BH BGD:BD BRB:BB BLR:BY BEL:BE BLZ:BZ BEN:BJ BMU:BM BTN:BT BOL:BO BES:BQ BIH:BA BWA:BW \
        BVT:BV BRA:BR IOT:IO BRN:BN BGR:BG BFA:BF BDI:BI CPV:CV KHM:KH CMR:CM CAN:CA CYM:KY CAF:CF TCD:TD CHL:CL \
        CHN:CN CXR:CX CCK:CC COL:CO COM:KM COG:CG COD:CD COK:CK CRI:CR CIV:CI HRV:HR CUB:CU CUW:CW CYP:CY CZE:CZ \
        DNK:DK DJI:DJ DMA:DM DOM:DO ECU:EC EGY:EG SLV:SV GNQ:GQ ERI:ER EST:EE SWZ:SZ ETH:ET FLK:FK FRO:FO FJI:FJ \
        FIN:FI FRA:FR GUF:GF PYF:PF ATF:TF GAB:GA GMB:GM GEO:GE DEU:DE GHA:GH GIB:GI GRC:GR GRL:GL GRD:GD GLP:GP \
        GUM:GU GTM:GT GGY:GG GIN:GN GNB:GW GUY:GY HTI:HT HMD:HM VAT:VA HND:HN HKG:HK HUN:HU ISL:IS IND:IN IDN:ID \
        IRN:IR IRQ:IQ IRL:IE IMN:IM ISR:IL ITA:IT JAM:JM JPN:JP JEY:JE JOR:JO KAZ:KZ KEN:KE KIR:KI PRK:KP KOR:KR \
        KWT:KW KGZ:KG LAO:LA LVA:LV LBN:LB LSO:LS LBR:LR LBY:LY LIE:LI LTU:LT LUX:LU MAC:MO MDG:MG MWI:MW MYS:MY \
        MDV:MV MLI:ML MLT:MT MHL:MH MTQ:MQ MRT:MR MUS:MU MYT:YT MEX:MX FSM:FM MDA:MD MCO:MC MNG:MN MNE:ME MSR:MS \
        MAR:MA MOZ:MZ MMR:MM NAM:NA NRU:NR NPL:NP NLD:NL NCL:NC NZL:NZ NIC:NI NER:NE NGA:NG NIU:NU NFK:NF MKD:MK \
        MNP:MP NOR:NO OMN:OM PAK:PK PLW:PW PSE:PS PAN:PA PNG:PG PRY:PY PER:PE PHL:PH PCN:PN POL:PL PRT:PT PRI:PR \
        QAT:QA REU:RE ROU:RO RUS:RU RWA:RW BLM:BL SHN:SH KNA:KN LCA:LC MAF:MF SPM:PM VCT:VC WSM:WS SMR:SM STP:ST \
        SAU:SA SEN:SN SRB:RS SYC:SC SLE:SL SGP:SG SXM:SX SVK:SK SVN:SI SLB:SB SOM:SO ZAF:ZA SGS:GS SSD:SS ESP:ES \
        LKA:LK SDN:SD SUR:SR SJM:SJ SWE:SE CHE:CH SYR:SY TWN:TW TJK:TJ TZA:TZ THA:TH TLS:TL TGO:TG TKL:TK TON:TO \
        TTO:TT TUN:TN TUR:TR TKM:TM TCA:TC TUV:TV UGA:UG UKR:UA ARE:AE GBR:GB USA:US UMI:UM URY:UY UZB:UZ VUT:VU \
        VEN:VE VNM:VN VGB:VG VIR:VI WLF:WF ESH:EH YEM:YE ZMB:ZM ZWE:ZW
        """

    /// Codes of Doc 9303-3 §5 outside ISO 3166-1, with the two letters of Doc 9303-3 §5 Part D, or of the state itself.
    private static let others = """
        D:DE EUE:EU GBD:GB GBN:GB GBO:GB GBP:GB GBS:GB RKS:KS UNO:UN UNA:UN UNK:UN UTO:UT
        """

    private static let codes: [Substring: Substring] = Dictionary(
        uniqueKeysWithValues: (Self.countries + " " + Self.others).split(separator: " ").map { entry in
            let pair = entry.split(separator: ":")
            return (pair[0], pair[1])
        })

    /// Codes of Doc 9303-3 §5 that have no two letters: organisations, refugees and stateless persons, codes that are no
    /// longer issued (ANT, NTZ), and INP, which Interpol's older documents bear. D is Germany's.
    private static let withoutLetters: Set<Substring> = [
        "XBA", "XIM", "XCC", "XCE", "XCO", "XEC", "XES", "XMP", "XOM", "XPO", "XDC", "XXA", "XXB", "XXC", "XXX", "XCT",
        "ANT", "NTZ", "IAO", "INP",
    ]

    /// Whether `code`, without fillers, is an issuing state or nationality of Doc 9303-3 §5.
    package static func isKnown(_ code: some StringProtocol) -> Bool {
        let code = Substring(code)
        return self.codes[code] != nil || self.withoutLetters.contains(code)
    }

    /// Whether an MRZ's issuing state is the country of a certificate (Doc 9303-12 §7.1.1: countryName, two letters).
    ///
    /// - Returns: `nil` for a state that has no two letters here.
    package static func matches(_ issuingState: String, country: String) -> Bool? {
        let country = country.uppercased()
        // Certificates of some organisations carry the MRZ's three letters.
        if country == issuingState { return true }
        guard let letters = self.codes[issuingState[...]] else { return nil }
        // Kosovo's certificates carry KS; XK is what most others use. (Doc 9303-3 §5 names neither.)
        return country == letters || (issuingState == "RKS" && country == "XK")
    }
}
