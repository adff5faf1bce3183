import Testing

@testable import InspectCore

/// A document, or its portrait, in place of a person.
struct DocumentAsSelfieTests {
    private func line(_ text: String, _ confidence: Double = 0.9) -> VIZLine {
        let corner = Point(x: 0, y: 0)
        return VIZLine(
            text: text, confidences: text.map { _ in confidence },
            quad: Quad(topLeft: corner, topRight: corner, bottomRight: corner, bottomLeft: corner),
            place: Box(x: 0, y: 0, width: 1, height: 0.1), height: 0.1)
    }

    private func selfie(
        _ faces: [FaceFacts] = [Sample.face()], text: TextAroundFace? = nil
    ) -> FaceStageFacts.Image {
        let image = ImageFacts(
            format: .jpeg, width: 640, height: 480, orientation: 1, storedWidth: 640, storedHeight: 480)
        return FaceStageFacts.Image(image: image, faces: faces, text: text)
    }

    private func label(
        _ faces: [FaceFacts] = [Sample.face()], text: TextAroundFace? = nil, portraits: [FaceFacts] = [],
        passive: LivenessFacts? = nil, suffices: Bool = false
    ) -> String {
        let document = DocumentAsSelfie(self.selfie(faces, text: text), portraits: portraits)
        let decision = LivenessRules.decide(faces: faces, passive: passive, document: document, suffices: suffices)
        return "\(decision.type.rawValue) \(decision.label)"
    }

    /// At this distance from ``Sample/face``'s embedding.
    private func portrait(at distance: Float, engine: String? = nil) -> FaceFacts {
        var embedding = FaceEmbeddingTests.embedding { $0[0] += distance }
        if let engine { embedding.engine = engine }
        return Sample.face(embedding: embedding)
    }

    private func documentLines(_ texts: String...) -> Int {
        TextAroundFace(lines: texts.map { self.line($0) }).documentLines
    }

    @Test func `Labels, titles and MRZ are a document's text, and other words are not`() {
        for text in [
            "Surname / Nom", "Date of birth", "4b. Date of expiry", "P<UTOERIKSSON<<ANNA", "PASSPORT", "DRIVER LICENSE",
            "KIMLIK KARTI", "LICENCIA DE CONDUCIR",
        ] {
            #expect(self.documentLines(text) == 1, "\(text)")
        }
        for text in [
            "JUST DO IT NOW", "MARATHON", "Coffee & Bagels", "CLASS OF 2024", "HAIR STUDIO", "REST AREA",
            "PORT AUTHORITY", "SIGNATURE COFFEE", "TYPE O NEGATIVE", "VETERAN", "VISITOR",
        ] {
            #expect(self.documentLines(text) == 0, "\(text)")
        }
    }

    @Test func `Days are one line of a document's, and only beside another`() {
        #expect(self.documentLines("12.08.1974", "13.08.2024", "14 AUG 2034") == 0)
        #expect(self.documentLines("12.08.1974", "13.08.2024", "14 AUG 2034", "Date of birth") == 2)
        #expect(self.documentLines("4a. 13.08.2024", "PASSPORT") == 2)
        // Telephone numbers, networks' addresses and shares of others are no days.
        for text in [
            "01.42.68.53.00", "089/12/3456", "0800-22-33-44", "192.168.10.20", "10.12.10.20", "01 12 10 53 00",
            "31.02.2001",
        ] {
            #expect(self.documentLines(text, "PASSPORT") == 1, "\(text)")
        }
    }

    @Test func `A badge's labels are a document's, so that its person is warned of and not rejected`() {
        #expect(self.documentLines("VISITOR", "FIRST NAME", "VALID UNTIL", "ISSUED BY") == 3)
        let badge = TextAroundFace(
            lines: ["VISITOR", "FIRST NAME", "VALID UNTIL", "12.08.2026"].map { self.line($0) })
        #expect(badge.documentLines == 3)
        #expect(self.label(text: badge) == "WARNING ID_USED_AS_SELFIE")
    }

