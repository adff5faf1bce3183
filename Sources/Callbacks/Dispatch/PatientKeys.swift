internal import Custody
internal import InspectCore
internal import Synchronization

/// The keys that sealed something in a claim, or why they do not open.
typealias OpenedKeys = [KeyID: Result<CustodyKey, InspectError>]

/// Asks the key store for the keys of a claim, and waits no longer than the claim's other callbacks can wait.
final class PatientKeys: Sendable {
    /// Well below the time-outs of the key store's connections. A KMS that is asked for its first keys needs some of it.
    private static let patience: Duration = .seconds(2)

    private let store: KeyStore
    /// Questions that nobody waits for any longer. While there is one, the next would wait just as long.
    private let late = Mutex(0)

    init(_ store: KeyStore) { self.store = store }

    func keys(_ ids: Set<KeyID>) async -> OpenedKeys {
        if ids.isEmpty { return [:] }
        guard self.late.withLock({ $0 }) == 0 else { return Self.unavailable(ids) }
        return await withCheckedContinuation { continuation in
            let answer = FirstAnswer(continuation)
            let patience = Task {
                try? await Task.sleep(for: Self.patience)
                guard !Task.isCancelled else { return }
                self.late.withLock { late in
                    if answer.give(Self.unavailable(ids)) { late += 1 }
                }
            }
            Task {
                let keys = await self.ask(ids)
                patience.cancel()
                self.late.withLock { late in
                    if !answer.give(keys) { late -= 1 }
                }
            }
        }
    }

    private func ask(_ ids: Set<KeyID>) async -> OpenedKeys {
        do throws(InspectError) {
            return try await self.store.keys(Array(ids))
        } catch {
            return Self.all(ids, error)
        }
    }

    private static func unavailable(_ ids: Set<KeyID>) -> OpenedKeys {
        self.all(ids, InspectError(.keysUnavailable, "the key store"))
    }

    /// None of them opens.
    static func all(_ ids: Set<KeyID>, _ error: InspectError) -> OpenedKeys {
        Dictionary(uniqueKeysWithValues: ids.map { ($0, .failure(error)) })
    }

    private final class FirstAnswer: Sendable {
        private let continuation: Mutex<CheckedContinuation<OpenedKeys, Never>?>

        init(_ continuation: CheckedContinuation<OpenedKeys, Never>) { self.continuation = Mutex(continuation) }

        /// - Returns: Whether it was the first one.
        func give(_ keys: OpenedKeys) -> Bool {
            let waiting = self.continuation.withLock { waiting in
                defer { waiting = nil }
                return waiting
            }
            waiting?.resume(returning: keys)
            return waiting != nil
        }
    }
}
