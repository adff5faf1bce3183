import Analyzer
import Foundation
import InspectCore
import Inspection
import Synchronization

/// A console's analyzers, which make previews of images: the console itself opens none.
final class ConsoleAnalyzers: Sendable {
    private let pool: AnalyzerPool
    private let room: Int
    private let busy = Mutex(0)

    /// Time for an image, once there is a process.
    private static let deadline = Duration.seconds(10)

    /// - Parameter count: Analyzers at once; 16 times as many requests may be under way or wait.
    init(_ configuration: Configuration, count: Int, onEvent: @escaping @Sendable (AnalyzerEvent) -> Void) {
        var analyzers = AnalyzerConfiguration(count: count)
        analyzers.executable = configuration.analyzer
        analyzers.arguments = [AnalyzerCommand.name, AnalyzerCommand.usability]
        self.pool = AnalyzerPool(configuration: analyzers, onEvent: onEvent)
        self.room = count * 16
    }

    /// - Parameter load: Fetches the images, once there is room for them.
    /// - Throws: ``InspectError`` with ``ErrorCode/gatewayOverloaded`` if too many wait, and what `load` throws.
    func show(
        _ load: @Sendable () async throws -> [(name: String, bytes: Data)]
    ) async throws -> [String: Preview] {
        let isFull = self.busy.withLock { busy in
            if busy < self.room { busy += 1 } else { return true }
            return false
        }
        guard !isFull else { throw InspectError(.gatewayOverloaded) }
        defer { self.busy.withLock { $0 -= 1 } }
        let images = try await load()
        return try await self.pool.withAnalyzer(parts: images.map { (kind: $0.name, bytes: $0.bytes) }) { session in
            try await InspectionRunner.previews(session, deadline: Self.deadline)
        }
    }

    /// Starts the processes. If none can be started, images are not shown until one can.
    func start() async { try? await self.pool.start() }

    func stop() async { await self.pool.stop() }
}
