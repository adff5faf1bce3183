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
