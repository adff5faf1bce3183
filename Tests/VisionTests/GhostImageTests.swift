import Foundation
import TestSupport
import Testing

@testable import InspectCore
@testable import Vision

/// The second portrait of a document, on cards that Tests/derive-faces.py makes of real photographs.
@Suite(.serialized)
struct GhostImageTests {
    private struct Loaded: @unchecked Sendable {
        let engine: FaceEngine
    }

    private static let loaded = Task { Loaded(engine: try FaceEngine(models: await FaceFixtures.models)) }

    private func ghost(_ name: String) async throws -> (side: DocumentFacts, ghost: GhostFacts?) {
        let engine = try await Self.loaded.value.engine
        let image = try await FaceFixtures.derived(name)
        let side = FaceEngine.DocumentSide(outline: nil, bearsPortrait: true)
        let faces = try engine.faces(in: image, embeddings: 0, on: side)
        let portrait = try #require(faces.first)
        #expect(portrait.quality.interEyeDistance > 50)
        let ghost = try engine.ghost(of: portrait, in: image, on: side)
        var facts = DocumentFacts(
            image: image.facts, outline: nil, quality: try DocumentAnalyzer.quality(image, outline: nil), mrz: nil,
            barcodes: [], faces: faces)
        facts.ghost = ghost
        return (facts, ghost)
    }

    @Test(arguments: ["ghost", "ghost-turned"])
    func `A ghost image of the portrait's person passes, whichever way up`(name: String) async throws {
        let (side, ghost) = try await self.ghost("\(name).png")
        #expect(try #require(ghost?.distance) < 0.5)
        #expect(ImageCheckRules.assessed(side).contains("GHOST_IMAGE_DIFFERENT"))
        #expect(ImageCheckRules.decide(side, part: "FRONT").label != "GHOST_IMAGE_DIFFERENT")
    }

    @Test(arguments: ["ghost-of-another", "ghost-of-another-turned"])
    func `A ghost image of another person is a warning`(name: String) async throws {
        let (side, ghost) = try await self.ghost("\(name).png")
        #expect(!Limits.ghostDistance.allows(try #require(ghost?.distance)))
        let decision = ImageCheckRules.decide(side, part: "FRONT")
        #expect(decision.type == .warning && decision.label == "GHOST_IMAGE_DIFFERENT")
        let failed = FailedMeasurement.all(ImageCheckRules.measurements(side))?.map(\.name)
        #expect(failed?.contains("ghostDistance") == true)
    }

    @Test func `A ghost image of too few pixels is not compared, and the reason says so`() async throws {
        let (side, ghost) = try await self.ghost("ghost-small.png")
        #expect(try #require(ghost?.interEyeDistance) < 22)
        #expect(ghost?.distance == nil)
        #expect(ImageCheckRules.notAssessed(side).contains("GHOST_IMAGE_DIFFERENT"))
        let measurement = ImageCheckRules.measurements(side).first { $0.name == "ghostDistance" }
        #expect(measurement?.outcome == .inconclusive)
        #expect(measurement?.note == "the second portrait has too few pixels")
    }

    @Test func `A card without a second portrait shows none`() async throws {
        let (side, ghost) = try await self.ghost("ghost-none.png")
        #expect(ghost == GhostFacts())
        let measurement = ImageCheckRules.measurements(side).first { $0.name == "ghostDistance" }
        #expect(measurement?.note == "no second portrait was seen")
    }
}
