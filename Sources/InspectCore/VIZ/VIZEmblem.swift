/// The sign of a member state on the EU emblem: the distinguishing sign of its vehicles on driving licences (directive 2006/126/EC
/// annex I), the code of two letters on identity cards (regulation (EU) 2019/1157).
package enum VIZEmblem {
    private static let states: [String: String] = [
        "A": "AUT", "AT": "AUT", "B": "BEL", "BE": "BEL", "BG": "BGR", "CY": "CYP", "CZ": "CZE", "D": "DEU",
        "DE": "DEU",
        "DK": "DNK", "E": "ESP", "ES": "ESP", "EE": "EST", "EST": "EST", "F": "FRA", "FR": "FRA", "FI": "FIN",
        "FIN": "FIN", "GR": "GRC", "H": "HUN", "HU": "HUN", "HR": "HRV", "I": "ITA", "IT": "ITA", "IE": "IRL",
        "IRL": "IRL", "L": "LUX", "LU": "LUX", "LT": "LTU", "LV": "LVA", "M": "MLT", "MT": "MLT", "NL": "NLD",
        "P": "PRT", "PT": "PRT", "PL": "POL", "RO": "ROU", "S": "SWE", "SE": "SWE", "SI": "SVN", "SK": "SVK",
        "SLO": "SVN", "UK": "GBR",
    ]

    /// The state that `sign` certainly names.
    static func country(_ sign: VIZLine?) -> String? {
        guard let sign, sign.isConfirmed == true, sign.confidence >= Limits.doubtfulVIZText else { return nil }
        return self.states[self.letters(sign.text)]
    }

    /// Whether two readings of a sign give the same one.
    package static func isSame(_ sign: VIZLine, _ other: VIZLine) -> Bool {
        self.letters(sign.text) == self.letters(other.text)
            && max(sign.confidence, other.confidence) >= Limits.confirmedVIZText
    }

    /// Whether `sign` stands on a face: that emblem is not the card's.
    package static func isOnFace(_ sign: Quad, faces: [Box]) -> Bool {
        let centre = sign.centre
        return faces.contains { box in
            (box.x...box.x + box.width).contains(centre.x) && (box.y...box.y + box.height).contains(centre.y)
        }
    }

    private static func letters(_ text: String) -> String {
        let letters = text.filter { $0 != " " && $0 != "." }
        // An upright stroke alone is Italy's.
        return ["|", "1", "l"].contains(letters) ? "I" : letters.uppercased()
    }
}
