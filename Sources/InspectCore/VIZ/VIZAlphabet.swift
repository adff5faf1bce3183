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

    /// ß looks like B to it; German has no other word for a street.
    static func street(_ text: String, state: String?) -> String {
        guard let state, ["D", "DEU", "AUT"].contains(state) else { return text }
        return text.replacing("STRABE", with: "STRASSE").replacing("traBe", with: "traße")
    }
}
