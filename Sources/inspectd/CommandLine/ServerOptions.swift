import HTTPServer
import InspectCore

extension ListenAddress {
    /// - Parameter option: The option's name, for the error.
    init(_ text: String, option: String) throws(UsageError) {
        guard let address = Self(text) else {
            throw UsageError("--\(option) takes a port, or a numeric address and a port, not \(text)")
        }
        self = address
    }
}

extension Configuration {
    /// - Returns: `nil` if nothing is to be served.
    func healthAddress() throws(UsageError) -> ListenAddress? {
        try self.health.map { text throws(UsageError) in try ListenAddress(text, option: "health") }
    }
}

extension Arguments.Option {
    static let certificate = Self.value(
        "certificate", "FILE", "PEM certificate chain, which enables TLS; without it a proxy must terminate TLS")
    static let key = Self.value("key", "FILE", "PEM private key of the certificate")
    static let health = Self.value(
        "health", "[ADDRESS:]PORT", "answers /healthz, /readyz and /metrics, on loopback by default [INSPECTD_HEALTH]")
}

extension HealthServer {
    /// - Parameter address: `nil`: nothing is served.
    static func open(
        at address: ListenAddress?, _ log: Log, answer: @escaping @Sendable (_ path: String) -> HealthAnswer?
    ) throws -> HealthServer? {
        guard let address else { return nil }
        let server = try HealthServer(address, answer: answer)
        log.info("health port open", ["address": .string(address.host), "port": .integer(Int64(server.port))])
        return server
    }
}

extension Arguments {
    /// The content of `--certificate` and `--key`; `nil`: neither is given.
    func identity() throws -> HTTPServer.Identity? {
        guard (self["certificate"] == nil) == (self["key"] == nil) else {
            throw UsageError("--certificate and --key must be given together")
        }
        return try self["certificate"].map { path in
            HTTPServer.Identity(
                certificate: try InputFile.read(path, of: "--certificate", isSetting: true),
                key: try InputFile.read(self["key"] ?? "", of: "--key", isSetting: true))
        }
    }
}
