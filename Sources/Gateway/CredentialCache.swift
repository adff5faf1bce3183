internal import Foundation
internal import Synchronization

/// Caches the database's answers about credentials and throttles wrong ones.
///
/// Wrong credentials never cause a valid one to be refused: it is checked first. Throttled are wrong ones, by address and
/// by key id, and database queries for unknown ones.
final class CredentialCache: Sendable {
    private struct Known {
        var credential: GatewayCredential
        /// The database checks its rights at each call in any case.
        var isFreshUntil: ContinuousClock.Instant
    }

    private struct State {
        var known: [String: Known] = [:]
        /// Credentials that were recently wrong.
        var wrong: [Data: ContinuousClock.Instant] = [:]
    }

    private static let memory = Duration.seconds(30)
    private static let wrongMemory = Duration.seconds(5)
    private static let capacity = 10_000
    /// Concurrent queries about unknown credentials. Other calls keep the remaining connections.
    private static let questions = 2

    private let store: GatewayStore
    private let state = Mutex(State())
    private let gate = FairGate(CredentialCache.questions)

    init(_ store: GatewayStore) { self.store = store }

    /// Whether a credential was valid before: then limits by address do not apply.
    func knows(_ presented: PresentedCredential) -> Bool {
        self.state.withLock { $0.known[presented.keyID]?.credential }?.accepts(presented.secret) == true
    }

    /// Whether a key id is known to exist: wrong secrets then count against it.
    func knows(keyID: String) -> Bool { self.state.withLock { $0.known[keyID] != nil } }

    /// The credential, if it is valid; `nil` if it is wrong.
    func verify(_ presented: PresentedCredential, _ address: String) async throws -> GatewayCredential? {
        if let known = self.state.withLock({ $0.known[presented.keyID] }) {
            guard known.credential.accepts(presented.secret) else { return nil }
            if known.isFreshUntil > .now { return known.credential }
            return try await self.ask(presented)
        }
        let digest = presented.digest
        if self.state.withLock({ $0.wrong[digest].map { $0 > .now } ?? false }) { return nil }
        return try await self.gate.run(address) {
            if let credential = try await self.ask(presented) { return credential }
            self.state.withLock { state in
                if state.wrong.count > Self.capacity { state.wrong = [:] }
                state.wrong[digest] = .now + Self.wrongMemory
            }
            return nil
        }
    }

    private func ask(_ presented: PresentedCredential) async throws -> GatewayCredential? {
        let found = try await self.store.credential(
            keyID: presented.keyID, secretSHA256: presented.secretSHA256)
        return self.state.withLock { state in
            guard let found else {
                state.known[presented.keyID] = nil
                return nil
            }
            // The next wrong secret for this key id costs no query.
            if state.known.count > Self.capacity { state.known = state.known.filter { $0.value.isFreshUntil > .now } }
            state.known[presented.keyID] = Known(credential: found, isFreshUntil: .now + Self.memory)
            return found.accepts(presented.secret) ? found : nil
        }
    }
}
