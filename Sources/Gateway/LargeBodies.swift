internal import Foundation

/// Takes large bodies apart, a few at once and by turns of the partners, on threads of their own: those that answer everybody
/// else are not held up, and no more memory is used than so many bodies need.
final class LargeBodies: Sendable {
    /// Up to this size a body is taken apart where it is: that takes less than to hand it over.
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
