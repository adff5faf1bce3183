package import Foundation
internal import InspectCore
internal import Synchronization

extension PartFetcher {
    /// Parts of one job fetched at once: a job may have hundreds of frames, and fetching one at a time takes too long.
    private static let parallel = 4

    /// Fetches all parts of one job, a few at once, under a common deadline.
    ///
    /// - Parameters:
    ///   - bounds: Limits for each part; the deadline and the total are common to all.
    ///   - total: Bytes accepted of all parts together. A part whose `Content-Length` exceeds it is refused before its body
    ///     is read; so is every further byte.
    ///   - report: Called with the fault and the part's name, for the log; without the URL.
    /// - Returns: The parts, in their order.
    /// - Throws: As ``fetch(_:_:report:)`` with the part's name as detail; ``InspectError`` with `PARTS_TOO_LARGE`.
    package func fetch(
        _ sources: [Source], _ bounds: Bounds, total: Int,
        report: @escaping @Sendable (_ name: String, _ reason: String) -> Void = { _, _ in }
    ) async throws -> [Data] {
        let count = ByteCount(limit: total)
        var bounds = bounds
        let admits = bounds.admits
        bounds.admits = { count.take($0) && admits?($0) ?? true }
        return try await withThrowingTaskGroup(of: (Int, Data).self) { group in
            var started = 0
            func start() {
                guard started < sources.count else { return }
                let (index, source, bounds) = (started, sources[started], bounds)
                started += 1
                group.addTask {
                    do {
                        return (index, try await self.fetch(source, bounds) { report(source.name, $0) })
                    } catch is NotAdmitted where count.isExceeded {
                        throw InspectError(.partsTooLarge, "limit \(total) bytes")
                    } catch let error as InspectError {
                        // The part's name, never the URL: it may carry a signature that opens the object.
                        throw InspectError(
                            error.code, [source.name, error.detail].filter { !$0.isEmpty }.joined(separator: ": "))
                    }
                }
            }
            for _ in 0..<Self.parallel { start() }
            var parts = [Data](repeating: Data(), count: sources.count)
            while let (index, data) = try await group.next() {
                parts[index] = data
                start()
            }
            return parts
        }
    }

    /// The running total of one job's parts.
    private final class ByteCount: Sendable {
        private let left: Mutex<(bytes: Int, isExceeded: Bool)>

        init(limit: Int) { self.left = Mutex((limit, false)) }

        var isExceeded: Bool { self.left.withLock { $0.isExceeded } }

        func take(_ bytes: Int) -> Bool {
            self.left.withLock { left in
                guard bytes <= left.bytes else {
                    left.isExceeded = true
                    return false
                }
                left.bytes -= bytes
                return true
            }
        }
    }
}
