internal import Foundation
internal import Synchronization

/// Who may call: what the database said of credentials, and how often wrong ones come.
///
/// A right credential is never refused for others' wrong ones. It is looked at first, by itself; what is throttled is the
/// answer to wrong ones, by address and by key id, and the database's work for those that nobody has seen yet.
final class CredentialCache: Sendable {
    private struct Known {
        var credential: GatewayCredential
        /// What it may do is checked by the database at each call all the same.
        var isFreshUntil: ContinuousClock.Instant
    }

    private struct State {
        var known: [String: Known] = [:]
        /// Credentials that were wrong a moment ago.
        var wrong: [Data: ContinuousClock.Instant] = [:]
    }

    private static let memory = Duration.seconds(30)
    private static let wrongMemory = Duration.seconds(5)
    private static let capacity = 10_000
    /// Questions about unknown credentials at once, whoever asks. Others have the database's other connections.
    private static let questions = 2

    private let store: GatewayStore
    private let state = Mutex(State())
    private let gate = FairGate(CredentialCache.questions)

    init(_ store: GatewayStore) { self.store = store }

    /// Whether a credential was right before: then its address has no say in it.
    func knows(_ presented: PresentedCredential) -> Bool {
        self.state.withLock { $0.known[presented.keyID]?.credential }?.accepts(presented.secret) == true
    }

    /// Whether a key id exists, as far as that is known: guesses at its secret count for it.
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
            // The next guess at this key id costs no question.
            if state.known.count > Self.capacity { state.known = state.known.filter { $0.value.isFreshUntil > .now } }
            state.known[presented.keyID] = Known(credential: found, isFreshUntil: .now + Self.memory)
            return found.accepts(presented.secret) ? found : nil
        }
    }
}
