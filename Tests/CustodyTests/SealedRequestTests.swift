import Foundation
import InspectCore
import Postgres
import TestSupport
import Testing

@testable import Custody

/// What a request is when PostgreSQL sees it.
@Suite struct SealedRequestTests {
    /// A database with a partner, and a key store.
    struct Site {
        let keys: KeyStoreFixture
        let main: ScratchDatabase
        let admin: PostgresConnection
        let store: KeyStore
        let partner: Int64

        init() async throws {
            self.keys = try await KeyStoreFixture()
            self.main = try await .migrated()
            self.admin = try await self.main.connect()
            self.store = try self.keys.store()
            _ = try await self.admin.query("SELECT insp.create_partner('acme', 'https://hooks.example.com/x')")
            self.partner = try await self.admin.query("SELECT insp.custody_partner('acme')")[0].int(0)
        }

        /// Enqueues and returns the job's id, or the code of the refusal.
        func enqueue(_ payload: String, _ parts: [PartKind: [Data]], isSealed: Bool) async throws -> String {
            do {
                var request: SealedRequest?
                if isSealed {
                    request = try await RequestSealer(self.store).seal(
                        payload: Data(payload.utf8), parts: parts, partner: self.partner)
                }
                let given = request?.parts ?? parts
                return try await self.admin.query(
                    "SELECT insp.enqueue_parts($1, $2, $3, $4, $5)",
                    [
                        .text(request.map { String(decoding: $0.payload, as: UTF8.self) } ?? payload),
                        .texts(given.flatMap { kind, all in all.map { _ in kind.rawValue } }),
                        .byteas(given.flatMap(\.value)), .optional(request?.sealed), .optional(request?.hmac),
                    ])[0].string(0)
            } catch let error as PostgresError {
                return error.refusal?.code.rawValue ?? error.reason
            } catch let error as InspectError {
                return error.code.rawValue
            }
        }
    }

    static let front: [PartKind: [Data]] = [.front: [Data("zqmark image".utf8)]]
    private static let personal =
        #""customerInternalReference":"zqmark c","userReference":"zqmark u","reportingCriteria":"zqmark r","callbackUrl":"https://hooks.example.com/zqmark?x=zqmark","consent":{"obtained":"yes","obtainedAt":"2026-01-01T00:00:00Z","policyVersion":"v7","userIp":"zqmark ip"},"idempotencyKey":"zqmark key""#

    static func payload(_ more: String, workflow: String = "id") -> String {
        #"{"partner":"acme","workflow":"\#(workflow)"\#(more.isEmpty ? "" : ",")\#(more)}"#
    }