    @Test func `What is short or hard to read is no line of text`() {
        let lines = [self.line("12.08.1974", 0.5), self.line("Sex"), self.line("    ")]
        #expect(TextAroundFace(lines: lines) == TextAroundFace(lines: 0, documentLines: 0))
    }

    @Test func `Text as around a portrait warns, and outweighs no rejection`() {
        let document = TextAroundFace(lines: 3, documentLines: 2)
        #expect(self.label(text: document) == "WARNING ID_USED_AS_SELFIE")
        // A small portrait is no reason to come closer.
        #expect(self.label([Sample.face { $0.interEyeDistance = 25 }], text: document) == "WARNING ID_USED_AS_SELFIE")
        #expect(self.label([Sample.face(), Sample.face()], text: document) == "REJECTED MULTIPLE_PEOPLE")
        #expect(self.label([], text: document) == "REJECTED NO_FACE_PRESENT")
    }

    @Test(arguments: [
        nil, TextAroundFace(lines: 2, documentLines: 2), TextAroundFace(lines: 9, documentLines: 1),
        TextAroundFace(lines: 0, documentLines: 0),
    ])
    func `Little text, or text that need be no document's, is no warning`(text: TextAroundFace?) {
        #expect(self.label(text: text) == "WARNING LIVENESS_UNDETERMINED")
    }

    @Test func `The document's own portrait is a warning, another photograph of the person is not`() {
        #expect(self.label(portraits: [self.portrait(at: 0.1)]) == "WARNING ID_USED_AS_SELFIE")
        #expect(self.label(portraits: [self.portrait(at: 0.17)]) == "WARNING LIVENESS_UNDETERMINED")
        // Of the document's and the chip's portrait, either.
        let both = [self.portrait(at: 0.4), self.portrait(at: 0.05)]
        #expect(self.label(portraits: both) == "WARNING ID_USED_AS_SELFIE")
        #expect(self.label(portraits: [self.portrait(at: 0, engine: "other")]) == "WARNING LIVENESS_UNDETERMINED")
    }

    @Test func `Passive signals without a finding do not suffice for the document's own portrait`() {
        let signals = LivenessFacts.Signal.allCases.map { ($0.rawValue, 0.0) }
        let passive = LivenessFacts(
            signals: Dictionary(uniqueKeysWithValues: signals), metadata: ImageMetadata())
        #expect(self.label(portraits: [], passive: passive, suffices: true) == "PASSED OK")
        let own = [self.portrait(at: 0.1)]
        #expect(self.label(portraits: own, passive: passive, suffices: true) == "WARNING ID_USED_AS_SELFIE")
    }

