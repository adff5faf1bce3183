import Testing

@testable import InspectCore

/// Which side of a document an image shows, and whether it is the side that it was sent as.
@Suite struct DocumentSideTests {
    private let card = [
        "I<UTOD231458907<<<<<<<<<<<<<<<", "7408122F3404159UTO<<<<<<<<<<<2", "ERIKSSON<<ANNA<MARIA<<<<<<<<<<",
    ]
    private let passport = [
        "P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<", "L898902C36UTO7408122F3404159ZE184226B<<<<<16",
    ]
    private let licence =
        "@\n\u{1E}\rANSI 636000100001DL00310200DLDAQT64235789\nDCSERIKSSON\nDACANNA\nDBB08121974\nDBA04152034\nDCGUSA\n\r"

    /// A side of a card 1,250 pixels wide. `face` is the height of its largest face; `photo` tells one photo from another.
    private func side(
        _ lines: [String]? = nil, face: Double? = nil, barcode: String? = nil, photo: Double = 0
    ) -> DocumentFacts {
        let quad = Quad(
            topLeft: Point(x: 100, y: 100), topRight: Point(x: 1350, y: 100), bottomRight: Point(x: 1350, y: 890),
            bottomLeft: Point(x: 100, y: 890))
        let faces = face.map { height in
            [
                FaceFacts(
                    box: Box(x: 150, y: 250, width: height, height: height), landmarks: [], detectionScore: 1,
                    quality: FaceQuality(
                        interEyeDistance: 60, roll: 0, yawOffset: 0, luminanceMean: 0.4, luminanceVariance: 0.1,
                        overExposed: 0, underExposed: 0, illuminationUniformity: 1, dynamicRange: 7, chroma: 30,
                        sharpness: 100, centreX: 0.5, eyeLineY: 0.6, headWidth: 0.5, visible: 1), embedding: nil)
            ]
        }
        return DocumentFacts(
            image: ImageFacts(format: .jpeg, width: 1500, height: 1000, orientation: 1),
            outline: OutlineFacts(quad: quad, aspectRatio: 1.58, cornersOutside: 0, support: 0.9),
            quality: QualityFacts(
                laplacianVariance: 300 + photo, edgeWidth: 2.5, brightness: 150, contrast: 50, glareShare: 0,
                chroma: 60,
                backgroundChroma: 40, documentWidth: 1250, printShare: 0.05, midtoneShare: 0.8, moire: 1.5),
            mrz: lines.map { MRZReading(lines: $0, confidences: [], quad: quad, pitch: 20, corrections: 0) },
            barcodes: barcode.map { [BarcodeFacts(format: "PDF417", text: $0, bytesHex: "", quad: quad)] } ?? [],
            faces: faces ?? [])
    }

    private func text(_ lines: [String]) -> VIZFacts {
        let place = Box(x: 0.4, y: 0.1, width: 0.2, height: 0.02)
        let quad = self.side().outline?.quad
        return VIZFacts(
            lines: lines.compactMap { text in
                quad.map {
                    VIZLine(
                        text: text, confidences: [Double](repeating: 0.99, count: text.count), quad: $0, place: place,
                        height: 0.02)
                }
            }, found: lines.count, modelSHA256: "")
    }

    private func missing(_ front: DocumentFacts?, _ back: DocumentFacts?) -> [Int] {
        SideRules(front: front, back: back).missing.map(\.code)
    }

    private func decide(_ sides: [PartKind: DocumentFacts], format: DocumentFormat? = nil) -> ResultDocument {
        var facts = InspectionFacts(
            request: InspectionRequest(workflow: .id, documentFormat: format),
            parts: [.front, .back].filter { sides[$0] != nil })
        facts.documents = DocumentStageFacts(
            sides: Dictionary(uniqueKeysWithValues: sides.map { ($0.key.rawValue, $0.value) }))
        return InspectionDecider(facts: facts, today: CalendarDate(year: 2026, month: 6, day: 1)).decide()
    }

    @Test func `A side is known by its portrait, its MRZ or its barcode`() {
        #expect(DocumentSide(self.side(face: 250)).kind == .front)
        #expect(DocumentSide(self.side(self.card)).kind == .back)
        #expect(DocumentSide(self.side(self.card)).isCertain)
        #expect(DocumentSide(self.side(barcode: self.licence)).kind == .back)
        #expect(DocumentSide(self.side(self.passport, face: 250)).kind == .dataPage)
        #expect(DocumentSide(self.side()).kind == nil)
    }

    @Test func `A ghost image makes no front, and a portrait above three lines no back`() {
        #expect(DocumentSide(self.side(face: 90)).kind == nil)
        #expect(DocumentSide(self.side(self.card, face: 250)).kind == .both)
        #expect(!DocumentSide(self.side(self.card, face: 90)).isCertain)
        // Peru prints three lines below the portrait.
        let peru = ["I<PER" + self.card[0].dropFirst(5)] + self.card.dropFirst()
        #expect(DocumentSide(self.side(peru)).kind == nil)
        #expect(DocumentSide(self.side(peru, face: 250)).kind == .front)
    }

