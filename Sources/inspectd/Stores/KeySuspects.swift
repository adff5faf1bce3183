import Custody
import Postgres

/// Partners whose keys a stolen login may have added to the key store; the first hundred of each kind.
struct KeySuspects {
    /// Numbers that no partner of the database has; `nil`: none.
    private(set) var unknown: [Int64]?
    /// Names of partners whose key has no other below; `nil`: none.
    private(set) var idle: [String]?

    init(_ store: KeyStore, _ connection: PostgresConnection) async throws {
        var last: Int64?
        while true {
            let page = try await store.partnerKeyUses(after: last, limit: 500)
            guard let end = page.last else { break }
            last = end.partner
            let unknown = try await KeyUse.unknown(page.map(\.partner), on: connection)
            if !unknown.isEmpty { self.unknown = Array(((self.unknown ?? []) + unknown).prefix(100)) }
            let idle = try await KeyUse.partners(page.filter(\.isIdle).map(\.partner), on: connection)
            if !idle.isEmpty { self.idle = Array(((self.idle ?? []) + idle.values.sorted()).prefix(100)) }
        }
    }
}
