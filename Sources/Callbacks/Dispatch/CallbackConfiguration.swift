/// How a ``CallbackDispatcher`` works.
public struct CallbackConfiguration: Sendable {
    /// Connection string of the database; a pooler in transaction mode will do.
    public var databaseURL: String
    /// Connection string for LISTEN, which needs a connection of its own to the server; `nil`: do not listen, but poll and
    /// wait for ``CallbackDispatcher/wake()``.
    public var listenURL: String?
    /// Whether statements are prepared once and kept; a pooler in transaction mode needs `false`.
    public var preparesStatements = true
    /// Name under which attempts are recorded.
    public var worker: String
    /// Callbacks under way at once, over all endpoints. Each may hold a socket: stay well below `RLIMIT_NOFILE`.
    public var maximumInFlight = 512
    /// Callbacks claimed at once. On a busy machine a round trip takes 60 ms, and 64 a round trip were all that got through.
    public var batch = 768
    /// For one attempt, from name resolution to the last byte. Standard Webhooks recommends 15 to 30 s.
    public var timeout: Duration = .seconds(15)
    /// How long a claim holds. After a kill -9 between the answer and its record, the callback is sent again then. Four
    /// times the time-out, so that only a dead or frozen dispatcher lets a claim lapse.
    public var lease: Duration = .seconds(60)
    /// How often to look for due callbacks without a hint; ± 20 %.
    public var poll: Duration = .seconds(1)
    /// After cancellation: how long attempts under way may still take before they are broken off.
    public var grace: Duration = .seconds(10)
    /// A PEM file used instead of the system's certificate store.
    public var certificateAuthorities: String?
    /// Providers of access tokens beside `client_credentials`, under the names that `insp.callback_authorize` takes.
    public var providers: [String: any AuthorizationProvider] = [:]
    /// Value of `User-Agent`.
    public var agent = "inspectd"

    public init(databaseURL: String, listenURL: String?, worker: String) {
        self.databaseURL = databaseURL
        self.listenURL = listenURL
        self.worker = worker
    }
}
