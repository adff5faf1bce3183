/// How a ``CallbackDispatcher`` works.
package struct CallbackConfiguration: Sendable {
    /// Connection string of the database; a pooler in transaction mode will do.
    package var databaseURL: String
    /// Connection string for LISTEN, which needs a connection of its own to the server; `nil`: do not listen, but poll and
    /// wait for ``CallbackDispatcher/wake()``.
    package var listenURL: String?
    /// Whether statements are prepared once and kept; a pooler in transaction mode needs `false`.
    package var preparesStatements = true
    /// Name under which attempts are recorded.
    package var worker: String
    /// Callbacks under way at once, over all endpoints. Each may hold a socket: stay well below `RLIMIT_NOFILE`.
    package var maximumInFlight = 512
    /// Callbacks claimed at once. On a busy machine a round trip takes 60 ms, and 64 a round trip were all that got through.
    package var batch = 768
    /// For one attempt, from name resolution to the last byte. Standard Webhooks recommends 15 to 30 s.
    package var timeout: Duration = .seconds(15)
    /// How long a claim holds. After a kill -9 between the answer and its record, the callback is sent again then. Four
    /// times the time-out, so that only a dead or frozen dispatcher lets a claim lapse.
    package var lease: Duration = .seconds(60)
    /// How often to look for due callbacks without a hint; ± 20 %.
    package var poll: Duration = .seconds(1)
    /// After cancellation: how long attempts under way may still take before they are broken off.
    package var grace: Duration = .seconds(10)
    /// A PEM file used instead of the system's certificate store.
    package var certificateAuthorities: String?
    /// Providers of access tokens beside `client_credentials`, under the names that `insp.callback_authorize` takes.
    package var providers: [String: any AuthorizationProvider] = [:]
    /// Value of `User-Agent`.
    package var agent = "inspectd"

    package init(databaseURL: String, listenURL: String?, worker: String) {
        self.databaseURL = databaseURL
        self.listenURL = listenURL
        self.worker = worker
    }
}
