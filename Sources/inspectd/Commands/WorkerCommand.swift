import Analyzer
import Callbacks
import Custody
import Dispatch
import Foundation
import HTTPClient
import HTTPServer
import InspectCore
import Inspection
import JobQueue
import ObjectStore

extension Command {
    static let worker = Command(
        name: "worker",
        summary: "claims jobs, inspects them and posts callbacks, until stopped",
        synopsis: "[--slots N] [--lanes urgent,normal,bulk] [--region R] [--roles inspect,callback,maintain] [--drain]",
        options: [
            .value("slots", "N", "jobs at once, each on an analyzer process; by default one per core"),
            .value("lanes", "LIST", "lanes to serve, most urgent first [urgent,normal,bulk]"),
            .value(
                "region", "REGION",
                "claims this region's jobs and callbacks, and those without a region [INSPECTD_REGION]"),
            .value("roles", "LIST", "inspect, callback, maintain [all three]"),
            .flag("drain", "exits when the queue is empty and no callback is due"),
            .value("stop-after", "SECONDS", "time for running jobs on SIGTERM, after which they are released [20]"),
            .value(
                "callback-timeout", "SECONDS",
                "time for one attempt of a callback; its claim lapses after four times that [15]"),
            .value(
                "callback-proxy", "URL",
                "HTTP proxy for callbacks, asked for tunnels to vetted addresses [INSPECTD_CALLBACK_PROXY]"),
            .list(
                "callback-source", "ADDRESS",
                "source address of callbacks, one for IPv4 and one for IPv6 [INSPECTD_CALLBACK_SOURCE]"),
            .value("stage-deadline", "SECONDS", "an analyzer that takes longer for one stage is killed [30]"),
            .value(
                "fetch-permits", "N",
                "jobs that may wait for other servers at once, outside the slots; a quarter for one partner [4 per slot, at least 8]"
            ),
            .value("fetch-memory", "MIB", "memory for all of these jobs together; at least 64 [256]"),
            .value(
                "fetch-deadline", "SECONDS",
                "time for all parts of one job, by URL and from the object store; also for its key, at most 60 [60]"
            ),
            .health,
            .list(
                "decryption-key", "FILE",
                "PEM RSA key for encrypted parts; its file's name is the key id; may be repeated [INSPECTD_DECRYPTION_KEYS]"
            ),
            ShadowFile.option,
            .value("listen-url", "URL", "direct connection for LISTEN, if the database URL leads to a pooler"),
        ] + Configuration.trustOptions + Configuration.databaseOptions + Configuration.keyOptions
            + Configuration.objectStoreOptions + Configuration.analyzerOptions + Configuration.logOptions,
        body: { arguments in
            let configuration = try Configuration(arguments)
            let roles = try Roles(arguments["roles"] ?? "inspect,callback,maintain")
            let service = try WorkerService(configuration, arguments, roles: roles)
            try await service.run()
        }
    )

    /// The roles of a worker process.
    struct Roles: OptionSet, Sendable {
        let rawValue: Int
        static let inspect = Roles(rawValue: 1)
        static let callback = Roles(rawValue: 2)
        static let maintain = Roles(rawValue: 4)

        init(rawValue: Int) { self.rawValue = rawValue }

        init(_ list: String) throws(UsageError) {
            self = []
            for name in list.split(separator: ",") {
                switch name {
                case "inspect": self.insert(.inspect)
                case "callback": self.insert(.callback)
                case "maintain": self.insert(.maintain)
                default: throw UsageError("--roles takes inspect, callback and maintain, not \(name)")
                }
            }
            guard !self.isDisjoint(with: [.inspect, .callback]) else {
                throw UsageError("--roles needs inspect or callback")
            }
        }
    }
}

/// Wires a worker's parts together (analyzers, queue, dispatcher) and stops them in order.
private struct WorkerService {
    let log: Log
    let roles: Command.Roles
    let drains: Bool
    let configuration: Configuration
    let analyzers: AnalyzerConfiguration
    let queue: JobWorkerConfiguration
    let callbacks: CallbackConfiguration
    let decryption: PartDecryption
    let stageDeadlineSeconds: Int
    let fetchDeadlineSeconds: Int
    let healthAddress: ListenAddress?
    let objectStore: ObjectStoreAddress?
    let shadow: ShadowFile?

