import Foundation
import Testing

@testable import InspectCore

/// What is made of a vendor's answers, in both spellings.
@Suite struct VendorSessionRulesTests {
    private static func answer(
        _ json: String, after previous: VendorSessionAnswer? = nil, scansDocument: Bool = false
    ) throws(InspectError) -> VendorSessionAnswer {
        let members = (try? JSONDecoder().decode([String: VendorValue].self, from: Data(json.utf8))) ?? [:]
        return try VendorSessionAnswer(members: members, after: previous, scansDocument: scansDocument)
    }

    private static func decision(_ json: String) throws -> DecisionType {
        let answer = try Self.answer(json)
        return VendorSessionRules.decide(answer.facts, isOpen: answer.isOpen).type
    }

    @Test func `An answer passes only with a literal true, in either spelling`() throws {
        let cases: [(String, DecisionType)] = [
            (#"{"responseBlob":"b","success":true,"didError":false,"result":{"livenessProven":true}}"#, .passed),
            (#"{"responseBlob":"b","success":true,"result":{"livenessProven":true,"matchLevel":7}}"#, .passed),
            (#"{"responseBlob":"b","success":true,"result":{"livenessProven":true},"matchLevel":0}"#, .rejected),
            (#"{"responseBlob":"b","success":false,"result":{"livenessProven":false}}"#, .rejected),
            (#"{"responseBlob":"b","success":false,"result":{"livenessProven":true}}"#, .rejected),
            (#"{"responseBlob":"b","success":true,"didError":null,"result":null}"#, .warning),
            (#"{"sessionResponseBlob":"b","success":true,"livenessPassed":true,"reason":"OK"}"#, .passed),
            (#"{"responseBlob":"b","success":true,"wasLivenessPassed":true}"#, .passed),
            (
                #"{"sessionResponseBlob":"b","success":true,"livenessPassed":true,"matched":false,"matchLevel":2}"#,
                .rejected
            ),
            (#"{"sessionResponseBlob":"b","success":true,"livenessPassed":false}"#, .rejected),
            (#"{"success":false}"#, .rejected),
            (#"{"sessionResponseBlob":"b","success":true}"#, .warning),
        ]
        for (json, type) in cases { #expect(try Self.decision(json) == type, "\(json)") }
        let proven = try Self.answer(cases[1].0)
        #expect(proven.facts.sessionResponseBlob == "b" && proven.facts.matchLevel == 7 && proven.facts.matched == nil)
        #expect(try Self.answer(cases[6].0).facts.reason == "OK")
        // The server's text must not reach a log or a partner.
        #expect(try Self.answer(#"{"success":false,"reason":"<b>Anna</b>"}"#).facts.reason == nil)
    }

    @Test func `A 10.x session goes on until liveness is proven and the document is scanned`() throws {
        let start = try Self.answer(#"{"responseBlob":"b","success":true,"result":{}}"#)
        #expect(start.isOpen && start.facts.livenessPassed == nil)
        let spoof = try Self.answer(
            #"{"responseBlob":"b","success":false,"result":{"livenessProven":false}}"#, after: start)
        #expect(spoof.isOpen && spoof.facts.livenessPassed == false)
        let live = try Self.answer(
            #"{"responseBlob":"b","success":true,"result":{"livenessProven":true}}"#, after: spoof)
        #expect(!live.isOpen && live.facts.livenessPassed == true)
        // What was proven stands while the document is scanned, and nothing passes before the scan is complete.
        let front = try Self.answer(
            #"{"responseBlob":"b","success":true,"idScanResultsSoFar":{"photoIDNextStepEnumInt":1}}"#, after: live
        )
        #expect(front.isOpen && front.facts.livenessPassed == true)
        #expect(VendorSessionRules.decide(front.facts, isOpen: true).type == .warning)
        let between = try Self.answer(
            #"{"responseBlob":"b","success":true,"result":{"livenessProven":true}}"#, after: front)
        #expect(between.isOpen)
        for (level, type) in [(7, DecisionType.passed), (0, .rejected)] {
            let scan = try Self.answer(
                #"{"responseBlob":"b","success":true,"idScanResultsSoFar":{"photoIDNextStepEnumInt":4,"matchLevel":\#(level)}}"#,
                after: front)
            #expect(!scan.isOpen && scan.facts.matchLevel == level)
            #expect(VendorSessionRules.decide(scan.facts, isOpen: scan.isOpen).type == type)
        }
        // The guide's answers are final.
        for verdict in ["", #","livenessPassed":false"#] {
            let guide = try Self.answer(#"{"sessionResponseBlob":"b","success":true\#(verdict)}"#)
            #expect(!guide.isOpen)
        }
        // A later comparison replaces an earlier one.
        let other = try Self.answer(
            #"{"responseBlob":"b","success":true,"result":{"livenessProven":true,"matchLevel":0}}"#)
        let again = try Self.answer(
            #"{"responseBlob":"b","success":true,"result":{"livenessProven":true,"matchLevel":9}}"#, after: other)
        #expect(other.facts.matched == false && again.facts.matched == nil)
    }

    @Test func `Where the client scans a document, proven liveness is no end, and the complete scan is`() throws {
        let live = try Self.answer(
            #"{"responseBlob":"b","success":true,"result":{"livenessProven":true}}"#, scansDocument: true)
        #expect(live.isOpen && live.facts.livenessPassed == true)
        #expect(VendorSessionRules.decide(live.facts, isOpen: true).type == .warning)
        for (step, isOpen) in [(0, true), (1, true), (2, true), (3, true), (4, false), (5, true)] {
            let scan = try Self.answer(
                #"{"responseBlob":"b","success":true,"idScanResultsSoFar":{"photoIDNextStepEnumInt":\#(step)}}"#,
                after: live, scansDocument: true)
            #expect(scan.isOpen == isOpen, "\(step)")
            #expect(VendorSessionRules.decide(scan.facts, isOpen: isOpen).type == (isOpen ? .warning : .passed))
        }
        let guide = try Self.answer(
            #"{"sessionResponseBlob":"b","success":true,"livenessPassed":true}"#, scansDocument: true)
        #expect(!guide.isOpen)
    }

    @Test func `An error that the server reports is a refusal`() {
        let error = #expect(throws: InspectError.self) {
            try Self.answer(#"{"responseBlob":"b","success":false,"didError":true}"#)
        }
        #expect(error?.code == .vendorRefused)
    }

    @Test(arguments: [
        #"{}"#, #"[]"#, #"{"success":1,"responseBlob":"b"}"#, #"{"success":"true","responseBlob":"b"}"#,
        #"{"success":true}"#, #"{"success":true,"responseBlob":""}"#, #"{"success":true,"responseBlob":7}"#,
        #"{"success":true,"responseBlob":"b","didError":"false"}"#,
        #"{"success":true,"responseBlob":"b","didError":true}"#,
        #"{"success":true,"responseBlob":"b","result":true}"#, #"{"success":true,"responseBlob":"b","result":[]}"#,
        #"{"success":true,"responseBlob":"b","result":{"livenessProven":1}}"#,
        #"{"success":true,"responseBlob":"b","result":{"livenessProven":"true"}}"#,
        #"{"success":true,"responseBlob":"b","result":{"livenessProven":true},"livenessPassed":false}"#,
        #"{"success":true,"responseBlob":"b","livenessPassed":true,"wasLivenessPassed":false}"#,
        #"{"success":true,"responseBlob":"b","sessionResponseBlob":"c"}"#,
        #"{"success":true,"responseBlob":"b","matchLevel":99}"#,
        #"{"success":true,"responseBlob":"b","matchLevel":1.5}"#,
        #"{"success":true,"responseBlob":"b","matchLevel":1,"result":{"matchLevel":2}}"#,
        #"{"success":true,"responseBlob":"b","matched":true,"isMatch":false}"#,
        #"{"success":true,"responseBlob":"b","livenessPassed":{}}"#,
        #"{"success":true,"responseBlob":"b","idScanResultsSoFar":"4"}"#,
        #"{"success":true,"responseBlob":"b","idScanResultsSoFar":{"photoIDNextStepEnumInt":"4"}}"#,
        #"{"success":true,"responseBlob":"b","idScanResultsSoFar":{"photoIDNextStepEnumInt":6}}"#,
        #"{"success":true,"responseBlob":"b","idScanResultsSoFar":{"photoIDNextStepEnumInt":4,"matchLevel":"7"}}"#,
    ])
    func `An answer of another form is invalid`(_ json: String) {
        let error = #expect(throws: InspectError.self) { try Self.answer(json) }
        #expect(error?.code == .vendorResponseInvalid)
    }
}