    @Test func `Three lines close below a portrait are on its side, others on a back in the same image`() {
        var both = self.side(self.card, face: 250)
        func zone(y: Double, x: Double = 150) -> Quad {
            Quad(
                topLeft: Point(x: x, y: y), topRight: Point(x: x + 1100, y: y),
                bottomRight: Point(x: x + 1100, y: y + 250), bottomLeft: Point(x: x, y: y + 250))
        }
        both.mrz?.quad = zone(y: 620)
        #expect(DocumentSide(both).kind == .front)
        #expect(self.missing(self.side(), both) == [214, 206])
        #expect(self.missing(both, both) == [206])
        // Beside a front, where the MRZ's place alone says that the other is one too, a back may be meant.
        let pair = SideRules(front: self.side(face: 250, photo: 1), back: both)
        #expect(pair.missing.map(\.code) == [206] && !pair.isCertain)
        #expect(SideRules(front: both, back: both).isCertain)
        // A ghost image above a back's lines is no portrait.
        var ghost = self.side(self.card, face: 90)
        ghost.mrz?.quad = zone(y: 400)
        #expect(DocumentSide(ghost).kind == .back)
        // The portrait's card above the back, below it, and beside it.
        for other in [zone(y: 1400), zone(y: 60), zone(y: 620, x: 700)] {
            both.mrz?.quad = other
            #expect(DocumentSide(both).kind == .both)
        }
    }

    @Test func `Pages of size TD3 have no back, whatever was read on them`() {
        #expect(DocumentSide(self.side(face: 250), format: .td3).kind == .dataPage)
        #expect(DocumentSide(self.side(face: 250), format: .td1).kind == .front)
    }

    @Test func `A pair as it belongs lacks nothing`() {
        for back in [
            self.side(self.card), self.side(self.card, face: 90), self.side(barcode: self.licence), self.side(),
        ] {
            for front in [self.side(face: 250), self.side(face: 90), self.side(photo: 1)] {
                #expect(self.missing(front, back).isEmpty)
            }
        }
        #expect(self.missing(self.side(self.passport, face: 250), self.side()).isEmpty)
        // A front with a PDF417, whose portrait was not found.
        #expect(self.missing(self.side(barcode: "ABC"), self.side(self.card)).isEmpty)
        #expect(self.missing(self.side(self.card, face: 250), self.side(self.card, face: 250)).isEmpty)
        #expect(self.missing(self.side(face: 250), nil).isEmpty)
        #expect(self.missing(nil, self.side(self.card)).isEmpty)
    }

