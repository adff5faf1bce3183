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

    @Test func `Labels, days, titles and MRZ are a document's text, and other words are not`() {
        for text in ["Surname / Nom", "Date of birth", "12.08.1974", "P<UTOERIKSSON<<ANNA", "PASSPORT"] {
            #expect(TextAroundFace(lines: [self.line(text)]).documentLines == 1, "\(text)")
        }
        for text in ["JUST DO IT NOW", "MARATHON", "Coffee & Bagels"] {
            #expect(TextAroundFace(lines: [self.line(text)]) == TextAroundFace(lines: 1, documentLines: 0), "\(text)")
        }
    }

    @Test func `What is short or hard to read is no line of text`() {
        let lines = [self.line("12.08.1974", 0.5), self.line("Sex"), self.line("    ")]
        #expect(TextAroundFace(lines: lines) == TextAroundFace(lines: 0, documentLines: 0))
    }

    @Test func `Text as around a portrait rejects, whatever else the image shows`() {
        let document = TextAroundFace(lines: 3, documentLines: 2)
        #expect(self.label(text: document) == "REJECTED ID_USED_AS_SELFIE")
        // The ghost image is no second person, and a small portrait no reason to come closer.
        #expect(self.label([Sample.face(), Sample.face()], text: document) == "REJECTED ID_USED_AS_SELFIE")
        #expect(
            self.label([Sample.face { $0.interEyeDistance = 25 }], text: document) == "REJECTED ID_USED_AS_SELFIE")
        #expect(self.label([], text: document) == "REJECTED NO_FACE_PRESENT")
    }

    @Test(arguments: [
        nil, TextAroundFace(lines: 2, documentLines: 2), TextAroundFace(lines: 9, documentLines: 1),
        TextAroundFace(lines: 0, documentLines: 0),
    ])
    func `Little text, or text that need be no document's, rejects nobody`(text: TextAroundFace?) {
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
        let result = InspectionDecider(facts: facts, today: CalendarDate(year: 2026, month: 11, day: 27)).decide()
        let data = try #require(result.capabilities.liveness?.first?.data)
        #expect(data.scores["textLines"] == 12 && data.scores["documentLines"] == 5)
        #expect(data.findings?.contains("document: text stands around the face") == true)
        let failed = try #require(data.failedMeasurements)
        #expect(failed.map(\.name) == ["textLines", "documentLines"] && failed.map(\.atMost) == [2, 1])
        #expect(
            result.reasons.map { "\($0.code.rawValue) \($0.part ?? ""): \($0.advice)" }
                == ["ID_USED_AS_SELFIE FACE: Show your own face, not a document."])
    }

    @Test func `A selfie that shows a document is refused at once`() {
        let record = UsabilityRules.recordAtOnce(self.selfie(text: TextAroundFace(lines: 8, documentLines: 3)))
        #expect(record.decision.type == .rejected && record.decision.details.label == "ID_USED_AS_SELFIE")
        #expect(record.data?.failedMeasurements?.contains { $0.name == "documentLines" } == true)
    }
}
