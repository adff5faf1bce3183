package import InspectCore

/// A key outside the database that wraps partners' keys: in a file, in a PKCS#11 token or in a KMS.
///
/// Calls may take seconds, so each process asks once for a partner and keeps the answer (``KeyStore``).
package protocol WrappingKey: Sendable {
    /// The name by which the database and the key store know it.
    var id: String { get }

    /// - Parameter associated: The names of the key (``KeyWrap/associated(_:_:partner:parent:)``).
    /// - Throws: ``InspectError`` with ``ErrorCode/keysUnavailable`` if the holder of the wrapping key does not answer, or answers incorrectly:
    ///   the call may be repeated.
    func wrap(_ key: SecretKey, _ associated: [UInt8]) async throws(InspectError) -> [UInt8]

    /// - Throws: ``InspectError`` with ``ErrorCode/sealBroken`` if this wrapping key did not wrap it, or for another name; with
    ///   ``ErrorCode/keysUnavailable`` as in ``wrap(_:_:)``.
    func unwrap(_ wrapped: [UInt8], _ associated: [UInt8]) async throws(InspectError) -> SecretKey

    /// Wraps a key again that this one has wrapped.
    func rewrap(_ wrapped: [UInt8], _ associated: [UInt8]) async throws(InspectError) -> [UInt8]
}

extension WrappingKey {
    /// Unwraps and wraps, for holders without their own operation.
    package func rewrap(_ wrapped: [UInt8], _ associated: [UInt8]) async throws(InspectError) -> [UInt8] {
        try await self.wrap(try await self.unwrap(wrapped, associated), associated)
    }
}

/// The wrapping keys of a process. During a rotation these are two: the new one wraps, both unwrap.
package struct WrappingKeys: Sendable {
    private let keys: [String: any WrappingKey]

    /// - Throws: ``InspectError`` with ``ErrorCode/keyMismatch`` if two have the same name.
    package init(_ keys: [any WrappingKey]) throws(InspectError) {
        var named: [String: any WrappingKey] = [:]
        for key in keys {
            guard named.updateValue(key, forKey: key.id) == nil else {
                throw InspectError(.keyMismatch, "two wrapping keys have the name \(key.id)")
            }
        }
        self.keys = named
    }

    /// Sorted.
    package var ids: [String] { self.keys.keys.sorted() }

    /// - Throws: ``InspectError`` with ``ErrorCode/keyMissing`` if the process has none, with ``ErrorCode/keyMismatch`` if it has only
    ///   others.
    package func key(_ id: String) throws(InspectError) -> any WrappingKey {
        if let key = self.keys[id] { return key }
        guard !self.keys.isEmpty else { throw InspectError(.keyMissing, "no wrapping key is configured") }
        throw InspectError(
            .keyMismatch, "the wrapping key \(id) is needed, and this process has \(self.ids.joined(separator: ", "))")
    }

    /// The rule for names of wrapping keys.
    static func isName(_ text: String) -> Bool {
        text.wholeMatch(of: /[A-Za-z0-9][A-Za-z0-9._-]{0,63}/) != nil
    }
}

/// Stops asking a holder of keys that does not answer: for 0.5 s after the first failure, twice as long after each further one, up
/// to 30 s. Meanwhile, callers are refused at once instead of waiting for a time-out each.
struct Breather: Sendable {
    private var backoff = Backoff(from: .milliseconds(500), to: .seconds(30))
    private var until: ContinuousClock.Instant?

    func isOver(_ now: ContinuousClock.Instant = .now) -> Bool { self.until.map { $0 <= now } ?? true }

    mutating func fail(_ now: ContinuousClock.Instant = .now) {
        // Failures of calls that began before it count once.
        guard self.isOver(now) else { return }
        self.until = now + self.backoff.next(1)
    }

    mutating func succeed() { self = Breather() }
}