    @Test func `The result has the measures with their limits, a reason and its advice`() throws {
        var facts = InspectionFacts(request: InspectionRequest(workflow: .liveness), parts: [.face])
        facts.faces = FaceStageFacts(
            images: ["FACE": self.selfie(text: TextAroundFace(lines: 12, documentLines: 5))])
        let result = InspectionDecider(facts: facts, today: self.today).decide()
        #expect(result.decision.type == .warning)
        let data = try #require(result.capabilities.liveness?.first?.data)
        #expect(data.reason == DecisionLabel.idUsedAsSelfie.meaning)
        #expect(data.scores["textLines"] == 12 && data.scores["documentLines"] == 5)
        #expect(data.findings?.contains("document: text stands around the face") == true)
        let failed = try #require(data.failedMeasurements)
        #expect(failed.map(\.name) == ["textLines", "documentLines"] && failed.map(\.atMost) == [2, 1])
        #expect(
            result.reasons.map { "\($0.code.rawValue) \($0.part ?? ""): \($0.advice)" }
                == ["ID_USED_AS_SELFIE FACE: Show your own face, not a document."])
    }

    private let today = CalendarDate(year: 2026, month: 11, day: 27)

    private func liveness(
        _ faces: [FaceFacts] = [Sample.face()], signals: [LivenessFacts.Signal: Double] = [:],
        capture: CaptureFacts? = nil, challenge: LivenessChallenge? = nil
    ) throws -> (label: String, reason: String?, part: String?) {
        var request = InspectionRequest(workflow: .liveness)
        request.challenge = challenge
        var facts = InspectionFacts(request: request, parts: capture == nil ? [.face] : [.face, .frames])
        facts.faces = FaceStageFacts(
            images: ["FACE": self.selfie(faces, text: TextAroundFace(lines: 12, documentLines: 5))])
        let values = LivenessFacts.Signal.allCases.map { ($0.rawValue, signals[$0] ?? 0) }
        facts.liveness = LivenessStageFacts(
            passive: LivenessFacts(signals: Dictionary(uniqueKeysWithValues: values), metadata: ImageMetadata()),
            capture: capture)
        let result = InspectionDecider(facts: facts, today: self.today).decide()
        let record = try #require(result.capabilities.liveness?.first)
        return (
            "\(record.decision.type.rawValue) \(record.decision.details.label)", record.data?.reason,
            result.reasons.first?.part
        )
    }

    private func capture(_ places: [Double]) -> CaptureFacts {
        let skin = LinearColour(red: 0.2, green: 0.2, blue: 0.2)
        let frames = places.map { x in
            CaptureFacts.Frame(
                face: CaptureFacts.Face(
                    box: Box(x: 10, y: 10, width: 100, height: 100),
                    landmarks: Array(repeating: Point(x: x, y: 50), count: 5), eyeOpening: 0.3, mouthOpening: 0,
                    mouthWidth: 0.8, yaw: 0, noseDrop: 0.5, eyeDistance: 60, forehead: skin, cheeks: skin, nose: skin,
                    background: skin, saturated: 0))
        }
        let keyFrames = [0, 1].map { CaptureFacts.KeyFrame(index: $0, distance: 0, distanceToFace: 0.2) }
        return CaptureFacts(width: 640, height: 480, frames: frames, keyFrames: keyFrames)
    }

    @Test func `Frames that do not move take the warning of a document from nobody`() throws {
        for places in [Array(repeating: 50, count: 12), (0..<12).map { 50 + Double($0) }] {
            let found = try self.liveness(capture: self.capture(places))
            #expect(found.label == "WARNING ID_USED_AS_SELFIE" && found.part == "FACE", "\(found)")
            #expect(found.reason == DecisionLabel.idUsedAsSelfie.meaning, "\(found)")
        }
    }

    @Test func `The reason is the label's, whatever a challenge found`() throws {
        let copied = try self.liveness(signals: [.grey: 1])
        #expect(copied.label == "REJECTED BLACK_WHITE", "\(copied)")
        #expect(copied.reason == DecisionLabel.blackWhite.meaning, "\(copied)")
        // The job has no frames.
        let nod = LivenessChallenge(steps: [.nod])
        let grey = try self.liveness(signals: [.grey: 1], challenge: nod)
        #expect(grey.label == "REJECTED BLACK_WHITE" && grey.reason == DecisionLabel.blackWhite.meaning, "\(grey)")
        let open = try self.liveness(challenge: nod)
        #expect(open.label == "WARNING ID_USED_AS_SELFIE", "\(open)")
        #expect(open.reason == DecisionLabel.idUsedAsSelfie.meaning, "\(open)")
    }

    @Test func `A document's portrait is enrolled as before, with the warning`() throws {
        var facts = InspectionFacts(request: InspectionRequest(workflow: .enrollment), parts: [.face])
        facts.faces = FaceStageFacts(
            images: ["FACE": self.selfie(text: TextAroundFace(lines: 12, documentLines: 5))])
        facts.enrolled = EnrolledFace(generation: 0, templates: [])
        let result = InspectionDecider(facts: facts, today: self.today).decide()
        let record = try #require(result.capabilities.enrollment?.first)
        #expect(record.decision.type == .passed && record.decision.details.label == "ENROLLED")
        #expect(result.decision.type == .warning)
    }

    @Test func `A selfie that seems to show a document is a hint at once, no refusal`() {
        let record = UsabilityRules.recordAtOnce(self.selfie(text: TextAroundFace(lines: 8, documentLines: 3)))
        #expect(record.decision.type == .warning && record.decision.details.label == "ID_USED_AS_SELFIE")
        #expect(record.data?.failedMeasurements?.contains { $0.name == "documentLines" } == true)
    }
}
