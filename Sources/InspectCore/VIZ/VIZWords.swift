/// Words of authorities and names of towns, whose spelling is known: if every letter of one was read, its diacritics, the
/// smallest part of small print, are no doubt.
enum VIZWords {
    /// Shorter words are parts of others by chance.
    private static let least = 4

    /// In capitals, by their letters without diacritics; words that some state spells without any are left out.
    private static let spellings: [String: String] = {
        let words = """
            MINISTÈRE ÉTRANGÈRES ÉTRANGÈRE INTÉRIEUR EXTÉRIEURES PRÉFECTURE PRÉFET SÉCURITÉ RÉPUBLIQUE FÉDÉRAL \
            FÉDÉRALE GÉNÉRALE DÉLÉGUÉ MINISTÉRIO POLÍCIA ADMINISTRAÇÃO SERVIÇO SERVIÇOS FEDERAÇÃO ADMINISTRACIÓN \
            DIRECCIÓN MIGRACIÓN IDENTIFICACIÓN GOBERNACIÓN POLICÍA SECRETARÍA \
            BEHÖRDE BÜRGERAMT BÜRGERBÜRO KÖLN MÜNCHEN NÜRNBERG DÜSSELDORF WÜRZBURG MÜNSTER LÜBECK GÖTTINGEN \
            TÜBINGEN SAARBRÜCKEN OSNABRÜCK FÜRTH KÖNIGSTEIN ZÜRICH PÖLTEN \
            ŁÓDŹ KRAKÓW POZNAŃ GDAŃSK WROCŁAW TORUŃ BIAŁYSTOK RZESZÓW CZĘSTOCHOWA KRAKOWIE MAŁOPOLSKI \
            WIELKOPOLSKI ŚLĄSKI DOLNOŚLĄSKI ŁÓDZKI PŁOCK ELBLĄG GORZÓW ZIELONA GÓRA \
            MALMÖ GÖTEBORG ÖREBRO VÄSTERÅS LINKÖPING NORRKÖPING JÖNKÖPING UMEÅ LULEÅ GÄVLE VÄXJÖ JYVÄSKYLÄ \
            HÄMEENLINNA SEINÄJOKI KØBENHAVN ÅRHUS TROMSØ BODØ ÅLESUND REYKJAVÍK ÞJÓÐSKRÁ \
            PLZEŇ BUDĚJOVICE ČESKÉ HRADEC KRÁLOVÉ ÚSTÍ JIHLAVA KOŠICE ŽILINA PREŠOV TRENČÍN BANSKÁ \
            GYŐR PÉCS KECSKEMÉT MISKOLC NYÍREGYHÁZA SZÉKESFEHÉRVÁR \
            TIMIȘOARA BRAȘOV CONSTANȚA PLOIEȘTI RĪGA ŠIAULIAI PANEVĖŽYS KLAIPĖDA PÄRNU KURESSAARE JÕHVI \
            MÁLAGA CÓRDOBA LEÓN CÁDIZ BOGOTÁ QUERÉTARO ASUNCIÓN MEDELLÍN MÉXICO BRASÍLIA BELÉM GOIÂNIA ÉVORA SETÚBAL \
            GENÈVE LIÈGE BESANÇON ORLÉANS NÎMES ÉTIENNE MONTRÉAL QUÉBEC \
            DAXİLİ İŞLƏR NAZİRLİYİ XARİCİ AZƏRBAYCAN İÇİŞLERİ BAKANLIĞI NÜFUS MÜDÜRLÜĞÜ VALİLİĞİ İZMİR ESKİŞEHİR \
            DİYARBAKIR ŞANLIURFA MUĞLA BEOGRAD NIŠ ČAČAK KRALJEVO
            """
        return Dictionary(
            words.split(separator: " ").map { (Self.plain(String($0)), String($0)) }.filter { $0.0 != $0.1 }
        ) { first, _ in first }
    }()

    private static let bases: [Character: Character] = [
        "Ł": "L", "Đ": "D", "Ð": "D", "Ø": "O", "Ə": "E", "İ": "I", "ı": "I",
    ]

    private static func plain(_ letter: Character) -> Character {
        guard !letter.isASCII else { return Character(letter.uppercased()) }
        let capital = letter == "ı" ? letter : letter.uppercased().first ?? letter
        if let base = self.bases[capital] { return base }
        return VIZText.ascii(String(capital)).first ?? capital
    }

    static func plain(_ word: String) -> String { String(word.map(self.plain)) }

    /// Words of letters and zeros alone with O for them: many fonts print both alike, and no town has zeros in its name.
    static func withoutZeros(_ text: String) -> String {
        guard text.contains("0") else { return text }
        var characters = Array(text)
        var start = 0
        while start < characters.count {
            let end = characters[start...].firstIndex { !$0.isLetter && !$0.isNumber } ?? characters.count
            let word = characters[start..<end]
            if word.count(where: \.isLetter) >= 2, word.allSatisfy({ $0.isLetter || $0 == "0" }) {
                for index in word.indices where word[index] == "0" { characters[index] = "O" }
            }
            start = end + 1
        }
        return String(characters)
    }

    /// `characters` as their words are spelt, and how certain each is.
    static func spelt(_ characters: [Character], _ confidences: [Double]) -> ([Character], [Double]) {
        var (text, sure) = (characters, confidences)
        guard text.count == sure.count else { return (text, sure) }
        var start = 0
        while start < text.count {
            let end = text[start...].firstIndex { !$0.isLetter } ?? text.count
            defer { start = max(end, start) + 1 }
            let word = Array(text[start..<end])
            // A word without any is spelt as other states do.
            guard word.count >= self.least, !word.allSatisfy(\.isASCII),
                let known = self.spellings[String(word.map(self.plain))],
                known.count == word.count
            else { continue }
            let isSmall = 2 * word.count(where: \.isLowercase) > word.count
            for (offset, letter) in known.enumerated() where !letter.isASCII || !word[offset].isASCII {
                let small = letter == "İ" ? "i" : Character(letter.lowercased())
                text[start + offset] = isSmall && word[offset].isLowercase ? small : letter
                sure[start + offset] = 1
            }
            // A blank is as certain as the letter before it.
            if end < text.count, text[end] == " " { sure[end] = sure[end - 1] }
        }
        return (text, sure)
    }
}
