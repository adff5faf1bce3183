import Custody
import InspectCore
import Postgres

extension Command {
    private struct Sweep: Encodable {
        var destroyed = 0
        var persons = 0
        var partners = 0
        /// Numbers of partners that the database does not have, under whose keys there are others; `nil`: none.
        var heldBack: [Int64]?
    }

    /// Destroys keys that open nothing in the database, an hour after they were made: their requests were refused, repeated or
    /// never arrived, or a stolen worker has reported them as destroyed. Workers do not do this, since a database that was restored to
    /// an older state lacks jobs whose keys must stay.
    static func sweep(_ configuration: Configuration, _ arguments: Arguments) async throws {
        let confirmed = try Self.numbers(arguments["confirm"])
        let store = try Self.keyStore(configuration)
        let connection = try await Self.mainDatabase(configuration)
        try await store.check(try await CustodyState.noted(on: connection))
        try await store.checkMain(connection, acceptsOlder: arguments.has("accept-older")) { isOlder in
            try await KeyUse.record(isOlder ? "sweep_older" : "sweep_begin", keys: nil, on: connection)
        }
        var outcome = Sweep()
        var last: KeyID?
        while true {
            let page = try await store.oldJobKeys(after: last, limit: 500)
            guard let end = page.last else { break }
            last = end
            let unused = try await KeyUse.unused(page, on: connection)
            outcome.destroyed += try await store.destroy(unused)
        }
        // Persons whose jobs and templates are all gone. Something may be sealed under a person's key itself.
        last = nil
        while true {
            let page = try await store.personKeys(after: last, limit: 500)
            guard let end = page.last else { break }
            last = end.id
            let unused = try await KeyUse.unused(page.filter(\.isIdle).map(\.id), on: connection)
            if !unused.isEmpty { outcome.persons += try await store.dropIdlePersons(unused) }
        }
        // A stolen login can add keys of partners that the database does not have: rubbish that no rotation could rewrap, or a key that
        // the thief knows, which the partner to come would use. One that is being created has its key before others see it.
        var number: Int64?
        while true {
            let page = try await store.partnersWithKeys(after: number, limit: 500, isNow: arguments.has("now"))
            guard let end = page.last else { break }
            number = end
            for partner in try await KeyUse.unknown(page, on: connection) {
                // Keys below it may open data in another database.
                let below = try await store.below(nil, partner)
                if below.contains(where: { $0.persons + $0.jobs + $0.templates > 0 }), !confirmed.contains(partner) {
                    outcome.heldBack = (outcome.heldBack ?? []) + [partner]
                } else {
                    outcome.partners += try await store.destroyPartner(partner) ? 1 : 0
                }
            }
        }
        while try await store.sweep() > 0 {}
        await connection.close()
        await store.close()
        if arguments.has("rewrite") { try await KeyStoreSchema.rewrite(configuration) }
        try await Self.record("sweep", outcome.destroyed + outcome.persons + outcome.partners, configuration)
        Output.line(ResultEnvelope.json(outcome))
        guard outcome.heldBack == nil else { throw Failure() }
    }

    private static func numbers(_ text: String?) throws -> Set<Int64> {
        guard let text else { return [] }
        return Set(
            try text.split(separator: ",", omittingEmptySubsequences: false).map {
                guard let number = Int64($0) else {
                    throw UsageError("'keys sweep' takes partners' numbers with --confirm, such as 7,9")
                }
                return number
            })
    }
}
