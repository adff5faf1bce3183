/// Which side of a document an image shows, judged by its content and never by the part that it was sent as.
package struct DocumentSide: Codable, Sendable, Hashable {
    /// The kinds of side, by their content.
    package enum Kind: String, Codable, Sendable, CaseIterable {
        /// The side of a card that has the portrait.
        case front = "FRONT"
        /// The side of a card that has no portrait.
        case back = "BACK"
        /// A page that stands for its document alone: of a passport or a visa.
        case dataPage = "DATA_PAGE"
        /// One image of both sides.
        case both = "BOTH"
    }

    /// How the side was recognised.
    package enum Evidence: String, Codable, Sendable, CaseIterable {
        /// A face of the size of a portrait.
        case portrait = "PORTRAIT"
        /// An MRZ that cards bear on their backs: of three lines (Doc 9303-5 §3.2), or a French licence's.
        case mrzOfBack = "MRZ_OF_BACK"
        /// An MRZ below the portrait (Doc 9303-4 and -7; French identity cards).
        case mrzOfFront = "MRZ_OF_FRONT"
        /// The barcode of a North American licence (AAMVA card design standard: on the back).
        case licenceBarcode = "LICENCE_BARCODE"
        /// Another PDF417: on the back of nearly all cards.
        case stackedBarcode = "STACKED_BARCODE"
        /// VIZ text that names the kind of document, or holder, birth and validity next to their labels.
        case printOfFront = "PRINT_OF_FRONT"
    }

    /// `nil`: it cannot be determined.
    package var kind: Kind?
    /// How the side was recognised.
    package var evidence: [Evidence]
    /// Whether no card is known that bears this evidence on another side.
    package var isCertain: Bool

    /// Issuers whose cards bear three lines below the portrait.
    private static let mrzOnFront: Set<String> = ["PER"]

    /// - Parameter format: What the client chose: a page of size TD3 has no back, whatever was read on it.
    package init(_ facts: DocumentFacts, format: DocumentFormat? = nil) {
        let mrz = facts.mrz.flatMap { reading in
            MRZFormat(lines: reading.lines).map {
                (format: $0, issuer: String(reading.lines[0].dropFirst(2).prefix(3)))
            }
        }
        var evidence: [Evidence] = []
        if Self.portraitShare(facts).map({ Limits.portraitOfDocument.allows($0) }) == true {
            evidence.append(.portrait)
        }
        switch mrz?.format {
        case .td1
        where mrz.map({ Self.mrzOnFront.contains($0.issuer) }) == true
            || evidence.contains(.portrait) && Self.isBelowPortrait(facts):
            break
        case .td1, .frenchLicence, .swissLicence: evidence.append(.mrzOfBack)
        case .td3, .mrva, .mrvb, .frenchID: evidence.append(.mrzOfFront)
        // On either side.
        case .td2: break
        case nil: if facts.mrzSight?.isOfCard == true { evidence.append(.mrzOfBack) }
        }
        if facts.barcodes.contains(where: { AAMVACard($0.text) != nil }) {
            evidence.append(.licenceBarcode)
        } else if facts.barcodes.contains(where: { $0.format == "PDF417" }) {
            evidence.append(.stackedBarcode)
        }
        if evidence.isEmpty, mrz == nil, facts.viz.map(VIZTitle.isFront) == true { evidence.append(.printOfFront) }
        self.evidence = evidence
        let showsBack = evidence.contains(.mrzOfBack) || evidence.contains(.licenceBarcode)
        switch mrz?.format {
        case .td3, .mrva, .mrvb: self.kind = .dataPage
        case .frenchID: self.kind = .front
        default:
            if evidence == [.printOfFront] {
                self.kind = .front
            } else if evidence.contains(.portrait) {
                self.kind = showsBack ? .both : format == .td3 ? .dataPage : .front
            } else {
                self.kind = showsBack || evidence == [.stackedBarcode] && facts.faces.isEmpty ? .back : nil
            }
        }
        self.isCertain = evidence.contains(.mrzOfFront) || showsBack && facts.faces.isEmpty
    }

    /// Whether only the place of its three lines shows that it is a front: a back may bear a large second portrait above them.
    static func isFrontByPlaceOfMRZ(_ facts: DocumentFacts) -> Bool {
        guard let lines = facts.mrz?.lines, MRZFormat(lines: lines) == .td1 else { return false }
        return !self.mrzOnFront.contains(String(lines[0].dropFirst(2).prefix(3))) && self.isBelowPortrait(facts)
    }

    /// Whether three lines stand below the largest face on the same side, as on residence permits of the United States until 2010.
    ///
    /// A card has 31 mm above its MRZ, whose lines are 76 mm long (Doc 9303-5): in an image of both sides, a front's portrait
    /// is further above a back's lines, or below or next to them.
    private static func isBelowPortrait(_ facts: DocumentFacts) -> Bool {
        guard let quad = facts.mrz?.quad, let box = facts.faces.first?.box else { return false }
        let along = Point(x: quad.topRight.x - quad.topLeft.x, y: quad.topRight.y - quad.topLeft.y)
        let down = Point(x: quad.bottomLeft.x - quad.topLeft.x, y: quad.bottomLeft.y - quad.topLeft.y)
        let length = (along.x * along.x + along.y * along.y).squareRoot()
        let height = (down.x * down.x + down.y * down.y).squareRoot()
        guard length > 0, height > 0 else { return false }
        let face = Point(x: box.x + box.width / 2 - quad.topLeft.x, y: box.y + box.height / 2 - quad.topLeft.y)
        let share = (face.x * along.x + face.y * along.y) / (length * length)
        let above = -(face.x * down.x + face.y * down.y) / (height * length)
        return (0...1).contains(share) && (0...31.0 / 76).contains(above)
    }

    /// Height of the largest face over the document's longer side; `nil` without a face.
    static func portraitShare(_ facts: DocumentFacts) -> Double? {
        guard let face = facts.faces.first, facts.quality.documentWidth > 0 else { return nil }
        return max(face.box.width, face.box.height) / facts.quality.documentWidth
    }

    /// For people: which side it is, and what shows it.
    package var sentence: String {
        let side =
            switch self.kind {
            case .front: "a front"
            case .back: "a back"
            case .dataPage: "a data page"
            case .both: "both sides of a card"
            case nil: "a side of unknown kind"
            }
        let signs = self.evidence.map { sign in
            switch sign {
            case .portrait: "portrait"
            case .mrzOfBack: "MRZ of a back"
            case .mrzOfFront: "MRZ of a front"
            case .licenceBarcode: "barcode of a licence"
            case .stackedBarcode: "PDF417"
            case .printOfFront: "title or fields of a front"
            }
        }
        return signs.isEmpty ? side : "\(side) (\(signs.joined(separator: ", ")))"
    }
}
