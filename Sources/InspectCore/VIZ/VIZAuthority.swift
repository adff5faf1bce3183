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

    /// Authorities whose whole name is known; a text of as many letters is never another by a single one.
    private static let whole = [
        "MINISTRY OF FOREIGN AFFAIRS", "MINISTRY OF INTERNAL AFFAIRS", "MINISTRY OF THE INTERIOR",
        "MINISTRY OF INTERIOR", "MINISTRY OF HOME AFFAIRS", "DEPARTMENT OF HOME AFFAIRS",
        "DEPARTMENT OF FOREIGN AFFAIRS", "DEPARTMENT OF INTERNAL AFFAIRS", "UNITED STATES DEPARTMENT OF STATE",
        "PASSPORT OFFICE", "MINISTÈRE DES AFFAIRES ÉTRANGÈRES", "MINISTÈRE DE L'INTÉRIEUR",
        "DAXİLİ İŞLƏR NAZİRLİYİ", "XARİCİ İŞLƏR NAZİRLİYİ", "MINISTERSTVO VNITRA", "MINISTERSTVO VNÚTRA SR",
        "MINISTERSTVO ZAHRANIČNÍCH VĚCÍ", "MINISTERIO DEL INTERIOR", "MINISTERIO DE RELACIONES EXTERIORES",
        "MINISTERO AFFARI ESTERI", "MINISTERO DEGLI AFFARI ESTERI", "MINISTÉRIO DOS NEGÓCIOS ESTRANGEIROS",
        "MINISTERSTWO SPRAW ZAGRANICZNYCH", "MINISTARSTVO UNUTARNJIH POSLOVA", "MINISTARSTVO UNUTRAŠNJIH POSLOVA",
        "MINISTERUL AFACERILOR INTERNE", "MINISTERUL AFACERILOR EXTERNE", "İÇİŞLERİ BAKANLIĞI",
        "SERVIÇO DE ESTRANGEIROS E FRONTEIRAS", "REGISTRO CIVIL E IDENTIFICACIÓN",
    ].map { (name: $0, letters: Self.letters($0)) }

    private static func letters(_ text: String) -> [UInt8] {
        VIZWords.plain(text).utf8.filter { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }
    }

    /// `text` as the authority's name is spelt, if one letter at most was misread; capitals stay where they were read.
    static func known(_ text: String) -> String? {
        let words = text.split(separator: " ")
        let read = self.letters(text)
        guard read.count >= 12, !text.contains(where: \.isNumber),
            let name = self.whole.first(where: { VIZLabel.distance($0.letters, read, most: 1) != nil })?.name
        else { return nil }
        let spelt = name.split(separator: " ")
        guard spelt.count == words.count else { return nil }
        return zip(spelt, words).map { spelt, word in
            guard 2 * word.count(where: \.isLowercase) > word.count else { return String(spelt) }
            let small = spelt.lowercased()
            return word.first?.isUppercase == true ? small.prefix(1).uppercased() + small.dropFirst() : small
        }.joined(separator: " ")
    }

    /// The only line under `top` that is one.
    static func line(_ lines: [VIZLine], below top: Double) -> Int? {
        let found = lines.indices.filter { index in
            let line = lines[index]
            let words = VIZLabel.plain(line.text)
            return line.place.y > top && words.joined().count >= 4
                && (self.begins(line.text) || self.known(VIZFields.trimmed(line.text)) != nil)
        }
        // The second language stands under the first.
        guard let first = found.first, found.count <= 2 else { return nil }
        return first
    }
}
