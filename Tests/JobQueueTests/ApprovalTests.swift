import Foundation
import InspectCore
import Postgres
import TestSupport
import Testing

/// Approvals: what one login proposes another one approves, where a deployment requires it.
@Suite struct ApprovalTests {
    /// Two logins of operators in one session.
    private struct Office {
        let fixture: QueueFixture
        let session: PostgresConnection
        let first = "a_" + UUID().uuidString.lowercased().replacing("-", with: "")
        let second = "b_" + UUID().uuidString.lowercased().replacing("-", with: "")

        init() async throws {
            self.fixture = try await QueueFixture()
            self.session = try await self.fixture.database.connect()
            for login in [self.first, self.second] {
                try await self.fixture.admin.execute("CREATE ROLE \(login) LOGIN IN ROLE insp_operator")
            }
        }

        func end() async throws {
            await self.session.close()
            for login in [self.first, self.second] { try await self.fixture.admin.execute("DROP ROLE \(login)") }
        }

        /// A call as one of them; its first value, or the code that it was refused with.
        func call(_ call: String, as login: String) async throws -> String {
            try await self.session.execute("SET SESSION AUTHORIZATION \(login)")
            do {
                let row = try await self.session.query("SELECT (insp.\(call))::text")[0]
                try await self.session.execute("RESET SESSION AUTHORIZATION")
                return try row.optionalString(0) ?? ""
            } catch let error as PostgresError {
                try await self.session.execute("RESET SESSION AUTHORIZATION")
                return error.refusal?.code.rawValue ?? error.sqlState ?? "?"
            }
        }
    }