    init(_ configuration: Configuration, _ arguments: Arguments, roles: Command.Roles) throws {
        self.configuration = configuration
        self.log = configuration.log
        self.roles = roles
        self.drains = arguments.has("drain")
        self.analyzers = try configuration.analyzerConfiguration(arguments, countOption: "slots")
        self.objectStore = try configuration.objectStoreAddress()
        self.stageDeadlineSeconds = try arguments.integer("stage-deadline", in: 1...3600) ?? 30
        self.fetchDeadlineSeconds = try arguments.integer("fetch-deadline", in: 1...240) ?? 60
        for source in configuration.wrappingKeys.split(whereSeparator: \.isWhitespace) where source.hasPrefix("file:") {
            try InputFile.check(String(source.dropFirst("file:".count)), of: "--wrapping-keys")
        }
        for path in configuration.decryptionKeys { try InputFile.check(path, of: "--decryption-key") }
        do {
            self.decryption = try PartDecryption(keys: configuration.decryptionKeys.map { URL(fileURLWithPath: $0) })
        } catch {
            throw UsageError("--decryption-key: \(error.detail)")
        }

        self.shadow = try arguments["shadow"].map(ShadowFile.read)
        self.healthAddress = try configuration.healthAddress()

        let host = ProcessInfo.processInfo.hostName
        let listenURL = arguments["listen-url"] ?? configuration.databaseURL
        var queue = JobWorkerConfiguration(
            databaseURL: configuration.databaseURL, host: host, version: Version.current, slots: self.analyzers.count)
        queue.listenURL = listenURL
        queue.region = arguments["region"] ?? configuration.region
        queue.maintains = roles.contains(.maintain)
        queue.drains = self.drains
        queue.publicKeys = self.decryption.publicKeys
        if let permits = try arguments.integer("fetch-permits", in: 1...10_000) { queue.outside.permits = permits }
        if let size = try arguments.integer("fetch-memory", in: 64...1_048_576) { queue.outside.bytes = size << 20 }
        if let seconds = try arguments.integer("stop-after", in: 0...3600) {
            queue.shutdownDeadline = .seconds(seconds)
        }
        if let lanes = arguments["lanes"] {
            let names = ["urgent": 0, "normal": 1, "bulk": 2]
            var chosen: [Int] = []
            for name in lanes.split(separator: ",") {
                guard let lane = names[String(name)] else {
                    throw UsageError("--lanes takes urgent, normal and bulk, not \(name)")
                }
                if !chosen.contains(lane) { chosen.append(lane) }
            }
            guard !chosen.isEmpty else { throw UsageError("--lanes takes urgent, normal and bulk") }
            queue.lanes = chosen
        }
        self.queue = queue
        var callbacks = CallbackConfiguration(
            databaseURL: configuration.databaseURL, listenURL: listenURL,
            worker: "\(host):\(ProcessInfo.processInfo.processIdentifier)")
        callbacks.region = queue.region
        callbacks.exit = try Self.exit(configuration)
        if let seconds = try arguments.integer("callback-timeout", in: 1...60) {
            callbacks.timeout = .seconds(seconds)
            callbacks.lease = .seconds(4 * seconds)
        }
        self.callbacks = callbacks
    }

    private static func exit(_ configuration: Configuration) throws(UsageError) -> EgressExit {
        let sources = configuration.callbackSources.compactMap { IPAddress($0) }
        guard sources.count == configuration.callbackSources.count, Set(sources.map(\.family)).count == sources.count
        else { throw UsageError("--callback-source takes a numeric address, at most one of IPv4 and one of IPv6") }
        let proxy = configuration.callbackProxy
        guard let exit = EgressExit(proxy: proxy.isEmpty ? nil : proxy, sources: sources) else {
            // Not the given text: it may contain a password.
            throw UsageError("--callback-proxy takes http:// or https://, a host and a port")
        }
        return exit
    }

    /// Runs until a signal, which cancels: also one that arrives while the key store is unavailable or the models are loaded ends the worker
    /// in order.
    func run() async throws {
        let serving = Task { try await self.serve() }
        let signals = StopSignals { serving.cancel() }
        defer { signals.cancel() }
        do {
            try await serving.value
        } catch is CancellationError {
            // Before there was anything to stop.
        }
        self.log.info("worker stopped")
    }

