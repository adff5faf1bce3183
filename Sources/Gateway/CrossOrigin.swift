internal import Postgres

/// What browsers must be told before a page of another origin may read an answer (CORS, in the Fetch standard).
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
