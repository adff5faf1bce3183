import Console
import Custody
import Foundation
import HTTPServer
import InspectCore
import ObjectStore

extension Command {
    static let console = Command(
        name: "console",
        summary: "serves pages on which reviewers decide cases and operators see the queue, until stopped",
        synopsis:
            "--local [--listen PORT] [--role ROLE:PARTNER...]\n       inspectd console --url URL --oidc-issuer URL --oidc-client ID [OPTION...]",
        options: [
            .value("listen", "[ADDRESS:]PORT", "address for browsers, on loopback by default [8090]"),
            .flag("local", "prints a link with which one person signs in once; on loopback only"),
            .list(
                "role", "ROLE:PARTNER", "with --local: reviewer, operator or auditor of a partner, or of * [all of *]"),
            .value("url", "URL", "origin at which browsers reach the console, such as https://console.example"),
            .value("oidc-issuer", "URL", "the OpenID Connect provider"),
            .value("oidc-client", "ID", "the console's client id there"),
            .value("oidc-secret", "FILE", "file with the client secret; without it, only PKCE protects the code"),
            .value("oidc-ca", "FILE", "PEM file with the provider's certificate authorities"),
            .value("oidc-roles", "CLAIM", "claim with roles, such as reviewer:bank; a path such as a.b [roles]"),
            .value(
                "oidc-name", "CLAIM",
                "claim that names a person in the record from the first sign-in on [preferred_username]"),
            .value("oidc-scopes", "SCOPES", "scopes that the console requests [openid profile]"),
            .certificate, .key,
            .value(
                "database-connections", "N",
                "connections to the database, in addition to five for actions on selections [4]"),
            .value("analyzers", "N", "number of analyzer processes that open images; 0: images are not shown [2]"),
            .value("analyzer", "FILE", "executable that opens images; by default this program [INSPECTD_ANALYZER]"),
            .value("stop-after", "SECONDS", "on SIGTERM, clients still sending are cut off after this time [20]"),
            .health,
        ] + Configuration.databaseOptions + Configuration.keyOptions + Configuration.objectStoreOptions
            + Configuration.logOptions,
        excluded: [
            "local": [
                "url", "oidc-issuer", "oidc-client", "oidc-secret", "oidc-ca", "oidc-roles", "oidc-name", "oidc-scopes",
                "certificate",
            ]
        ],
        body: { arguments in
            let configuration = try Configuration(arguments)
            try await ConsoleProcess(configuration, arguments).run()
        }
    )
}

/// Wires a console's parts together and stops them in order.
private struct ConsoleProcess {
    let log: Log
    let configuration: Configuration
    let objectStore: ObjectStoreAddress?
    let address: ListenAddress
    let healthAddress: ListenAddress?
    let identity: HTTPServer.Identity?
    let origin: String?
    let link: SignInLink?
    let provider: OpenIDProvider?
    let connections: Int
    let analyzers: ConsoleAnalyzers?
    let stopAfter: Duration

    init(_ configuration: Configuration, _ arguments: Arguments) throws {
        let log = configuration.log
        self.log = log
        self.configuration = configuration
        self.objectStore = try configuration.objectStoreAddress()
        self.address = try ListenAddress(arguments["listen"] ?? "8090", option: "listen")
        self.healthAddress = try configuration.healthAddress()
        self.identity = try arguments.identity()
        if arguments.has("local") {
            guard ["127.0.0.1", "::1"].contains(self.address.host) else {
                throw UsageError("--local listens on loopback only, not on \(self.address.host)")
            }
            let roles = arguments.all("role")
            if let wrong = roles.first(where: { !Self.isGrant($0) }) {
                throw UsageError(
                    "--role takes reviewer, operator or auditor, a colon, and a partner or *, not \(wrong)")
            }
            self.link = SignInLink(
                name: "local", grants: roles.isEmpty ? ConsoleRole.allCases.map { "\($0.rawValue):*" } : roles)
            self.provider = nil
            self.origin = nil
        } else {
            guard !arguments.has("role") else { throw UsageError("--role needs --local") }
            guard let url = arguments["url"], let issuer = arguments["oidc-issuer"],
                let client = arguments["oidc-client"]
            else { throw UsageError("the console needs --local, or --url, --oidc-issuer and --oidc-client") }
            self.link = nil
            self.origin = try Self.origin(url)
            var settings = OpenIDProvider.Settings(issuer: issuer, client: client)
            settings.secret = try arguments["oidc-secret"].map {
                String(decoding: try InputFile.read($0, of: "--oidc-secret", isSetting: true), as: UTF8.self)
                    .trimmingCharacters(in: .whitespacesAndNewlines)
            }
            settings.rolesClaim = arguments["oidc-roles"] ?? settings.rolesClaim
            settings.nameClaim = arguments["oidc-name"] ?? settings.nameClaim
            settings.scopes = arguments["oidc-scopes"] ?? settings.scopes
            guard issuer.hasPrefix("https://") || issuer.hasPrefix("http://127.0.0.1:") else {
                throw UsageError("--oidc-issuer is an https URL, or http on 127.0.0.1")
            }
            self.provider = OpenIDProvider(settings, certificateAuthorities: arguments["oidc-ca"])
        }
        self.connections = try arguments.integer("database-connections", in: 1...64) ?? 4
        let count = try arguments.integer("analyzers", in: 0...64) ?? 2
        self.analyzers = count == 0 ? nil : ConsoleAnalyzers(configuration, count: count) { Events.log($0, to: log) }
        self.stopAfter = .seconds(try arguments.integer("stop-after", in: 0...3600) ?? 20)
    }

