import Foundation
package import InspectCore
import Vision

/// The engine behind instant feedback. It reads no documents and compares no faces, so it starts and answers at once.
package final class UsabilityEngine: AnalyzerEngine {
    /// Its stage, in addition to ``StageEngine/previewStage``.
    package static let stage = "usability"

    /// Finds the face of a selfie. If its model is missing, only selfies are refused.
    private let faces: Result<FaceEngine, InspectError>

    /// - Parameter models: The folder with the model that finds a face's points; `nil`: there are no selfies.
    package init(models: String? = nil) throws(InspectError) {
        try DecodedImage.loadLibraries()
        if let models {
            self.faces = Result { () throws(InspectError) in try FaceEngine(models: models, describes: false) }
            // Around a selfie's face text is read: its forks share the networks.
            _ = try StageEngine.rehearse(TextReader(), DecodedImage.testCard(width: 720, height: 480))
        } else {
            self.faces = .failure(InspectError(.modelUnavailable))
        }
        // Libraries initialise at their first loop over an image, as in ``StageEngine``. A tiny image suffices.
        _ = try DocumentAnalyzer.outline(DecodedImage.testCard(width: 120, height: 80))
    }

    /// Runs the one stage, or previews.
    package func handle(stage: String, request: [UInt8], parts: [PartView]) throws(InspectError) -> [UInt8] {
        if stage == StageEngine.previewStage { return try Self.previews(parts) }
        guard stage == Self.stage else { throw InspectError(.internalError, "the analyzer has no stage \(stage)") }
        let start = ProcessorClock.nowMs
        var facts = UsabilityFacts(sides: [:])
        for part in parts {
            do {
                if part.kind == PartKind.face.rawValue {
                    facts.selfie = try self.selfie(part)
                    continue
                }
                facts.sides[part.kind] = try part.withBytes { bytes throws(InspectError) in
                    try UsabilityAnalyzer.facts(bytes)
                }
            } catch {
                throw StageEngine.naming(part, error)
            }
        }
        facts.cpuMs = ProcessorClock.nowMs - start
        return try StageEngine.encode(facts)
    }

    /// Decoded as for a job, so that its measurements equal the job's.
    private func selfie(_ part: PartView) throws(InspectError) -> FaceStageFacts.Image {
        let engine = try self.faces.get()
        let image = try part.withBytes { bytes throws(InspectError) in try DecodedImage.decode(bytes) }
        let faces = try engine.faces(in: image, embeddings: 0)
        var text: TextAroundFace?
        if let face = faces.first { text = try TextReader().text(around: face, in: image) }
        return FaceStageFacts.Image(image: image.facts, faces: faces, text: text)
    }

    /// ``Preview``s by part name, for a report. A part that cannot be shown, such as one that the client encrypted, has none.
    private static func previews(_ parts: [PartView]) throws(InspectError) -> [UInt8] {
        var previews: [String: Preview] = [:]
        for part in parts where !ChipStage.isChipFile(part) {
            previews[part.kind] = try? part.withBytes { bytes throws(InspectError) in try DecodedImage.decode(bytes) }
                .preview()
        }
        previews[PartKind.dg2.rawValue] = ChipStage.preview(parts)
        return try StageEngine.encode(previews)
    }
}
