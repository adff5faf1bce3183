internal import CSystem
package import InspectCore
internal import Vision

/// The programs and limits of an ``AnalyzerPool``.
package struct AnalyzerConfiguration: Sendable {
    /// The running program itself, also after its file was replaced by an upgrade.
    package static let ownProgram = "/proc/self/exe"
    /// The program that calls ``AnalyzerServer/run(makeEngine:)``.
    package var executable = AnalyzerConfiguration.ownProgram
    /// Its arguments, without the program's name.
    package var arguments: [String] = ["analyzer"]
    /// A parent that was forked already, instead of the first start of ``executable``.
    package var forked: ForkedParent?
    /// Variables in addition to ``baseEnvironment``. Nothing of the worker's own environment is passed on.
    package var environment: [String: String] = [:]
    /// How many analyzers work at once, each on one job. The same number of processes wait for the next jobs.
    package var count: Int
    /// Whether each process in use is replaced by another in reserve. `false` if there is only one job.
    var forksAhead = true
    /// Bytes of address space that a process may add to what its parent has mapped.
    ///
    /// An image at the decoder's limits takes 600 MB; the rest is for analysis and OpenBLAS's 128 MB.
    package var memoryLimit: UInt64 = 1536 << 20
    /// CPU seconds for one stage. A backstop for the worker's deadline, and therefore longer. A process that raises it gets at
    /// most ``stagesOfAnAttempt`` times as much in all.
    package var cpuSeconds: UInt64 = 60
    /// Acquired, document, face, liveness, and a report's previews.
    static let stagesOfAnAttempt: UInt64 = 5
    /// How long a stage without its own deadline may take.
    package var stageDeadline: Duration = .seconds(20)
    /// How long the parent may take to load its models.
    var startDeadline: Duration = .seconds(60)
    /// The size of the memory for a job's parts, in bytes, and so the largest size of all parts of one job. Costs nothing until
    /// used.
    package var sharedMemory = 64 << 20
    /// The largest request and the largest reply in bytes.
    package var largestFrame = 16 << 20
    /// The parent is renewed after this many forks: all have the same addresses, and an attacker who learns them from one
    /// could use them on the next. No job waits: the old parent serves until the new one has loaded its models.
    var forksPerParent = 2000
    /// A parent of this age is renewed too, if it has forked any process.
    var parentLifetime = Duration.seconds(1800)
    /// Returns a parent's age, in nanoseconds like `csys_now_nanoseconds()`.
    var clock: @Sendable () -> UInt64 = { csys_now_nanoseconds() }
    /// A crash of one of its processes renews a parent too, since a wrong guess at an address causes a crash; but not sooner than
    /// this after the last renewal, so that images that crash a decoder do not keep a core busy with loading models.
    var restBetweenParents = Duration.seconds(5)

    package init(count: Int) {
        precondition(count > 0, "a pool needs an analyzer")
        self.count = count
    }

    /// For a program that ends after one job.
    package mutating func serveOneJob() {
        self.count = 1
        self.forksAhead = false
    }

    /// The whole environment of an analyzer before ``environment``.
    ///
    /// One thread each for BLAS and OpenMP: parallelism comes from the pool, and a fork copies one thread only. Swift's crash
    /// reporter is off, since it would start another program and keep a crashed process alive meanwhile. OpenBLAS chooses its kernels
    /// when it is loaded: if it does not know the processor, the environment names one with the same registers.
    static let baseEnvironment = {
        var environment = [
            "LANG": "C.UTF-8",
            "OPENBLAS_NUM_THREADS": "1",
            "OMP_NUM_THREADS": "1",
            "OMP_THREAD_LIMIT": "1",
            "SWIFT_BACKTRACE": "enable=no",
        ]
        environment["OPENBLAS_CORETYPE"] = VisionLibraries.blasCore
        return environment
    }()
}

/// An event of a pool's processes, for logs and metrics. Contains no personal data.
package enum AnalyzerEvent: Sendable {
    case parentStarted(pid: Int32, loadTime: Duration)
    /// The warm parent could not be started; the next attempt comes after `retry`.
    case parentFailed(reason: String, retry: Duration)
    /// The warm parent ended although the pool runs. `cause` is `nil` if unknown.
    case parentEnded(pid: Int32, cause: String?)
    /// A warm parent has replaced another, which ends with its last process.
    case parentReplaced(pid: Int32, by: Int32, reason: ParentRenewal)
    /// The renewal of the warm parent failed. It continues to serve, and the next attempt comes after `retry`.
    case parentKept(reason: String, retry: Duration)
    case processStarted(forkTime: Duration)
    /// A job had to wait because no process was ready.
    case processAwaited(Duration)
    /// An analyzer ended. `expected` if its job was over. `driver` is `nil` if it had no job yet. `error` is the job's error; `nil`
    /// if the end was expected or the job was cancelled.
    case processEnded(driver: Int?, end: ProcessEnd?, reason: String, error: ErrorCode?, expected: Bool)
}

/// Why a warm parent is renewed.
package enum ParentRenewal: String, Sendable {
    case crash = "crash"
    case forks = "forks"
    case age = "age"
}
