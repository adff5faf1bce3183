import Foundation
package import InspectCore
import Vision

/// The engine behind instant feedback: it loads no models and reads no text, so that it starts and answers at once.
package final class UsabilityEngine: AnalyzerEngine {
    /// Its stage, beside ``StageEngine/previewStage``.
    package static let stage = "usability"

    package init() throws(InspectError) {
        try DecodedImage.loadLibraries()
        // Libraries initialise at their first loop over an image, as in ``StageEngine``. A tiny image suffices.
        _ = try DocumentAnalyzer.outline(DecodedImage.testCard(width: 120, height: 80))
    }

    package func handle(stage: String, request: [UInt8], parts: [PartView]) throws(InspectError) -> [UInt8] {
        if stage == StageEngine.previewStage { return try Self.previews(parts) }
        guard stage == Self.stage else { throw InspectError(.internalError, "the analyzer has no stage \(stage)") }
        let start = ProcessorClock.now
        var facts = UsabilityFacts(sides: [:])
        for part in parts {
            do {
                facts.sides[part.kind] = try part.withBytes { bytes throws(InspectError) in
                    try UsabilityAnalyzer.facts(bytes)
                }
            } catch {
                throw StageEngine.naming(part, error)
            }
        }
        facts.cpuMs = ProcessorClock.now - start
        return try StageEngine.encode(facts)
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
