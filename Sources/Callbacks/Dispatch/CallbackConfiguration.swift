package import Custody
package import HTTPClient

/// The settings of a ``CallbackDispatcher``.
package struct CallbackConfiguration: Sendable {
    /// Connection string of the database; a pooler in transaction mode suffices.
    package var databaseURL: String
    /// Connection string for LISTEN, which needs a direct connection to the server; `nil`: do not listen, but poll and
    /// wait for ``CallbackDispatcher/wake()``.
    package var listenURL: String?
    /// Whether statements are prepared once and kept; a pooler in transaction mode needs `false`.
    package var preparesStatements = true
    /// Opens sealed data of jobs and endpoints, and seals access tokens; `nil`: there is no key store.
    package var keys: KeyStore?
    /// Name under which attempts are stored.
    package var worker: String
    /// The region whose jobs' callbacks it sends, in addition to those of jobs without a region.
    package var region: String?
    /// Callbacks under way at once, over all endpoints. Each may hold a socket: stay well below `RLIMIT_NOFILE`.
    package var maximumInFlight = 512
    /// Callbacks claimed at once. On a busy machine a round trip takes 60 ms, and fewer callbacks a trip would limit the throughput.
    package var batch = 768
    /// For one attempt, from name resolution to the last byte. Standard Webhooks recommends 15 to 30 s.
    package var timeout: Duration = .seconds(15)
    /// How long a claim is valid. After a kill -9 between the answer and its settlement, the callback is sent again after that time.
    /// Four times the time-out, so that only a dead or frozen dispatcher lets a claim lapse.
    package var lease: Duration = .seconds(60)
    /// How often to poll for due callbacks; ± 20 %.
    package var poll: Duration = .seconds(1)
    /// The grace period: how long attempts may still take after cancellation before they are aborted.
    package var grace: Duration = .seconds(10)
    /// A PEM file used instead of the system's certificate store.
    package var certificateAuthorities: String?
    /// How callbacks and requests for access tokens leave: through a proxy, or from source addresses.
    package var exit = EgressExit.direct
    /// Providers of access tokens in addition to `client_credentials`, under the names that `insp.callback_authorize` accepts.
    package var providers: [String: any AuthorizationProvider] = [:]
    /// Value of `User-Agent`.
    package var agent = "inspectd"

    package init(databaseURL: String, listenURL: String?, worker: String) {
        self.databaseURL = databaseURL
        self.listenURL = listenURL
        self.worker = worker
    }
}
