internal import HTTPServer

/// The origins to which the console answers, and how persons sign in.
package struct ConsoleConfiguration: Sendable {
    /// The origins under which browsers reach it, such as `https://console.example`; requests for other hosts are refused, so
    /// that no foreign name that resolves to this host becomes a separate origin (DNS rebinding).
    package var origins: [String]

    package init(origins: [String]) { self.origins = origins }

    /// Whether cookies are sent only over TLS.
    var isSecure: Bool { self.origins.allSatisfy { $0.hasPrefix("https://") } }

    /// Whether a request is for one of the origins' hosts.
    func serves(_ request: HTTPRequest) -> Bool {
        guard let host = request.headers["host"]?.lowercased() else { return false }
        return self.origins.contains { $0.split(separator: "/", omittingEmptySubsequences: true).last == host[...] }
    }

    /// Whether a request that changes something was sent by one of the console's own pages, as browsers report it.
    func isOwn(_ request: HTTPRequest) -> Bool {
        if let site = request.headers["sec-fetch-site"], site != "same-origin" { return false }
        guard let origin = request.headers["origin"] else { return request.headers["sec-fetch-site"] != nil }
        return self.origins.contains(origin.lowercased())
    }
}
