import Foundation
import Gateway
import InspectCore
import JobQueue
import Postgres
import TestSupport
import Testing

/// Secrets stand in `insp.secret` and nowhere else: by the functions that operators, workers and gateways call.
@Suite struct SecretTests {
    private let fixture: QueueFixture
    let endpoint: Int64

    init() async throws {
        self.fixture = try await QueueFixture()
        self.endpoint = try await self.fixture.admin.query("SELECT id FROM insp.endpoint")[0].int(0)
    }

    func query(_ sql: String, _ parameters: [PostgresValue] = []) async throws -> [PostgresRow] {
        try await self.fixture.admin.query(sql, parameters)
    }

    /// `owner purpose`, an asterisk for each that ends.
    func held() async throws -> [String] {
        try await self.query(
            """
            SELECT owner || ' ' || purpose || CASE WHEN valid_until IS NULL THEN '' ELSE ' *' END
            FROM insp.secret ORDER BY 1
            """
        ).map { try $0.string(0) }
    }

    private func expire() async throws {
        _ = try await self.query(
            "UPDATE insp.secret SET valid_until = now() - interval '2 hours' WHERE valid_until IS NOT NULL")
    }

    /// What a dispatcher gets of the endpoint: its keys, and its options as JSON.
    func claimed() async throws -> (keys: [String], options: [String: Any]) {
        _ = try await self.query(
            "INSERT INTO insp.callback (job_id, endpoint_id, url, body) SELECT least(min(job_id), 0) - 1, $1, 'https://hooks.example.com/x', '{}' FROM insp.callback",
            [.int(self.endpoint)])
        let row = try #require(
            try await self.query(
                """
                SELECT e.secrets, coalesce(e.options, '{}') FROM insp.callback_claim(10, '1 minute', 10) c, unnest(c.endpoints) e
                WHERE e.endpoint_id = $1
                """, [.int(self.endpoint)]
            ).first)
        let options = try JSONSerialization.jsonObject(with: row.data(1)) as? [String: Any]
        return (try row.textArray(0), options ?? [:])
    }

    func rotate(_ arguments: String = "") async throws -> String {
        try await self.query("SELECT insp.callback_rotate_secret(\(self.endpoint)\(arguments))")[0].string(0)
    }

    func set(_ settings: String) async throws {
        _ = try await self.query("SELECT insp.set_endpoint($1, $2::jsonb)", [.int(self.endpoint), .text(settings)])
    }

    static let signingKey = "whsk_" + Data(repeating: 7, count: 32).base64EncodedString()

    @Test func `A new database has no secret`() async throws {
        let connection = try await ScratchDatabase.migrated().connect()
        #expect(try await connection.query("SELECT count(*) FROM insp.secret")[0].int(0) == 0)
    }

    @Test func `A signing secret is made, rotated with an overlap, and expires`() async throws {
        let partner = try await self.query(
            "SELECT secret FROM insp.create_partner('other', 'https://hooks.example.com/y')")
        let first = try await self.claimed().keys
        #expect(first.count == 1 && first[0].wholeMatch(of: /whsec_[A-Za-z0-9+\/]{43}=/) != nil)
        #expect(try partner[0].string(0) != first[0])
        let second = try await self.rotate()
        #expect(try await self.claimed().keys == [second] + first)
        // A second overlap does not end the first one.
        let third = try await self.rotate(", '1 hour'")
        #expect(try await Set(self.claimed().keys) == [third, second, first[0]])
        _ = try await self.rotate(", '1 hour', '\(Self.signingKey)'")
        #expect(try await Set(self.claimed().keys) == [Self.signingKey, third, second, first[0]])
        try await self.expire()
        #expect(try await Set(self.claimed().keys) == [Self.signingKey, third])
        // Without an overlap the old one is gone at once, and what has expired with it.
        let last = try await self.rotate(", '0'")
        #expect(try await self.claimed().keys.contains(last))
        let endpoint = "endpoint \(self.endpoint)"
        #expect(
            try await self.held().filter { $0.hasPrefix(endpoint) } == [
                "\(endpoint) signing_key", "\(endpoint) signing_secret",
            ])
    }

    func refusal(_ sql: String) async throws -> PostgresError? {
        await #expect(throws: PostgresError.self, "\(sql)") { try await self.query(sql) }
    }

    @Test func `A rotation without an overlap ends every older key of its kind at once`() async throws {
        _ = try await self.rotate(", '24 hours'")
        _ = try await self.rotate(", '7 days'")
        let secret = try await self.rotate(", '0'")
        #expect(try await self.claimed().keys == [secret])
        _ = try await self.rotate(", '24 hours', '\(Self.signingKey)'")
        let second = "whsk_" + Data(repeating: 8, count: 32).base64EncodedString()
        _ = try await self.rotate(", '24 hours', '\(second)'")
        #expect(try await Set(self.claimed().keys) == [secret, Self.signingKey, second])
        // A key of the other kind stays.
        let last = try await self.rotate(", '0'")
        #expect(try await Set(self.claimed().keys) == [last, Self.signingKey, second])
        let third = "whsk_" + Data(repeating: 9, count: 32).base64EncodedString()
        try await self.set(#"{"signingKey": "\#(third)"}"#)
        #expect(try await Set(self.claimed().keys) == [last, third])
    }

    @Test func `A key that cannot sign is refused`() async throws {
        func base64(_ bytes: Int) -> String { Data(repeating: 7, count: bytes).base64EncodedString() }
        let before = try await self.claimed().keys
        let wrong = [
            "", "whsec_", "whse_\(base64(32))", "whsk_", "whskc_\(base64(32))", "whs_\(base64(32))", base64(32),
            "whsec_\(base64(15))", "whsec_\(base64(65))", "whsec_\(base64(32).dropLast())", "whsec_\(base64(32))=",
            "whsec_ \(base64(33))", "whsk_\(base64(31))", "whsk_\(base64(33))", "whsk_!!", "WHSEC_\(base64(32))",
        ]
        for key in wrong {
            let rotated = try await self.refusal(
                "SELECT insp.callback_rotate_secret(\(self.endpoint), '1 hour', '\(key)')")
            let set = try await self.refusal(
                "SELECT insp.set_endpoint(\(self.endpoint), '{\"signingKey\": \"\(key)\"}')")
            for error in [rotated, set] {
                #expect(error?.sqlState == "IN088" && error?.hint != nil, "\(key)")
                #expect(error?.detail?.contains("whs") != true && error?.message.contains("whs") != true, "\(key)")
            }
        }
        #expect(try await self.claimed().keys == before)
        for key in ["whsec_\(base64(16))", "whsec_\(base64(64))", "whsk_\(base64(32))"] {
            #expect(try await self.rotate(", '0', '\(key)'") == key)
            #expect(try await self.claimed().keys.contains(key))
        }
    }

    @Test func `However many rotations overlap, no valid key is left out: beyond twelve of a kind they are refused`()
        async throws
    {
        try await self.set(#"{"signingKey": "\#(Self.signingKey)"}"#)
        var keys = try await Set(self.claimed().keys)
        for _ in 2...12 { keys.insert(try await self.rotate(", '24 hours'")) }
        #expect(try await Set(self.claimed().keys) == keys)
        #expect(keys.count == 13)
        let error = try await self.refusal("SELECT insp.callback_rotate_secret(\(self.endpoint), '24 hours')")
        #expect(error?.sqlState == "IN088" && error?.hint?.contains("'0'") == true)
        let second = "whsk_" + Data(repeating: 8, count: 32).base64EncodedString()
        keys.insert(try await self.rotate(", '24 hours', '\(second)'"))
        #expect(try await Set(self.claimed().keys) == keys)
        let last = try await self.rotate(", '0'")
        #expect(try await Set(self.claimed().keys) == [last, Self.signingKey, second])
        _ = try await self.rotate(", '24 hours'")
        #expect(try await self.claimed().keys.count == 4)
    }

    @Test func `An authorization waits for a change of its endpoint under way`() async throws {
        try await self.set(#"{"clientCertificate": "C", "clientKey": "p1"}"#)
        let sql =
            "SELECT insp.callback_authorize(\(self.endpoint), 'https://login.example.com/token', 'client', p_method => 'tls')"
        _ = try await self.query(sql)
        let open = try await self.fixture.database.connect()
        try await open.execute("BEGIN")
        _ = try await open.query(
            "SELECT insp.set_endpoint($1, $2::jsonb)",
            [.int(self.endpoint), .text(#"{"clientCertificate": null, "clientKey": null}"#)])
        let other = try await self.fixture.database.connect()
        let late = Task { await #expect(throws: PostgresError.self) { try await other.query(sql) } }
        try await self.fixture.wait(
            for: "EXISTS (SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database())"
        )
        try await open.execute("COMMIT")
        // It sees that the certificate is gone.
        #expect(try await late.value(within: .seconds(120))?.sqlState == ErrorCode.clientIDInvalid.sqlState)
    }

    @Test func `An endpoint's keys are set, replaced and taken away together with what they belong to`() async throws {
        try await self.set(
            #"{"apiKeyHeader": "X-Key", "apiKey": "k1", "clientCertificate": "C", "clientKey": "p1", "signingKey": "\#(Self.signingKey)"}"#
        )
        var claimed = try await self.claimed()
        #expect(claimed.keys.contains(Self.signingKey))
        #expect(claimed.options["apiKey"] as? String == "k1" && claimed.options["key"] as? String == "p1")
        try await self.set(#"{"apiKey": "k2", "clientKey": "p2", "signingKey": null}"#)
        claimed = try await self.claimed()
        #expect(claimed.keys.count == 1)
        #expect(claimed.options["apiKey"] as? String == "k2" && claimed.options["key"] as? String == "p2")
        for half in [
            #"{"apiKey": null}"#, #"{"apiKeyHeader": null}"#, #"{"clientKey": null}"#, #"{"clientCertificate": null}"#,
            #"{"apiKey": "two\nlines"}"#, #"{"signingKey": "whsec_AAAA"}"#,
        ] {
            let error = await #expect(throws: PostgresError.self, "\(half)") { try await self.set(half) }
            #expect(error?.sqlState == "IN088", "\(half)")
        }
        try await self.set(#"{"apiKey": null, "apiKeyHeader": null, "clientKey": null, "clientCertificate": null}"#)
        #expect(try await self.claimed().options.isEmpty)
        #expect(try await self.held() == ["endpoint \(self.endpoint) signing_secret"])
    }

    func authorize(_ secret: String) async throws {
        _ = try await self.query(
            "SELECT insp.callback_authorize($1, 'https://login.example.com/token', 'client', $2)",
            [.int(self.endpoint), .text(secret)])
    }

    /// What `token_take` says: the token, and the right to get the next one.
    func take(_ refused: String = "NULL") async throws -> (token: String?, permit: Int64?) {
        let row = try await self.query("SELECT token, permit FROM insp.token_take(\(self.endpoint), \(refused))")[0]
        return (try row.optionalString(0), try row.optionalInt(1))
    }

    func store(_ token: String) async throws {
        let permit = try #require(try await self.take().permit)
        _ = try await self.query(
            "SELECT insp.token_store($1, $2, $3, 100, 10)", [.int(self.endpoint), .int(permit), .text(token)])
    }

    @Test func `A client secret and its access token are stored, replaced, refused and expire`() async throws {
        let endpoint = "endpoint \(self.endpoint)"
        try await self.authorize("s1")
        let authorization = try await self.claimed().options["authorization"] as? [String: Any]
        #expect(authorization?["clientSecret"] as? String == "s1")
        try await self.store("t1")
        #expect(try await self.take().token == "t1")
        // Of a new client the old token is none.
        try await self.authorize("s2")
        #expect(try await self.held() == ["\(endpoint) client_secret", "\(endpoint) signing_secret"])
        try await self.store("t2")
        #expect(try await self.take().token == "t2")
        _ = try await self.query("UPDATE insp.access_token SET refresh_at = now()")
        try await self.store("t3")
        #expect(
            try await self.held() == [
                "\(endpoint) access_token *", "\(endpoint) client_secret", "\(endpoint) signing_secret",
            ])
        // What somebody else holds is read all the same, and what was refused is given to nobody.
        let holder = try await self.fixture.database.connect()
        try await holder.execute("BEGIN; SELECT FROM insp.access_token FOR UPDATE")
        #expect(try await self.take().token == "t3")
        try await holder.execute("ROLLBACK")
        #expect(try await self.take("(SELECT generation FROM insp.access_token)").token == nil)
        #expect(try await self.held() == ["\(endpoint) client_secret", "\(endpoint) signing_secret"])
        _ = try await self.query("UPDATE insp.access_token SET permit_until = now()")
        try await self.store("t4")
        try await self.expire()
        #expect(try await self.take().token == nil)
        #expect(try await self.query("SELECT insp.callback_unauthorize($1)", [.int(self.endpoint)])[0].bool(0))
        #expect(try await self.held() == ["\(endpoint) signing_secret"])
    }

    @Test func `A credential's secret opens until it expires, or is revoked`() async throws {
        let gateway = GatewayStore(databaseURL: self.fixture.database.url, connections: 1)
        func make(_ expires: String) async throws -> (key: String, digest: Data) {
            let row = try await self.query(
                "SELECT key_id, sha256(convert_to(secret, 'UTF8')) FROM insp.create_credential('acme', expires => \(expires))"
            )[0]
            return (try row.string(0), try row.data(1))
        }
        let lasting = try await make("NULL")
        let short = try await make("'1 hour'")
        for made in [lasting, short] {
            let found = try #require(try await gateway.credential(keyID: made.key, secretSHA256: made.digest))
            _ = try await self.query(
                "SELECT insp.gateway_partner($1, $2, 'read')", [.int(found.id), .bytes(made.digest)])
            let other = made.key == lasting.key ? short : lasting
            #expect(try await gateway.credential(keyID: made.key, secretSHA256: other.digest) == nil)
        }
        let number = try #require(try await gateway.credential(keyID: short.key, secretSHA256: short.digest)).id
        try await self.expire()
        #expect(try await gateway.credential(keyID: short.key, secretSHA256: short.digest) == nil)
        let error = await #expect(throws: PostgresError.self) {
            try await self.query("SELECT insp.gateway_partner($1, $2, 'read')", [.int(number), .bytes(short.digest)])
        }
        #expect(error?.sqlState == "IN110")
        _ = try await self.query("SELECT insp.revoke_credential($1)", [.text(lasting.key)])
        #expect(try await gateway.credential(keyID: lasting.key, secretSHA256: lasting.digest) == nil)
        #expect(try await self.held().filter { $0.hasSuffix(" credential") } == [])
        await gateway.close()
    }

    @Test func `What expired is removed by retention, and nothing else`() async throws {
        _ = try await self.rotate()
        let kept = try await self.rotate()
        _ = try await self.query("SELECT insp.create_credential('acme', expires => '1 hour')")
        try await self.expire()
        _ = try await self.query("SELECT insp.create_credential('acme', expires => '1 hour')")
        #expect(try await self.held().count == 5)
        _ = try await self.query("SELECT * FROM insp.purge_rows(100)")
        #expect(try await self.held().count == 2)
        #expect(try await self.claimed().keys == [kept])
    }

    @Test func `The key of consents' digests is made when the first digest is`() async throws {
        let payload = Data(
            #"{"partner":"acme","workflow":"id","consent":{"obtained":"yes","obtainedAt":"2026-01-01T00:00:00Z"}}"#.utf8
        )
        var jobs: [String] = []
        for _ in 0..<3 {
            jobs.append(try await self.fixture.client.enqueue(payload: payload, parts: [.front: [Data("x".utf8)]]))
        }
        func holds(_ consent: String) async throws -> Bool {
            try await self.query(
                "SELECT bool_and(insp.consent_holds(j.public_id, $1::jsonb)) FROM insp.job j", [.text(consent)])[0]
                .bool(0)
        }
        let given = #"{"obtainedAt": "2026-01-01T00:00:00Z", "obtained": "yes"}"#
        #expect(try await holds(given))
        #expect(try await holds(#"{"obtained": "yes"}"#) == false)
        #expect(try await self.held().filter { $0.hasPrefix("inspectd") } == [])
        _ = try await self.query("SELECT insp.cancel(public_id) FROM insp.job")
        // An erasure that is left open holds up no other.
        let open = try await self.fixture.database.connect()
        try await open.execute("BEGIN")
        _ = try await open.query("SELECT insp.erase($1)", [.text(jobs[0])])
        _ = try await self.query("SELECT insp.erase($1)", [.text(jobs[1])])
        try await open.execute("COMMIT")
        let keys = try await self.held().filter { $0.hasPrefix("inspectd") }
        #expect(Set(keys) == ["inspectd consent_key"])
        _ = try await self.query("SELECT insp.erase($1)", [.text(jobs[2])])
        #expect(try await self.held().filter { $0.hasPrefix("inspectd") } == keys)
        #expect(try await holds(given))
        #expect(try await holds(#"{"obtained": "yes"}"#) == false)
    }

    @Test func `A secret goes with its owner`() async throws {
        try await self.authorize("s")
        try await self.store("t")
        _ = try await self.rotate()
        _ = try await self.query("SELECT insp.create_credential('acme')")
        _ = try await self.query("SELECT insp.create_partner('other')")
        #expect(try await self.held().count == 6)
        try await self.fixture.admin.execute(
            """
            DELETE FROM insp.endpoint_authorization;
            DELETE FROM insp.access_token;
            DELETE FROM insp.credential;
            DELETE FROM insp.endpoint WHERE id = \(self.endpoint)
            """)
        #expect(try await self.held() == ["endpoint \(self.endpoint + 1) signing_secret"])
    }

    @Test func `No role reads a secret, and no function but those of their users`() async throws {
        let readers = ["SELECT value FROM insp.secret", "SELECT insp.secrets('endpoint 1', '{signing_secret}')"]
        let roles = try await self.query("SELECT rolname FROM pg_roles WHERE rolname ~ '^insp_'").map {
            try $0.string(0)
        }
        #expect(roles.count >= 5)
        let connection = try await self.fixture.database.connect()
        for role in roles {
            try await connection.execute("SET ROLE \(role)")
            for reader in readers {
                let error = await #expect(throws: PostgresError.self) { try await connection.query(reader) }
                #expect(error?.sqlState == "42501", "\(role): \(reader)")
            }
        }
        // One function reads the table; the others ask it, or write.
        let naming = try await self.query(
            """
            SELECT proname::text FROM pg_proc WHERE pronamespace = 'insp'::regnamespace AND prosrc ~ 'FROM insp\\.secret\\M'
                AND prosrc !~ 'DELETE FROM insp\\.secret\\M' ORDER BY 1
            """
        ).map { try $0.string(0) }
        #expect(naming == ["secrets"])
    }

    @Test func `A dump holds secrets in their table alone`() async throws {
        try await self.set(
            #"{"apiKeyHeader": "X-Key", "apiKey": "API CANARY", "clientCertificate": "C", "clientKey": "KEY CANARY"}"#)
        try await self.authorize("CLIENT CANARY")
        try await self.store("TOKEN CANARY")
        let old = try await self.claimed().keys
        var secrets = ["API CANARY", "KEY CANARY", "CLIENT CANARY", "TOKEN CANARY", Self.signingKey] + old
        secrets.append(try await self.rotate())
        _ = try await self.rotate(", '1 hour', '\(Self.signingKey)'")
        let credential = try await self.query(
            "SELECT secret, encode(sha256(convert_to(secret, 'UTF8')), 'hex') FROM insp.create_credential('acme')")[0]
        let digest = try credential.string(1)
        let rows = try await self.fixture.dumpedRows()
        for secret in secrets {
            let hex = secret.utf8.hexadecimal
            let bare = secret.split(separator: "_").last.map(String.init) ?? secret
            let tables = Set(rows.filter { $0.row.contains(hex) || $0.row.contains(bare) }.map(\.table))
            #expect(tables == ["insp.secret"], "\(secret)")
        }
        #expect(Set(rows.filter { $0.row.contains(digest) }.map(\.table)) == ["insp.secret"])
        #expect(try !rows.contains { try $0.row.contains(credential.string(0)) })
    }
}
