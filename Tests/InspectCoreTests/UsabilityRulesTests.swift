import Testing

@testable import InspectCore

@Suite struct UsabilityRulesTests {
    /// A good photo of a card: 1,400 px wide, whole, on a coloured background.
    private func goodPhoto() -> DocumentFacts {
        DocumentFacts(
            image: ImageFacts(format: .jpeg, width: 1800, height: 1350, orientation: 1),
            outline: OutlineFacts(
                quad: self.quad(200, 200, 1600, 1080), aspectRatio: 1.586, cornersOutside: 0, support: 1),
            quality: QualityFacts(
                laplacianVariance: 300, edgeWidth: 2.5, brightness: 190, contrast: 40, glareShare: 0, chroma: 40,
                backgroundChroma: 30, documentWidth: 1400, printShare: 0.05, midtoneShare: 0.8, moire: 2.2,
                occlusion: 0),
            mrz: nil, barcodes: [], faces: [])
    }

    private func quad(_ left: Double, _ top: Double, _ right: Double, _ bottom: Double) -> Quad {
        Quad(
            topLeft: Point(x: left, y: top), topRight: Point(x: right, y: top),
            bottomRight: Point(x: right, y: bottom), bottomLeft: Point(x: left, y: bottom))
    }

    private func label(_ facts: DocumentFacts, _ reading: ReadingEvidence = .unproven) -> String {
        UsabilityRules.decide(facts, reading: reading, part: "FRONT").label
    }

    private func changed(_ change: (inout DocumentFacts) -> Void) -> DocumentFacts {
        var facts = self.goodPhoto()
        change(&facts)
        return facts
    }

    @Test(arguments: [ReadingEvidence.none, .unproven, .proven])
    func `A good photo passes`(reading: ReadingEvidence) {
        #expect(UsabilityRules.decide(self.goodPhoto(), reading: reading, part: "FRONT") == .passed)
    }

    @Test func `Each defect has its label and code`() {
        let defects: [(String, Int, (inout DocumentFacts) -> Void)] = [
            ("BLURRED", 2001, { $0.quality.edgeWidth = 6.5 }),
            ("GLARE", 2006, { $0.quality.glareShare = 0.05 }),
            ("PART_OF_DOCUMENT_HIDDEN", 2004, { $0.quality.occlusion = 0.05 }),
            (
                "PHOTOCOPY", 102,
                { facts in
                    facts.quality.chroma = 1
                    facts.mrz = self.reading
                }
            ),
            (
                "BLACK_WHITE", 102,
                { facts in
                    facts.quality.chroma = 0
                    facts.quality.backgroundChroma = 1
                    facts.mrz = self.reading
                }
            ),
            (
                "BAD_QUALITY_IMAGE", 200,
                { facts in
                    facts.quality.brightness = 40
                    facts.quality.contrast = 8
                }
            ),
            ("BAD_QUALITY_IMAGE", 200, { facts in facts.quality.documentWidth = 300 }),
            (
                "PART_OF_DOCUMENT_MISSING", 2003,
                { facts in
                    facts.outline?.cornersOutside = 2
                    facts.outline?.aspectRatio = 1.1
                }
            ),
            (
                "PART_OF_DOCUMENT_MISSING", 2003,
                { facts in
                    facts.outline?.cornersOutside = 1
                    facts.outline?.quad.topLeft = Point(x: -100, y: 200)
                }
            ),
        ]
        for (label, code, change) in defects {
            var facts = self.goodPhoto()
            facts.faces = []
            change(&facts)
            let decision = UsabilityRules.decide(facts, reading: .unproven, part: "FRONT")
            #expect(decision.type == .rejected)
            #expect(decision.label == label)
            #expect(decision.reasons.first?.code == code)
            #expect(decision.reasons.first?.part == "FRONT")
        }
    }

    private var reading: MRZReading {
        MRZReading(
            lines: ["A", "B"], confidences: [[1], [1]], quad: self.quad(0, 0, 1, 1), pitch: 20, corrections: 0)
    }

