import Custody
import Foundation
import InspectCore
import Synchronization
import TestSupport
import Testing

@testable import Inspection

struct PartFetcherTests {
    private let receiver: CallbackReceiver
    private let fetcher = PartFetcher()
    private let folder: URL
    private let content = [UInt8]((0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })

    init() throws {
        self.folder = FileManager.default.temporaryDirectory.appendingPathComponent("parts-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        try Data(self.content).write(to: self.folder.appendingPathComponent("front.jpg"))
        try Data().write(to: self.folder.appendingPathComponent("empty.jpg"))
        self.receiver = try CallbackReceiver(files: self.folder)
    }

    private var digest: String { SHA256.digest(self.content).hexadecimal }

    private func code(
        _ path: String, digest: String? = nil, limit: Int = 20_000_000, allowHTTP: Bool = true,
        allowPrivate: Bool = true, networks: [String]? = nil
    ) async throws -> ErrorCode? {
        defer { try? FileManager.default.removeItem(at: self.folder) }
        do {
            _ = try await self.fetcher.fetch(
                PartFetcher.Source(
                    url: path.hasPrefix("/") ? self.receiver.url(path) : path, expectedSHA256: digest,
                    allowHTTP: allowHTTP, allowPrivate: allowPrivate, networks: networks), .init(limit: limit))
            return nil
        } catch let error as InspectError {
            return error.code
        }
    }

    @Test func `Bytes are fetched unchanged`() async throws {
        defer { try? FileManager.default.removeItem(at: self.folder) }
        let url = self.receiver.url("/image?file=front.jpg")
        for expected in [self.digest, self.digest.uppercased(), nil] {
            let data = try await self.fetcher.fetch(
                PartFetcher.Source(url: url, expectedSHA256: expected, allowHTTP: true, allowPrivate: true),
                .init(limit: self.content.count))
            #expect([UInt8](data) == self.content)
        }
    }

    @Test func `Other bytes than the digest's are refused`() async throws {
        let other = String(repeating: "0", count: 64)
        #expect(try await self.code("/image?file=front.jpg", digest: other) == .digestMismatch)
    }

    @Test(arguments: ["", "00", String(repeating: "g", count: 64)])
    func `An invalid digest is refused before any request`(_ digest: String)
        async throws
    {
        #expect(try await self.code("/image?file=front.jpg", digest: digest) == .digestInvalid)
        #expect(try self.receiver.received().isEmpty)
    }

    @Test(arguments: [
        "/image?file=missing.jpg", "/gone", "/status/403", "/status/401", "/redirect", "/status/204", "/status/206",
    ])
    func `A permanent answer means that the part does not exist`(_ path: String) async throws {
        #expect(try await self.code(path) == .partNotFound)
    }

    @Test(arguments: ["/status/500", "/status/503", "/status/429", "/truncated"])
    func `A temporary failure can be retried`(_ path: String) async throws {
        #expect(try await self.code(path) == .partUnreachable)
        #expect(ErrorCode.partUnreachable.isRetryable)
    }

    @Test func `A closed port makes the part unreachable`() async throws {
        #expect(try await self.code("http://127.0.0.1:9/") == .partUnreachable)
    }

    @Test func `A body above the limit is too large`() async throws {
        #expect(try await self.code("/image?file=front.jpg", limit: 99_999) == .partTooLarge)
    }

    @Test func `A part of two gigabytes is refused`() async throws {
        #expect(try await self.code("/huge") == .partTooLarge)
    }

    @Test func `An endless body is too large`() async throws {
        #expect(try await self.code("/flood", limit: 1_000_000) == .partTooLarge)
    }

    @Test func `An empty body is refused`() async throws {
        #expect(try await self.code("/image?file=empty.jpg") == .partEmpty)
    }

    @Test func `Plain HTTP and private addresses need permission, and other schemes are refused`() async throws {
        #expect(try await self.code("/image?file=front.jpg", allowHTTP: false) == .partURLInvalid)
        #expect(try await self.code("/image?file=front.jpg", allowPrivate: false) == .partURLInvalid)
        #expect(try await self.code("ftp://127.0.0.1/front.jpg") == .partURLInvalid)
    }

    @Test func `Cancellation is no failure of the part`() async throws {
        defer { try? FileManager.default.removeItem(at: self.folder) }
        let hasBegun = Mutex(false)
        let bounds = PartFetcher.Bounds(limit: 1_000_000, within: .seconds(600)) { _ in
            hasBegun.withLock { $0 = true }
            return true
        }
        let task = Task {
            try await self.fetcher.fetch(
                PartFetcher.Source(
                    url: self.receiver.url("/drip"), expectedSHA256: nil, allowHTTP: true, allowPrivate: true), bounds)
        }
        try await waitUntil("bytes have come") { hasBegun.withLock { $0 } }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value(within: .seconds(120)) }
    }

    @Test func `A list of networks narrows what private addresses may be fetched from`() async throws {
        #expect(try await self.code("/image?file=front.jpg", networks: ["10.0.0.0/8"]) == .partURLInvalid)
        #expect(try await self.code("/image?file=front.jpg", networks: ["no network"]) == .partURLInvalid)
    }