    private static func isGrant(_ text: String) -> Bool {
        let pieces = text.split(separator: ":", maxSplits: 1)
        return pieces.count == 2 && ConsoleRole(rawValue: String(pieces[0])) != nil
    }

    /// `https://HOST[:PORT]`, or http on loopback, for which no authority issues certificates.
    private static func origin(_ text: String) throws(UsageError) -> String {
        let url = (text.hasSuffix("/") ? String(text.dropLast()) : text).lowercased()
        guard
            url.wholeMatch(of: /https:\/\/[a-z0-9.\-\[\]:]+|http:\/\/(127\.0\.0\.1|localhost|\[::1\])(:[0-9]+)?/) != nil
        else { throw UsageError("--url is an https origin without a path, or http on loopback, not \(text)") }
        return url
    }

    func run() async throws {
        let log = self.log
        let metrics = ConsoleMetrics()
        let health = ConsoleHealth(metrics)
        let healthServer = try HealthServer.open(at: self.healthAddress, log) { health.answer($0) }
        defer { healthServer?.stop() }
        let stop = StopOnce()
        let signals = StopSignals { stop.request() }
        defer { signals.cancel() }
        // Until it is known whether and how jobs are sealed, no case could be shown.
        let checking = Task { try await self.configuration.checkedKeyStore { _ in } }
        stop.atRequest { checking.cancel() }
        let keys: KeyStore?
        do { keys = try await checking.value } catch is CancellationError {
            return log.info("console stopped")
        }
        let store = ConsoleStore(
            databaseURL: self.configuration.databaseURL, keys: keys,
            objects: try self.configuration.openObjectStore(self.objectStore, keys), connections: self.connections
        ) {
            metrics.take($0)
            Events.log($0, on: "console", to: log)
        }
        let gate = ConsoleGate()
        let server = try HTTPServer(
            self.address, identity: self.identity, refusal: { gate.refusal($0, status: $1) }, admit: gate.admit)
        let origins =
            self.origin.map { [$0] } ?? ["127.0.0.1", "localhost", "[::1]"].map { "http://\($0):\(server.port)" }
        var show: ConsoleService.Show?
        if let analyzers = self.analyzers { show = { load in try await analyzers.show(load) } }
        let service = ConsoleService(
            store, ConsoleConfiguration(origins: origins), link: self.link, provider: self.provider, show: show,
            observe: {
                metrics.take($0)
                Events.log($0, to: log)
            },
            providerFailed: {
                metrics.takeProviderFault()
                log.warning("sign-in failed", ["reason": .string($0)])
            })
        gate.open(service)
        health.begin(store, service, server)
        log.info(
            "console open",
            [
                "address": .string(self.address.host), "port": .integer(Int64(server.port)),
                "tls": .bool(self.identity != nil),
            ])
        if let link { Output.line("http://127.0.0.1:\(server.port)\(link.path)") }
        let starting = Task { await self.analyzers?.start() }
        // Three batches at once: while one waits for its commit, the others work.
        let tasks = (0..<3).map { _ in
            Task {
                while !Task.isCancelled {
                    // A database that does not answer is asked again; so is one without an open task, which also shows that it answers.
                    let isBusy = (try? await store.step()) ?? false
                    if !isBusy { try await Task.sleep(for: .seconds(1)) }
                }
            }
        }
        await stop.requested()
        health.end()
        log.info("console stopping", ["requests": .integer(Int64(server.requestsInFlight))])
        service.close()
        await server.stop(within: self.stopAfter)
        for task in tasks { task.cancel() }
        for task in tasks { _ = try? await task.value }
        await starting.value
        await self.analyzers?.stop()
        await store.close()
        await keys?.close()
        log.info("console stopped")
    }
}