    @Test func `Colours are not assessed in an infrared image whose text proves itself, and in no other`() {
        let infrared = self.changed {
            $0.image.isGrey = true
            $0.quality.chroma = 0
            $0.quality.backgroundChroma = 0
            $0.mrz = self.reading
        }
        #expect(self.label(infrared, .proven) == "OK")
        #expect(self.label(infrared, .unproven) == "BLACK_WHITE")
        let chroma = UsabilityRules.measurements(infrared, reading: .proven).first { $0.name == "chroma" }
        #expect(chroma?.outcome == .inconclusive && chroma?.note?.hasPrefix("not assessed") == true)
        #expect(ImageCheckRules.decide(infrared, part: "FRONT").type == .notExecuted)
        #expect(ImageCheckRules.notAssessed(infrared).prefix(2) == ["BLACK_WHITE", "PHOTOCOPY"])
        let copy = self.changed {
            $0.quality.chroma = 0
            $0.quality.backgroundChroma = 0
            $0.mrz = self.reading
        }
        #expect(self.label(copy, .proven) == "BLACK_WHITE")
        // A screen's raster needs no colours.
        var screen = infrared
        screen.quality.moire = 6.4
        #expect(ImageCheckRules.decide(screen, part: "FRONT").label == "DIGITAL_COPY")
    }

