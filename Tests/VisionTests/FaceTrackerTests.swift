import InspectCore
import Testing
import Vision

/// Real photographs as frames.
@Suite struct FaceTrackerTests {
    @Test func `The same image twice is a repetition, another one a cut`() async throws {
        let engine = try FaceEngine(models: await FaceFixtures.models)
        let tracker = try FaceTracker(engine: engine)
        let (one, other) = (
            try await FaceFixtures.photograph("obama.jpg"), try await FaceFixtures.photograph("biden.jpg")
        )
        let first = try tracker.next(one)
        #expect(first.face != nil && first.scene == 1 && !first.isRepeated && first.face?.change == nil)
        let second = try tracker.next(one)
        #expect(second.isRepeated && second.scene > 0.999 && second.face?.change != nil)
        let third = try tracker.next(other)
        #expect(!third.isRepeated && third.scene < 0.6)
    }

    @Test func `An upright portrait measures as a face at rest does`() async throws {
        let engine = try FaceEngine(models: await FaceFixtures.models)
        let image = try await FaceFixtures.photograph("obama.jpg")
        let face = try #require(try FaceTracker(engine: engine).next(image).face)
        #expect((0.15...0.7).contains(face.eyeOpening))
        #expect((0.6...1.6).contains(face.mouthWidth))
        #expect(abs(face.yaw) < 12)
        #expect((0.6...0.9).contains(face.noseDrop))
        // Skin reflects more red than blue.
        #expect(face.cheeks.red > face.cheeks.blue && face.forehead.red > face.forehead.blue)
        #expect(face.background != nil && face.saturated < 0.3)
        let found = try #require(try engine.faces(in: image, embeddings: 1).first?.embedding)
        let followed = try #require(try engine.embedding(in: image, landmarks: face.landmarks))
        #expect(try found.distance(to: followed) < 0.3)
    }

    @Test func `An image without a face is measured as one`() async throws {
        let engine = try FaceEngine(models: await FaceFixtures.models)
        let frame = try FaceTracker(engine: engine).next(DecodedImage.testCard(width: 640, height: 480))
        #expect(frame.face == nil && frame.scene == 1)
    }
}
