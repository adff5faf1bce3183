import Foundation
import Testing

@testable import InspectCore

/// The outcomes that a partner tries its program with.
@Suite struct TestSpecimenTests {
    @Test func `A specimen is its text, and nothing else is`() {
        for specimen in TestSpecimen.allCases {
            #expect(TestSpecimen(specimen.bytes) == specimen)
            #expect(TestSpecimen(specimen.bytes + Data("\r\n".utf8)) == specimen)
        }
        for text in [
            "", "passed", "inspectd-specimen:", "inspectd-specimen:PASSED", "inspectd-specimen:passed!",
            " inspectd-specimen:passed",
        ] {
            #expect(TestSpecimen(Data(text.utf8)) == nil, "\(text)")
        }
        #expect(TestSpecimen(TestSpecimen.passed.bytes + Data(repeating: 0x20, count: 100)) == nil)
        #expect(TestSpecimen(Data([0xff, 0xd8, 0xff])) == nil)
    }

    @Test(arguments: TestSpecimen.allCases, Workflow.allCases)
    func `Each outcome has a record for each capability of its workflow, and a reason where it objects`(
        specimen: TestSpecimen, workflow: Workflow
    ) throws {
        let document = specimen.document(of: workflow, parts: [.face, .front])
        if specimen == .failed {
            #expect(document.decision.type == .notExecuted && document.error?.code == "TOO_MANY_PIXELS")
            return
        }
        let outcomes = document.capabilities.outcomes
        #expect(Set(outcomes.map(\.capability)) == Set(workflow.capabilities))
        #expect(outcomes.allSatisfy { $0.parts == ["FRONT", "FACE"] })
        let types = Set(outcomes.map(\.decision.type))
        switch document.decision.type {
        case .passed: #expect(types == [.passed] && document.reasons.isEmpty)
        case .warning: #expect(types.contains(.warning) && !types.contains(.rejected) && !document.reasons.isEmpty)
        case .rejected: #expect(types.contains(.rejected) && !document.reasons.isEmpty)
        case .notExecuted: Issue.record("nothing was executed")
        }
        if specimen == .passed { #expect(document.decision.type == .passed) }
        if specimen == .blurred, workflow.capabilities.contains(.usability) {
            #expect(outcomes.allSatisfy { $0.capability == .usability || $0.decision.type == .notExecuted })
        }
    }

    @Test func `What a specimen objects to decides where the workflow has it`() {
        func decision(_ specimen: TestSpecimen, _ workflow: Workflow) -> String {
            let document = specimen.document(of: workflow, parts: [.front, .face])
            return "\(document.decision.type.rawValue) " + document.reasons.map(\.label).joined(separator: ",")
        }
        #expect(decision(.blurred, .id) == "REJECTED BLURRED")
        #expect(decision(.mismatch, .id) == "REJECTED MISMATCHING_DATAPOINTS")
        #expect(decision(.expiring, .id) == "WARNING DOCUMENT_EXPIRY_WITHIN_CONFIGURED_LIMIT")
        #expect(decision(.noMatch, .similarity) == "REJECTED NO_MATCH")
        #expect(decision(.notLive, .liveness) == "REJECTED LIVENESS_UNDETERMINED")
        #expect(decision(.notLive, .id) == "PASSED ")
    }
}
