internal import Dispatch

/// Runs an actor on its own dispatch queue, so that libpq may block without taking a thread from Swift's
/// cooperative pool.
final class QueueExecutor: SerialExecutor {
    let queue: DispatchQueue

    init(label: String) {
        self.queue = DispatchQueue(label: label)
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        self.queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    func checkIsolated() {
        dispatchPrecondition(condition: .onQueue(self.queue))
    }
}