    @Test func `The database sees no value, and a reader with the key gets each back`() async throws {
        let site = try await Site()
        let id = try await site.enqueue(Self.payload(Self.personal), Self.front, isSealed: true)
        let job = try await site.admin.query(
            "SELECT personal, request, sealed, key_id::text, own_callback FROM insp.job WHERE public_id = $1",
            [.text(id)])[0]
        #expect(!(try job.string(1) + String(decoding: job.data(0), as: UTF8.self)).contains("zqmark"))
        #expect(try job.bool(4))
        let seal = try JobSeal(try await site.store.key(try #require(KeyID(try job.string(3)))), partner: site.partner)
        let values = try seal.values(try job.data(2))
        #expect(
            values
                == SealedValues(
                    customerInternalReference: "zqmark c", userReference: "zqmark u", reportingCriteria: "zqmark r",
                    callbackUrl: "https://hooks.example.com/zqmark?x=zqmark"))
        let part = try await site.admin.query(
            "SELECT c.bytes, p.seal, p.sha256 = sha256(c.bytes) FROM insp.part p JOIN insp.content c ON c.id = p.content_id"
        )[0]
        #expect(try seal.open(part.data(0), part: .front, 0) == Data("zqmark image".utf8))
        #expect(try part.int(1) == 1 && part.bool(2))
        // By its pseudonym the job is found, and the same person's next job with it.
        let index = BlindIndex(try await site.store.partnerKey(site.partner))
        let pseudonym = index.pseudonym("zqmark u", use: "user")
        _ = try await site.enqueue(Self.payload(#""userReference":"zqmark u""#), Self.front, isSealed: true)
        #expect(
            try await site.admin.query(
                "SELECT count(*) FROM insp.jobs_by_reference('acme', user_reference => $1)", [.text(pseudonym)])[0].int(
                    0)
                == 2)
        #expect(try await site.admin.query("SELECT count(*) FROM insp.person")[0].int(0) == 1)
    }

    @Test func `A repeated request is the same job, and another one under its key is refused`() async throws {
        let site = try await Site()
        let first = try await site.enqueue(Self.payload(Self.personal), Self.front, isSealed: true)
        #expect(try await site.enqueue(Self.payload(Self.personal), Self.front, isSealed: true) == first)
        let others: [(String, [PartKind: [Data]])] = [
            (Self.personal, [.front: [Data("another image".utf8)]]),
            (Self.personal.replacing("zqmark ip", with: "another ip"), Self.front),
            (Self.personal.replacing("zqmark r", with: "another r"), Self.front),
            (Self.personal.replacing("?x=zqmark", with: "?x=another"), Self.front),
        ]
        for (more, parts) in others {
            #expect(
                try await site.enqueue(Self.payload(more), parts, isSealed: true) == "IDEMPOTENCY_CONFLICT", "\(more)")
        }
        #expect(try await site.admin.query("SELECT count(*) FROM insp.job")[0].int(0) == 1)
    }

    /// A back side by URL, in a payload.
    private static func part(_ url: String, sha256: String = String(repeating: "0", count: 64), more: String = "")
        -> String
    {
        #""parts":{"BACK":{"url":"\#(url)","sha256":"\#(sha256)"\#(more)}}"#
    }

    /// The database decides what is valid; sealing may change neither the outcome nor its code.
    @Test(arguments: [
        #""userReference":"""#, #""userReference":7"#, #""userReference":null"#,
        #""userReference":"\#(String(repeating: "é", count: 101))""#,
        #""userReference":"\#(String(repeating: "é", count: 100))""#, #""customerInternalReference":["x"]"#,
        #""customerInternalReference":"\#(String(repeating: "x", count: 101))""#, #""reportingCriteria":"""#,
        #""reportingCriteria":"\#(String(repeating: "x", count: 101))""#, #""reportingCriteria":7"#,
        #""userReference":"a\tb""#, #""customerInternalReference":"\u007f""#, #""reportingCriteria":"\u001f""#,
        #""userReference":"\n\#(String(repeating: "x", count: 100))""#, #""idempotencyKey":"a\tb""#,
        #""idempotencyKey":"""#, #""idempotencyKey":{}"#, #""faceId":"f""#, #""zqmark":"zqmark""#,
        #""callbackUrl":7"#, #""callbackUrl":"zqmark""#, #""callbackUrl":"ftp://a.example.com/x""#,
        #""callbackUrl":"https://user:word@hooks.example.com/x""#, #""callbackUrl":"https://hooks.example.com/x#y""#,
        #""callbackUrl":"https://127.0.0.1/x""#, #""callbackUrl":"https://hooks.example.com/a b""#,
        #""callbackUrl":"https://localhost/x""#, #""callbackUrl":"https://hooks.example.com:8443/x""#,
        #""callbackUrl":"https://hooks.example.com/\#(String(repeating: "x", count: 300))""#,
        #""callbackUrl":"http://hooks.example.com/x""#, #""callbackUrl":"https://HOOKS.example.com?x""#,
        #""consent":"yes""#, #""consent":{"obtainedAt":"yesterday"}"#, #""consent":{"obtainedAt":7}"#,
        #""consent":{"obtained":"no","obtainedAt":"2026-01-01T00:00:00Z"}"#, #""consent":{}"#,
        #""digests":{"FRONT":"00"}"#, #""digests":{"FRONT":"\#(String(repeating: "0", count: 64))"}"#,
        #""digests":{"BACK":"\#(String(repeating: "0", count: 64))"}"#, #""digests":{"FRONT":["x"]}"#, #""digests":7"#,
        #""documentFormat":"TD9""#, #""threshold":0.8"#, #""lane":"fast""#,
        #""parts":{"FRONT":{"url":"https://a.example.com/x","sha256":"\#(String(repeating: "0", count: 64))"}}"#,
        #""callbackUrl":"https://hooks.example.com/a\\b""#, #""callbackUrl":"https://hooks.example.com/\u007f""#,
        #""parts":7"#, #""parts":{}"#, #""parts":{"BACK":7}"#, #""parts":{"BACK":{}}"#, #""parts":{"BACK":[]}"#,
        #""parts":{"zqmark":{}}"#, part("https://a.example.com/zqmark?x=zqmark"), part("https://a.example.com"),
        part("https://a.example.com/" + String(repeating: "x", count: 2026)),
        part("https://a.example.com/" + String(repeating: "x", count: 2027)), part("http://a.example.com/x"),
        part("https://user:word@a.example.com/x"), part("https://a.example.com/x#y"), part("https://a.example.com/a b"),
        part(#"https://a.example.com/a\\b"#), part("https://a.example.com/ä"), part("https://127.0.0.1/x"),
        part("https://a.example.com:8443/x"), part("zqmark"), part(""), part("https://a.example.com/x", sha256: "00"),
        part("https://a.example.com/x", sha256: String(repeating: "A", count: 64)),
        part("zqmark", sha256: "zqmark"), part("https://a.example.com/x", more: #","zqmark":1"#),
        #""parts":{"BACK":{"url":"https://a.example.com/x"}}"#, #""parts":{"BACK":{"url":7,"sha256":"00"}}"#,
        #""parts":{"BACK":{"url":"https://a.example.com/x","sha256":7}}"#,
        #""parts":{"BACK":[{"url":"https://a.example.com/x","sha256":"\#(String(repeating: "0", count: 64))"}]}"#,
    ])
    func `What is invalid is refused with the same code, sealed or not`(more: String) async throws {
        let site = try await Site()
        let plain = try await site.enqueue(Self.payload(more), Self.front, isSealed: false)
        let sealed = try await site.enqueue(Self.payload(more), Self.front, isSealed: true)
        if UUID(uuidString: plain) != nil {
            #expect(UUID(uuidString: sealed) != nil, "\(sealed)")
        } else {
            #expect(sealed == plain)
        }
    }

    @Test(arguments: [
        #""region":"zqmark Ann Smith""#, #""countries":["zqmark Ann"]"#,
        #""documentTypes":["PASSPORT","zqmark Ann"]"#, #""challenge":{"zqmark Ann":1}"#, #""zqmark Ann":1"#,
        #""lane":"zqmark/Ann""#, #""runAt":"zqmark 1 May""#, #""expiresAt":"2026-zqmark""#, #""runAt":"zqmark""#,
        #""parts":{"zqmark Ann":{"url":"https://a.example/"}}"#,
        #""digests":{"zqmark Ann":"00"}"#,
    ])
    func `A name where it does not belong is refused before the database sees it`(more: String) async throws {
        let site = try await Site()
        let draft = try await RequestSealer(site.store).draft(
            payload: Data(Self.payload(more).utf8), parts: Self.front, partner: site.partner)
        #expect(!String(decoding: draft.payload, as: UTF8.self).contains("zqmark"))
        #expect(UUID(uuidString: try await site.enqueue(Self.payload(more), Self.front, isSealed: true)) == nil)
    }

    @Test func `Faces and parts are refused with the same code, sealed or not`() async throws {
        let site = try await Site()
        let face: [PartKind: [Data]] = [.face: [Data("zqmark image".utf8)]]
        for more in [
            "", #""faceId":"""#, #""faceId":7"#, #""faceId":"a\u0007b""#,
            #""faceId":"\#(String(repeating: "x", count: 101))""#, #""faceId":"zqmark face""#,
        ] {
            let payload = Self.payload(more, workflow: "enrollment")
            let plain = try await site.enqueue(payload, face, isSealed: false)
            let sealed = try await site.enqueue(payload, face, isSealed: true)
            #expect(
                sealed == plain || UUID(uuidString: sealed) != nil && UUID(uuidString: plain) != nil,
                "\(more): \(sealed)")
        }
        for parts: [PartKind: [Data]] in [
            [:], [.front: [Data()]], [.front: [Data(count: PartKind.byteLimit + 1)]], [.front: [Data([1])], .dg1: []],
            [.back: [Data([1])]], [.front: [Data([1]), Data([2])]], [.front: [Data(count: PartKind.byteLimit)]],
        ] {
            let plain = try await site.enqueue(Self.payload(""), parts.filter { !$0.value.isEmpty }, isSealed: false)
            let sealed = try await site.enqueue(Self.payload(""), parts.filter { !$0.value.isEmpty }, isSealed: true)
            #expect(
                sealed == plain || UUID(uuidString: sealed) != nil && UUID(uuidString: plain) != nil,
                "\(sealed) \(plain)")
        }
    }

    @Test func `Bytes that are not of one key are refused`() async throws {
        let site = try await Site()
        let request = try await RequestSealer(site.store).seal(
            payload: Data(Self.payload("").utf8), parts: Self.front, partner: site.partner)
        let other = try await RequestSealer(site.store).seal(
            payload: Data(Self.payload("").utf8), parts: Self.front, partner: site.partner)
        let front = try #require(request.parts[.front]?.first)
        let strange = try #require(other.parts[.front]?.first)
        let wrong: [(Data, Data, Data?)] = [
            (strange, request.sealed, request.hmac), (Data("plain".utf8), request.sealed, request.hmac),
            (front, Data("plain".utf8), request.hmac), (front, Data(), request.hmac),
            (front.prefix(44), request.sealed, request.hmac),
            (front, request.sealed.prefix(44), request.hmac), (front, request.sealed, nil),
            (front, request.sealed, Data([1])),
        ]
        for (content, sealed, hmac) in wrong {
            let error = await #expect(throws: PostgresError.self) {
                try await site.admin.query(
                    "SELECT insp.enqueue_parts($1, '{FRONT}', $2, $3, $4)",
                    [.text(Self.payload("")), .byteas([content]), .bytes(sealed), .optional(hmac)])
            }
            #expect([.sealBroken, .parameterInvalid].contains(error?.refusal?.code))
        }
    }

