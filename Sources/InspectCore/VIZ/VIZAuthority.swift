/// Issuing authorities that say what they are, where their label is not legible.
enum VIZAuthority {
    /// How authorities' names begin; nothing else that a data page prints under the day of birth does.
    private static let beginnings = [
        "MINISTRY OF", "MINISTERE", "MINISTERIO", "MINISTERO", "MINISTERSTVO", "MINISTERSTWO", "MINISTARSTVO",
        "MINISTERIUM", "DEPARTMENT OF", "HM PASSPORT", "PREFECTURE", "STADT", "STADTVERWALTUNG", "LANDRATSAMT",
        "GEMEINDE", "BEZIRKSHAUPTMANNSCHAFT", "MAGISTRAT",
        "POLIISI", "POLIS", "POLISEN", "POLITI", "POLICE", "QUESTURA", "COMUNE DI", "CONSULATE", "CONSULADO",
        "CONSULAT", "EMBASSY", "AMBASSADE", "EMBAJADA", "BOTSCHAFT", "GENERALKONSULAT", "BURG VAN", "BURGEMEESTER",
        "WOJEWODA", "PREZYDENT", "MUP", "PU", "STAROSTA", "DAXILI", "XARICI", "MINISTERUL",
    ].map { $0.split(separator: " ").map(String.init) }

    /// Whether `text` begins as an authority's name.
    ///
    /// - Parameter isWhole: And goes on.
    static func begins(_ text: String, isWhole: Bool = true) -> Bool {
        let words = VIZLabel.plain(text)
        return self.beginnings.contains { words.starts(with: $0) && (!isWhole || words.count > $0.count) }
    }

    /// The only line under `top` that is one.
    static func line(_ lines: [VIZLine], below top: Double) -> Int? {
        let found = lines.indices.filter { index in
            let line = lines[index]
            let words = VIZLabel.plain(line.text)
            return line.place.y > top && words.joined().count >= 4 && self.begins(line.text)
        }
        // The second language stands under the first.
        guard let first = found.first, found.count <= 2 else { return nil }
        return first
    }
}
