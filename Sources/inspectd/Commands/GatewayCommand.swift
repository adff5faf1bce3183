import Custody
import Foundation
import Gateway
import HTTPServer
import InspectCore
import ObjectStore

extension Command {
    static let gateway = Command(
        name: "gateway",
        summary: "lets partners create jobs and fetch results over HTTP, until stopped",
        synopsis: "[--listen [ADDRESS:]PORT] [--certificate FILE --key FILE] [--health [ADDRESS:]PORT]",
        options: [
            .value("listen", "[ADDRESS:]PORT", "address for partners, on loopback by default [8080]"),
            .certificate, .key,
            .list("trusted-proxy", "RANGE", "address or range whose X-Forwarded-For counts; may be repeated"),
            .flag(
                "proxy-protocol", "only trusted proxies may connect, with the PROXY protocol, version 1 or 2"),
            .value("connections", "N", "client connections at once [2000]"),
            .value("database-connections", "N", "connections to the database, in addition to two for waits [4]"),
            .value("listen-url", "URL", "direct connection for LISTEN, if the database URL leads to a pooler"),
            .value("body-limit", "MIB", "largest body [64]"),
            .value("held-limit", "MIB", "memory for all bodies and unread answers together [1024]"),
            .value("longest-wait", "SECONDS", "how long a client may wait for a result in one request [60]"),
            .value(
                "partner-waits", "N",
                "how many clients of a partner may wait at once for results, and as many for events [500]"),
            .value("analyzers", "N", "number of analyzer processes that judge images for /usability; 0: none [2]"),
            .value("analyzer", "FILE", "executable that judges images; by default this program [INSPECTD_ANALYZER]"),
            .value("credential-rate", "N", "requests per second for a credential without its own rate limit [50]"),
            .value(
                "address-rate", "N", "requests per second from one address without a credential known to be valid [200]"
            ),
            .value(
                "stop-after", "SECONDS", "on SIGTERM, clients still sending are cut off after this time [20]"),
            .health,
        ] + Configuration.databaseOptions + Configuration.keyOptions + Configuration.objectStoreOptions
            + Configuration.logOptions,
        body: { arguments in
            let configuration = try Configuration(arguments)
            try await GatewayProcess(configuration, arguments).run()
        }
    )
}

/// Wires a gateway's parts together and stops them in order.
private struct GatewayProcess {
    let log: Log
    let configuration: Configuration
    let objectStore: ObjectStoreAddress?
    let address: ListenAddress
    let healthAddress: ListenAddress?
    let identity: HTTPServer.Identity?
    let store: GatewayStore
    var service = GatewayConfiguration()
    var limits = HTTPLimits()
    let proxyHeader: Bool
    let stopAfter: Duration
    let usability: GatewayUsability?

