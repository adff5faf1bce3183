import Foundation
package import InspectCore
import Vision

/// The engine behind instant feedback: no models, so that it starts at once, and no reading, so that it answers at once.
package final class UsabilityEngine: AnalyzerEngine {
    /// The only stage that it has.
    package static let stage = "usability"

    package init() throws(InspectError) {
        // What libraries set up at first use is set up here, as in ``StageEngine``: what they read of the machine they read
        // at the first loop over a picture, so that one that takes no time will do.
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
