internal import HTTPServer
internal import Postgres

/// The headers that browsers require before a page of another origin may read an answer (CORS, in the Fetch standard).
///
/// A credential allows origins, none by default. Credentials come in the header Authorization, which a page sets itself, so the
/// browser's own ones, such as cookies, are never allowed.
enum CrossOrigin {
    /// Of an answer to a page of an origin that may read it.
    static func headers(_ origin: String) -> [(name: String, value: String)] {
        [
            ("Access-Control-Allow-Origin", origin),
            (
                "Access-Control-Expose-Headers",
                "ETag, Location, Retry-After, RateLimit, RateLimit-Policy, Deprecation, Sunset, Link, WWW-Authenticate"
            ), ("Vary", "Origin"),
        ]
    }

    /// Whether a page of the gateway's own origin sent a request, as far as browsers say; other programs say nothing.
    ///
    /// By `Sec-Fetch-Site` if a browser sends it: a proxy may have replaced the host.
    static func isOwn(_ request: HTTPRequest) -> Bool {
        if let site = request.headers["sec-fetch-site"] { return site == "same-origin" }
        guard let origin = request.headers["origin"] else { return true }
        guard let host = request.headers["host"], !host.isEmpty else { return false }
        return ["https://", "http://"].contains { origin.lowercased() == $0 + host.lowercased() }
    }

    /// Of the answer to a preflight request, which comes without a credential.
    static func preflight(_ origin: String, methods: String) -> [(name: String, value: String)] {
        [
            ("Access-Control-Allow-Origin", origin), ("Access-Control-Allow-Methods", methods),
            (
                "Access-Control-Allow-Headers",
                "Authorization, Content-Type, Idempotency-Key, If-None-Match, traceparent"
            ),
            ("Access-Control-Max-Age", "600"), ("Vary", "Origin"),
        ]
    }
}

extension GatewayStore {
    /// The origins that any valid credential allows.
    func origins() async throws -> Set<String> {
        Set(try await self.ask("SELECT insp.gateway_origins() AS origins", []).single().textArray("origins"))
    }
}
