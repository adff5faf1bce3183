internal import Foundation
package import InspectCore
internal import Synchronization

/// Inspects jobs once more with other analyzers, those of a program with other models for example. No job waits for it, and no result
/// changes.
package final class ShadowAnalysis: Sendable {
    /// Why a job was not inspected once more.
    package enum Omission: String, Sendable, CaseIterable {
        /// Another job is being inspected: only one at a time is, so that jobs keep the processors.
        case busy = "busy"
        /// The analyzer failed.
        case failed = "failed"
        /// The job compares with stored templates, which another network's embeddings cannot be compared with.
        case unsuitable = "unsuitable"
    }

    private let runner: InspectionRunner
    private let changes: LimitChanges
    private let isBusy = Atomic(false)

    /// - Parameters:
    ///   - runner: With the other analyzers, and the calibration of their engine.
    ///   - changes: Limits that these inspections are decided by; none stays as it is in an empty one.
    package init(runner: InspectionRunner, changes: LimitChanges) {
        self.runner = runner
        self.changes = changes
    }

    /// Inspects the parts of a decided inspection once more. Nothing of the inspection is used but a vendor's answer, which is not asked for
    /// twice.
    package func compare(
        _ outcome: InspectionRunner.Outcome, of request: InspectionRequest, _ parts: [InspectionRunner.Part]
    ) async throws -> InspectionRunner.Shadow {
        let answer = try outcome.facts.liveness.map { try JSONEncoder().encode($0) }
        return try await self.changes.whileInForce {
            let other = try await self.runner.inspect(request, parts: parts) { _, _ in answer ?? Data() }
            return InspectionRunner.Shadow(
                comparison: ShadowComparison(
                    of: outcome.document, facts: outcome.facts, today: outcome.today, with: other.document,
                    facts: other.facts, changes: self.changes),
                cpuSeconds: other.facts.cpuMs / 1000)
        }
    }

    /// Begins to inspect a job once more, and returns.
    ///
    /// - Parameter report: Called once, sooner or later.
    package func begin(
        _ outcome: InspectionRunner.Outcome, of request: InspectionRequest, _ parts: [InspectionRunner.Part],
        report: @escaping @Sendable (Result<InspectionRunner.Shadow, Omitted>) -> Void
    ) {
        guard !request.workflow.namesFace else { return report(.failure(Omitted(reason: .unsuitable))) }
        guard self.isBusy.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing).exchanged
        else { return report(.failure(Omitted(reason: .busy))) }
        Task.detached(priority: .background) {
            defer { self.isBusy.store(false, ordering: .releasing) }
            do {
                report(.success(try await self.compare(outcome, of: request, parts)))
            } catch {
                report(.failure(Omitted(reason: .failed)))
            }
        }
    }

    /// A job was not compared; it is counted, and its result is unaffected.
    package struct Omitted: Error {
        /// Becomes the metric's label.
        package var reason: Omission
    }
}
