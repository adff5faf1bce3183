import Custody
import Foundation
import InspectCore
import JobQueue

extension Command {
    static let partner = Command(
        name: "partner",
        summary: "sets a partner's policies, or erases a partner permanently, its key first",
        synopsis: """
            consent --partner NAME [--required] [--policy-url URL] [--policy-version V] [--purpose P]...
                   inspectd partner region --partner NAME --region REGION [--may-choose]
                   inspectd partner regions [REGION...]
                   inspectd partner callbacks --partner NAME [--host HOST]...
                   inspectd partner decisions --partner NAME --policy FILE
                   inspectd partner erase --partner NAME --confirm NAME
            """,
        words: Self.policyWords + ["erase"],
        takesOperands: true,
        options: [
            .value("partner", "NAME", "the partner").of("consent", "region", "callbacks", "decisions", "erase"),
            .value("confirm", "NAME", "the same name again").of("erase"),
        ] + Self.policyOptions + Configuration.databaseOptions + Configuration.keyOptions + Configuration.logOptions,
        body: { arguments in
            let configuration = try Configuration(arguments)
            if let word = arguments.operands.first, Self.policyWords.contains(word) {
                return try await Self.setPolicy(arguments.operands, arguments, configuration)
            }
            guard arguments.operands == ["erase"], let partner = arguments["partner"] else {
                throw UsageError(
                    "'partner' needs consent, region, callbacks, decisions or erase with --partner, or regions")
            }
            guard arguments["confirm"] == partner else {
                throw UsageError("an erased partner cannot be restored: --confirm must repeat the name")
            }
            let keys = try await configuration.checkedKeyStore()
            let client = JobClient(databaseURL: configuration.databaseURL, keys: keys)
            let outcome = try await Self.erase(partner, client, keys, configuration)
            await client.close()
            await keys?.close()
            Output.line(ResultEnvelope.json(outcome))
            if outcome.kept > 0 { throw Failure() }
        }
    )

    private struct PartnerErasure: Encodable {
        var partner: String
        var keyDestroyed = false
        var jobs = 0
        var templates = 0
        var persons = 0
        /// Jobs that another transaction holds, or whose data is damaged.
        var kept = 0
    }

    /// Safe to repeat from any moment on: what is done is not counted again.
    private static func erase(
        _ partner: String, _ client: JobClient, _ keys: KeyStore?, _ configuration: Configuration
    ) async throws -> PartnerErasure {
        var outcome = PartnerErasure(partner: partner)
        // Nothing is accepted from here on, so no program has a reason to make another key.
        let number = try await client.beginErasure(ofPartner: partner)
        // First: whatever happens to the rest, nothing sealed opens any more.
        if let keys {
            outcome.keyDestroyed = try await keys.destroyPartner(number)
            if outcome.keyDestroyed { try await client.recordKeys("destroy_partner", of: partner, keys: 1) }
        }
        for round in 0..<10 {
            outcome.kept = 0
            var last: Int64 = 0
            while true {
                let step = try await client.eraseData(ofPartner: partner, after: last)
                outcome.jobs += step.jobs
                outcome.templates += step.templates
                outcome.persons += step.persons
                outcome.kept += step.kept
                last = step.last ?? last
                guard step.more else { break }
            }
            guard outcome.kept > 0, round < 9 else { break }
            configuration.log.warning("another transaction holds jobs", ["jobs": .integer(Int64(outcome.kept))])
            try await Task.sleep(for: .seconds(1))
        }
        if let keys {
            // One that a gateway made for a request that was under way.
            try await keys.destroyPartner(number)
            while try await keys.sweep() > 0 {}
        }
        return outcome
    }
}
