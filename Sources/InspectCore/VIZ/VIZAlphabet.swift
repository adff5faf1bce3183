/// Which states' print the recogniser can read: it knows the Latin letters of ICAO Doc 9303-3 §6.A.
enum VIZAlphabet {
    /// States that also print Cyrillic, Greek, Armenian or Georgian letters: a word whose letters all look like Latin ones would be
    /// taken for Latin.
    private static let others: Set<String> = [
        "ARM", "BGR", "BIH", "BLR", "CYP", "GEO", "GRC", "KAZ", "KGZ", "MKD", "MNE", "MNG", "RUS", "SRB", "TJK", "UKR",
        "UZB",
    ]

    /// Whether words that nothing else proves may be reported of this state's documents.
    static func isReadable(_ state: String?) -> Bool { state.map { !self.others.contains($0) } ?? true }

    /// Letters with marks that a state's languages lack, each with the letter of those languages that it resembles in small print.
    private static let mistaken: [String: [Character: Character]] = {
        let turkic = "ÌİÍİÎİĪİŚŞŠŞĢĞĜĞĆÇČÇ"
        let german = "ŪÜŌÖĀÄĂÄ"
        let nordic = "ŌÖĂÄĀÄ"
        let czech = "ŚŠĆČŹŽŻŽŃŇ"
        let romanian = "ŞȘŠȘŚȘŢȚŤȚÃĂĀĂ"
        let spanish = "ÌÍÎÍĪÍÔÓŌÓÂÁĀÁÊÉĒÉÛÚŪÚŃÑŇÑ"
        let pairs = [
            "TUR": turkic, "AZE": turkic, "D": german, "AUT": german, "FIN": nordic, "SWE": nordic, "CZE": czech,
            "SVK": czech, "SVN": "ŚŠŹŽŻŽ", "HRV": "ŚŠŹŽŻŽ", "POL": "ŞŚŠŚČĆŇŃÒÓÔÓ", "HUN": "ÕŐÔŐŌŐÛŰŪŰ",
            "ROU": romanian, "MDA": romanian, "LVA": "ÄĀÂĀĂĀÃĀÎĪÛŪÊĒ", "LTU": "ÜŪÛŪ", "EST": "ŌÕŎÕ",
        ].merging(
            ["MEX", "ARG", "CHL", "COL", "CRI", "CUB", "DOM", "ECU", "ESP", "GTM", "HND", "PAN", "PER", "URY", "VEN"]
                .map { ($0, spanish) }
        ) { first, _ in first }
        return pairs.mapValues { letters in
            let all = Array(letters)
            return Dictionary(
                uniqueKeysWithValues: stride(from: 0, to: all.count, by: 2).map { (all[$0], all[$0 + 1]) })
        }
    }()

    /// `line` in the letters that its state prints.
    ///
    /// - Parameter state: As in the MRZ.
    static func corrected(_ line: VIZLine, state: String?) -> VIZLine {
        guard !line.text.utf8.allSatisfy({ $0 < 0x80 }), let letters = state.flatMap({ self.mistaken[$0] }) else {
            return line
        }
        var line = line
        line.text = String(
            line.text.map { character in
                if let letter = letters[character] { return letter }
                guard character.isLowercase, let letter = character.uppercased().first.flatMap({ letters[$0] }) else {
                    return character
                }
                return letter == "İ" ? "i" : letter.lowercased().first ?? character
            })
        return line
    }

    /// The recogniser reads ß as B; German has no other word for a street.
    static func street(_ text: String, state: String?) -> String {
        guard let state, ["D", "DEU", "AUT"].contains(state) else { return text }
        return text.replacing("STRABE", with: "STRASSE").replacing("traBe", with: "traße")
    }
}