    private func serve() async throws {
        let log = self.log
        let metrics = WorkerMetrics()
        if self.shadow != nil { metrics.expectShadow() }
        let health = HealthService(metrics, roles: self.roles)
        // Opened before anything is waited for, so that /readyz says why the worker is not ready yet.
        let server = try HealthServer.open(at: self.healthAddress, log) { health.answer($0) }
        defer { server?.stop() }
        let watching = server.map { _ in Task { await self.watchQueue(metrics.queue) } }
        defer { watching?.cancel() }
        // Opens and seals jobs and secrets; `nil`: nothing is sealed.
        let keys = try await self.configuration.checkedKeyStore { health.wait($0) }
        let objects = try self.configuration.openObjectStore(self.objectStore, keys, metrics.objects)
        var callbacks = self.callbacks
        callbacks.keys = keys
        let dispatcher = CallbackDispatcher(configuration: callbacks) {
            Events.log($0, to: log)
            metrics.take($0)
        }
        health.attach(dispatcher)
        // The dispatcher outlives the queue's worker, to deliver the callbacks of the last jobs.
        let dispatching = self.roles.contains(.callback) ? Task { await dispatcher.run() } : nil
        defer { dispatching?.cancel() }

        if self.roles.contains(.inspect) {
            do {
                try await self.configuration.withAnalyzers(
                    self.analyzers,
                    onEvent: {
                        Events.log($0, to: log)
                        metrics.take($0)
                        health.take($0)
                    }
                ) { pool in
                    try await self.withShadow { shadow in
                        try await self.inspect(with: pool, shadow, keys, objects, metrics, health)
                    }
                }
            } catch is CancellationError {
                // Before the worker was registered. What the dispatcher has begun still ends in order.
            }
            health.stopping()
            if self.drains {
                dispatcher.drain()
                await dispatching?.value
            }
        } else if let dispatching {
            if self.drains { dispatcher.drain() }
            await withTaskCancellationHandler {
                await dispatching.value
            } onCancel: {
                health.stopping()
                dispatching.cancel()
            }
        }
        dispatching?.cancel()
        await dispatching?.value
    }

    /// Lends an analyzer with the models of `--shadow`, if the file names any.
    private func withShadow(_ body: (ShadowAnalysis?) async throws -> Void) async throws {
        guard let shadow, let models = shadow.models else { return try await body(nil) }
        let log = self.log
        let analyzers = models.configuration(self.analyzers, of: self.configuration, count: 1)
        try await self.configuration.withAnalyzers(
            analyzers, onEvent: { Events.log($0, to: log) }
        ) { pool in
            var runner = InspectionRunner(pool: pool)
            runner.stageDeadline = .seconds(self.stageDeadlineSeconds)
            runner.calibration = try models.calibration(of: self.configuration)
            try await body(ShadowAnalysis(runner: runner, changes: shadow.changes))
        }
    }

    private func inspect(
        with pool: AnalyzerPool, _ shadow: ShadowAnalysis?, _ keys: KeyStore?, _ objects: ObjectStore?,
        _ metrics: WorkerMetrics, _ health: HealthService
    ) async throws {
        let log = self.log
        var runner = InspectionRunner(pool: pool)
        runner.stageDeadline = .seconds(self.stageDeadlineSeconds)
        runner.calibration = try self.configuration.faces.calibration()
        runner.shadow = shadow == nil ? self.shadow?.changes : nil
        var pipeline = InspectionPipeline(runner: runner, fetcher: PartFetcher(), decryption: self.decryption)
        pipeline.fetchDeadline = .seconds(self.fetchDeadlineSeconds)
        pipeline.keys = keys
        pipeline.objects = objects
        pipeline.onFetchFailure = { Events.log(fetchOf: $1, for: $0, failed: $2, to: log) }
        pipeline.vendor = VendorSessionClient(self.configuration.vendor)
        pipeline.onStage = { job, duration in
            Events.log(stageOf: job, duration, to: log)
            metrics.stage(job.stage, took: duration)
        }
        pipeline.shadowAnalysis = shadow
        pipeline.onShadowOmitted = { job, reason in
            Events.log(shadowOf: job, omitted: reason, to: log)
            metrics.takeOmittedShadow(reason)
        }
        pipeline.onShadow = { job, shadow in
            Events.log(shadowOf: job, shadow, to: log)
            metrics.take(shadow)
        }
        var queue = self.queue
        queue.keys = keys
        queue.objects = objects
        let worker = JobWorker(queue, handler: pipeline) {
            Events.log($0, to: log)
            metrics.take($0)
        }
        health.attach(worker)
        try await worker.run()
    }

    /// Polls the whole queue every five seconds, or less often if a poll is slow: it takes at most a twentieth of one
    /// connection's time, but runs at least every half minute.
    private func watchQueue(_ metrics: QueueMetrics) async {
        let observer = QueueObserver(databaseURL: self.configuration.databaseURL)
        while !Task.isCancelled {
            let start = ContinuousClock.now
            do { metrics.take(try await observer.depth()) } catch { metrics.clear() }
            try? await Task.sleep(for: min(.seconds(30), max(.seconds(5), (ContinuousClock.now - start) * 20)))
        }
        await observer.close()
    }
}

/// Calls back on SIGTERM and SIGINT; a second signal ends the process at once.
struct StopSignals {
    private let sources: [any DispatchSourceSignal]

    init(_ stop: @escaping @Sendable () -> Void) {
        self.sources = [SIGTERM, SIGINT].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler {
                signal(number, SIG_DFL)
                stop()
            }
            source.activate()
            return source
        }
    }

    func cancel() {
        self.sources.forEach { $0.cancel() }
    }
}
