import Testing

@testable import InspectCore

@Suite struct ReasonTests {
    private static func reasons(
        _ overall: DecisionType, _ outcomes: [(parts: [String], decision: Decision)], _ numbered: [RejectReason] = []
    ) -> [String] {
        ReasonRecord.all(overall, outcomes, numbered: numbered).map {
            "\($0.code.rawValue) \($0.label) \($0.part ?? "-")"
        }
    }

    @Test func `A rejection has its numbered reasons, the label's first`() {
        let outcomes = [
            (parts: ["FRONT"], decision: Decision(.rejected, "GLARE")), (["BACK"], Decision(.passed, "OK")),
        ]
        let numbered = [RejectReason(.glare, part: "FRONT"), RejectReason(.blurry, part: "FRONT")]
        #expect(Self.reasons(.rejected, outcomes, numbered) == ["GLARE GLARE FRONT", "BLURRY BLURRED FRONT"])
        #expect(ReasonRecord.all(.rejected, outcomes, numbered: numbered)[0].advice == Reason.glare.row.advice)
    }

    @Test func `What has no number in the SDK has a reason as well`() {
        let altered = [(parts: ["FRONT", "BACK"], decision: Decision(.rejected, "MISMATCH_HRZ_MRZ_DATA"))]
        #expect(Self.reasons(.rejected, altered) == ["MISMATCHING_DATA MISMATCH_HRZ_MRZ_DATA BACK"])
        let faces = [
            (parts: ["FRONT", "FACE"], decision: Decision(.rejected, "NO_MATCH")),
            (["FACE"], Decision(.warning, "LIVENESS_UNDETERMINED")),
        ]
        #expect(
            Self.reasons(.rejected, faces) == [
                "FACE_NO_MATCH NO_MATCH FACE", "LIVENESS_UNDETERMINED LIVENESS_UNDETERMINED FACE",
            ])
    }

    @Test func `A warning for what did not run says so, and what passed has no reasons`() {
        let skipped = [(parts: ["FRONT"], decision: Decision(.notExecuted, "PRECONDITION_NOT_FULFILLED"))]
        #expect(Self.reasons(.warning, skipped) == ["NOT_ASSESSED PRECONDITION_NOT_FULFILLED -"])
        #expect(Self.reasons(.passed, [(["FRONT"], Decision(.passed, "OK"))]) == [])
        #expect(Self.reasons(.notExecuted, skipped) == [])
    }

    @Test func `Each objection of each part that it may concern is explained`() {
        for reason in Reason.allCases where !reason.row.parts.isEmpty {
            for (label, part) in reason.row.labels.flatMap({ label in reason.row.parts.map { (label, $0) } }) {
                let found = ReasonRecord.all(
                    .rejected, [([part.rawValue], Decision(.rejected, label.rawValue))], numbered: [])
                #expect(found.count == 1 && found[0].part == part.rawValue && found[0].label == label.rawValue)
                #expect(found.first?.code.row.labels.contains(label) == true && found.first?.code != .notAssessed)
            }
        }
    }
}
