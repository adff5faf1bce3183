import Foundation
import InspectCore
import TestSupport
import Testing
import Vision

/// Text around faces: specimens are documents, photographs show people.
@Suite(.serialized)
struct FaceTextTests {
    private struct Loaded: @unchecked Sendable {
        let engine: FaceEngine
    }

    private static let loaded = Task {
        Loaded(engine: try FaceEngine(models: await FaceFixtures.models, describes: false))
    }

    private func document(_ image: DecodedImage) async throws -> DocumentAsSelfie {
        let faces = try await Self.loaded.value.engine.faces(in: image, embeddings: 0)
        let face = try #require(faces.first)
        return DocumentAsSelfie(
            FaceStageFacts.Image(
                image: image.facts, faces: faces, text: try TextReader().text(around: face, in: image)))
    }

    @Test(arguments: ["passport.jpg", "id_front.jpg", "td2.jpg", "passport_icao.jpg"])
    func `Around a specimen's portrait stands a document's text`(name: String) async throws {
        let document = try await self.document(
            Decoding.decode([UInt8](await TestInputs.specimen(name))))
        #expect(document.isDocument, "\(String(describing: document.text))")
    }

    @Test(arguments: ["obama.jpg", "obama2.jpg", "biden.jpg"])
    func `Around a person's face stands none`(name: String) async throws {
        let document = try await self.document(FaceFixtures.photograph(name))
        #expect(document.text == TextAroundFace(lines: 0, documentLines: 0))
    }

    @Test func `Without a face's points nothing is read`() async throws {
        let image = try await FaceFixtures.photograph("obama.jpg")
        var face = try #require(try await Self.loaded.value.engine.faces(in: image, embeddings: 0).first)
        face.landmarks = []
        #expect(try TextReader().text(around: face, in: image) == nil)
    }
}
