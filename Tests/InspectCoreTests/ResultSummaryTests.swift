import Foundation
import Testing

@testable import InspectCore

@Suite struct ResultSummaryTests {
    private func members(_ value: some Encodable) throws -> [String: Any] {
        try #require(JSONSerialization.jsonObject(with: JSONEncoder().encode(value)) as? [String: Any])
    }

    @Test func `Summary and body hold every member of a result once`() throws {
        var capabilities = Capabilities()
        capabilities.usability = [
            CapabilityRecord(parts: ["FRONT"], decision: Decision(.rejected, "BLURRED"), data: nil),
            CapabilityRecord(parts: ["BACK"], decision: Decision(.passed, "OK"), data: nil),
        ]
        capabilities.dataChecks = [
            CapabilityRecord(parts: ["FRONT"], decision: Decision(.warning, "MISMATCH"), data: nil)
        ]
        let vendor = VendorSessionFacts(sessionResponseBlob: "blob", success: true, livenessPassed: true)
        capabilities.liveness = [
            CapabilityRecord(
                parts: ["SESSION_BLOB"], decision: Decision(.passed, "OK"),
                data: LivenessData(
                    method: "vendor", assurance: "certified-vendor", scores: [:], reason: nil, vendor: vendor))
        ]
        var document = ResultDocument(
            decision: Decision(.rejected, "REJECTED", risk: 71), capabilities: capabilities, reasons: [],
            rejectReasons: [], faces: [], error: ErrorRecord(InspectError(.corruptImage)), engine: EngineRecord())
        document.faceSdk = FaceSDKEvent(.liveness, .success)

        let (whole, body) = (try self.members(document), try self.members(document.body))
        var summary = try self.members(document.summary)
        let labels = try #require(summary.removeValue(forKey: "labels") as? [[String: String]])
        #expect(
            labels == [
                ["capability": "usability", "label": "BLURRED"], ["capability": "dataChecks", "label": "MISMATCH"],
            ])
        // A vendor's answer is personal data, and the database decides nothing by it.
        #expect(Set(summary.keys) == ["decision", "reasons", "rejectReasons", "error", "faceSdk"])
        #expect(Set(summary.keys).isDisjoint(with: body.keys))
        let joined = summary.merging(body) { summary, _ in summary }
        #expect(joined as NSDictionary == whole as NSDictionary)
    }
}
