import Foundation
import InspectCore
import Postgres
import TestSupport
import Testing

/// `inspectd endpoint` as its users run it, with a real worker and a real receiver.
@Suite struct EndpointTests {
    /// A main database and a key store with a wrapping key in a file.
    private struct Site {
        let main: ScratchDatabase
        let connection: PostgresConnection
        let environment: [String: String]
        private let store: ScratchDatabase
        private let folder: URL

        /// - Parameter isLogged: Whether it has a server of its own, which logs every statement.
        init(seals: Bool = true, isLogged: Bool = false) async throws {
            if isLogged {
                let server = try ScratchDatabase.ownServer(
                    settings: "log_statement = all\nlog_parameter_max_length = -1")
                let admin = try await server.connect()
                for name in ["main", "keys"] { try await admin.execute("CREATE DATABASE \(name)") }
                await admin.close()
                self.main = server.database("main", role: "inspectd")
                self.store = server.database("keys", role: "inspectd")
                for words in [["migrate", "--roles"], ["migrate"]] {
                    let done = try await Program.run(words, environment: ["INSPECTD_DATABASE_URL": self.main.url])
                    #expect(done.status == 0, "\(done.errors)")
                }
            } else {
                self.main = try await .migrated()
                self.store = try await .empty()
            }
            self.connection = try await self.main.connect()
            self.folder = FileManager.default.temporaryDirectory.appendingPathComponent("endpoint-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
            guard seals else {
                self.environment = ["INSPECTD_DATABASE_URL": self.main.url]
                return
            }
            let keys = self.folder.appendingPathComponent("keys").path
            self.environment = [
                "INSPECTD_DATABASE_URL": self.main.url, "INSPECTD_KEYS_URL": self.store.url,
                "INSPECTD_WRAPPING_KEYS": "file:" + keys,
            ]
            for words in [["make", "--key-file", keys], ["init", "--roles"], ["init"]] {
                let done = try await Program.run(["keys"] + words, environment: self.environment)
                #expect(done.status == 0, "\(done.errors)")
            }
        }

        func run(
            _ words: [String], input: String? = nil, _ change: [String: String] = [:]
        ) async throws -> (status: Int32, output: Data, errors: String) {
            try await Program.run(
                words, environment: self.environment.merging(change) { $1 }, input: input.map { Data($0.utf8) })
        }

        /// What `inspectd endpoint` prints.
        func endpoint(_ words: String..., input: String? = nil) async throws -> [String: Any] {
            let done = try await self.run(["endpoint"] + words, input: input)
            #expect(done.status == 0, "\(words): \(done.errors)")
            #expect(done.errors.isEmpty)
            return try members(done.output)
        }

        func file(_ name: String, _ text: String) throws -> String {
            let url = self.folder.appendingPathComponent(name)
            try Data(text.utf8).write(to: url)
            return url.path
        }

        /// One job, whose callback is sent.
        func deliver() async throws {
            let image = self.folder.appendingPathComponent("face.png")
            try PNG.noise(width: 96, height: 96).write(to: image)
            let done = try await self.run([
                "enqueue", "--partner", "bank", "--workflow", "liveness", "--face", image.path,
            ])
            #expect(done.status == 0, "\(done.errors)")
            let worker = try await self.run(["worker", "--drain", "--log-level", "error"])
            #expect(worker.status == 0, "\(worker.errors)")
        }

        /// Which of these texts any file of the server contains: tables, indexes, WAL, log.
        func found(_ texts: [String]) async throws -> Set<String> {
            try await self.connection.execute("CHECKPOINT")
            let parts = URLComponents(string: self.main.url)
            let folder = try #require(parts?.queryItems?.first { $0.name == "host" }?.value)
            var found: Set<String> = []
            for text in texts {
                let (status, files, _) = try await ChildProcess.run("/bin/grep", ["-rlaF", "-e", text, folder])
                #expect(status == (files.isEmpty ? 1 : 0))
                if !files.isEmpty { found.insert(text) }
            }
            return found
        }

        /// Everything in the database, as a backup has it.
        func dump() async throws -> String {
            let folders =
                (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
                + (15...18).map { "/usr/lib/postgresql/\($0)/bin" }
            let program = try #require(
                folders.map { $0 + "/pg_dump" }.first { FileManager.default.isExecutableFile(atPath: $0) })
            let (status, text, _) = try await ChildProcess.run(program, ["--dbname", self.main.url])
            #expect(status == 0 && text.contains("COPY insp.secret"))
            return text
        }
    }

