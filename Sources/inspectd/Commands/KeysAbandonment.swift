import Custody
import InspectCore
import Postgres

/// `inspectd keys abandon`.
extension Command {
    private struct Abandonment: Encodable {
        struct Partner: Encodable {
            /// `nil`: the database has no such partner.
            var partner: String?
            var number: Int64
            var persons: Int
            var jobs: Int
            var templates: Int
        }

        var partners: [Partner]
        /// Whether the keys are destroyed; false: this is what would be lost.
        var isAbandoned: Bool
    }

    /// Abandons partners' keys that nobody can unwrap any longer, so that the key store can be used for new jobs.
    static func abandon(_ configuration: Configuration, _ arguments: Arguments) async throws {
        let lost = arguments["lost"]
        guard let name = lost ?? arguments["partner"], lost == nil || arguments["partner"] == nil else {
            throw UsageError("'keys abandon' needs --lost or --partner")
        }
        let isConfirmed = arguments["confirm"] != nil
        guard arguments["confirm"] ?? name == name else {
            throw UsageError("abandoned keys cannot be restored: --confirm must repeat \(name)")
        }
        guard !isConfirmed || arguments["reason"]?.isEmpty == false else {
            throw UsageError("'keys abandon' needs a --reason, which is recorded")
        }
        let keys = try configuration.openWrappingKeys()
        guard lost.map({ !keys.ids.contains($0) }) ?? true else {
            throw UsageError("\(name) is configured: if it is lost, remove it from the wrapping keys")
        }
        let store = try Self.keyStore(configuration, keys)
        let connection = try await Self.mainDatabase(configuration)
        let noted = try await CustodyState.noted(on: connection)
        let state = try await store.checkPair(noted).state
        var number: Int64?
        if let partner = arguments["partner"] {
            number = try await KeyUse.number(of: partner, on: connection)
        }
        let below = try await store.below(lost, number)
        let known = [state.wrappingKey, state.formerKey, noted?.wrappingKey, noted?.formerKey]
        guard lost.map({ known.contains($0) }) ?? true || !below.isEmpty else {
            throw UsageError("the key store has no wrapping key \(name)")
        }
        let needed = lost != nil && lost == state.wrappingKey
        let fresh = arguments["to"] ?? (keys.ids.count == 1 ? keys.ids[0] : nil)
        guard !needed || fresh != nil else {
            throw UsageError("several wrapping keys are configured: choose the one for new keys with --to")
        }
        var answer = Abandonment(partners: [], isAbandoned: isConfirmed)
        let names = try await KeyUse.partners(below.map(\.partner), on: connection)
        answer.partners = below.map {
            .init(
                partner: names[$0.partner], number: $0.partner, persons: $0.persons, jobs: $0.jobs,
                templates: $0.templates)
        }
        if isConfirmed {
            // Before anything is destroyed.
            try await KeyUse.recordAbandonment(
                of: arguments["partner"], keys: below.count, lost: lost, reason: arguments["reason"] ?? "",
                on: connection)
            if let lost {
                try await store.abandon(lost, to: needed ? fresh : nil).note(on: connection)
            } else if let number {
                try await store.destroyPartner(number)
            }
            while try await store.sweep() > 0 {}
        }
        await connection.close()
        await store.close()
        Output.line(ResultEnvelope.json(answer))
    }
}
