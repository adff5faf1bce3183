package import InspectCore

/// What an ``AnalyzerPool`` starts and what it allows.
package struct AnalyzerConfiguration: Sendable {
    /// The running program itself, also after its file was replaced by an upgrade.
    package static let ownProgram = "/proc/self/exe"
    /// The program that calls ``AnalyzerServer/run(makeEngine:)``.
    package var executable = AnalyzerConfiguration.ownProgram
    /// Its arguments, without the program's name.
    package var arguments: [String] = ["analyzer"]
    /// What was forked already, in place of the first start of ``executable``.
    package var forked: ForkedParent?
    /// Variables on top of ``baseEnvironment``. Nothing of the worker's own environment is passed on.
    package var environment: [String: String] = [:]
    /// How many jobs run at once, each in a process of its own. As many processes again wait for the next ones.
    package var slots: Int
    /// Whether a process that is taken is followed by another. `false` where there is nothing more to do than one job.
    package var forksAhead = true
    /// Bytes of address space that a process may add to what its parent has mapped.
    ///
    /// An image at the decoder's limits takes 600 MB; the rest is what analysis needs beside it, and OpenBLAS's 128 MB.
    package var memoryLimit: UInt64 = 1536 << 20
    /// CPU seconds for one stage. A backstop for when the worker's deadline cannot act, so it is longer than that. A process
    /// that raises it gets no more than ``stagesOfAnAttempt`` times as much in its life.
    package var cpuSeconds: UInt64 = 60
    /// Acquired, document, face, liveness, and the previews of a report.
    static let stagesOfAnAttempt: UInt64 = 5
    /// How long a stage may take that is asked for without a deadline of its own.
    package var stageDeadline: Duration = .seconds(20)
    /// How long the parent may take to load its models.
    package var startDeadline: Duration = .seconds(60)
    /// The memory through which parts travel, in bytes: the most that all parts of one job may have together.
    /// Costs nothing until it is used.
    package var sharedMemory = 64 << 20
    /// The largest request and the largest reply in bytes.
    package var largestFrame = 16 << 20
    /// The parent is made anew after so many forks: all of them have the same addresses, and who learns them from one could use
    /// them on the next. Nobody waits for it: the old one serves until the new one has loaded its models.
    package var forksPerParent = 2000
    /// So is a parent of this age, if it has forked anything since.
    package var parentLifetime = Duration.seconds(1800)
    /// So is one of whose processes one crashed, since a wrong guess at an address is a crash; but not sooner than this after the
    /// last time, so that pictures that crash a decoder do not keep a core busy with loading models.
    package var restBetweenParents = Duration.seconds(5)

    package init(slots: Int) {
        precondition(slots > 0, "a pool needs a slot")
        self.slots = slots
    }

    /// For a program that ends after one job.
    package mutating func serveOneJob() {
        self.slots = 1
        self.forksAhead = false
    }

    /// The whole environment of an analyzer before ``environment``.
    ///
    /// One thread each for BLAS and OpenMP: the pool is the parallelism, and a fork copies one thread only. Swift's
    /// crash reporter is off, since it would start another program and keep a crashed process alive meanwhile.
    package static let baseEnvironment = [
        "LANG": "C.UTF-8",
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "OMP_THREAD_LIMIT": "1",
        "SWIFT_BACKTRACE": "enable=no",
    ]
}

/// Something that happened to a pool's processes, for logs and metrics. Free of personal data.
package enum AnalyzerEvent: Sendable {
    case parentStarted(pid: Int32, loadTime: Duration)
    /// The warm parent could not be started; the next attempt comes after `retry`.
    case parentFailed(reason: String, retry: Duration)
    /// The warm parent ended although the pool runs. `cause` is `nil` if it was not to be learnt.
    case parentEnded(pid: Int32, cause: String?)
    /// A warm parent has taken over from another, which ends when its processes have.
    case parentReplaced(pid: Int32, by: Int32, reason: ParentRenewal)
    /// The warm parent was to be made anew and could not; it serves on, and the next attempt comes after `retry`.
    case parentKept(reason: String, retry: Duration)
    case processStarted(forkTime: Duration)
    /// A job had to wait for its process, since none was ready.
    case processAwaited(Duration)
    /// An analyzer ended. `expected` for one whose job was over. `slot` is `nil` for one that had no job yet.
    /// `error`: what the loss means to a job; `nil` if it was expected, or cancelled.
    case processEnded(slot: Int?, end: ProcessEnd?, reason: String, error: ErrorCode?, expected: Bool)
}

/// Why a warm parent is made anew.
package enum ParentRenewal: String, Sendable {
    case crash, forks, age
}
