internal import Foundation
internal import InspectCore
internal import Vision

extension StageEngine {
    /// Runs every stage once, over a test image.
    ///
    /// Libraries initialise at first use: they read files, resolve names, build tables. An analyzer can open no file and would
    /// repeat the rest for each job, so the first use is in the warm parent, and its forks share the result.
    func rehearse() throws(InspectError) {
        try DecodedImage.loadLibraries()
        // The test image has no MRZ to read.
        try MRZReader.loadNetworks()
        // No pass of a search finds a face in the test image, so every pass is made: 0.3 s at full size.
        self.faces.rehearse(true)
        defer { self.faces.rehearse(false) }
        let card = try DecodedImage.testCard(width: 720, height: 480)
        // Not smaller than a patch of its spectrum.
        let file = [UInt8](try DecodedImage.testCard(width: 384, height: 272).preview().jpeg)
        do {
            try file.withUnsafeBytes { bytes in
                let parts = [PartKind.front, .face].map { PartView(kind: $0.rawValue, bytes: bytes) }
                for stage in [JobStatus.acquired, .document, .face, .liveness] {
                    _ = try self.handle(stage: stage.stageName, request: Self.withVIZ, parts: parts)
                }
            }
        } catch let error as InspectError {
            throw error
        } catch {
            throw InspectError(.internalError, "\(error)")
        }
        try self.rehearseText(card)
        try self.rehearseFace(card)
        self.forget()
    }

    /// The test image has no line of text, so two rows of strokes are read as if they were lines.
    private func rehearseText(_ card: DecodedImage) throws(InspectError) {
        let line = try Self.rehearse(self.text, card)
        let lines = Self.page.enumerated().map { index, text in
            VIZLine(
                text: text, confidences: text.map { _ in 1 }, quad: line.quad,
                place: Box(x: 0.3, y: 0.04 * Double(index), width: 0.3, height: 0.02), height: 0.02)
        }
        let facts = VIZFacts(lines: lines, found: lines.count, modelSHA256: self.text.modelSHA256)
        try VIZMemo.during { () throws(InspectError) in try self.rehearseRules(card, line.quad, facts) }
    }

    /// Text for every table of spellings, labels, towns and months, which are built at first use.
    private static let page = [
        "Surname / Nom", "ERIKSSON", "Given names / Prénoms", "ANNA MARIA", "Date of birth", "12 AUG 1974",
        "Place of birth", "ZÜRICH", "Date of issue", "16.04.2007", "Authority", "MINISTÈRE DE L'INTÉRIEUR",
        "4b 15.04.2012",
    ]

    /// Loads the networks that read text, and the tables of labels and months.
    ///
    /// - Returns: A made-up line, as wide as the image.
    static func rehearse(_ reader: TextReader, _ card: DecodedImage) throws(InspectError) -> VIZLine {
        let (width, height) = (Double(card.facts.width), Double(card.facts.height))
        let frame = Quad(
            topLeft: Point(x: 0, y: 0), topRight: Point(x: width, y: 0), bottomRight: Point(x: width, y: height),
            bottomLeft: Point(x: 0, y: height))
        let page = try TextPage(card, corners: frame)
        for line in page.lines.indices.prefix(2) { _ = try reader.read(page, line: line) }
        _ = try TextPage.emblem(card, corners: frame)
        let text = "DATE OF ISSUE 1 JAN 2020"
        let line = VIZLine(
            text: text, confidences: text.map { _ in 1 }, quad: frame, place: Box(x: 0, y: 0, width: 0.5, height: 0.02),
            height: 0.02)
        _ = TextAroundFace(lines: [line])
        return line
    }

    /// Runs the rules on one side with an MRZ, a barcode and text, and encodes its facts.
    private func rehearseRules(_ card: DecodedImage, _ frame: Quad, _ viz: VIZFacts) throws(InspectError) {
        let today = CalendarDate(year: 2020, month: 1, day: 1)
        // The specimen of Doc 9303-4.
        let lines = ["P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<", "L898902C36UTO7408122F1204159ZE184226B<<<<<10"]
        let mrz = MRZReading(
            lines: lines, confidences: lines.map { $0.map { _ in 1 } }, quad: frame, pitch: 10, corrections: 0)
        var side = DocumentFacts(
            image: card.facts, outline: nil, quality: try DocumentAnalyzer.quality(card, outline: nil), mrz: mrz,
            barcodes: [BarcodeFacts(format: "PDF417", text: "", bytesHex: "", quad: frame)], faces: [])
        let expected = VIZExpectation(sides: [side], today: today)
        for expected in [expected, nil] {
            var plan = VIZPlan(
                viz.lines.map { VIZPlan.Line(place: $0.place, height: $0.height, marks: $0.text.count) },
                expected: expected)
            while let index = plan.next() {
                plan.add(expected?.corrected(viz.lines[index]) ?? viz.lines[index], at: index)
            }
            if let expected {
                _ = VIZRules.unexplained(viz, expected: expected)
                _ = VIZRules(viz, expected: expected, trustsUnconfirmed: true).findings
            }
            _ = VIZFields.unseen(viz, expected: expected, today: today)
            _ = VIZFields.unconfirmed(viz, expected: expected, today: today)
        }
        _ = VIZNumbering.places(viz)
        _ = IssuingState.isKnown("UTO")
        side.viz = viz
        _ = try Self.encode(DocumentStageFacts(sides: [PartKind.front.rawValue: side]))
    }

    /// The test image has no face either, so the networks run on five arbitrary points.
    private func rehearseFace(_ card: DecodedImage) throws(InspectError) {
        let points = [(270, 200), (310, 200), (450, 200), (410, 200), (360, 290)].map { Point(x: $0, y: $1) }
        let quality = FaceQuality(
            interEyeDistance: 140, roll: 0, yawOffset: 0, luminanceMean: 0.5, luminanceVariance: 0.05, overExposed: 0,
            underExposed: 0, illuminationUniformity: 1, dynamicRange: 7, chroma: 20, sharpness: 1, centreX: 0.5,
            eyeLineY: 0.4, headWidth: 0.5, visible: 1)
        let embedding = try self.faces.describe(points, in: card)
        let face = FaceFacts(
            box: Box(x: 210, y: 110, width: 300, height: 300), landmarks: points, detectionScore: 0, quality: quality,
            embedding: embedding)
        var facts = LivenessStageFacts(passive: try self.faces.liveness(in: card, face: face))
        facts.passive?.network = try self.livenessNetwork?.score(face, in: card)
        _ = try Self.encode(facts)
        _ = try Self.encode(
            FaceStageFacts(images: [PartKind.face.rawValue: FaceStageFacts.Image(image: card.facts, faces: [face])])
        )
    }
}
