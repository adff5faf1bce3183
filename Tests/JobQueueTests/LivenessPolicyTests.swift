import Foundation
import InspectCore
import Postgres
import TestSupport
import Testing

/// Whether passive signals suffice: an operator's word for a partner, which jobs carry.
@Suite struct LivenessPolicyTests {
    private static func payload(_ workflow: String) -> Data {
        let part = #"{"url":"https://img.example.com/a","sha256":"\#(QueueFixture.digest)"}"#
        return Data(
            #"{"partner":"acme","workflow":"\#(workflow)","parts":{"FRONT":\#(part),"FACE":\#(part)}}"#.utf8)
    }

    private func suffices(_ fixture: QueueFixture, _ id: String) async throws -> Bool {
        try await fixture.admin.query(
            "SELECT coalesce((request ->> 'passiveSignalsSuffice')::boolean, false) FROM insp.job WHERE public_id = $1",
            [.text(id)])[0].bool(0)
    }

    private func set(_ fixture: QueueFixture, _ value: Bool) async throws {
        _ = try await fixture.admin.query("SELECT insp.set_liveness_policy('acme', \(value))")
    }

    @Test func `The switch is off until an operator turns it on, and new jobs with liveness carry it`() async throws {
        let fixture = try await QueueFixture()
        #expect(try await fixture.count("insp.v_partner WHERE NOT passive_signals_suffice") == 1)
        let before = try await fixture.enqueue(many: [Self.payload("id_identity")])[0]
        #expect(try await !self.suffices(fixture, before))
        try await self.set(fixture, true)
        #expect(try await fixture.count("insp.v_partner WHERE passive_signals_suffice") == 1)
        #expect(
            try await fixture.count(
                "insp.v_operator_events WHERE action = 'set_liveness_policy' AND detail #>> '{is,passive_signals_suffice}' = 'true'"
            ) == 1)
        // A batch that is checked at a glance, and requests that are checked one by one.
        let batch = try await fixture.enqueue(
            many: [Self.payload("id_identity"), Self.payload("id_identity"), Self.payload("id")])
        #expect(try await self.suffices(fixture, batch[0]))
        #expect(try await self.suffices(fixture, batch[1]))
        #expect(try await !self.suffices(fixture, batch[2]))
        let liveness = try await fixture.client.enqueue(
            payload: Data(#"{"partner":"acme","workflow":"liveness"}"#.utf8), parts: [.face: [Data("face".utf8)]])
        #expect(try await self.suffices(fixture, liveness))
        #expect(try await !self.suffices(fixture, before))
        try await self.set(fixture, false)
        let after = try await fixture.enqueue(many: [Self.payload("id_identity")])[0]
        #expect(try await !self.suffices(fixture, after))
    }

    @Test func `No client can name it, and a rerun keeps it only while it holds`() async throws {
        let fixture = try await QueueFixture()
        let forged = Data(#"{"partner":"acme","workflow":"liveness","passiveSignalsSuffice":true}"#.utf8)
        let refused = await #expect(throws: InspectError.self) {
            try await fixture.client.enqueue(payload: forged, parts: [.face: [Data("face".utf8)]])
        }
        #expect(refused?.code == .payloadInvalid)
        let unknown = await #expect(throws: PostgresError.self) {
            try await fixture.admin.query("SELECT insp.set_liveness_policy('nobody', true)")
        }
        #expect(unknown?.sqlState == ErrorCode.partnerUnknown.sqlState)

        try await self.set(fixture, true)
        let old = try await fixture.client.enqueue(
            payload: Data(#"{"partner":"acme","workflow":"liveness"}"#.utf8), parts: [.face: [Data("face".utf8)]])
        _ = try await fixture.admin.query("SELECT insp.cancel($1)", [.text(old)])
        let rerun = "SELECT insp.rerun($1)"
        let kept = try await fixture.admin.query(rerun, [.text(old)])[0].string(0)
        #expect(try await self.suffices(fixture, kept))
        try await self.set(fixture, false)
        let lost = try await fixture.admin.query(rerun, [.text(old)])[0].string(0)
        #expect(try await !self.suffices(fixture, lost))
    }
}
