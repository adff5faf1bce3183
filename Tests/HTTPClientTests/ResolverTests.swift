import Foundation
import Synchronization
import TestSupport
import Testing

@testable import HTTPClient

struct ResolverTests {
    private static let address = IPAddress("192.0.2.7")!

    /// A name server that answers only on command.
    private final class Silence: Sendable {
        private let isOver = Mutex(false)
        let asked = Mutex<[String]>([])
        /// Callers that have begun to ask.
        let callers = Mutex(0)

        var resolver: Resolver {
            Resolver { name in
                self.asked.withLock { $0.append(name) }
                if name.hasSuffix("hung.example") {
                    while !self.isOver.withLock({ $0 }) { Thread.sleep(forTimeInterval: 0.01) }
                }
                return .success([ResolverTests.address])
            }
        }

        func end() { self.isOver.withLock { $0 = true } }
    }

    @Test func `Look-ups that hang hold few threads and delay no other domain`() async throws {
        let silence = Silence()
        defer { silence.end() }
        let resolver = silence.resolver
        let hung = (0..<40).map { number in
            Task { await resolver.addresses(of: "n\(number).hung.example", within: .seconds(600)) }
        }
        // All of them ask, and no more than its domain's threads are held.
        try await waitUntil("as many ask as may") {
            silence.asked.withLock { $0.count } >= Resolver.threadsForDomain
        }
        for number in 0..<100 {
            let result = await resolver.addresses(of: "n\(number).other.example", within: .seconds(60))
            #expect((try? result.get()) == [Self.address])
        }
        #expect(
            silence.asked.withLock { $0.filter { $0.hasSuffix("hung.example") }.count } == Resolver.threadsForDomain)
        silence.end()
        for task in hung { #expect((try? await task.value(within: .seconds(120)).get()) == [Self.address]) }
    }

    @Test func `A look-up takes no longer than its caller allows`() async throws {
        let silence = Silence()
        defer { silence.end() }
        let resolver = silence.resolver
        guard case .failure(.silent) = await resolver.addresses(of: "hung.example", within: .milliseconds(100)) else {
            Issue.record("an answer came from nowhere")
            return
        }
        try await waitUntil("the name is asked for") { silence.asked.withLock { !$0.isEmpty } }
        // A second caller does not ask a second time.
        _ = await resolver.addresses(of: "hung.example", within: .milliseconds(100))
        #expect(silence.asked.withLock { $0 } == ["hung.example"])
    }

    @Test func `A cancelled look-up returns at once`() async throws {
        let silence = Silence()
        defer { silence.end() }
        let resolver = silence.resolver
        let task = Task { await resolver.addresses(of: "hung.example", within: .seconds(600)) }
        try await waitUntil("the name is asked for") { silence.asked.withLock { !$0.isEmpty } }
        task.cancel()
        guard case .failure(.silent) = try await task.value(within: .seconds(120)) else {
            Issue.record("an answer came from nowhere")
            return
        }
    }

    @Test func `One look-up serves all who ask for a name`() async throws {
        let silence = Silence()
        defer { silence.end() }
        let resolver = silence.resolver
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<50 {
                group.addTask {
                    silence.callers.withLock { $0 += 1 }
                    return (try? await resolver.addresses(of: "hung.example", within: .seconds(600)).get()) != nil
                }
            }
            try await waitUntil("all ask") {
                silence.callers.withLock { $0 } == 50 && silence.asked.withLock { !$0.isEmpty }
            }
            silence.end()
            for try await isFound in group { #expect(isFound) }
        }
        #expect(silence.asked.withLock { $0 } == ["hung.example"])
    }

    @Test func `The system's resolver knows local names`() throws {
        let addresses = try Resolver.system("localhost").get()
        #expect(addresses.contains(IPAddress("127.0.0.1")!) || addresses.contains(IPAddress("::1")!))
    }
}
