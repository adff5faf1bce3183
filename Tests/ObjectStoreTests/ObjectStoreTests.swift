import Foundation
import InspectCore
import TestSupport
import Testing

@testable import ObjectStore

/// The client against a server that checks each signature by its own arithmetic, which AWS's published examples prove.
struct ObjectStoreTests {
    private static let key = "01234567-89ab-7cde-8123-456789abcdef"

    private func store(_ stub: StubObjectStore, timeout: Duration = .seconds(30), pieceBytes: Int = 8 << 20) throws
        -> ObjectStore
    {
        ObjectStore(try ObjectStoreAddress(stub.setting), timeout: timeout, pieceBytes: pieceBytes)
    }

    private func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 7) }
    }

    private func piece(_ object: String, _ offset: Int, _ size: Int) -> ObjectStore.Piece {
        ObjectStore.Piece(ObjectLocation(object: object, offset: offset), size: size)
    }

    private func code(_ body: () async throws -> some Any) async -> ErrorCode? {
        do {
            _ = try await body()
            return nil
        } catch { return (error as? InspectError)?.code ?? .internalError }
    }

    private var soon: ContinuousClock.Instant { .now + .seconds(30) }

    @Test func `The server computes AWS's published signatures`() async throws {
        let check = try ChildProcess.spawn(
            "/usr/bin/python3", ["\(ScratchDatabase.root)/Tests/s3-server.py", "--check"])
        #expect(try await check.exitStatus() == 0)
    }

    @Test(arguments: [nil, "a/session+token=="])
    func `Objects are stored, fetched, listed and deleted`(token: String?) async throws {
        let stub = try StubObjectStore(token: token)
        let store = try self.store(stub)
        let object = store.address.newObject(key: Self.key)
        let bytes = self.bytes(100_000)
        try await store.put(bytes, at: object)
        let found = try await store.get(
            [self.piece(object, 99_000, 1_000), self.piece(object, 0, 10), self.piece(object, 10, 500)],
            until: self.soon)
        #expect(found.map { [UInt8]($0) } == [Array(bytes[99_000...]), Array(bytes[..<10]), Array(bytes[10..<510])])
        // What lies together is fetched together.
        #expect(stub.count("GET", 206) == 2)
        let page = try await store.list(after: nil)
        #expect(page.isLast)
        #expect(page.keys.map { store.address.object($0) } == [object])
        #expect(try await store.list(after: page.keys[0]).keys.isEmpty)
        try await store.delete(object)
        try await store.delete(object)
        #expect(
            await self.code { try await store.get([self.piece(object, 0, 10)], until: self.soon) } == .objectMissing)
        #expect(stub.requests.allSatisfy { !$0.hasSuffix(" 403") })
    }

    @Test func `A wrong secret is refused by the server`() async throws {
        let stub = try StubObjectStore()
        try Data("AKIDTEST secret".utf8).write(to: stub.folder.appendingPathComponent("credentials"))
        let store = try self.store(stub)
        let object = store.address.newObject(key: Self.key)
        let error = await #expect(throws: InspectError.self) { try await store.put([1], at: object) }
        #expect(error == InspectError(.objectStoreUnavailable, "HTTP status 403 SignatureDoesNotMatch"))
        #expect(stub.count("PUT", 403) == 1)
    }

    @Test func `A large range is fetched in pieces, after a torn connection from where it broke off`() async throws {
        let stub = try StubObjectStore()
        let store = try self.store(stub, pieceBytes: 1 << 20)
        let object = store.address.newObject(key: Self.key)
        let bytes = self.bytes(5 << 20)
        try await store.put(bytes, at: object)
        try stub.behave("torn 4")
        let found = try await store.get([self.piece(object, 1_000, (5 << 20) - 1_000)], until: self.soon)
        #expect([UInt8](found[0]) == Array(bytes[1_000...]))
        #expect(stub.requests.filter { $0.hasSuffix(" torn") }.count == 1)
        #expect(stub.count("GET", 206) == 5)
    }

    /// How the server behaves, the code that follows, and its detail; empty: not compared.
    private static let hostile: [(mode: String, code: ErrorCode, detail: String)] = [
        ("down", .objectStoreUnavailable, "HTTP status 503 SlowDown"),
        ("forbidden", .objectStoreUnavailable, "HTTP status 403 AccessDenied"),
        ("no-bucket", .objectStoreUnavailable, "HTTP status 404 NoSuchBucket"),
        ("proxy", .objectStoreUnavailable, "HTTP status 404"),
        ("redirect", .objectStoreUnavailable, "HTTP status 307"),
        ("cut", .digestMismatch, "the object has 32768 bytes"),
        ("short", .objectStoreUnavailable, "too few bytes"),
        ("long", .objectStoreUnavailable, ""),
        ("other-range", .objectStoreUnavailable, "the answer is not the requested range"),
        ("whole", .objectStoreUnavailable, "the answer is not the requested range"),
        ("endless", .objectStoreUnavailable, ""),
        ("headers", .objectStoreUnavailable, ""),
        ("torn 1", .objectStoreUnavailable, ""),
    ]

    @Test(arguments: Self.hostile)
    func `A hostile or failing server costs an error`(_ mode: String, code: ErrorCode, detail: String) async throws {
        let stub = try StubObjectStore()
        let store = try self.store(stub)
        let object = store.address.newObject(key: Self.key)
        try await store.put(self.bytes(65_536), at: object)
        try stub.behave(mode)
        // Each fault is noticed long before the deadline of the parts.
        let asking = Task { try await store.get([self.piece(object, 0, 65_536)], until: .now + .seconds(3600)) }
        let error = await #expect(throws: InspectError.self) { try await asking.value(within: .hangDeadline) }
        #expect(error?.code == code, "\(mode): \(error?.detail ?? "")")
        if !detail.isEmpty { #expect(error?.detail == detail) }
        try stub.behave("ok")
        #expect(try await store.get([self.piece(object, 0, 65_536)], until: self.soon)[0].count == 65_536)
    }

    @Test(.timed, arguments: ["drip", "hang"])
    func `A slow server is left at the deadline`(_ mode: String) async throws {
        let stub = try StubObjectStore()
        let store = try self.store(stub)
        let object = store.address.newObject(key: Self.key)
        try await store.put(self.bytes(1_000), at: object)
        try stub.behave(mode)
        let start = ContinuousClock.now
        let code = await self.code {
            try await store.get([self.piece(object, 0, 1_000)], until: start + .seconds(2))
        }
        #expect(code == .objectStoreUnavailable)
        #expect(ContinuousClock.now - start < .seconds(20))
    }

    @Test(arguments: ["bomb", "loop", "disorder", "endless", "headers", "down", "redirect"])
    func `A hostile listing costs an error`(_ mode: String) async throws {
        let stub = try StubObjectStore()
        let store = try self.store(stub)
        for _ in 0..<3 { try await store.put([1], at: store.address.newObject(key: Self.key)) }
        let first = try await store.list(after: nil)
        #expect(first.keys.count == 3)
        try stub.behave(mode)
        let code = await self.code { try await store.list(after: first.keys[1]) }
        // An endless answer is one to objects alone.
        let isHarmless = ["endless", "disorder"].contains(mode)
        #expect(code == (isHarmless ? nil : .objectStoreUnavailable), "\(mode)")
        if mode == "disorder" {
            #expect(await self.code { try await store.list(after: nil) } == .objectStoreUnavailable)
        }
    }

    @Test func `If nothing listens, the call ends`() async throws {
        let store = ObjectStore(
            try ObjectStoreAddress("http://127.0.0.1:9/parts?credentials-file=/dev/null"))
        let object = store.address.newObject(key: Self.key)
        #expect(await self.code { try await store.put([1], at: object) } == .objectStoreUnavailable)
    }

    @Test func `A store at a link-local address is not asked`() async throws {
        let setting = "https://169.254.169.254/parts?credentials-file=/dev/null"
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("keys-\(UUID().uuidString)")
        try Data("a b".utf8).write(to: folder)
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = ObjectStore(try ObjectStoreAddress(setting.replacing("/dev/null", with: folder.path)))
        let object = store.address.newObject(key: Self.key)
        let error = await #expect(throws: InspectError.self) { try await store.put([1], at: object) }
        #expect(
            error?.code == .objectStoreUnavailable && error?.detail.contains("egress policy") == true,
            "\(error?.detail ?? "")")
    }

    @Test func `Whether the bucket keeps versions is asked`() async throws {
        let stub = try StubObjectStore()
        let store = try self.store(stub)
        #expect(try await !store.keepsVersions())
        try stub.behave("versions")
        #expect(try await store.keepsVersions())
    }

    // MARK: Credentials

    @Test func `Keys of the machine's role come from the metadata service, and once for many requests`() async throws {
        let stub = try StubObjectStore(token: "session-token")
        let setting = stub.setting(credentials: "credentials=metadata:127.0.0.1:\(stub.port)")
        let store = ObjectStore(try ObjectStoreAddress(setting))
        let object = store.address.newObject(key: Self.key)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 { group.addTask { try await store.put([1], at: object) } }
            try await group.waitForAll()
        }
        #expect(stub.count("PUT", 200) == 8 + 1)
        #expect(stub.requests.filter { $0.contains("security-credentials/inspectd-role") }.count == 1)
    }

    @Test func `Keys that end soon are renewed, and used while the service is unavailable`() async throws {
        let stub = try StubObjectStore(token: "session-token")
        try stub.behave("short-lived")
        let setting = stub.setting(credentials: "credentials=metadata:127.0.0.1:\(stub.port)")
        let store = ObjectStore(try ObjectStoreAddress(setting))
        let object = store.address.newObject(key: Self.key)
        try await store.put([1], at: object)
        try await store.put([2], at: object)
        let asked = { stub.requests.filter { $0.contains("security-credentials/inspectd-role") }.count }
        #expect(asked() == 2)
        try stub.behave("no-metadata")
        try await store.put([3], at: object)
        #expect(asked() == 2)
    }

    @Test func `Without the metadata service, calls end with a code`() async throws {
        let stub = try StubObjectStore()
        try stub.behave("no-metadata")
        let setting = stub.setting(credentials: "credentials=metadata:127.0.0.1:\(stub.port)")
        let store = ObjectStore(try ObjectStoreAddress(setting))
        let object = store.address.newObject(key: Self.key)
        let error = await #expect(throws: InspectError.self) { try await store.put([1], at: object) }
        #expect(error == InspectError(.objectStoreUnavailable, "the metadata service: HTTP status 503"))
    }

    // MARK: Settings

    @Test func `Settings are read`() throws {
        let key = Self.key
        let path = try ObjectStoreAddress(
            "https://s3.example:9000/parts/a/b?region=eu-1&credentials-file=/k&ca-file=/c")
        let object = path.newObject(key: key, at: Date(timeIntervalSince1970: 0))
        #expect(object.hasPrefix("s3:parts/a/b/1970-01-01/\(key)/"))
        #expect(try path.url(of: object) == "https://s3.example:9000/parts" + object.dropFirst("s3:parts".count))
        #expect(
            path.listing(after: "x/y")
                == "https://s3.example:9000/parts/?list-type=2&prefix=a%2Fb%2F&start-after=a%2Fb%2Fx%2Fy")
        #expect(path.certificateAuthorities == "/c")
        let host = try ObjectStoreAddress("https://s3.example/parts?style=host&credentials=metadata")
        #expect(try host.url(of: "s3:parts/x") == "https://parts.s3.example/x")
        #expect(host.listing(after: nil) == "https://parts.s3.example/?list-type=2&prefix=")
        #expect(host.region == "us-east-1")
    }

    @Test(arguments: [
        "", "parts", "http://s3.example/parts?credentials-file=/k", "https://s3.example?credentials-file=/k",
        "https://s3.example/pa%20rts?credentials-file=/k", "https://s3.example/parts/../x?credentials-file=/k",
        "https://me:secret@s3.example/parts?credentials-file=/k", "https://s3.example/parts",
        "https://s3.example/parts?credentials-file=/k&credentials=metadata", "https://s3.example/parts?credentials=env",
        "https://s3.example/parts?credentials=metadata:name:80",
        "https://s3.example/parts?credentials=metadata:127.0.0.1",
        "https://s3.example/parts?credentials-file=/k&secret=x", "https://s3.example/parts?credentials-file=",
        "https://s3.example/parts?credentials-file=/k&style=other",
        "https://s3.example/parts?credentials-file=/k&region=a%20b",
        "https://s3.example/parts?credentials-file=/k#x", "ftp://s3.example/parts?credentials-file=/k",
    ])
    func `Other settings are refused`(_ setting: String) {
        #expect(throws: InspectError.self) { try ObjectStoreAddress(setting) }
    }

    @Test(arguments: [
        "s3:other/a/x", "s3:parts/b/x", "s3:parts/a/../b", "s3:parts/a//x", "s3:parts/a/", "s3:parts/a/x?y",
        "s3:parts/ax",
    ])
    func `Objects elsewhere are not asked for`(_ object: String) throws {
        let address = try ObjectStoreAddress("https://s3.example/parts/a?credentials-file=/k")
        let error = #expect(throws: InspectError.self) { try address.url(of: object) }
        #expect(error?.code == .objectStoreUnavailable)
    }

    @Test func `Locations are read and written`() {
        #expect(ObjectLocation("s3:a/b") == ObjectLocation(object: "s3:a/b", offset: 0))
        #expect(ObjectLocation("s3:a/b#17") == ObjectLocation(object: "s3:a/b", offset: 17))
        #expect(ObjectLocation("s3:a/b#17")?.text == "s3:a/b#17")
        #expect(ObjectLocation(object: "s3:a/b", offset: 0).text == "s3:a/b")
        for text in ["https://a/b", "s3:a/b#", "s3:a/b#-1", "s3:a/b#1#2", "s3:a/b#1234567890", "s3:a/b#x"] {
            #expect(ObjectLocation(text) == nil, "\(text)")
        }
    }
}
