import Foundation

/// Runs what blocks or computes for long on a thread of its own: the threads of Swift's pool are for what else runs.
package func onOwnThread<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in
        Thread.detachNewThread { continuation.resume(returning: body()) }
    }
}
