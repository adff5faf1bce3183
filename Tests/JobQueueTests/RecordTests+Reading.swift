import Foundation
import InspectCore
import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// Who reads what of a person, and what for.
extension RecordTests {
    @Test func `What an operator reads of a person is recorded, and cannot be read otherwise`() async throws {
        let fixture = try await QueueFixture()
        let request = QueueFixture.byURL.dropLast() + #","userReference":"Jane"}"#
        let id = try await fixture.enqueue(many: [Data(request.utf8)])[0]
        try await withWorker(fixture.configuration(), ClosureHandler()) { _ in
            try await fixture.wait(for: "EXISTS (SELECT FROM insp.job WHERE status = 128)")
        }
        let name = String(URLComponents(string: fixture.database.url)!.path.dropFirst())
        func login(_ group: String) async throws -> (name: String, connection: PostgresConnection) {
            let login = "r_" + UUID().uuidString.lowercased().replacing("-", with: "")
            try await fixture.admin.execute("CREATE ROLE \(login) LOGIN IN ROLE \(group)")
            return (login, try await fixture.database.database(name, role: login).connect())
        }
        let (operate, produce) = (try await login("insp_operator"), try await login("insp_producer"))
        for sql in [
            "SELECT personal FROM insp.job", "SELECT body FROM insp.step", "SELECT * FROM insp.job",
            "SELECT insp.step_document(s) FROM insp.step s", "SELECT insp.personal(''::bytea)",
            "SELECT job_id FROM insp.job_reference WHERE index = sha256('Jane')",
            "SELECT id FROM insp.person WHERE reference_index = sha256('Jane')",
        ] {
            let error = await #expect(throws: PostgresError.self, "\(sql)") { try await operate.connection.query(sql) }
            #expect(error?.sqlState == "42501", "\(sql)")
        }
        _ = try await operate.connection.query("SELECT public_id, status, workflow, created_at FROM insp.job")
        _ = try await operate.connection.query("SELECT job_id, status, stored_at, summary FROM insp.step")
        #expect(try await fixture.count("insp.record WHERE chain = 'access'") == 0)

        // What names no person needs no purpose, and is not recorded.
        let plain = try await operate.connection.query(
            """
            SELECT r #>> '{decision,type}', r ->> 'status', r ? 'userReference', r ? 'capabilities'
            FROM insp.job_result($1) r
            """, [.text(id)])[0]
        #expect(try plain.string(0) == "PASSED" && plain.string(1) == "128")
        #expect(try !plain.bool(2) && !plain.bool(3))
        for (call, name) in [
            ("stage_result('\(id)', 128", "p_purpose"), ("sealed_review('\(id)'", "p_purpose"),
            ("session_result('\(id)'", "purpose"),
            ("face_templates('acme', 'f'", "purpose"),
            ("jobs_by_reference('acme', user_reference => 'Jane'", "purpose"),
            ("faces_of_person('acme', 'Jane'", "purpose"),
        ] {
            for (more, code) in [("", ErrorCode.purposeMissing), (", \(name) => 'fun'", .parameterInvalid)] {
                let error = await #expect(throws: PostgresError.self, "\(call)\(more)") {
                    try await operate.connection.query("SELECT insp.\(call)\(more))")
                }
                #expect(error?.sqlState == code.sqlState, "\(call)\(more)")
            }
        }
        #expect(try await fixture.count("insp.record WHERE purpose IS NOT NULL") == 0)
        let result = try await operate.connection.query(
            "SELECT insp.job_result($1, 'support')->>'userReference'", [.text(id)])
        #expect(try result[0].string(0) == "Jane")
        let stage = try await operate.connection.query(
            "SELECT insp.stage_result($1, 128, 'review') #>> '{decision,type}'", [.text(id)])
        #expect(try stage[0].string(0) == "PASSED")
        _ = try await operate.connection.query("SELECT insp.session_result($1, 'export')", [.text(id)])
        _ = try await operate.connection.query("SELECT insp.face_templates('acme', 'f', 'support')")
        _ = try await operate.connection.query("SELECT insp.faces_of_person('acme', 'Jane', 'support')")
        let found = try await operate.connection.query(
            "SELECT id FROM insp.jobs_by_reference('acme', user_reference => 'Jane', purpose => 'support')")
        #expect(try found.map { try $0.string(0) } == [id])
        let searches = try await operate.connection.query(
            "SELECT action || ' ' || purpose FROM insp.v_operator_events WHERE purpose IS NOT NULL ORDER BY at")
        #expect(
            try searches.map { try $0.string(0) }
                == ["face_templates support", "faces_of_person support", "jobs_by_reference support"])
        #expect(try await fixture.count("insp.record r WHERE r::text LIKE '%Jane%'") == 0)
        // A producer's calls are its partner's own, and need no purpose; what leaves for good needs a purpose even of it.
        let error = await #expect(throws: PostgresError.self) {
            try await produce.connection.query("SELECT insp.face_features('acme', 'f')")
        }
        #expect(error?.sqlState == ErrorCode.purposeMissing.sqlState)
        _ = try await produce.connection.query("SELECT insp.face_features('acme', 'f', 'export')")
        #expect(
            try await fixture.count("insp.v_operator_events WHERE (action, who) = ('face_features', '\(produce.name)')")
                == 1)
        _ = try await produce.connection.query("SELECT insp.job_result($1)", [.text(id)])
        _ = try await produce.connection.query("SELECT insp.jobs_by_reference('acme', user_reference => 'Jane')")
        #expect(
            try await fixture.count(
                "insp.v_operator_events WHERE (action, who, purpose) = ('jobs_by_reference', '\(produce.name)', 'delivery')"
            )
                == 1)
        // What has not ended says nothing new, and is asked again and again.
        let waiting = try await fixture.enqueue(many: [Data(request.utf8)])[0]
        _ = try await produce.connection.query("SELECT insp.job_result($1)", [.text(waiting)])
        #expect(try await fixture.count("insp.v_access WHERE job = '\(waiting)'") == 0)
        // A read-only transaction cannot record, and a standby neither; the server's log has it.
        try await produce.connection.execute("BEGIN READ ONLY")
        _ = try await produce.connection.query("SELECT insp.job_result($1)", [.text(id)])
        try await produce.connection.execute("COMMIT")
        #expect(
            try await !operate.connection.query("SELECT insp.consent_holds($1, '{}')", [.text(id)])[0].bool(0))
        // In a partner's place.
        _ = try await operate.connection.query("SELECT insp.enqueue($1)", [.text(QueueFixture.byURL)])
        _ = try await operate.connection.query(
            "SELECT insp.enqueue_many(ARRAY[$1::jsonb, $1::jsonb])", [.text(QueueFixture.byURL)])
        let placed = try await operate.connection.query(
            "SELECT detail ->> 'jobs' FROM insp.v_operator_events WHERE (action, who) = ('enqueue', $1) ORDER BY at",
            [.text(operate.name)])
        #expect(try placed.map { try $0.string(0) } == ["1", "2"])
        let rows = try await operate.connection.query(
            "SELECT partner, operator, action, key_id IS NULL, purpose FROM insp.v_access WHERE job = $1 ORDER BY at",
            [.text(id)])
        let said = try rows.map { "\(try $0.string(2)) \(try $0.optionalString(4) ?? "-")" }
        #expect(said == ["read support", "read review", "read export", "read delivery", "consent -"])
        for (place, row) in rows.enumerated() {
            #expect(try row.string(0) == "acme" && row.string(1) == (place == 3 ? produce : operate).name)
            #expect(try row.bool(3))
        }
        for login in [operate, produce] {
            await login.connection.close()
            try await fixture.admin.execute("DROP ROLE \(login.name)")
        }
    }

    @Test func `A reviewer reads for reviews alone`() async throws {
        let fixture = try await QueueFixture()
        let id = try await fixture.enqueue(1)[0]
        let login = "r_" + UUID().uuidString.lowercased().replacing("-", with: "")
        try await fixture.admin.execute("CREATE ROLE \(login) LOGIN IN ROLE insp_reviewer")
        let session = try await fixture.database.connect()
        try await session.execute("SET SESSION AUTHORIZATION \(login)")
        for call in ["job_result", "sealed_result", "sealed_review", "stage_result"] {
            let more = call == "stage_result" ? ", 128" : ""
            for purpose in ["export", "support", "delivery"] {
                let error = await #expect(throws: PostgresError.self, "\(call) \(purpose)") {
                    try await session.query("SELECT insp.\(call)('\(id)'\(more), '\(purpose)')")
                }
                #expect(error?.refusal?.code == .parameterInvalid, "\(call) \(purpose)")
            }
            _ = try await session.query("SELECT insp.\(call)('\(id)'\(more), 'review')")
        }
        #expect(try await fixture.count("insp.v_access WHERE purpose = 'review'") == 4)
        #expect(try await fixture.count("insp.v_access") == 4)
        // Who is an operator as well may do what operators do.
        try await fixture.admin.execute("GRANT insp_operator TO \(login)")
        _ = try await session.query("SELECT insp.job_result('\(id)', 'export')")
        await session.close()
        try await fixture.admin.execute("DROP ROLE \(login)")
    }

    @Test func `What operators' programs do in the key store is recorded, and nothing else is under its name`()
        async throws
    {
        let fixture = try await QueueFixture()
        let session = try await fixture.database.connect()
        try await session.execute("SET ROLE insp_operator")
        _ = try await session.query("SELECT insp.record_keys('escrow'), insp.record_keys('destroy_person', 'acme', 2)")
        #expect(
            try await self.rows("operator", fixture).suffix(2).map {
                $0.split(separator: " ").dropFirst().joined(separator: " ")
            }
                == ["keys_escrow keys {}", "keys_destroy_person partner acme {\"keys\": 2}"])
        // An intention counts nowhere: a signed report counts the workers' action destroy_keys alone.
        _ = try await session.query("SELECT insp.record_keys('destroy_person_begin', 'acme')")
        #expect(
            try await self.rows("operator", fixture).last?.hasSuffix("keys_destroy_person_begin partner acme {}")
                == true)
        for call in [
            "record_keys('destroy_keys')", "record_keys('escrow_begin')", "record_keys(NULL)",
            "record_keys('escrow', 'nobody')",
        ] {
            await #expect(throws: PostgresError.self, "\(call)") { try await session.query("SELECT insp.\(call)") }
        }
        // What counts in a signed report comes from workers.
        let error = await #expect(throws: PostgresError.self) {
            try await session.query("SELECT insp.keys_destroyed('{}', '{}', '{}')")
        }
        #expect(error?.sqlState == "42501")
        await session.close()
    }
}
