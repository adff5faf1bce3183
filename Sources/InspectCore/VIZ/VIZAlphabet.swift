/// Which states' print the recogniser can read: it knows the letters of English and a few accents.
enum VIZAlphabet {
    /// States that print letters which are no Latin letter with a mark, Cyrillic or Ə for example: it takes them for others that look
    /// alike, and is sure of them.
    private static let others: Set<String> = [
        "ARM", "AZE", "BGR", "BIH", "BLR", "CYP", "GEO", "GRC", "ISL", "KAZ", "KGZ", "MDA", "MKD", "MNE", "MNG", "RUS",
        "SRB", "TJK", "TKM", "UKR", "UZB",
    ]

    /// Whether words that nothing else proves may be reported of this state's documents.
    static func isReadable(_ state: String?) -> Bool { state.map { !self.others.contains($0) } ?? true }

    /// ß looks like B to it; German has no other word for a street.
    static func street(_ text: String, state: String?) -> String {
        guard let state, ["D", "DEU", "AUT"].contains(state) else { return text }
        return text.replacing("STRABE", with: "STRASSE").replacing("traBe", with: "traße")
    }
}

/// Type and country of a document without MRZ and barcode, by its title.
enum VIZTitle {
    private static let types: [(words: [String], type: String)] = [
        (["DRIVER", "LICENSE"], "DRIVING_LICENSE"), (["DRIVER", "LICENCE"], "DRIVING_LICENSE"),
        (["DRIVING", "LICENCE"], "DRIVING_LICENSE"), (["DRIVERS", "LICENSE"], "DRIVING_LICENSE"),
        (["PERMIS", "CONDUIRE"], "DRIVING_LICENSE"), (["FUHRERSCHEIN"], "DRIVING_LICENSE"),
        (["RIJBEWIJS"], "DRIVING_LICENSE"), (["PRAWO", "JAZDY"], "DRIVING_LICENSE"), (["KORKORT"], "DRIVING_LICENSE"),
        (["PERMISO", "CONDUCCION"], "DRIVING_LICENSE"), (["PATENTE", "GUIDA"], "DRIVING_LICENSE"),
        (["IDENTITY", "CARD"], "ID_CARD"), (["IDENTIFICATION", "CARD"], "ID_CARD"), (["PERSONALAUSWEIS"], "ID_CARD"),
        (["CARTE", "IDENTITE"], "ID_CARD"), (["PASSPORT"], "PASSPORT"), (["REISEPASS"], "PASSPORT"),
    ]

    private static let states: Set<String> = [
        "ALABAMA", "ALASKA", "ARIZONA", "ARKANSAS", "CALIFORNIA", "COLORADO", "CONNECTICUT", "DELAWARE", "FLORIDA",
        "HAWAII", "IDAHO", "ILLINOIS", "INDIANA", "IOWA", "KANSAS", "KENTUCKY", "LOUISIANA", "MAINE", "MARYLAND",
        "MASSACHUSETTS", "MICHIGAN", "MINNESOTA", "MISSISSIPPI", "MISSOURI", "MONTANA", "NEBRASKA", "NEVADA", "OHIO",
        "OKLAHOMA", "OREGON", "PENNSYLVANIA", "TENNESSEE", "TEXAS", "UTAH", "VERMONT", "VIRGINIA", "WASHINGTON",
        "WISCONSIN", "WYOMING", "USA",
    ]

    private static let provinces: Set<String> = [
        "ALBERTA", "MANITOBA", "ONTARIO", "QUEBEC", "SASKATCHEWAN", "CANADA",
    ]

    private static let countries: [String: String] = [
        "AUSTRIA": "AUT", "BELGIUM": "BEL", "BULGARIA": "BGR", "CROATIA": "HRV", "CYPRUS": "CYP", "CZECH": "CZE",
        "DENMARK": "DNK", "DEUTSCHLAND": "DEU", "ESTONIA": "EST", "FINLAND": "FIN", "GREECE": "GRC", "HUNGARY": "HUN",
        "IRELAND": "IRL", "ITALIANA": "ITA", "KAZAKHSTAN": "KAZ", "LATVIA": "LVA", "LITHUANIA": "LTU",
        "LUXEMBOURG": "LUX", "MALTA": "MLT", "MEXICO": "MEX", "NEDERLANDEN": "NLD", "NORWAY": "NOR",
        "OSTERREICH": "AUT", "POLSKA": "POL", "PORTUGAL": "PRT", "ROMANIA": "ROU", "SERBIA": "SRB", "SLOVAKIA": "SVK",
        "SLOVENIA": "SVN", "SVERIGE": "SWE", "SWEDEN": "SWE", "TURKEY": "TUR", "TURKIYE": "TUR", "UKRAINE": "UKR",
    ]

    /// Words of lines that were read with certainty.
    private static func words(_ facts: VIZFacts) -> [Set<String>] {
        facts.lines.filter { $0.confidence >= Limits.legibleVIZText }.map { Set(VIZLabel.plain($0.text)) }
    }

    /// `nil` where no title was read, or several.
    static func type(_ facts: VIZFacts) -> String? {
        let all = self.words(facts).reduce(into: Set<String>()) { $0.formUnion($1) }
        let found = Set(self.types.filter { $0.words.allSatisfy(all.contains) }.map(\.type))
        return found.count == 1 ? found.first : nil
    }

    static func country(_ facts: VIZFacts) -> String? {
        // A title is a word or two: an address may name a country too, among more.
        var found: Set<String> = []
        for line in facts.lines where line.confidence >= Limits.legibleVIZText {
            let words = VIZLabel.plain(line.text)
            guard words.count <= 6, !words.contains(where: { $0.contains(where: \.isNumber) }) else { continue }
            for word in words {
                if self.states.contains(word), VIZLayout.isAmerican(facts.lines) { found.insert("USA") }
                if self.provinces.contains(word), VIZLayout.isAmerican(facts.lines) { found.insert("CAN") }
                if let code = self.countries[word] { found.insert(code) }
            }
        }
        return found.count == 1 ? found.first : nil
    }
}
