extension AAMVAElements {
    /// An element's meaning, or `nil` if the standard does not have it (Annex D.12.5 and earlier versions' tables).
    package func name(of element: String) -> String? {
        if let name = self.version == 1 ? Self.oldNames[element] : nil { return name }
        if let name = Self.names[element] { return name }
        return element.hasPrefix("Z") ? "the issuer's own element" : nil
    }

    private static let names: [String: String] = [
        "DAA": "full name", "DAB": "family name", "DAC": "first name", "DAD": "middle name", "DAE": "name suffix",
        "DAF": "name prefix", "DAG": "street address", "DAH": "street address, second line", "DAI": "city",
        "DAJ": "jurisdiction", "DAK": "postal code", "DAL": "residence street address",
        "DAM": "residence street address, second line", "DAN": "residence city", "DAO": "residence jurisdiction",
        "DAP": "residence postal code", "DAQ": "customer ID number", "DAR": "licence class",
        "DAS": "licence restrictions", "DAT": "licence endorsements", "DAU": "height", "DAV": "height in centimetres",
        "DAW": "weight in pounds", "DAX": "weight in kilograms", "DAY": "eye colour", "DAZ": "hair colour",
        "DBA": "expiry date", "DBB": "date of birth", "DBC": "sex", "DBD": "issue date", "DBE": "issue time",
        "DBF": "number of duplicates", "DBG": "alias given name", "DBH": "organ donor", "DBI": "not a resident",
        "DBJ": "unique customer identifier", "DBK": "social security number", "DBL": "alias date of birth",
        "DBM": "alias social security number", "DBN": "alias family name", "DBO": "alias last name",
        "DBP": "alias first name", "DBQ": "alias middle name", "DBR": "alias suffix", "DBS": "alias suffix",
        "DCA": "vehicle class", "DCB": "restrictions", "DCD": "endorsements", "DCE": "weight range",
        "DCF": "document discriminator", "DCG": "country", "DCH": "federal commercial vehicle codes",
        "DCI": "place of birth", "DCJ": "audit information", "DCK": "inventory control number",
        "DCL": "race or ethnicity", "DCM": "standard vehicle class", "DCN": "standard endorsements",
        "DCO": "standard restrictions", "DCP": "vehicle class, described", "DCQ": "endorsements, described",
        "DCR": "restrictions, described", "DCS": "family name", "DCT": "given names", "DCU": "name suffix",
        "DDA": "compliance (REAL ID)", "DDB": "card revision date", "DDC": "hazardous materials endorsement expiry",
        "DDD": "limited duration document", "DDE": "family name truncated", "DDF": "first name truncated",
        "DDG": "middle name truncated", "DDH": "under 18 until", "DDI": "under 19 until", "DDJ": "under 21 until",
        "DDK": "organ donor", "DDL": "veteran",
    ]

    /// Elements that meant something else in the version of 2000.
    private static let oldNames: [String: String] = ["DBG": "medical indicator", "DBS": "alias prefix"]
}