    @Test func `Sealed secrets sign and authorize callbacks, and no dump, WAL or log has them`() async throws {
        let site = try await Site(isLogged: true)
        let made = try await site.endpoint(
            "create", "--partner", "bank", "--new-partner", "--url", "https://hooks.example.com/x", "--allow-http",
            "--allow-private")
        let (number, secret) = (try #require(made["endpoint"] as? Int), try #require(made["secret"] as? String))
        #expect(made["isSealed"] as? Bool == true && made["partner"] as? Int == 1)
        // It was not plain for a moment: the sealed one is the first row.
        #expect(try await site.connection.query("SELECT max(id) FROM insp.secret")[0].int(0) == 1)
        let receiver = try CallbackReceiver(secrets: [secret], oauthClient: "client:c0rrect-h0rse")
        let endpoint = String(number)
        _ = try await site.endpoint(
            "set", endpoint, "--settings", "-", "--api-key", try site.file("api", "battery-stapl3\n"),
            input: #"{"url": "\#(receiver.url("/bearer"))", "apiKeyHeader": "X-Key", "inlineResult": false}"#)
        _ = try await site.endpoint(
            "authorize", endpoint, "--token-url", receiver.url("/token"), "--client-id", "client", "--client-secret",
            "-",
            input: "c0rrect-h0rse\n")
        try await site.deliver()
        var received = try receiver.received()
        let callback = try #require(received.first { $0.path == "/bearer" })
        #expect(callback.verified && callback.headers["x-key"] == "battery-stapl3")
        let token = try #require(callback.headers["authorization"]?.split(separator: " ").last)

        // A rotation with overlap: the one receiver knows the old secret, the other the new one.
        let next = try #require(
            try await site.endpoint("rotate", endpoint, "--overlap", "7 days")["secret"] as? String)
        let signing = try await site.endpoint("rotate", endpoint, "--ed25519")
        #expect((signing["publicKey"] as? String)?.hasPrefix("whpk_") == true && signing["secret"] == nil)
        try await site.deliver()
        received = try receiver.received().filter { $0.path == "/bearer" }
        #expect(received.count == 2 && received[1].verified && received[1].signatures == 3)
        let other = try CallbackReceiver(secrets: [next])
        _ = try await site.endpoint(
            "set", endpoint, "--settings", try site.file("settings", #"{"url": "\#(other.url("/ok"))"}"#))
        try await site.deliver()
        let last = try other.received()
        #expect(last.count == 1 && last[0].verified)

        let dump = try await site.dump()
        for plain in [secret, next, "c0rrect-h0rse", "battery-stapl3", String(token)] {
            #expect(!dump.contains(plain) && !dump.contains(plain.utf8.hexadecimal))
        }
        let purposes = try await site.connection.query(
            "SELECT purpose, seal FROM insp.secret WHERE owner LIKE 'endpoint%' ORDER BY purpose, id")
        #expect(
            try purposes.map { try $0.string(0) } == [
                "access_token", "api_key", "client_secret", "signing_key", "signing_secret", "signing_secret",
            ])
        #expect(try purposes.allSatisfy { try $0.int(1) == 1 })
        let all = [secret, next, "c0rrect-h0rse", "battery-stapl3"]
        let bytes = all.map { Data($0.utf8).base64EncodedString() } + all.map { $0.utf8.hexadecimal }
        #expect(try await site.found(all + bytes + ["hooks.example.com"]) == ["hooks.example.com"])
        // One that PostgreSQL has made is found.
        let plain = try await site.connection.query(
            "SELECT secret FROM insp.create_endpoint('bank', 'https://hooks.example.com/p')")[0].string(0)
        #expect(try await site.found([plain]) == [plain])
        // The record has none either.
        let record = try await site.connection.query("SELECT string_agg(r::text, ' ') FROM insp.record r")
        #expect(try !record[0].string(0).contains("sealed:"))
    }

    @Test(.timeLimit(.minutes(5)))
    func `A named authorization is sealed, used by an endpoint, and its token revoked by a worker`() async throws {
        let site = try await Site()
        let made = try await site.endpoint(
            "create", "--partner", "bank", "--new-partner", "--url", "https://hooks.example.com/x", "--allow-http",
            "--allow-private")
        let secret = try #require(made["secret"] as? String)
        let receiver = try CallbackReceiver(secrets: [secret], oauthClient: "client:c0rrect-h0rse")
        _ = try await site.endpoint("set", "1", "--settings", "-", input: #"{"url": "\#(receiver.url("/bearer"))"}"#)
        let settings = [
            "authorize", "--partner", "bank", "--authorization", "live", "--token-url", receiver.url("/token"),
            "--revocation-url", receiver.url("/revoke"), "--client-id", "client", "--client-secret", "-",
        ]
        let named = try await site.run(["endpoint"] + settings, input: "c0rrect-h0rse\n")
        #expect(named.status == 0, "\(named.errors)")
        let answer = try members(named.output)
        #expect(answer["authorization"] as? String == "live" && answer["isSealed"] as? Bool == true)
        #expect(try await site.endpoint("authorize", "1", "--authorization", "live")["endpoint"] as? Int == 1)
        try await site.deliver()
        #expect(try receiver.received().contains { $0.path == "/bearer" && $0.verified })
        let stored = try await site.connection.query(
            "SELECT convert_from(value, 'UTF8') FROM insp.secret WHERE owner LIKE 'authorization%'"
        ).map { try $0.string(0) }
        #expect(stored.count == 1 && stored[0].hasPrefix("sealed:"))

        // A second login may allow the secret by its digest.
        let sealed = try await site.endpoint(
            "seal", "--partner", "bank", "--authorization", "live", "--client-secret", "-", input: "c0rrect-h0rse")
        #expect(sealed["purpose"] as? String == "client_secret")
        _ = try await site.connection.query(
            "SELECT insp.set_authorization('bank', 'live', $1, 'client', $2, p_revocation_url => $3)",
            [
                .text(receiver.url("/token")), .text(try #require(sealed["sealed"] as? String)),
                .text(receiver.url("/revoke")),
            ])
        try await site.deliver()
        #expect(try receiver.received().count { $0.path == "/bearer" && $0.verified } == 2)

        #expect(try await site.connection.query("SELECT insp.remove_authorization('bank', 'live')")[0].int(0) == 1)
        let worker = try Program(["worker", "--slots", "1"], environment: site.environment)
        let tokens = try await receiver.received(within: 60) { all in
            Set(all.filter { $0.path == "/revoke" }.map(\.body)).count == 2
        }.filter { $0.path == "/revoke" }.map(\.body)
        #expect(Set(tokens).count == 2 && tokens.allSatisfy { $0.hasPrefix("token=token-") })
        worker.send(SIGTERM)
        #expect(try await worker.wait() == 0)
        #expect(!worker.standardError.contains("c0rrect-h0rse") && !worker.standardError.contains("token-1"))

        for (words, status, text) in [
            (["authorize"], 2, "--partner and --authorization"),
            (["authorize", "--partner", "bank"], 2, "--partner and --authorization"),
            (["authorize", "1", "--authorization", "live", "--client-id", "c"], 2, "--authorization"),
            (["seal", "--partner", "bank", "--authorization", "live", "--api-key", "-"], 2, "one of the last two"),
            (["authorize", "1", "--authorization", "live"], 1, "AUTHORIZATION_UNKNOWN"),
        ] as [([String], Int32, String)] {
            let done = try await site.run(["endpoint"] + words, input: "x")
            #expect(done.status == status && done.errors.contains(text), "\(words): \(done.errors)")
        }
    }

    @Test func `Without the keys no secret is stored, neither plain nor at all`() async throws {
        let site = try await Site()
        _ = try await site.endpoint(
            "create", "--partner", "bank", "--new-partner", "--url", "https://hooks.example.com/x")
        let before = try await site.dump()
        let create = ["endpoint", "create", "--partner", "bank", "--url", "https://hooks.example.com/y"]
        let rotate = ["endpoint", "rotate", "1"]
        for (change, code) in [
            (["INSPECTD_KEYS_URL": ""], "KEY_MISSING"),
            (["INSPECTD_KEYS_URL": "postgresql://127.0.0.1:1/x"], "KEYS_UNAVAILABLE"),
        ] {
            for words in [create, rotate] {
                let done = try await site.run(words, change)
                #expect(done.status == 1 && done.errors.contains(code) && done.output.isEmpty, "\(done.errors)")
            }
        }
        func rows(_ dump: String) -> Int { dump.matches(of: /endpoint \d+\tsigning_secret/).count }
        #expect(rows(before) == 1)
        #expect(rows(try await site.dump()) == 1)
    }

    @Test func `What the database can no longer see is refused before it is sealed`() async throws {
        let site = try await Site()
        _ = try await site.endpoint(
            "create", "--partner", "bank", "--new-partner", "--url", "https://hooks.example.com/x")
        let cases: [([String], String, String)] = [
            (["rotate", "1", "--secret", "-"], "whsec_AAAA", "ENDPOINT_INVALID"),
            (["rotate", "1", "--secret", "-"], "sealed:AAAA", "ENDPOINT_INVALID"),
            (["set", "1", "--signing-key", "-"], "whsec_\(Data(count: 32).base64EncodedString())", "ENDPOINT_INVALID"),
            (
                ["set", "1", "--settings", "-"], #"{"apiKeyHeader": "X-Key", "apiKey": "two\nlines"}"#,
                "ENDPOINT_INVALID"
            ),
            (["set", "1", "--settings", "-"], #"{"colour": "red"}"#, "ENDPOINT_INVALID"),
            (["rotate", "2"], "", "ENDPOINT_UNKNOWN"),
            (
                [
                    "authorize", "1", "--token-url", "https://l.example.com/t", "--client-id", "c", "--client-secret",
                    "-",
                ],
                "pässword", "CLIENT_ID_INVALID"
            ),
            (
                ["authorize", "1", "--token-url", "https://l.example.com/t", "--client-id", "c"], "",
                "CLIENT_ID_INVALID"
            ),
            (["create", "--partner", "none", "--url", "https://hooks.example.com/x"], "", "PARTNER_UNKNOWN"),
            (["create", "--partner", "bank", "--url", "ftp://x"], "", "CALLBACK_URL_INVALID"),
        ]
        for (words, input, code) in cases {
            let done = try await site.run(["endpoint"] + words, input: input)
            #expect(done.status == 1 && done.errors.contains(code), "\(words): \(done.errors)")
            #expect(input.count < 5 || !done.errors.contains(input))
        }
        for (words, input) in [
            (["rotate", "1", "--overlap", "soon"], ""), (["set", "1", "--settings", "-"], "[]"),
        ] {
            let done = try await site.run(["endpoint"] + words, input: input)
            #expect(done.status == 2, "\(words): \(done.errors)")
        }
    }

    @Test func `Without a key store the command does what SQL does`() async throws {
        let site = try await Site(seals: false)
        let made = try await site.endpoint(
            "create", "--partner", "bank", "--new-partner", "--url", "https://hooks.example.com/x")
        #expect(made["isSealed"] as? Bool == false)
        func stored() async throws -> [String] {
            try await site.connection.query("SELECT convert_from(value, 'UTF8') FROM insp.secret ORDER BY id")
                .map { try $0.string(0) }
        }
        let secret = try #require(made["secret"] as? String)
        #expect(try await stored() == [secret])
        let given = "whsec_" + Data(repeating: 7, count: 32).base64EncodedString()
        let rotated = try await site.endpoint("rotate", "1", "--overlap", "0", "--secret", "-", input: given + "\n")
        // A caller that supplies a secret already has it.
        #expect(rotated["secret"] == nil)
        #expect(try await stored() == [given])
        let second = try await site.endpoint("create", "--partner", "bank", "--url", "https://hooks.example.com/y")
        let last = try await stored().last
        #expect(second["endpoint"] as? Int == 2 && second["secret"] as? String == last)
        _ = try await site.endpoint(
            "authorize", "2", "--token-url", "https://l.example.com/t", "--client-id", "c", "--client-secret", "-",
            "--scope", "a b", "--method", "post", input: "s")
        #expect(try await stored().last == "s")
    }

    @Test func `Where an approval is required, the command says how to go on`() async throws {
        let site = try await Site()
        _ = try await site.endpoint(
            "create", "--partner", "bank", "--new-partner", "--url", "https://hooks.example.com/x")
        _ = try await site.connection.query("SELECT insp.set_approval('create_endpoint', true)")
        let done = try await site.run(
            ["endpoint", "create", "--partner", "bank", "--url", "https://hooks.example.com/y"])
        #expect(done.status == 1 && done.errors.contains("APPROVAL_NEEDED") && done.errors.contains("insp.propose"))
    }

    @Test func `A chosen secret is sealed once, so that a second login can allow it by its digest`() async throws {
        let site = try await Site()
        _ = try await site.endpoint(
            "create", "--partner", "bank", "--new-partner", "--url", "https://hooks.example.com/x")
        _ = try await site.connection.query("SELECT insp.set_approval('allow_endpoint_secret', true)")
        let key = "whsec_\(Data(repeating: 7, count: 32).base64EncodedString())"
        let refused = try await site.run(["endpoint", "rotate", "1", "--secret", "-"], input: key)
        #expect(refused.status == 1 && refused.errors.contains("APPROVAL_NEEDED"))
        let sealed = try await site.endpoint("seal", "1", "--secret", "-", input: key)
        let text = try #require(sealed["sealed"] as? String)
        #expect(sealed["purpose"] as? String == "signing_secret" && text.hasPrefix("sealed:") && !text.contains(key))
        _ = try await site.connection.query(
            "SELECT insp.propose('allow_endpoint_secret', jsonb_build_object('p_endpoint', 1, 'p_sha256', $1::text))",
            [.text(try #require(sealed["sha256"] as? String))])
        try await site.connection.execute(
            "SET SESSION AUTHORIZATION insp_operator; SELECT insp.approve(1); RESET SESSION AUTHORIZATION")
        _ = try await site.connection.query(
            "SELECT insp.callback_rotate_secret(1, '0', $1, 'signing_secret')", [.text(text)])
        let stored = try await site.connection.query(
            "SELECT convert_from(value, 'UTF8'), seal FROM insp.secret WHERE owner = 'endpoint 1'")
        #expect(try stored.map { try $0.string(0) } == [text])
        // What the database can no longer see is refused here as well.
        for (option, value, code) in [
            ("--api-key", "\u{1}x", "ENDPOINT_INVALID"), ("--signing-key", key, "ENDPOINT_INVALID"),
            ("--secret", "x", "ENDPOINT_INVALID"), ("--client-secret", "é", "CLIENT_ID_INVALID"),
        ] {
            let done = try await site.run(["endpoint", "seal", "1", option, "-"], input: value)
            #expect(done.status == 1 && done.errors.contains(code), "\(option): \(done.errors)")
        }
    }
}