    @Test func `The guide's code seals a request that the program opens`() async throws {
        let site = try await Site()
        let partnerKey = try await site.store.partnerKey(site.partner)
        let key = try #require(try await site.store.jobKeys([KeyOwner(partner: site.partner)]).first)
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("request-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let guide = try String(contentsOfFile: "\(ScratchDatabase.root)/deploy/SEALING.md", encoding: .utf8)
        let blocks = guide.components(separatedBy: "\n```python\n").dropFirst().compactMap {
            $0.components(separatedBy: "\n```").first
        }
        let script =
            (blocks + [
                """
                import sys
                payload, kinds, contents, sealed, digest = seal_request(
                    json.loads(sys.argv[1]), [("FRONT", b"zqmark image")], int(sys.argv[2]), bytes.fromhex(sys.argv[3]),
                    bytes.fromhex(sys.argv[4]), uuid.UUID(sys.argv[5]))
                print(json.dumps([payload, contents[0].hex(), sealed.hex(), digest.hex()]))
                """
            ]).joined(separator: "\n")
        let output = folder.appendingPathComponent("output").path
        try script.write(to: folder.appendingPathComponent("script"), atomically: true, encoding: .utf8)
        let payload = Self.payload(
            Self.personal + ","
                + Self.part("https://img.example.com/a?x=zqmark", sha256: String(repeating: "aB", count: 32)))
        let status = try await ChildProcess.spawn(
            "/bin/sh",
            [
                "-c", "exec /usr/bin/python3 \"$@\" >'\(output)'", "sh",
                folder.appendingPathComponent("script").path,
                payload, String(site.partner), partnerKey.secret.withBytes { hex($0) },
                key.secret.withBytes { hex($0) },
                key.id.text,
            ], isQuiet: true
        ).exitStatus()
        #expect(status == 0)
        let answer = try #require(
            try JSONSerialization.jsonObject(with: Data(contentsOf: URL(fileURLWithPath: output))) as? [String])
        #expect(!answer[0].contains("zqmark"))
        let id = try await site.admin.query(
            "SELECT insp.enqueue_parts($1, '{FRONT}', $2, $3, $4)",
            [
                .text(answer[0]), .byteas([Data(hex(answer[1]))]), .bytes(Data(hex(answer[2]))),
                .bytes(Data(hex(answer[3]))),
            ])[0].string(0)
        let seal = try JobSeal(key, partner: site.partner)
        #expect(try seal.open(Data(hex(answer[1])), part: .front, 0) == Data("zqmark image".utf8))
        let values = try seal.values(Data(hex(answer[2])))
        #expect(values.userReference == "zqmark u")
        #expect(
            values.source(of: .back, 0, inPlaceOf: "https://img.example.com/x")?.url
                == "https://img.example.com/a?x=zqmark")
        // Its pseudonyms are the program's.
        let ours = try await RequestSealer(site.store).seal(
            payload: Data(payload.utf8), parts: Self.front, partner: site.partner)
        func object(_ data: Data) throws -> NSDictionary? {
            try JSONSerialization.jsonObject(with: data) as? NSDictionary
        }
        #expect(try object(ours.payload) == object(Data(answer[0].utf8)))
        #expect(ours.hmac == Data(hex(answer[3])))
        #expect(UUID(uuidString: id) != nil)
    }

    @Test func `Many who ask for keys at once get their own, or why it does not open`() async throws {
        let site = try await Site()
        let keys = try await site.store.jobKeys((0..<700).map { _ in KeyOwner(partner: site.partner) })
        let fresh = try site.keys.store()
        let wrong = try await withThrowingTaskGroup(of: Bool.self) { group in
            for key in keys {
                group.addTask {
                    try await fresh.key(key.id).secret.withBytes { Data($0) } != key.secret.withBytes { Data($0) }
                }
            }
            for _ in 0..<50 {
                group.addTask {
                    do { _ = try await fresh.key(.new()) } catch {
                        return (error as? InspectError)?.code != .keyUnknown
                    }
                    return true
                }
            }
            return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(wrong == 0)
    }

    @Test func `A document is joined without changing a number`() throws {
        let key = CustodyKey(id: .new(), kind: .job, partner: 7, parent: nil, secret: .random())
        let seal = try JobSeal(key, partner: 7)
        let body = seal.seal(result: Data(#" {"a": 0.1, "b": 1e21} "#.utf8))
        let values = Seal.seal(
            Data(#"{"userReference":"\"é/"}"#.utf8), under: key, for: SealContext(partner: 7, .personal))
        let whole = try seal.document(Data(#"{"status": 128}"#.utf8), sealed: values, body: body)
        #expect(
            String(decoding: whole, as: UTF8.self) == #"{"a": 0.1, "b": 1e21,"status": 128,"userReference":"\"é/"}"#)
        #expect(try seal.document(Data("{}".utf8), sealed: nil, body: nil) == Data("{}".utf8))
        let empty = Seal.seal(Data("{}".utf8), under: key, for: SealContext(partner: 7, .personal))
        #expect(try seal.document(Data(#"{"x": 1}"#.utf8), sealed: empty, body: nil) == Data(#"{"x": 1}"#.utf8))
    }
}
