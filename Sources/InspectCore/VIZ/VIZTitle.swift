/// What a document says of itself in its title: its type and country if it has neither MRZ nor barcode, and its side.
enum VIZTitle {
    /// Titles of documents as they stand on separate lines, accents dropped. Without a type: of several kinds of card.
    private static let titles: [String: String?] = [
        "LICENSE": nil, "LICENCE": nil, "PERMANENT RESIDENT": nil, "RESIDENCE PERMIT": nil,
        "DRIVER LICENSE": "DRIVING_LICENSE", "DRIVERS LICENSE": "DRIVING_LICENSE", "DRIVER LICENCE": "DRIVING_LICENSE",
        "DRIVERS LICENCE": "DRIVING_LICENSE", "DRIVING LICENCE": "DRIVING_LICENSE",
        "PERMIS DE CONDUIRE": "DRIVING_LICENSE", "FUHRERSCHEIN": "DRIVING_LICENSE",
        "PERMISO DE CONDUCCION": "DRIVING_LICENSE", "PATENTE DI GUIDA": "DRIVING_LICENSE",
        "RIJBEWIJS": "DRIVING_LICENSE", "PRAWO JAZDY": "DRIVING_LICENSE", "CARTA DE CONDUCAO": "DRIVING_LICENSE",
        "KORKORT": "DRIVING_LICENSE", "AJOKORTTI": "DRIVING_LICENSE", "KOREKORT": "DRIVING_LICENSE",
        "FORERKORT": "DRIVING_LICENSE", "IDENTITY CARD": "ID_CARD", "IDENTIFICATION CARD": "ID_CARD",
        "PERSONALAUSWEIS": "ID_CARD", "CARTE D IDENTITE": "ID_CARD", "CARTE DIDENTITE": "ID_CARD",
        "CARTA DI IDENTITA": "ID_CARD", "DOWOD OSOBISTY": "ID_CARD", "CARTAO DE CIDADAO": "ID_CARD",
        "PASSPORT": "PASSPORT", "REISEPASS": "PASSPORT",
    ]
    /// Titles of further languages, which give the type but no side.
    private static let moreTitles: [String: String] = [
        "CARTE NATIONALE D IDENTITE": "ID_CARD", "DOCUMENTO NACIONAL DE IDENTIDAD": "ID_CARD",
        "CEDULA DE CIUDADANIA": "ID_CARD", "CEDULA DE IDENTIDAD": "ID_CARD", "OSOBNA ISKAZNICA": "ID_CARD",
        "OSEBNA IZKAZNICA": "ID_CARD", "OBCANSKY PRUKAZ": "ID_CARD", "OBCIANSKY PREUKAZ": "ID_CARD",
        "SZEMELYAZONOSITO IGAZOLVANY": "ID_CARD", "SZEMELYI IGAZOLVANY": "ID_CARD", "ISIKUTUNNISTUS": "ID_CARD",
        "ASMENS TAPATYBES KORTELE": "ID_CARD", "PERSONAS APLIECIBA": "ID_CARD", "HENKILOKORTTI": "ID_CARD",
        "IDENTITETSKORT": "ID_CARD", "IDENTITEITSKAART": "ID_CARD", "KIMLIK KARTI": "ID_CARD",
        "CARTE DE IDENTITATE": "ID_CARD", "PERMIS DE CONDUCERE": "DRIVING_LICENSE",
        "VOZACKA DOZVOLA": "DRIVING_LICENSE", "VOZNISKO DOVOLJENJE": "DRIVING_LICENSE",
        "RIDICSKY PRUKAZ": "DRIVING_LICENSE", "VODICSKY PREUKAZ": "DRIVING_LICENSE",
        "VEZETOI ENGEDELY": "DRIVING_LICENSE", "JUHILUBA": "DRIVING_LICENSE",
        "VADITAJA APLIECIBA": "DRIVING_LICENSE", "VAIRUOTOJO PAZYMEJIMAS": "DRIVING_LICENSE",
        "SURUCU BELGESI": "DRIVING_LICENSE", "LICENCIA DE CONDUCIR": "DRIVING_LICENSE",
        "CARTEIRA NACIONAL DE HABILITACAO": "DRIVING_LICENSE", "CEADUNAS TIOMANA": "DRIVING_LICENSE",
    ]
    /// The words of titles that give a type; a title may stand on several lines.
    private static let types: [(words: Set<String>, type: String)] = Self.titles.compactMapValues { $0 }
        .merging(Self.moreTitles) { first, _ in first }
        .map { (Set($0.key.split(separator: " ").map(String.init)).subtracting(["D", "DE", "DI"]), $0.value) }

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

    /// States and provinces of several words.
    private static let longNames: [[String]] = [
        "NEW YORK", "NEW JERSEY", "NEW HAMPSHIRE", "NEW MEXICO", "NORTH CAROLINA", "SOUTH CAROLINA", "NORTH DAKOTA",
        "SOUTH DAKOTA", "RHODE ISLAND", "DISTRICT OF COLUMBIA", "UNITED STATES", "BRITISH COLUMBIA", "NOVA SCOTIA",
        "NEW BRUNSWICK", "PRINCE EDWARD ISLAND", "NEWFOUNDLAND AND LABRADOR",
    ].map { $0.split(separator: " ").map(String.init) }

