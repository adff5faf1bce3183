import Foundation
package import InspectCore
import Vision

/// The engine behind instant feedback: it loads no models and reads no text, so that it starts and answers at once.
package final class UsabilityEngine: AnalyzerEngine {
    /// Its only stage.
    package static let stage = "usability"

    package init() throws(InspectError) {
        // Libraries initialise at their first loop over an image, as in ``StageEngine``. A tiny image suffices.
        _ = try DocumentAnalyzer.outline(DecodedImage.testCard(width: 120, height: 80))
    }

    package func handle(stage: String, request: [UInt8], parts: [PartView]) throws(InspectError) -> [UInt8] {
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
}
