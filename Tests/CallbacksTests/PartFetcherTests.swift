import Foundation
import InspectCore
import TestSupport
import Testing

@testable import Callbacks

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

    private var digest: String { sha256(self.content).map { String(format: "%02x", $0) }.joined() }

    private func code(
        _ path: String, digest: String? = nil, limit: Int = 20_000_000, allowHTTP: Bool = true,
        allowPrivate: Bool = true
    ) async throws -> ErrorCode? {
        defer { try? FileManager.default.removeItem(at: self.folder) }
        do {
            _ = try await self.fetcher.fetch(
                url: path.hasPrefix("/") ? self.receiver.url(path) : path, expectedSHA256: digest, limit: limit,
                allowHTTP: allowHTTP, allowPrivate: allowPrivate)
            return nil
        } catch let error as InspectError {
            return error.code
        }
    }

    @Test func fetchesUnchangedBytes() async throws {
        defer { try? FileManager.default.removeItem(at: self.folder) }
        let url = self.receiver.url("/image?file=front.jpg")
        for expected in [self.digest, self.digest.uppercased(), nil] {
            let data = try await self.fetcher.fetch(
                url: url, expectedSHA256: expected, limit: self.content.count, allowHTTP: true, allowPrivate: true)
            #expect([UInt8](data) == self.content)
        }
    }

    @Test func otherBytesAreDigestMismatch() async throws {
        let other = String(repeating: "0", count: 64)
        #expect(try await self.code("/image?file=front.jpg", digest: other) == .digestMismatch)
    }

    @Test(arguments: ["", "00", String(repeating: "g", count: 64)]) func badDigestIsRefused(_ digest: String)
        async throws
    {
        #expect(try await self.code("/image?file=front.jpg", digest: digest) == .digestInvalid)
        #expect(try self.receiver.received().isEmpty)
    }

    @Test(arguments: [
        "/image?file=missing.jpg", "/gone", "/status/403", "/status/401", "/redirect", "/status/204", "/status/206",
    ])
    func permanentAnswerIsNotFound(_ path: String) async throws {
        #expect(try await self.code(path) == .partNotFound)
    }

    @Test(arguments: ["/status/500", "/status/503", "/status/429", "/truncated"])
    func passingAnswerIsUnreachable(_ path: String) async throws {
        #expect(try await self.code(path) == .partUnreachable)
        #expect(ErrorCode.partUnreachable.isRetryable)
    }

    @Test func closedPortIsUnreachable() async throws {
        #expect(try await self.code("http://127.0.0.1:9/") == .partUnreachable)
    }

    @Test func bodyAboveLimitIsTooLarge() async throws {
        #expect(try await self.code("/image?file=front.jpg", limit: 99_999) == .partTooLarge)
    }

    @Test func twoGigabytesAreRefusedFromTheHeader() async throws {
        let start = ContinuousClock.now
        #expect(try await self.code("/huge") == .partTooLarge)
        #expect(ContinuousClock.now - start < .seconds(20))
    }

    @Test func endlessBodyIsTooLarge() async throws {
        #expect(try await self.code("/flood", limit: 1_000_000) == .partTooLarge)
    }

    @Test func emptyBodyIsRefused() async throws {
        #expect(try await self.code("/image?file=empty.jpg") == .partEmpty)
    }

    @Test func addressAndSchemeNeedPermission() async throws {
        #expect(try await self.code("/image?file=front.jpg", allowHTTP: false) == .partURLInvalid)
        #expect(try await self.code("/image?file=front.jpg", allowPrivate: false) == .partURLInvalid)
        #expect(try await self.code("ftp://127.0.0.1/front.jpg") == .partURLInvalid)
    }

    @Test func cancellationIsNoFailureOfThePart() async throws {
        defer { try? FileManager.default.removeItem(at: self.folder) }
        let task = Task {
            try await self.fetcher.fetch(
                url: self.receiver.url("/hang"), expectedSHA256: nil, limit: 1, allowHTTP: true, allowPrivate: true)
        }
        try await Task.sleep(for: .milliseconds(100))
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}