    @Test func `Proven text outweighs measures of legibility`() {
        let facts = self.changed {
            $0.quality.edgeWidth = 5.2
            $0.quality.glareShare = 0.012
            $0.quality.occlusion = 0.1
            $0.outline?.cornersOutside = 2
            $0.outline?.aspectRatio = 1.1
        }
        #expect(self.label(facts, .proven) == "OK")
        #expect(
            UsabilityRules.decide(facts, reading: .unproven, part: "FRONT").reasons.map(\.code) == [
                2001, 2003, 2004, 2006,
            ])
    }

    @Test func `Massive glare is named before the slight blur that it causes`() {
        func codes(edgeWidth: Double) -> [Int] {
            let facts = self.changed {
                $0.quality.edgeWidth = edgeWidth
                $0.quality.glareShare = 0.19
            }
            return UsabilityRules.decide(facts, reading: .unproven, part: "FRONT").reasons.map(\.code)
        }
        #expect(codes(edgeWidth: 5.2) == [2006, 2001])
        #expect(codes(edgeWidth: 9) == [2001, 2006])
    }

    /// A passport's MRZ whose last line begins at `x`, `y`, seen upright at 10 px a character.
    private func mrz(x: Double, y: Double) -> MRZReading {
        var mrz = MRZReading(
            lines: Array(repeating: String(repeating: "<", count: 44), count: 2), confidences: [],
            quad: self.quad(0, 0, 1, 1), pitch: 25.4, corrections: 0)
        mrz.centres = [y - 60, y].map { Segment(start: Point(x: x, y: $0), end: Point(x: x + 430, y: $0)) }
        return mrz
    }

    @Test(arguments: [(300.0, 0), (200, 0.3), (90, 0.61)])
    func `The MRZ shows how much of its document is missing`(y: Double, missing: Double) throws {
        // At 10 px for 2.54 mm the passport is 346 px high, and 309 px of it are above its last line.
        let facts = self.changed {
            $0.mrz = self.mrz(x: 100, y: y + 9)
            $0.outline = nil
        }
        let told = try #require(DocumentExtent.of(facts))
        #expect(abs(told.beyondFrame - missing) < 0.02)
        #expect(self.label(facts, .proven) == (missing > 0.15 ? "PART_OF_DOCUMENT_MISSING" : "OK"))
        // The same upside down: the frame ends below.
        var turned = facts
        turned.mrz?.centres = facts.mrz?.centres?.map { line in
            func opposite(_ point: Point) -> Point { Point(x: 1800 - point.x, y: 1350 - point.y) }
            return Segment(start: opposite(line.start), end: opposite(line.end))
        }
        #expect(abs(try #require(DocumentExtent.of(turned)).beyondFrame - missing) < 0.02)
    }

    /// Three lines stand closer than two, so their distance shortens no card that is seen from above.
    @Test(arguments: [(150.0, 0.0), (60, 0.42)])
    func `An MRZ of three lines shows how much of its card is missing`(y: Double, missing: Double) throws {
        // At 10 px for 2.54 mm the card is 213 px high, and 183 px of it are above its last line.
        let facts = self.changed {
            var mrz = MRZReading(
                lines: Array(repeating: String(repeating: "<", count: 30), count: 3), confidences: [],
                quad: self.quad(0, 0, 1, 1), pitch: 25.4, corrections: 0)
            mrz.centres = [2, 1, 0].map {
                let above = y + 33 - $0 * 16.65
                return Segment(start: Point(x: 100, y: above), end: Point(x: 390, y: above))
            }
            $0.mrz = mrz
            $0.outline = nil
        }
        let told = try #require(DocumentExtent.of(facts))
        #expect(abs(told.beyondFrame - missing) < 0.03)
        #expect(self.label(facts, .proven) == (missing > 0.15 ? "PART_OF_DOCUMENT_MISSING" : "OK"))
    }

    @Test func `An outline inside the frame outweighs the place of the MRZ`() {
        let facts = self.changed { $0.mrz = self.mrz(x: 100, y: 100) }
        #expect(self.label(facts, .proven) == "OK")
    }

    @Test func `A card along the frame is whole only if it has the shape of a card`() {
        func along(_ aspectRatio: Double) -> DocumentFacts {
            self.changed {
                $0.outline?.quad = self.quad(0, 200, 1200, 1080)
                $0.outline?.cornersOutside = 2
                $0.outline?.aspectRatio = aspectRatio
            }
        }
        #expect(self.label(along(1.43), .none) == "PART_OF_DOCUMENT_MISSING")
        #expect(self.label(along(1.6), .none) == "OK")
        #expect(self.label(along(1.43), .proven) == "OK")
    }

    @Test func `Motion blur is detected by the direction of strokes`() {
        let moved = self.changed {
            $0.quality.coherence = 0.8
            $0.quality.edgeWidth = 4
        }
        #expect(self.label(moved) == "BLURRED")
        #expect(self.label(self.changed { $0.quality.coherence = 0.8 }) == "OK")
        #expect(self.label(moved, .proven) == "OK")
        var zoned = moved
        zoned.mrz = self.reading
        #expect(self.label(zoned, .proven) == "BLURRED")
    }

    @Test func `Proven text does not outweigh massive defects`() {
        #expect(self.label(self.changed { $0.quality.edgeWidth = 9 }, .proven) == "BLURRED")
        #expect(self.label(self.changed { $0.quality.glareShare = 0.15 }, .proven) == "GLARE")
    }

    @Test func `Proven text outweighs neither a copy nor darkness`() {
        let copy = self.changed {
            $0.quality.chroma = 0
            $0.mrz = self.reading
        }
        #expect(self.label(copy, .proven) == "PHOTOCOPY")
        let dark = self.changed {
            $0.quality.brightness = 40
            $0.quality.contrast = 8
        }
        #expect(self.label(dark, .proven) == "BAD_QUALITY_IMAGE")
    }

    @Test func `A small sharp crop is not blurred and passes if its text is proven`() {
        let crop = self.changed {
            $0.image = ImageFacts(format: .jpeg, width: 272, height: 185, orientation: 1)
            $0.outline = nil
            $0.quality.edgeWidth = 8.6
            $0.quality.documentWidth = 272
        }
        #expect(self.label(crop, .proven) == "OK")
        #expect(self.label(crop, .unproven) == "BAD_QUALITY_IMAGE")
    }

    @Test func `A drawing on white paper is no black-and-white copy`() {
        let drawing = self.changed {
            $0.outline = nil
            $0.quality.chroma = 0
            $0.quality.backgroundChroma = nil
            $0.quality.midtoneShare = 0.14
            $0.mrz = self.reading
        }
        #expect(self.label(drawing) == "OK")
    }

    @Test func `The grey back of a licence is no copy`() {
        let back = self.changed {
            $0.quality.chroma = 2
            $0.barcodes = [BarcodeFacts(format: "PDF417", text: "", bytesHex: "", quad: self.quad(0, 0, 9, 9))]
        }
        #expect(self.label(back, .proven) == "OK")
    }

    @Test func `An image without a document is rejected as such`() {
        let landscape = self.changed {
            $0.outline = nil
            $0.quality.printShare = 0.001
        }
        let page = self.changed {
            $0.outline = nil
            $0.quality.chroma = 0
            $0.quality.printShare = 0.1
        }
        let selfie = self.changed {
            $0.outline = nil
            $0.faces = [self.face(width: 700)]
        }
        for facts in [landscape, page, selfie] {
            let decision = UsabilityRules.decide(facts, reading: .none, part: "FRONT")
            #expect(decision.label == "NOT_A_DOCUMENT")
            #expect(decision.reasons == [RejectReason(code: 201, message: "NO_DOC", part: "FRONT")])
        }
        let crop = self.changed {
            $0.outline = nil
            $0.faces = [self.face(width: 200)]
        }
        #expect(self.label(crop, .none) == "OK")
    }

    private func face(width: Double) -> FaceFacts {
        FaceFacts(
            box: Box(x: 0, y: 0, width: width, height: width), landmarks: [], detectionScore: 1,
            quality: FaceQuality(
                interEyeDistance: 60, roll: 0, yawOffset: 0, luminanceMean: 0.4, luminanceVariance: 0.1, overExposed: 0,
                underExposed: 0, illuminationUniformity: 1, dynamicRange: 7, chroma: 30, sharpness: 100, centreX: 0.5,
                eyeLineY: 0.6, headWidth: 0.5, visible: 1), embedding: nil)
    }

    @Test func `Screens are rejected, and small images are not assessed for them`() {
        #expect(ImageCheckRules.decide(self.goodPhoto(), part: "FRONT") == .passed)
        let screen = ImageCheckRules.decide(self.changed { $0.quality.moire = 6.4 }, part: "FRONT")
        #expect(screen.type == .rejected && screen.label == "DIGITAL_COPY")
        #expect(screen.reasons == [RejectReason(code: 104, message: "DIGITAL_COPY", part: "FRONT")])
        #expect(ImageCheckRules.decide(self.changed { $0.quality.moire = nil }, part: "FRONT").type == .notExecuted)
    }

    @Test func `Another ghost image, a hole and a tear are warnings, and alone they do not make an image assessed`() {
        let other = self.changed { $0.ghost = GhostFacts(detectionScore: 1, interEyeDistance: 40, distance: 0.83) }
        let decision = ImageCheckRules.decide(other, part: "FRONT")
        #expect(decision.type == .warning && decision.label == "GHOST_IMAGE_DIFFERENT")
        #expect(FailedMeasurement.all(ImageCheckRules.measurements(other))?.map(\.name) == ["ghostDistance"])
        let same = self.changed { $0.ghost = GhostFacts(detectionScore: 1, interEyeDistance: 40, distance: 0.5) }
        #expect(ImageCheckRules.decide(same, part: "FRONT") == .passed)
        let punched = self.changed { $0.quality.punchedHole = 0.93 }
        #expect(ImageCheckRules.decide(punched, part: "BACK").label == "PUNCHED")
        let torn = self.changed { $0.quality.tornEdge = 0.04 }
        let damage = ImageCheckRules.decide(torn, part: "FRONT")
        #expect(damage.type == .warning && damage.label == "DAMAGED_DOCUMENT" && damage.reasons.isEmpty)
        #expect(FailedMeasurement.all(ImageCheckRules.measurements(torn))?.map(\.name) == ["tornEdge"])
        let held = self.changed {
            $0.quality.tornEdge = 0.04
            $0.quality.occlusion = 0.05
        }
        #expect(ImageCheckRules.decide(held, part: "FRONT") == .passed)
        let whole = self.changed {
            $0.quality.tornEdge = 0
            $0.quality.punchedHole = 0.2
            $0.quality.moire = nil
        }
        #expect(ImageCheckRules.decide(whole, part: "FRONT").type == .notExecuted)
        #expect(ImageCheckRules.assessed(whole) == ["PUNCHED", "DAMAGED_DOCUMENT"])
    }

    @Test func `A patch that was changed and a screenshot are warnings, and the editor of a file a note`() {
        let edited = self.changed { $0.recompression = 0.37 }
        let decision = ImageCheckRules.decide(edited, part: "FRONT")
        #expect(decision.type == .warning && decision.label == "MANIPULATED_DOCUMENT")
        #expect(ImageCheckRules.assessed(edited) == ["DIGITAL_COPY", "MANIPULATED_DOCUMENT"])
        #expect(FailedMeasurement.all(ImageCheckRules.measurements(edited))?.map(\.name) == ["recompression"])
        let again = self.changed { $0.recompression = 0.2 }
        #expect(ImageCheckRules.decide(again, part: "FRONT") == .passed)
        #expect(!ImageCheckRules.notAssessed(again).contains("MANIPULATED_DOCUMENT"))
        #expect(ImageCheckRules.notAssessed(self.goodPhoto()).contains("MANIPULATED_DOCUMENT"))
        // A screen is worse.
        let screen = self.changed {
            $0.recompression = 0.37
            $0.quality.moire = 6.4
        }
        #expect(ImageCheckRules.decide(screen, part: "FRONT").label == "DIGITAL_COPY")
        let noted = self.changed {
            $0.metadata = ImageMetadata()
            $0.metadata?.editor = "GIMP"
        }
        #expect(ImageCheckRules.decide(noted, part: "FRONT") == .passed)
        var screenshot = noted
        screenshot.metadata?.isScreenshot = true
        let copy = ImageCheckRules.decide(screenshot, part: "FRONT")
        #expect(copy.type == .warning && copy.label == "DIGITAL_COPY" && copy.reasons.isEmpty)
        #expect(
            ImageCheckRules.findings(screenshot) == [
                "metadata: the file names the editor GIMP", "metadata: the file calls itself a screenshot",
            ])
    }
}