    @Test func `What needs an approval is proposed by one login and approved by another, and both are recorded`()
        async throws
    {
        let office = try await Office()
        let (first, second) = (office.first, office.second)
        // Until a deployment asks for it, one login suffices.
        #expect(try await office.call("set_endpoint(1, '{\"inlineResult\": true}')", as: first) == "")
        #expect(
            try await office.call("set_approval('set_endpoint', true)", as: first) == "set_endpoint: needs two logins")
        let settings = "{\"url\": \"https://new.example.com/x\", \"allowedNetworks\": [\"10.0.0.0/8\"]}"
        #expect(try await office.call("set_endpoint(1, '\(settings)')", as: first) == "APPROVAL_NEEDED")
        // What decides not where data goes stays with one.
        #expect(try await office.call("set_endpoint(1, '{\"maxInflight\": 3}')", as: first) == "")
        let proposal = try await office.call(
            "propose('set_endpoint', '{\"p_endpoint\": 1, \"p_settings\": \(settings)}')", as: first)
        #expect(proposal == "1")
        #expect(try await office.call("approve(1)", as: first) == "APPROVAL_REFUSED")
        #expect(try await office.fixture.count("insp.endpoint WHERE url LIKE '%new%'") == 0)
        // A setting of the session opens nothing.
        #expect(
            try await office.fixture.count("insp.v_proposal WHERE (state, proposed_by) = ('open', '\(first)')") == 1)
        #expect(try await office.call("approve(1)", as: second) == "\"\"")
        #expect(
            try await office.fixture.count(
                "insp.endpoint WHERE url = 'https://new.example.com/x' AND allowed_networks = '{10.0.0.0/8}'") == 1)
        #expect(try await office.call("approve(1)", as: second) == "APPROVAL_REFUSED")
        // The approval was for that call alone.
        #expect(try await office.call("set_endpoint(1, '\(settings)')", as: second) == "APPROVAL_NEEDED")
        let rows = try await office.fixture.admin.query(
            """
            SELECT actor || ' ' || action || ' ' || subject FROM insp.record
            WHERE chain = 'operator' AND (subject LIKE 'proposal%' OR action = 'set_endpoint') ORDER BY id
            """
        ).map { try $0.string(0) }
        #expect(
            rows == [
                "\(first) set_endpoint endpoint 1", "\(first) set_endpoint endpoint 1", "\(first) propose proposal 1",
                "\(second) set_endpoint endpoint 1", "\(second) approve proposal 1",
            ])
        try await office.end()
    }

    @Test func `One login alone can require an approval, but cannot lift that`() async throws {
        let office = try await Office()
        let (first, second) = (office.first, office.second)
        #expect(try await office.call("set_approval('create_credential', true)", as: first).hasSuffix("two logins"))
        #expect(try await office.call("create_credential('acme')", as: first) == "APPROVAL_NEEDED")
        #expect(try await office.call("set_approval('create_credential', false)", as: first) == "APPROVAL_NEEDED")
        #expect(
            try await office.call(
                "propose('set_approval', '{\"action\": \"create_credential\", \"needed\": false}')", as: first) == "1")
        #expect(try await office.call("approve(1)", as: first) == "APPROVAL_REFUSED")
        // The one who approves is told the secret.
        #expect(
            try await office.call(
                "propose('create_credential', '{\"partner\": \"acme\", \"scopes\": [\"read\"], \"expires\": \"1 day\"}')",
                as: second) == "2")
        let made = try members(try await office.call("approve(2)", as: first))
        #expect((made["bearer"] as? String)?.hasPrefix("ik_") == true)
        #expect(
            try await office.fixture.count("insp.credential WHERE scopes = '{read}' AND expires_at IS NOT NULL") == 1)
        #expect(try await office.call("approve(1)", as: second).contains("needs one login"))
        #expect(try await office.call("create_credential('acme')", as: first).contains("ik_"))
        try await office.end()
    }

    @Test func `Another wrapping key is recorded by two logins, and the end of its rotation by one`() async throws {
        let office = try await Office()
        let (first, second) = (office.first, office.second)
        let ids = try await office.fixture.admin.query("SELECT gen_random_uuid()::text, insp.database_id()::text")[0]
        let (store, database) = (try ids.string(0), try ids.string(1))
        func record(_ key: String, former: String? = nil, as login: String) async throws -> String {
            let rest = former.map { ", '\($0)'" } ?? ""
            return try await office.call("set_custody('\(store)', '\(database)', '\(key)'\(rest))", as: login)
        }
        #expect(try await office.call("set_approval('set_custody', true)", as: first).hasSuffix("two logins"))
        // The first one, and the same once more, as of each migration.
        #expect(try await record("one", as: first) == "true")
        #expect(try await record("one", as: first) == "false")
        for (key, former) in [("bogus", nil), ("bogus", "one"), ("one", "bogus")] {
            #expect(try await record(key, former: former, as: first) == "APPROVAL_NEEDED")
        }
        #expect(try await office.fixture.count("insp.custody WHERE wrapping_key = 'one' AND former_key IS NULL") == 1)
        let arguments =
            #"{"key_store": "\#(store)", "database": "\#(database)", "wrapping_key": "two", "former_key": "one"}"#
        #expect(try await office.call("propose('set_custody', '\(arguments)')", as: first) == "1")
        #expect(try await office.call("approve(1)", as: second) == "true")
        #expect(try await record("one", former: "two", as: first) == "APPROVAL_NEEDED")
        #expect(try await record("two", as: first) == "true")
        #expect(try await office.fixture.count("insp.custody WHERE wrapping_key = 'two' AND former_key IS NULL") == 1)
        try await office.end()
    }

    @Test func `A partner's erasure begins with the second login, and either then does the rest`() async throws {
        let office = try await Office()
        let (first, second) = (office.first, office.second)
        _ = try await office.fixture.enqueue(1)
        #expect(try await office.call("set_approval('erase_partner', true)", as: first).hasSuffix("two logins"))
        #expect(try await office.call("erase_partner('acme')", as: first) == "APPROVAL_NEEDED")
        #expect(try await office.call("erase_partner_data('acme')", as: first) == "PARAMETER_INVALID")
        #expect(try await office.call("propose('erase_partner', '{\"partner\": \"acme\"}')", as: first) == "1")
        #expect(try await office.fixture.count("insp.partner WHERE enabled") == 1)
        let number = try await office.fixture.admin.query("SELECT id::text FROM insp.partner")[0].string(0)
        #expect(try await office.call("approve(1)", as: second) == number)
        #expect(try await office.call("erase_partner('acme')", as: first) == number)
        #expect(try await office.call("erase_partner_data('acme')", as: first).hasPrefix("(1,0,0,0,"))
        try await office.end()
    }

    @Test func `Whom a login acts for, how long faces stay, and who gets tokens need an approval where asked for`()
        async throws
    {
        let office = try await Office()
        let (first, second) = (office.first, office.second)
        let token = "https://login.example.com/token"
        let calls = [
            ("bind_producer", "('\(first)', 'acme')", "{\"login\": \"\(first)\", \"partner\": \"acme\"}"),
            ("unbind_producer", "('\(first)', 'acme')", "{\"login\": \"\(first)\", \"partner\": \"acme\"}"),
            ("free_producer", "('\(first)')", "{\"login\": \"\(first)\"}"),
            ("set_face_limits", "('acme', keep => '1 hour')", "{\"partner\": \"acme\", \"keep\": \"1 hour\"}"),
            ("set_liveness_policy", "('acme', true)", "{\"partner\": \"acme\", \"passive_signals_suffice\": true}"),
            (
                "set_partner", "('acme', job_lifetime => '366 days')",
                "{\"partner\": \"acme\", \"job_lifetime\": \"366 days\"}"
            ),
            ("set_partner", "('acme', review => 'never')", "{\"partner\": \"acme\", \"review\": \"never\"}"),
            (
                "set_origins", "('ik_0123456789abcdef', '{https://app.example.com}')",
                "{\"key_id\": \"ik_0123456789abcdef\", \"origins\": [\"https://app.example.com\"]}"
            ),
            (
                "callback_authorize", "(1, '\(token)', 'client', 'secret')",
                "{\"p_endpoint\": 1, \"p_token_url\": \"\(token)\", \"p_client_id\": \"client\"}"
            ),
        ]
        _ = try await office.call("create_credential('acme')", as: first)
        try await office.fixture.admin.execute("UPDATE insp.credential SET key_id = 'ik_0123456789abcdef'")
        for (action, _, _) in calls {
            #expect(try await office.call("set_approval('\(action)', true)", as: first).hasSuffix("two logins"))
        }
        // What takes rights away, or moves nothing, is done by one.
        #expect(!(try await office.call("set_origins('ik_0123456789abcdef', '{}')", as: first)).hasPrefix("APPROVAL"))
        #expect(!(try await office.call("set_partner('acme', enabled => true)", as: first)).hasPrefix("APPROVAL"))
        for (number, (action, direct, arguments)) in calls.enumerated() {
            #expect(try await office.call(action + direct, as: first) == "APPROVAL_NEEDED", "\(action)")
            #expect(try await office.call("propose('\(action)', '\(arguments)')", as: first) == "\(number + 1)")
            let done = try await office.call("approve(\(number + 1))", as: second)
            #expect(!done.hasPrefix("APPROVAL"), "\(action): \(done)")
        }
        #expect(
            try await office.fixture.count("insp.v_partner WHERE passive_signals_suffice") == 1)
        #expect(try await office.fixture.count("insp.partner WHERE keep_faces = '1 hour'") == 1)
        #expect(try await office.fixture.count("insp.partner WHERE job_lifetime = '366 days'") == 1)
        #expect(try await office.fixture.count("insp.credential WHERE origins = '{https://app.example.com}'") == 1)
        #expect(try await office.fixture.count("insp.client_authorization WHERE token_url = '\(token)'") == 1)
        #expect(try await office.fixture.count("insp.secret WHERE purpose = 'client_secret'") == 0)
        // What was approved gets its secret by one login; another place does not.
        #expect(try await office.call("callback_authorize(1, '\(token)', 'client', 'secret')", as: first) == "")
        #expect(try await office.fixture.count("insp.secret WHERE purpose = 'client_secret'") == 1)
        #expect(
            try await office.call("callback_authorize(1, 'https://other.example.com/t', 'client', 'secret')", as: first)
                == "APPROVAL_NEEDED")
        #expect(
            try await office.call(
                "propose('callback_authorize', '{\"p_endpoint\": 1, \"p_client_secret\": \"s\"}')", as: first)
                == "PARAMETER_INVALID")
        try await office.end()
    }

    @Test func `A named authorization, its secret and its use need an approval where asked for`() async throws {
        let office = try await Office()
        let (first, second) = (office.first, office.second)
        let token = "https://login.example.com/token"
        for action in ["set_authorization", "callback_use_authorization", "allow_authorization_secret"] {
            #expect(try await office.call("set_approval('\(action)', true)", as: first).hasSuffix("two logins"))
        }
        let set = "set_authorization('acme', 'live', '\(token)', 'client', 'secret')"
        #expect(try await office.call(set, as: first) == "APPROVAL_NEEDED")
        let settings =
            "{\"p_partner\": \"acme\", \"p_name\": \"live\", \"p_token_url\": \"\(token)\", \"p_client_id\": \"client\"}"
        for secret in ["p_client_secret", "p_assertion"] {
            #expect(
                try await office.call(
                    "propose('set_authorization', '\(settings.dropLast()), \"\(secret)\": \"s\"}')", as: first)
                    == "PARAMETER_INVALID")
        }
        let proposed = try await office.call("propose('set_authorization', '\(settings)')", as: first)
        #expect(try await Int(office.call("approve(\(proposed))", as: second)) != nil)
        // The settings are approved, the secret is not yet.
        #expect(try await office.call(set, as: first) == "APPROVAL_NEEDED")
        let digest = try await office.fixture.admin.query("SELECT encode(sha256('secret'), 'hex')")[0].string(0)
        let allowed = try await office.call(
            "propose('allow_authorization_secret', '{\"p_partner\": \"acme\", \"p_name\": \"live\", \"p_sha256\": \"\(digest)\"}')",
            as: first)
        #expect(try await office.call(set, as: first) == "APPROVAL_NEEDED")
        _ = try await office.call("approve(\(allowed))", as: second)
        #expect(try await Int(office.call(set, as: first)) != nil)
        #expect(
            try await office.call("set_authorization('acme', 'live', '\(token)', 'client', 'guess')", as: first)
                == "APPROVAL_NEEDED")
        #expect(try await office.call("callback_use_authorization(1, 'live')", as: first) == "APPROVAL_NEEDED")
        let used = try await office.call(
            "propose('callback_use_authorization', '{\"p_endpoint\": 1, \"p_name\": \"live\"}')", as: first)
        _ = try await office.call("approve(\(used))", as: second)
        #expect(try await office.fixture.count("insp.endpoint_authorization WHERE endpoint_id = 1") == 1)
        // To take it away needs nobody: what leaks must be stopped at once.
        #expect(try await office.call("remove_authorization('acme', 'live')", as: first) == "1")
        try await office.end()
    }

    @Test func `A secret of the caller's choice needs a second login where asked for, and no proposal contains it`()
        async throws
    {
        let office = try await Office()
        let (first, second) = (office.first, office.second)
        let chosen = "whsec_" + String(repeating: "AAAA", count: 8)
        let digest = try await office.fixture.admin.query(
            "SELECT encode(sha256(convert_to($1, 'UTF8')), 'hex')", [.text(chosen)])[0].string(0)
        #expect(try await office.call("callback_rotate_secret(1, '0', '\(chosen)')", as: first) == chosen)
        #expect(try await office.call("set_approval('allow_endpoint_secret', true)", as: first).hasSuffix("two logins"))
        #expect(try await office.call("set_approval('set_endpoint', true)", as: first).hasSuffix("two logins"))
        let refused = [
            "callback_rotate_secret(1, '0', '\(chosen)')",
            "set_endpoint(1, '{\"apiKeyHeader\": \"X-Key\", \"apiKey\": \"chosen\"}')",
            "set_endpoint(1, '{\"signingKey\": \"whsk_\(String(repeating: "AAAA", count: 10))AAA=\"}')",
            "callback_authorize(1, 'https://login.example.com/token', 'client', 'secret')",
            "set_endpoint(1, '{\"pins\": [\"sha256//\(String(repeating: "A", count: 43))=\"]}')",
        ]
        for call in refused { #expect(try await office.call(call, as: first) == "APPROVAL_NEEDED", "\(call)") }
        // A secret that the database makes, or the removal of one, is nobody's choice.
        #expect(try await office.call("callback_rotate_secret(1, '0')", as: first).hasPrefix("whsec_"))
        #expect(try await office.call("set_endpoint(1, '{\"apiKey\": null}')", as: first) == "")
        for (endpoint, text) in [("1", "\(digest)"), ("1", "abc"), ("99", "\(digest)")] {
            let proposed = try await office.call(
                "propose('allow_endpoint_secret', '{\"p_endpoint\": \(endpoint), \"p_sha256\": \"\(text)\"}')",
                as: first)
            #expect(Int(proposed) != nil)
        }
        // Proposed is not approved.
        #expect(try await office.call(refused[0], as: first) == "APPROVAL_NEEDED")
        #expect(try await office.call("approve(1)", as: first) == "APPROVAL_REFUSED")
        #expect(try await office.call("approve(1)", as: second) == "\"\"")
        #expect(try await office.call("approve(2)", as: second) == "PARAMETER_INVALID")
        #expect(try await office.call("approve(3)", as: second) == "ENDPOINT_UNKNOWN")
        #expect(try await office.call(refused[0], as: first) == chosen)
        // For that secret and that endpoint alone, until the proposal expires.
        #expect(
            try await office.call("callback_rotate_secret(1, '0', '\(chosen.dropLast(4))BBBB')", as: first)
                == "APPROVAL_NEEDED")
        let other = try await office.fixture.admin.query(
            "SELECT endpoint_id FROM insp.create_endpoint('acme', 'https://other.example.com/')")[0].int(0)
        #expect(
            try await office.call("callback_rotate_secret(\(other), '0', '\(chosen)')", as: first) == "APPROVAL_NEEDED")
        #expect(try await office.fixture.count("insp.proposal p WHERE p::text LIKE '%\(chosen)%'") == 0)
        try await office.fixture.admin.execute("UPDATE insp.proposal SET expires_at = clock_timestamp()")
        #expect(try await office.call(refused[0], as: first) == "APPROVAL_NEEDED")
        // Nobody calls what only insp.approve may.
        #expect(try await office.call("allow_endpoint_secret(1, '\(digest)')", as: first) == "42501")
        #expect(try await office.call("rotate_secret(1, '0', '\(chosen)')", as: first) == "42501")
        try await office.end()
    }

    private func members(_ text: String) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    }

    @Test func `A proposal that expired, was rejected, is unknown or invalid changes nothing`() async throws {
        let office = try await Office()
        let (first, second) = (office.first, office.second)
        for call in [
            "create_partner('club')", "create_endpoint('acme', 'https://x.example.com/')",
            "set_retention(what => 'events', keep => '9 days')",
        ] {
            let action = String(call.prefix { $0 != "(" })
            #expect(try await office.call("set_approval('\(action)', true)", as: first).hasSuffix("two logins"))
            #expect(try await office.call(call, as: first) == "APPROVAL_NEEDED", "\(call)")
        }
        let events = "'{\"what\": \"events\", \"keep\": \"9 days\"}'"
        #expect(try await office.call("propose('set_retention', \(events), '1 millisecond')", as: first) == "1")
        #expect(try await office.call("propose('set_retention', \(events))", as: first) == "2")
        #expect(
            try await office.call("propose('set_retention', '{\"what\": \"events\", \"keep\": \"soon\"}')", as: first)
                == "3")
        #expect(try await office.call("reject_proposal(2)", as: first) == "")
        for number in [1, 2, 3, 99] {
            #expect(try await office.call("approve(\(number))", as: second) == "APPROVAL_REFUSED", "\(number)")
        }
        for bad in [
            "propose('erase', '{}')", "propose('set_retention', '{\"whom\": 1}')", "propose('set_retention', '[]')",
            "propose('set_retention', \(events), '31 days')", "propose(NULL, NULL)", "set_approval('erase', true)",
            "propose('set_endpoint', '{\"p_endpoint\": 1, \"p_settings\": {\"apiKey\": \"x\"}}')",
        ] {
            #expect(try await office.call(bad, as: first) == "PARAMETER_INVALID", "\(bad)")
        }
        #expect(
            try await office.fixture.admin.query(
                "SELECT string_agg(state, ' ' ORDER BY proposal) FROM insp.v_proposal")[0].string(0)
                == "expired rejected open")
        #expect(try await office.fixture.count("insp.retention WHERE what = 'events' AND keep = '9 days'") == 0)
        for role in [
            "insp_producer", "insp_worker", "insp_reviewer", "insp_auditor", "insp_signer", "insp_gateway",
            "insp_console",
        ] {
            for call in ["propose('set_retention', '{}')", "approve(3)", "set_approval('set_retention', true)"] {
                #expect(try await office.call(call, as: role) == "42501", "\(role): \(call)")
            }
        }
        try await office.end()
    }
}