    @Test func `The list allows its networks`() async throws {
        #expect(
            try await self.code("/image?file=front.jpg", allowPrivate: false, networks: ["127.0.0.0/8"]) == nil)
    }

    @Test(arguments: [
        "http://127.0.0.1:9/", "https://127.0.0.1:PORT/", "http://name.invalid/", "http://127.0.0.1:PORT/truncated",
        "http://127.0.0.1:PORT/status/500", "http://127.0.0.1:PORT/hang",
    ])
    func `Every failure of a host looks the same to the caller`(_ url: String) async throws {
        defer { try? FileManager.default.removeItem(at: self.folder) }
        let reasons = Mutex<[String]>([])
        let source = PartFetcher.Source(
            name: "FRONT", url: url.replacing("PORT", with: "\(self.receiver.port)"), expectedSHA256: nil,
            allowHTTP: true, allowPrivate: true)
        let error = await #expect(throws: InspectError.self) {
            try await self.fetcher.fetch([source], .init(limit: 1_000_000, within: .seconds(2)), total: 1_000_000) {
                name, reason in
                reasons.withLock { $0.append("\(name) \(reason)") }
            }
        }
        #expect(error == InspectError(.partUnreachable, "FRONT"))
        // The operator's log has the reason, without the URL.
        let reason = try #require(reasons.withLock { $0.first })
        #expect(!reason.contains("127.0.0.1") && !reason.contains("invalid/"))
    }

    @Test func `A name with a private address looks the same as a missing name`() async throws {
        defer { try? FileManager.default.removeItem(at: self.folder) }
        var errors: [InspectError] = []
        for host in ["localhost", "name.invalid"] {
            let source = PartFetcher.Source(
                url: self.receiver.url("/image?file=front.jpg", host: host), expectedSHA256: nil, allowHTTP: true)
            let error = await #expect(throws: InspectError.self) {
                try await self.fetcher.fetch(source, .init(limit: 1_000_000))
            }
            errors += error.map { [$0] } ?? []
        }
        #expect(errors == [InspectError(.partUnreachable), InspectError(.partUnreachable)])
    }

    private func sources(_ paths: [String]) -> [PartFetcher.Source] {
        paths.map {
            PartFetcher.Source(
                name: "FRAMES", url: self.receiver.url($0), expectedSHA256: nil, allowHTTP: true, allowPrivate: true)
        }
    }

    @Test(.timed) func `All parts of a job have one deadline`() async throws {
        defer { try? FileManager.default.removeItem(at: self.folder) }
        let start = ContinuousClock.now
        await #expect(throws: InspectError(.partUnreachable, "FRAMES")) {
            try await self.fetcher.fetch(
                self.sources(Array(repeating: "/hang", count: 12)), .init(limit: 1_000_000, within: .seconds(1)),
                total: 1_000_000)
        }
        #expect(ContinuousClock.now - start < .seconds(8))
    }

    @Test func `The parts of a job keep their order, up to the total limit`() async throws {
        defer { try? FileManager.default.removeItem(at: self.folder) }
        for number in 0..<9 {
            try Data([UInt8(number)]).write(to: self.folder.appendingPathComponent("\(number)"))
        }
        let paths = (0..<9).map { "/image?file=\($0)" }
        let parts = try await self.fetcher.fetch(self.sources(paths), .init(limit: 10), total: 9)
        #expect(parts.map { $0[0] } == Array(0..<9))
        await #expect(throws: InspectError(.partsTooLarge, "limit 8 bytes")) {
            try await self.fetcher.fetch(self.sources(paths), .init(limit: 10), total: 8)
        }
        #expect(!ErrorCode.partsTooLarge.isRetryable)
    }

    @Test func `Bytes are admitted before they are kept, an announced length at once`() async throws {
        defer { try? FileManager.default.removeItem(at: self.folder) }
        let asked = Mutex<[Int]>([])
        let bounds = { (limit: Int) in
            PartFetcher.Bounds(limit: 20_000_000) { bytes in
                asked.withLock {
                    $0.append(bytes)
                    return $0.reduce(0, +) <= limit
                }
            }
        }
        let image = self.sources(["/image?file=front.jpg"])
        #expect(try await self.fetcher.fetch(image, bounds(100_000), total: 1 << 20).first?.count == 100_000)
        #expect(asked.withLock { $0 } == [100_000])
        asked.withLock { $0 = [] }
        await #expect(throws: PartFetcher.NotAdmitted.self) {
            try await self.fetcher.fetch(image, bounds(99_999), total: 1 << 20)
        }
        #expect(asked.withLock { $0 } == [100_000])
        asked.withLock { $0 = [] }
        // No length announced: piece by piece.
        await #expect(throws: PartFetcher.NotAdmitted.self) {
            try await self.fetcher.fetch(self.sources(["/flood"]), bounds(1_000_000), total: 1 << 22)
        }
        #expect(asked.withLock { $0.count > 2 && $0.dropLast().reduce(0, +) <= 1_000_000 })
    }
}
