internal import Foundation

/// Parses large bodies on separate threads, a few at once, taking partners in turn. This does not delay other requests
/// and bounds the memory.
final class LargeBodies: Sendable {
    /// Up to this size, parsing in place is cheaper than handing the body over.
    private static let small = 64 * 1024

    private let gate = FairGate(max(1, ProcessInfo.processInfo.activeProcessorCount / 2))
    private let queue = DispatchQueue(label: "bodies", qos: .utility, attributes: .concurrent)

    func parse<Request: Sendable>(
        _ partner: String, _ body: Data, _ parser: @escaping @Sendable (Data) throws -> Request
    ) async throws -> Request {
        guard body.count > Self.small else { return try parser(body) }
        return try await self.gate.run(partner) {
            try await withCheckedThrowingContinuation { continuation in
                self.queue.async { continuation.resume(with: Swift.Result { try parser(body) }) }
            }
        }
    }
}
