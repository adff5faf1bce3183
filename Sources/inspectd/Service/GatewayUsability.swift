import Analyzer
import Foundation
import Gateway
import InspectCore
import Inspection
import Synchronization

/// A gateway's analyzers, which judge images at once.
struct GatewayUsability {
    private let pool: AnalyzerPool
    let desk: UsabilityDesk

    /// Time for one request, once it has a process.
    private static let deadline = Duration.seconds(10)

    /// - Parameter count: Analyzers at once; four times as many requests may be under way or wait.
    init(_ configuration: Configuration, count: Int, onEvent: @escaping @Sendable (AnalyzerEvent) -> Void) {
        var analyzers = AnalyzerConfiguration(count: count)
        analyzers.executable = configuration.analyzer
        analyzers.arguments = [AnalyzerCommand.name, AnalyzerCommand.usability, configuration.models]
        let pool = AnalyzerPool(configuration: analyzers, onEvent: onEvent)
        self.pool = pool
        self.desk = UsabilityDesk(
            room: count * 4,
            judge: { images in
                try await UsabilityAnswer.judge(images, pool: pool, deadline: Self.deadline).verdict
            },
            show: { images in
                try await pool.withAnalyzer(parts: images.map { (kind: $0.name, bytes: $0.bytes) }) { session in
                    try await InspectionRunner.previews(session, deadline: Self.deadline)
                }
            })
    }

    /// Starts the processes. If none can be started, requests are refused until one can.
    func start() async { try? await self.pool.start() }

    func stop() async { await self.pool.stop() }
}
