import Foundation
import InspectCore
import Testing

/// Names that partners, dashboards and stored results hold: they stay when a case or a type is renamed.
@Suite struct WireNameTests {
    @Test func `Statuses and stages have names of their own`() {
        #expect(
            JobStatus.allCases.map(\.name) == [
                "QUEUED", "STARTED", "ACQUIRED", "DOCUMENT", "FACE", "LIVENESS", "DECIDED", "FINISHED",
            ])
        #expect(
            JobStatus.allCases.filter(\.isStage).map(\.stageName) == ["acquired", "document", "face", "liveness"])
    }

    @Test func `An error without a code reveals neither its type nor its values`() throws {
        struct Secretive: Error { var name = "ERIKA" }
        let given = InspectError(.corruptImage, "FRONT")
        #expect(InspectError(unexpected: given) == given)
        let form = try #require(throws: (any Error).self) {
            try JSONDecoder().decode(JobStatus.self, from: Data(#""ERIKA""#.utf8))
        }
        for (error, detail) in [
            (Secretive() as any Error, "an unexpected error"), (CancellationError(), "cancelled"),
            (form, "the data do not have the expected form"),
        ] {
            #expect(InspectError(unexpected: error) == InspectError(.internalError, detail))
        }
    }
}
