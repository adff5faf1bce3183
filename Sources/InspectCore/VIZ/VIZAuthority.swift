/// Issuing authorities that are recognised by their names if their label is not legible.
enum VIZAuthority {
    /// How authorities' names begin; nothing else that a data page prints under the day of birth begins so.
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

    /// Authorities whose whole name is known. Some differ by a single letter: VNITRA is Czech, VNÚTRA Slovak.
    private static let whole = [
        "MINISTRY OF FOREIGN AFFAIRS", "MINISTRY OF INTERNAL AFFAIRS", "MINISTRY OF THE INTERIOR",
        "MINISTRY OF INTERIOR", "MINISTRY OF HOME AFFAIRS", "DEPARTMENT OF HOME AFFAIRS",
        "DEPARTMENT OF FOREIGN AFFAIRS", "DEPARTMENT OF INTERNAL AFFAIRS", "UNITED STATES DEPARTMENT OF STATE",
        "PASSPORT OFFICE", "MINISTÈRE DES AFFAIRES ÉTRANGÈRES", "MINISTÈRE DE L'INTÉRIEUR",
        "DAXİLİ İŞLƏR NAZİRLİYİ", "XARİCİ İŞLƏR NAZİRLİYİ", "MINISTERSTVO VNITRA", "MINISTERSTVO VNÚTRA",
        "MINISTERSTVO VNÚTRA SR", "MINISTERI DE L'INTERIOR",
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
    ///
    /// - Parameter confidences: Of its characters; a letter that was read with certainty is not replaced.
    static func known(_ text: String, confidences: [Double]) -> String? {
        let words = text.split(separator: " ")
        let read = zip(text, confidences).flatMap { character, confidence in
            self.letters(String(character)).map { (letter: $0, confidence: confidence) }
        }
        let letters = read.map(\.letter)
        guard letters.count >= 12, !text.contains(where: \.isNumber) else { return nil }
        let exact = self.whole.first { $0.letters == letters }
        let near = self.whole.filter { name in
            VIZLabel.distance(name.letters, letters, most: 1) != nil
                && self.isDoubtful(
                    read.map(\.confidence), at: zip(name.letters, letters).prefix { $0 == $1 }.count,
                    isReplaced: name.letters.count == letters.count)
        }
        guard let name = exact ?? (near.count == 1 ? near[0] : nil) else { return nil }
        let spelt = name.name.split(separator: " ")
        guard spelt.count == words.count else { return nil }
        return zip(spelt, words).map { spelt, word in
            guard 2 * word.count(where: \.isLowercase) > word.count else { return String(spelt) }
            let small = spelt.lowercased()
            return word.first?.isUppercase == true ? small.prefix(1).uppercased() + small.dropFirst() : small
        }.joined(separator: " ")
    }

    /// Whether the first letter that differs was hard to read, or else, where one is missing or too many, one beside it.
    private static func isDoubtful(_ confidences: [Double], at letter: Int, isReplaced: Bool) -> Bool {
        let beside = (isReplaced ? letter : letter - 1)..<(letter + 1)
        return confidences[beside.clamped(to: confidences.indices)].contains { $0 < Limits.reportedVIZText }
    }

    /// The only line under `top` that is an authority.
    static func line(_ lines: [VIZLine], below top: Double) -> Int? {
        let found = lines.indices.filter { index in
            let line = lines[index]
            let words = VIZLabel.plain(line.text)
            return line.place.y > top && words.joined().count >= 4
                && (self.begins(line.text) || self.isKnown(line))
        }
        // The second language stands under the first.
        guard let first = found.first, found.count <= 2 else { return nil }
        return first
    }

    private static func isKnown(_ line: VIZLine) -> Bool {
        let value = VIZFields.trimmed(line.text)
        guard let range = line.text.firstRange(of: value) else { return false }
        let start = line.text.distance(from: line.text.startIndex, to: range.lowerBound)
        return self.known(value, confidences: Array(line.confidences.dropFirst(start).prefix(value.count))) != nil
    }
}