    @Test func `Swapped sides lack both, and say so at their parts`() {
        let rules = SideRules(front: self.side(self.card), back: self.side(face: 250))
        #expect(rules.isCertain)
        #expect(
            rules.missing == [
                RejectReason(code: 214, message: "MISSING_FRONT", part: "FRONT"),
                RejectReason(code: 206, message: "MISSING_BACK", part: "BACK"),
            ])
        let result = self.decide([.front: self.side(barcode: self.licence), .back: self.side(face: 250)])
        #expect(result.capabilities.usability?.map(\.decision.details.label) == ["MISSING_PAGE", "MISSING_PAGE"])
        #expect(result.reasons.map(\.advice).allSatisfy { $0.hasPrefix("Turn the document over") })
        #expect(result.reasons.map(\.mobileCode) == ["Z00000", "Z00000"])
    }

    @Test func `A portrait where the back should be warns if nothing is known of the front`() {
        let rules = SideRules(front: self.side(), back: self.side(face: 250))
        #expect(rules.missing.map(\.code) == [214, 206] && !rules.isCertain)
        let result = self.decide([.front: self.side(), .back: self.side(face: 250)])
        #expect(result.capabilities.usability?.first?.decision == Decision(.warning, "MISSING_PAGE"))
        #expect(result.rejectReasons.isEmpty && result.reasons.contains { $0.code == .missingFront })
        // The ghost image of a back beside a front whose portrait was not found.
        #expect(self.missing(self.side(), self.side(face: 90)).isEmpty)
    }

    @Test func `One side twice lacks the other, in one photo and in two`() {
        #expect(self.missing(self.side(self.card), self.side(self.card, photo: 1)) == [214])
        #expect(self.missing(self.side(face: 250), self.side(face: 240, photo: 1)) == [206])
        #expect(self.missing(self.side(), self.side()) == [214])
        #expect(self.missing(self.side(face: 90), self.side(face: 90)) == [206])
        #expect(self.missing(self.side(), self.side(photo: 1)).isEmpty)
        // A back's large ghost image is still smaller than the portrait.
        #expect(self.missing(self.side(face: 300), self.side(face: 170)).isEmpty)
        // A front whose portrait was not found is known by its print.
        let numbered = ["1 ERIKSSON", "2 ANNA MARIA", "3 12.08.1974", "4b 15.04.2034", "5 D23145890"]
        for print in [["DRIVER LICENSE"], numbered] {
            var printed = self.side()
            printed.viz = self.text(print)
            #expect(DocumentSide(printed).kind == .front)
            #expect(self.missing(printed, self.side()) == [206])
        }
    }

    @Test func `A page of a passport is no card's back`() {
        let page = self.side(self.passport, face: 250, photo: 1)
        #expect(self.missing(self.side(face: 250), page) == [206])
        #expect(SideRules(front: self.side(face: 250), back: page).isCertain)
        #expect(self.missing(self.side(), page) == [206])
        // The same page twice; another page of the same passport is none of a card's sides.
        #expect(self.missing(page, page) == [206])
        #expect(self.missing(page, self.side()).isEmpty)
    }

    @Test func `A card without its back lacks only that`() {
        let result = self.decide([.front: self.side(face: 250)], format: .td1)
        #expect(result.rejectReasons.map(\.code) == [206])
        #expect(result.reasons.map(\.code) == [.missingBack] && result.reasons.map(\.part) == ["BACK"])
    }

    @Test func `A back alone is no front`() {
        #expect(self.missing(self.side(self.card), nil) == [214])
        #expect(self.missing(self.side(barcode: self.licence), nil) == [214])
        #expect(self.missing(self.side(barcode: "ABC"), nil).isEmpty)
        #expect(self.missing(self.side(self.card, face: 90), nil).isEmpty)
        let result = self.decide([.front: self.side(self.card)])
        #expect(result.rejectReasons == [RejectReason(code: 214, message: "MISSING_FRONT", part: "FRONT")])
        // A side that is also blurred is named as such: another photo of it would not help.
        var blurred = self.side(self.card)
        blurred.quality.edgeWidth = 9
        #expect(self.decide([.front: blurred]).rejectReasons.map(\.code) == [2001, 214])
    }

    @Test func `Before reading, a glance at three lines warns`() {
        var side = self.side()
        side.mrzSight = MRZSight(lines: 3, shortest: 25, longest: 30)
        let decision = UsabilityRules.decideBeforeReading([.front: side])[.front]
        #expect(decision?.type == .warning && decision?.label == "MISSING_PAGE")
        #expect(decision?.reasons.map(\.code) == [214])
        // Two lines of a passport, and one of its VIZ.
        side.mrzSight = MRZSight(lines: 3, shortest: 12, longest: 43)
        #expect(UsabilityRules.decideBeforeReading([.front: side])[.front] == .passed)
        side.mrzSight = MRZSight(lines: 2, shortest: 41, longest: 43)
        #expect(UsabilityRules.decideBeforeReading([.front: side])[.front] == .passed)
        let twice = UsabilityRules.decideBeforeReading([.front: side, .back: side])
        #expect(twice[.front] == .passed && twice[.back]?.reasons.map(\.code) == [206])
    }

    @Test func `Before reading, two photos that look alike are of one side, however they are turned and lit`() {
        var front = self.side()
        var back = self.side(photo: 1)
        func missing() -> [Int] {
            UsabilityRules.decideBeforeReading([.front: front, .back: back])[.back]?.reasons.map(\.code) ?? []
        }
        let one = (0..<256).map { UInt8(truncatingIfNeeded: ($0 * 97 + $0 / 16 * 31) % 211) }
        front.thumbnail = one
        back.thumbnail = (0..<256).map { UInt8(truncatingIfNeeded: ($0 * 61 + $0 / 16 * 113) % 199) }
        #expect(missing() == [])
        // Darker towards one edge, and turned by a quarter.
        back.thumbnail = (0..<256).map { place in
            let (x, y) = (place % 16, place / 16)
            return UInt8(Int(one[(15 - x) * 16 + y]) * (30 + x) / 64)
        }
        #expect(missing() == [206])
        // A card's three lines show which side it is.
        front.mrzSight = MRZSight(lines: 3, shortest: 25, longest: 30)
        #expect(SideRules(front: front, back: back, knowsFaces: false).missing.map(\.code) == [214])
    }

    @Test func `An outline that the frame cuts is judged by the chosen format's proportions`() {
        var side = self.side(face: 250)
        side.outline?.cornersOutside = 2
        side.outline?.aspectRatio = 1.62
        func label(_ format: DocumentFormat?) -> String {
            UsabilityRules.decide(side, reading: .none, part: "FRONT", format: format).label
        }
        #expect(label(nil) == "OK" && label(.td1) == "OK")
        #expect(label(.td2) == "PART_OF_DOCUMENT_MISSING" && label(.td3) == "PART_OF_DOCUMENT_MISSING")
        side.outline?.aspectRatio = 1.36
        #expect(label(nil) == "OK" && label(.td3) == "OK")
        #expect(label(.td1) == "PART_OF_DOCUMENT_MISSING")
    }
}