    private static let countries: [String: String] = [
        "AUSTRIA": "AUT", "BELGIUM": "BEL", "BULGARIA": "BGR", "CROATIA": "HRV", "CYPRUS": "CYP", "CZECH": "CZE",
        "DENMARK": "DNK", "DEUTSCHLAND": "DEU", "ESTONIA": "EST", "FINLAND": "FIN", "GREECE": "GRC", "HUNGARY": "HUN",
        "IRELAND": "IRL", "ITALIANA": "ITA", "KAZAKHSTAN": "KAZ", "LATVIA": "LVA", "LITHUANIA": "LTU",
        "LUXEMBOURG": "LUX", "MALTA": "MLT", "MEXICO": "MEX", "NEDERLANDEN": "NLD", "NORWAY": "NOR",
        "OSTERREICH": "AUT", "POLSKA": "POL", "PORTUGAL": "PRT", "ROMANIA": "ROU", "SERBIA": "SRB", "SLOVAKIA": "SVK",
        "SLOVENIA": "SVN", "SVERIGE": "SWE", "SWEDEN": "SWE", "TURKEY": "TUR", "TURKIYE": "TUR", "UKRAINE": "UKR",
    ]

    /// Whether the line is a document's title and nothing else.
    static func isTitle(_ text: String) -> Bool {
        let title = VIZLabel.plain(text).joined(separator: " ")
        return self.titles.keys.contains(title) || self.moreTitles.keys.contains(title)
    }

    /// Names of states as their documents' titles have them: no address or place of birth says so much.
    private static let officialNames: [(words: [String], code: String)] = [
        "REPUBLIK OSTERREICH": "AUT", "KINGDOM OF BELGIUM": "BEL", "ROYAUME DE BELGIQUE": "BEL",
        "KONINKRIJK BELGIE": "BEL", "REPUBLIKA HRVATSKA": "HRV", "CESKA REPUBLIKA": "CZE", "EESTI VABARIIK": "EST",
        "KONGERIGET DANMARK": "DNK", "REPUBLIQUE FRANCAISE": "FRA", "BUNDESREPUBLIK DEUTSCHLAND": "DEU",
        "LATVIJAS REPUBLIKA": "LVA", "LIETUVOS RESPUBLIKA": "LTU", "REINO DE ESPANA": "ESP",
        "RZECZPOSPOLITA POLSKA": "POL", "REPUBLICA PORTUGUESA": "PRT", "SLOVENSKA REPUBLIKA": "SVK",
        "REPUBLIKA SLOVENIJA": "SVN", "KONUNGARIKET SVERIGE": "SWE", "KONINKRIJK DER NEDERLANDEN": "NLD",
        "SCHWEIZERISCHE EIDGENOSSENSCHAFT": "CHE", "CONFEDERATION SUISSE": "CHE", "REPUBLIC OF TURKEY": "TUR",
        "TURKIYE CUMHURIYETI": "TUR", "ESTADOS UNIDOS MEXICANOS": "MEX", "REPUBLICA FEDERATIVA DO BRASIL": "BRA",
        "REPUBLICA ARGENTINA": "ARG", "REPUBLICA DE CHILE": "CHL", "REPUBLICA DE COLOMBIA": "COL",
        "REPUBLICA DEL PERU": "PER", "REPUBLICA DEL ECUADOR": "ECU", "REPUBLIKA NG PILIPINAS": "PHL",
        "REPUBLIC OF SOUTH AFRICA": "ZAF", "REPUBLIC OF KENYA": "KEN", "REPUBLIC OF SINGAPORE": "SGP",
        "REPUBLIKA SRBIJA": "SRB", "REPUBLIC OF IRELAND": "IRL",
    ].map { ($0.key.split(separator: " ").map(String.init), $0.value) }

    /// The words of each line that was read with certainty.
    private static func lines(_ facts: VIZFacts) -> [[String]] {
        facts.lines.filter { $0.confidence >= Limits.legibleVIZText }.map { VIZLabel.plain($0.text) }
    }

    /// Whether the text is of the side of a card that has the portrait: its title, or holder, birth and validity beside their
    /// labels.
    static func isFront(_ facts: VIZFacts) -> Bool {
        let isTitled = self.lines(facts).contains { line in
            self.titles[line.joined(separator: " ")].map { $0 != "PASSPORT" } == true
        }
        if isTitled { return true }
        let fields = Set(VIZFields(facts).readings.map(\.field))
        return fields.intersection([.lastName, .firstName, .dateOfBirth, .expiryDate]).count >= 2
    }

    /// `nil` if no title was read, or several.
    static func type(_ facts: VIZFacts) -> String? {
        let all = Set(self.lines(facts).joined())
        let found = Set(self.types.filter { $0.words.isSubset(of: all) }.map(\.type))
        return found.count == 1 ? found.first : nil
    }

    /// Whether the text names a state of the United States or a province of Canada, in its title or after a town.
    static func isOfNorthAmerica(_ facts: VIZFacts) -> Bool {
        facts.lines.contains { VIZAddress.isAmericanCity(VIZFields.trimmed($0.text)) }
            || self.lines(facts).contains { words in
                words.contains { self.states.contains($0) || self.provinces.contains($0) }
                    || self.longNames.contains { words.firstRange(of: $0) != nil }
            }
    }

    static func country(_ facts: VIZFacts) -> String? {
        // A title is a word or two: an address may name a country too, among more.
        var found: Set<String> = []
        for words in self.lines(facts) {
            guard words.count <= 6, !words.contains(where: { $0.contains(where: \.isNumber) }) else { continue }
            for word in words {
                if self.states.contains(word), VIZLayout.isAmerican(facts.lines) { found.insert("USA") }
                if self.provinces.contains(word), VIZLayout.isAmerican(facts.lines) { found.insert("CAN") }
                if let code = self.countries[word] { found.insert(code) }
            }
            for name in self.officialNames where words.firstRange(of: name.words) != nil { found.insert(name.code) }
        }
        if let code = VIZEmblem.country(facts.emblem) { found.insert(code) }
        return found.count == 1 ? found.first : nil
    }
}
