import Foundation
import Gateway
import InspectCore
import JobQueue
import Postgres
import TestSupport
import Testing

/// Logins as deploy/DEPLOYING.md sets them up, on a server of their own.
@Suite struct LoginTests {
    /// The section's SQL blocks, as printed.
    private static func manual(_ section: String) throws -> [String] {
        let text = try String(contentsOfFile: "\(ScratchDatabase.root)/deploy/DEPLOYING.md", encoding: .utf8)
        let body = try #require(text.components(separatedBy: "\n## \(section)\n").dropFirst().first)
            .components(separatedBy: "\n## ")[0]
        return body.components(separatedBy: "```sql\n").dropFirst().map { $0.components(separatedBy: "```")[0] }
    }

    private static func statements(_ block: String) -> [String] {
        block.split(separator: "\n").map { $0.components(separatedBy: " --")[0] }.joined(separator: "\n")
            .components(separatedBy: ";").map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }.filter {
                !$0.isEmpty
            }
    }

    @Test(.timeLimit(.minutes(5)))
    func `The manual's owner migrates without a right to make roles, and prepared transactions enqueue`() async throws {
        let server = try ScratchDatabase.ownServer(settings: "max_prepared_transactions = 8")
        let superuser = try await server.connect()
        try await Migrator(directory: ScratchDatabase.migrations).createRoles(on: superuser)
        // The server's superuser has the name that the manual gives the owner.
        for statement in try Self.manual("Roles").flatMap(Self.statements) {
            try await superuser.execute(statement.replacing(/\binspectd\b/, with: "schema_owner"))
        }
        let owned = server.database("schema_owner", role: "schema_owner")
        let owner = try await owned.connect()
        try await Migrator(directory: ScratchDatabase.migrations).run(on: owner)
        let may = try await owner.query(
            "SELECT rolsuper OR rolcreaterole OR rolcreatedb FROM pg_roles WHERE rolname = session_user")
        #expect(try may[0].bool(0) == false)
        for group in ["pg_execute_server_program", "pg_read_server_files"] {
            await #expect(throws: PostgresError.self) { try await owner.execute("GRANT \(group) TO schema_owner") }
        }
        _ = try await owner.query("SELECT insp.create_partner('acme')")
        try await superuser.execute("CREATE ROLE producer LOGIN IN ROLE insp_producer")

        // What was announced within the last 50 ms is not announced again.
        func forgetAnnouncements() async throws {
            _ = try await owner.query("SELECT setval('insp.wake_normal', 0), setval('insp.wake_callback', 0)")
        }

        // Two phases: with the notification PostgreSQL refuses, without it the job is there at once after the second.
        let loginDatabase = server.database("schema_owner", role: "producer")
        let producer = try await loginDatabase.connect()
        let request = Data(QueueFixture.byURL.utf8)
        for enqueue in [
            "insp.enqueue('\(QueueFixture.byURL)')", "insp.enqueue_many(ARRAY['\(QueueFixture.byURL)']::jsonb[])",
        ] {
            try await forgetAnnouncements()
            try await producer.execute("BEGIN; SELECT \(enqueue)")
            let error = await #expect(throws: PostgresError.self) {
                try await producer.execute("PREPARE TRANSACTION 'loud'")
            }
            #expect(error?.sqlState == "0A000")
            try await producer.execute("ROLLBACK")
            try await forgetAnnouncements()
            try await producer.execute(
                "BEGIN; SET LOCAL insp.notify = off; SELECT \(enqueue); PREPARE TRANSACTION 'quiet'")
            #expect(try await owner.query("SELECT count(*) FROM insp.ready")[0].int(0) == 0)
            try await producer.execute("COMMIT PREPARED 'quiet'")
            #expect(try await owner.query("DELETE FROM insp.ready RETURNING job_id").count == 1)
        }
        // A running job that is cancelled tells its worker and the dispatchers; that, too, is left out.
        _ = try await owner.query("SELECT insp.create_partner('club', 'https://hooks.example.com/x')")
        let club = QueueFixture.byURL.replacing("acme", with: "club")
        for isQuiet in [false, true] {
            let id = try await producer.query("SELECT insp.enqueue($1)", [.text(club)])[0].string(0)
            try await owner.execute(
                """
                WITH w AS MATERIALIZED (SELECT gen_random_uuid() AS incarnation), r AS MATERIALIZED (
                    SELECT w.incarnation, x.worker_id FROM w,
                        LATERAL insp.worker_register(w.incarnation, 'h', 1, 'x', NULL, '{0,1,2}', 4) x)
                SELECT c.job_id FROM r, LATERAL insp.claim(r.worker_id, r.incarnation, '330 s', 4,
                    ARRAY(SELECT q.id FROM insp.queue q), ARRAY(SELECT 0::bigint FROM insp.queue q),
                    ARRAY(SELECT 4 FROM insp.queue q), 2147483647, 0, 0, false) c
                """)
            #expect(try await owner.query("SELECT FROM insp.lease").count == 1)
            try await forgetAnnouncements()
            try await producer.execute("BEGIN")
            if isQuiet { try await producer.execute("SET LOCAL insp.notify = off") }
            _ = try await producer.query("SELECT insp.cancel($1)", [.text(id)])
            guard isQuiet else {
                let error = await #expect(throws: PostgresError.self) {
                    try await producer.execute("PREPARE TRANSACTION 'loud'")
                }
                #expect(error?.sqlState == "0A000")
                try await producer.execute("ROLLBACK")
                try await owner.execute("SELECT insp.cancel('\(id)')")
                continue
            }
            try await producer.execute("PREPARE TRANSACTION 'quiet'")
            try await producer.execute("COMMIT PREPARED 'quiet'")
            #expect(
                try await owner.query("SELECT FROM insp.job WHERE public_id = $1 AND status = 128", [.text(id)]).count
                    == 1)
        }
        // Only that transaction is quiet.
        let listener = try await owned.connect()
        let messages = try await listener.listen("insp_ready")
        try await forgetAnnouncements()
        let client = JobClient(databaseURL: loginDatabase.url)
        _ = try await client.enqueue(payload: request)
        let first = Task {
            var iterator = messages.makeAsyncIterator()
            return await iterator.next()
        }
        #expect(try await first.value(within: .seconds(60))?.channel == "insp_ready")
        await client.close()
    }

    @Test func `A login that is bound to a partner finds no other one`() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.admin.query("SELECT insp.create_partner('club')")
        let login = "p_" + UUID().uuidString.lowercased().replacing("-", with: "")
        try await fixture.admin.execute("CREATE ROLE \(login) LOGIN IN ROLE insp_producer")
        let name = String(URLComponents(string: fixture.database.url)!.path.dropFirst())
        let bound = try await fixture.database.database(name, role: login).connect()
        let club = QueueFixture.byURL.replacing("acme", with: "club")
        let embedding = String(repeating: "ab", count: 512)
        let model = String(repeating: "cd", count: 32)
        func run(_ partner: String, _ job: String) async -> [String?] {
            let payload = partner == "club" ? club : QueueFixture.byURL
            let keyed = payload.dropLast() + #","idempotencyKey":"k"}"#
            var states: [String?] = []
            for call in [
                "insp.enqueue('\(payload)')", "insp.enqueue('\(keyed)')",
                "insp.enqueue_many(ARRAY['\(payload)', '\(payload)']::jsonb[])",
                "insp.enqueue('{\"partner\":\"\(partner)\",\"workflow\":\"id\"}', front => 'x')",
                "insp.job_result('\(job)')", "insp.session_result('\(job)')",
                "insp.face_import('\(partner)', 'f', '\(embedding)', 'dlib', '\(model)')",
                "insp.face_features('\(partner)', 'f', 'export')", "insp.face_templates('\(partner)', 'f')",
                "insp.face_delete('\(partner)', 'f')", "insp.challenge_issue('\(partner)')", "insp.cancel('\(job)')",
                "insp.rerun('\(job)')",
            ] {
                do {
                    _ = try await bound.query("SELECT \(call)")
                    states.append(nil)
                } catch { states.append((error as? PostgresError)?.sqlState) }
            }
            return states
        }
        let own = try await fixture.client.enqueue(payload: Data(QueueFixture.byURL.utf8))
        let other = try await fixture.client.enqueue(payload: Data(club.utf8))
        // Unbound, it acts for all.
        #expect(await run("club", other) == Array(repeating: nil, count: 13))
        _ = try await fixture.admin.query("SELECT insp.bind_producer($1, 'acme')", [.text(login)])
        let (partner, job) = (ErrorCode.partnerUnknown.sqlState, ErrorCode.jobUnknown.sqlState)
        #expect(await run("acme", own) == Array(repeating: nil, count: 13))
        #expect(
            await run("club", other) == [
                partner, partner, partner, partner, job, job, partner, partner, partner, partner, partner, job, job,
            ])
        _ = try await fixture.admin.query("SELECT insp.bind_producer($1, 'club')", [.text(login)])
        #expect(await run("club", other) == Array(repeating: nil, count: 13))
        _ = try await fixture.admin.query("SELECT insp.unbind_producer($1, 'acme')", [.text(login)])
        #expect(await run("acme", own)[0] == partner)
        #expect(try await fixture.count("insp.v_operator_events WHERE action LIKE '%bind_producer'") == 3)
        // Without its last binding it acts for nobody, until somebody frees it.
        let last = try await fixture.admin.query("SELECT insp.unbind_producer($1, 'club')", [.text(login)])
        #expect(try last[0].string(0) == "login \(login) acts for no partner")
        #expect(await run("acme", own)[0] == partner)
        #expect(await run("club", other)[0] == partner)
        let many = await #expect(throws: PostgresError.self) {
            try await bound.query("SELECT insp.enqueue_many(ARRAY[$1::jsonb])", [.text(QueueFixture.byURL)])
        }
        #expect(many?.sqlState == partner)
        #expect(
            try await fixture.count(
                "insp.v_producer WHERE (partner, state) = ('club', 'was unbound, and acts for nobody: bind or free it')"
            )
                == 1)
        let free = try await fixture.admin.query("SELECT insp.free_producer($1)", [.text(login)])
        #expect(try free[0].string(0) == "login \(login) acts for every partner")
        #expect(await run("club", other) == Array(repeating: nil, count: 13))
        await bound.close()
        try await fixture.admin.execute("DROP ROLE \(login)")
    }

    @Test func `A binding is a login's own, whatever becomes of its name and of the cluster`() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.admin.query("SELECT insp.create_partner('club')")
        let random = UUID().uuidString.lowercased().replacing("-", with: "")
        // A name that has to be quoted.
        let (login, renamed) = ("\"P.\(random)\"", "\"q \(random)\"")
        let (name, newName) = ("P.\(random)", "q \(random)")
        try await fixture.admin.execute("CREATE ROLE \(login) LOGIN IN ROLE insp_producer")
        /// For whom the session acts that the login has at this moment.
        func acts(_ role: String) async throws -> [String] {
            let session = try await fixture.database.connect()
            try await session.execute("SET SESSION AUTHORIZATION \(role)")
            var partners: [String] = []
            for partner in ["acme", "club"] {
                let payload = QueueFixture.byURL.replacing("acme", with: partner)
                // The way of one plain request, and that of others.
                let ways = [
                    "insp.enqueue('\(payload)')", "insp.challenge_issue('\(partner)')",
                    "insp.enqueue('\(payload.dropLast()),\"idempotencyKey\":\"\(UUID())\"}')",
                ]
                var done = 0
                for way in ways {
                    do {
                        _ = try await session.query("SELECT \(way)")
                        done += 1
                    } catch let error as PostgresError {
                        #expect(error.sqlState == ErrorCode.partnerUnknown.sqlState)
                    }
                }
                #expect(done == 0 || done == ways.count)
                if done > 0 { partners.append(partner) }
            }
            await session.close()
            return partners
        }
        func states() async throws -> [String] {
            try await fixture.admin.query(
                "SELECT login || ' ' || partner || ': ' || state FROM insp.v_producer ORDER BY 1"
            ).map {
                try $0.string(0)
            }
        }
        func call(_ function: String, _ login: String, _ partner: String) async throws -> String {
            try await fixture.admin.query("SELECT insp.\(function)($1, $2)", [.text(login), .text(partner)])[0].string(
                0)
        }
        #expect(try await acts(login) == ["acme", "club"])
        _ = try await call("bind_producer", name, "acme")
        #expect(try await acts(login) == ["acme"])
        #expect(try await states() == ["\(name) acme: acts for the partner"])

        // Renamed, it is not free; and who gets its name gets nothing by it.
        try await fixture.admin.execute(
            "ALTER ROLE \(login) RENAME TO \(renamed); CREATE ROLE \(login) LOGIN IN ROLE insp_producer")
        #expect(try await acts(renamed) == [])
        #expect(try await acts(login) == [])
        #expect(
            try await states() == [
                "\(name) acme: is called \(newName) now, and no longer acts for any partner: bind it again"
            ])
        // What a wrong name takes back is not the other login's.
        #expect(try await call("unbind_producer", name, "acme") == "login \(name) no longer acts for partner acme")
        #expect(try await acts(renamed) == [])
        // Nor does it become free because another login is bound under the name that it had.
        _ = try await call("bind_producer", name, "acme")
        #expect(try await acts(login) == ["acme"])
        #expect(try await acts(renamed) == ["acme"])
        #expect(try await call("unbind_producer", name, "acme") == "login \(name) acts for no partner")
        #expect(try await acts(login) == [])
        #expect(try await acts(renamed) == ["acme"])
        _ = try await call("bind_producer", newName, "acme")
        #expect(try await acts(renamed) == ["acme"])
        _ = try await fixture.admin.query("SELECT insp.free_producer($1)", [.text(name)])
        #expect(try await acts(renamed) == ["acme"])
        #expect(try await acts(login) == ["acme", "club"])

        // Dropped, and created again under the same name.
        try await fixture.admin.execute("DROP ROLE \(renamed)")
        #expect(try await states() == ["\(newName) acme: there is no such login"])
        try await fixture.admin.execute("CREATE ROLE \(renamed) LOGIN IN ROLE insp_producer")
        #expect(try await acts(renamed) == [])
        #expect(try await states()[0].contains("another login has the name"))
        _ = try await call("bind_producer", newName, "club")
        #expect(try await acts(renamed) == ["club"])
        #expect(
            try await call("unbind_producer", newName, "acme") == "login \(newName) no longer acts for partner acme")
        #expect(try await states() == ["\(newName) club: acts for the partner"])

        // Restored into another cluster: the number is somebody else's until the first to look notices the cluster.
        try await fixture.admin.execute(
            """
            SET session_replication_role = replica;
            UPDATE insp.producer_partner SET role = '\(login)'::regrole;
            UPDATE insp.epoch SET system = 1, started_at = 'epoch';
            RESET session_replication_role
            """)
        #expect(try await acts(renamed) == [])
        #expect(try await acts(login) == [])
        _ = try await fixture.admin.query("SELECT insp.check_epoch()")
        #expect(try await acts(renamed) == ["club"])
        #expect(try await acts(login) == ["acme", "club"])
        #expect(try await call("unbind_producer", newName, "club") == "login \(newName) acts for no partner")
        #expect(try await acts(renamed) == [])
        try await fixture.admin.execute("DROP ROLE \(login); DROP ROLE \(renamed)")
    }

    @Test(.timeLimit(.minutes(5)))
    func `A worker needs no right but those of its group`() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.admin.query("SELECT insp.set_quota('acme', 1000, 1000)")
        let login = "w_" + UUID().uuidString.lowercased().replacing("-", with: "")
        try await fixture.admin.execute("CREATE ROLE \(login) LOGIN IN ROLE insp_worker")
        let name = String(URLComponents(string: fixture.database.url)!.path.dropFirst())
        var configuration = JobWorkerConfiguration(
            databaseURL: fixture.database.database(name, role: login).url, host: "test", version: "0", slots: 4)
        configuration.maintenanceInterval = .seconds(0.1)
        let log = EventLog()
        _ = try await fixture.enqueue(20)
        try await withWorker(configuration, ClosureHandler(), log: log) { _ in
            try await fixture.wait(for: "(SELECT count(*) = 20 FROM insp.job WHERE status = 128)")
            // Every duty of maintenance has had its turn: the quotas' is one of the last.
            try await fixture.wait(for: "(SELECT waiting = 0 FROM insp.v_quota)")
        }
        let refused = log.count { if case .databaseUnavailable = $0 { true } else { false } }
        #expect(refused == 0)
        // Nor do its metrics of the queue.
        let observer = QueueObserver(databaseURL: configuration.databaseURL)
        let depth = try await observer.depth()
        #expect(depth.duties["rescue"]?.fails == false)
        await observer.close()
        try await fixture.admin.execute("DROP ROLE \(login)")
    }

    @Test func `A gateway's login acts for nobody whose secret it was not shown`() async throws {
        let fixture = try await QueueFixture()
        let made = try await fixture.admin.query(
            "SELECT key_id, secret FROM insp.create_credential('acme', '{create,read,session}')")[0]
        let (key, secret) = (try made.string(0), try made.string(1))
        let id = try await fixture.client.enqueue(payload: Data(QueueFixture.byURL.utf8))
        let gateway = try await fixture.database.connect()
        try await gateway.execute("SET ROLE insp_gateway")
        let number = try await gateway.query(
            "SELECT id FROM insp.gateway_credential($1, sha256(convert_to($2, 'UTF8')))", [.text(key), .text(secret)])[
                0
            ].int(0)
        let request = QueueFixture.byURL.replacing(#""partner":"acme","#, with: "")
        for digest in ["NULL", "''", "sha256('x')", "sha256(convert_to('\(secret)x', 'UTF8'))"] {
            for call in [
                "gateway_create(\(number), \(digest), 'create', '\(request)', NULL)",
                "gateway_result(\(number), \(digest), 'read', '\(id)')",
            ] {
                let error = await #expect(throws: PostgresError.self, "\(call)") {
                    try await gateway.query("SELECT insp.\(call)")
                }
                #expect(error?.sqlState == ErrorCode.unauthenticated.sqlState)
            }
        }
        let right = "sha256(convert_to('\(secret)', 'UTF8'))"
        _ = try await gateway.query(
            "SELECT insp.gateway_create(\(number), \(right), 'create', '\(request)', NULL), insp.gateway_result(\(number), \(right), 'read', '\(id)')"
        )
    }

    @Test func `A credential is used when its secret is right, not when its name is known`() async throws {
        let fixture = try await QueueFixture()
        let made = try await fixture.admin.query("SELECT key_id, secret FROM insp.create_credential('acme')")[0]
        let client = GatewayStore(databaseURL: fixture.database.url, connections: 1)
        let wrong = try await client.credential(keyID: try made.string(0), secretSHA256: Data(count: 32))
        #expect(wrong == nil)
        #expect(try await fixture.count("insp.v_credential WHERE used_at IS NOT NULL") == 0)
        let digest = try await fixture.admin.query(
            "SELECT sha256(convert_to($1, 'UTF8'))", [.text(try made.string(1))])[0].data(0)
        #expect(try await client.credential(keyID: try made.string(0), secretSHA256: digest)?.partner == "acme")
        #expect(try await fixture.count("insp.v_credential WHERE used_at IS NOT NULL") == 1)
        _ = try await fixture.admin.query("SELECT insp.revoke_credential($1)", [.text(try made.string(0))])
        #expect(try await client.credential(keyID: try made.string(0), secretSHA256: digest) == nil)
        await client.close()
    }
}