    init(_ configuration: Configuration, _ arguments: Arguments) throws {
        self.log = configuration.log
        self.configuration = configuration
        self.objectStore = try configuration.objectStoreAddress()
        self.address = try ListenAddress(arguments["listen"] ?? "8080", option: "listen")
        self.healthAddress = try configuration.healthAddress()
        self.identity = try arguments.identity()
        guard let proxies = TrustedProxies(arguments.all("trusted-proxy")) else {
            let invalid = arguments.all("trusted-proxy").first { TrustedProxies([$0]) == nil } ?? ""
            throw UsageError("--trusted-proxy takes a numeric address or a range such as 10.0.0.0/8, not \(invalid)")
        }
        self.service.proxies = proxies
        if let count = try arguments.integer("connections", in: 1...1_000_000) {
            self.limits.connections = UInt32(count)
            self.limits.connectionsPerAddress = UInt32(max(1, count / 2))
        }
        self.proxyHeader = arguments.has("proxy-protocol")
        guard !self.proxyHeader || arguments.has("trusted-proxy") else {
            throw UsageError("--proxy-protocol needs the addresses of the proxies: --trusted-proxy")
        }
        if let size = try arguments.integer("body-limit", in: 1...1024) { self.limits.bodyBytes = size << 20 }
        if let size = try arguments.integer("held-limit", in: 1...1_048_576) { self.limits.heldBytes = size << 20 }
        self.service.bodyBytes = self.limits.bodyBytes
        if let count = try arguments.integer("partner-waits", in: 1...1_000_000) {
            self.service.waitsPerPartner = count
        }
        if let seconds = try arguments.integer("longest-wait", in: 1...60) { self.service.longestWaitSeconds = seconds }
        if let rate = try arguments.integer("credential-rate", in: 1...1_000_000) {
            self.service.credentialRate = Double(rate)
            self.service.credentialBurst = Double(rate) * 2
        }
        if let rate = try arguments.integer("address-rate", in: 1...1_000_000) {
            self.service.addressRate = Double(rate)
            self.service.addressBurst = Double(rate) * 2
        }
        self.stopAfter = .seconds(try arguments.integer("stop-after", in: 0...3600) ?? 20)
        let log = self.log
        let count = try arguments.integer("analyzers", in: 0...64) ?? 2
        self.usability =
            count == 0 ? nil : GatewayUsability(configuration, count: count) { Events.log($0, to: log) }
        self.store = GatewayStore(
            databaseURL: configuration.databaseURL, isKnown: false,
            connections: try arguments.integer("database-connections", in: 1...64) ?? 4,
            listenURL: arguments["listen-url"] ?? configuration.databaseURL
        ) { Events.log($0, on: "gateway", to: log) }
    }

    func run() async throws {
        let log = self.log
        Self.raiseDescriptorLimit(self.limits.connections)
        let metrics = GatewayMetrics()
        let service = GatewayService(self.store, self.service, usability: self.usability?.desk) {
            Events.log($0, to: log)
            metrics.take($0)
        }
        let server = try HTTPServer(
            self.address, identity: self.identity, limits: self.limits, proxies: self.service.proxies,
            proxyHeader: self.proxyHeader
        ) { await service.admit($0) }
        let health = GatewayHealth(service, server, self.store, metrics)
        let healthServer = try HealthServer.open(at: self.healthAddress, log) { health.answer($0) }
        defer { healthServer?.stop() }
        let stop = StopOnce()
        let signals = StopSignals { stop.request() }
        defer { signals.cancel() }
        // Until it is known whether and how requests are sealed, clients get Retry-After.
        let store = self.store
        let checking = Task { try await self.configuration.checkedKeyStore { store.wait($0) } }
        stop.atRequest { checking.cancel() }
        let keys: KeyStore?
        do { keys = try await checking.value } catch is CancellationError {
            return log.info("gateway stopped")
        }
        store.begin(keys, try self.configuration.openObjectStore(self.objectStore, keys, metrics.objects))
        log.info(
            "gateway open",
            [
                "address": .string(self.address.host), "port": .integer(Int64(server.port)),
                "tls": .bool(self.identity != nil),
            ])
        // Partners are served meanwhile.
        let starting = Task { await self.usability?.start() }
        // Readiness follows the last statement, so one must run from time to time.
        let probing = Task {
            while !Task.isCancelled {
                _ = try? await self.store.finished([])
                try await Task.sleep(for: .seconds(2))
            }
        }
        await stop.requested()
        health.stopping()
        log.info("gateway stopping", ["requests": .integer(Int64(server.requestsInFlight))])
        service.close()
        await server.stop(within: self.stopAfter)
        probing.cancel()
        await starting.value
        await self.usability?.stop()
        await self.store.close()
        log.info("gateway stopped")
    }

    /// Each client takes a descriptor, and the default limit of 1,024 is too low for a server.
    private static func raiseDescriptorLimit(_ connections: UInt32) {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = min(limit.rlim_max, max(limit.rlim_cur, rlim_t(connections) + 256))
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}
