import Custody
import Foundation
import InspectCore
import JobQueue

extension Command {
    static let partner = Command(
        name: "partner",
        summary: "sets a partner's policies or public key, or erases a partner and its tests permanently, keys first",
        synopsis: """
            consent --partner NAME [--required] [--policy-url URL] [--policy-version V] [--purpose P]...
                   inspectd partner region --partner NAME --region REGION [--may-choose]
                   inspectd partner regions [REGION...]
                   inspectd partner callbacks --partner NAME [--host HOST]...
                   inspectd partner capture --partner NAME [--host HOST]...
                   inspectd partner decisions --partner NAME --policy FILE
                   inspectd partner vendor --partner NAME (--server FILE | --remove)
                   inspectd partner key --partner NAME (--jwk FILE | --remove)
                   inspectd partner erase --partner NAME --confirm NAME
            """,
        words: Self.policyWords + ["key", "erase"],
        takesOperands: true,
        options: [
            .value("partner", "NAME", "the partner").of(
                "consent", "region", "callbacks", "capture", "decisions", "vendor", "key", "erase"),
            .value(
                "jwk", "FILE", "results and callbacks are encrypted for this public key (RFC 7517); - is standard input"
            ).of("key"),
            .flag("remove", "removes the key or the vendor's server").of("vendor", "key"),
            .value("confirm", "NAME", "the same name again").of("erase"),
        ] + Self.policyOptions + Configuration.databaseOptions + Configuration.keyOptions + Configuration.logOptions,
        body: { arguments in
            let configuration = try Configuration(arguments)
            if let word = arguments.operands.first, Self.policyWords.contains(word) {
                return try await Self.setPolicy(arguments.operands, arguments, configuration)
            }
            guard arguments.operands == ["erase"] || arguments.operands == ["key"], let partner = arguments["partner"]
            else {
                throw UsageError(
                    """
                    'partner' needs consent, region, callbacks, capture, decisions, vendor, key or erase with --partner, \
                    or regions
                    """)
            }
            if arguments.operands == ["key"] { return try await Self.setKey(of: partner, configuration, arguments) }
            guard arguments["confirm"] == partner else {
                throw UsageError("an erased partner cannot be restored: --confirm must repeat the name")
            }
            let outcome = try await configuration.withClient { try await Self.erase(partner, $0, $1, configuration) }
            Output.line(ResultEnvelope.json(outcome))
            if outcome.kept > 0 || outcome.openTransactions != nil { throw Failure() }
        }
    )

    /// Checked here: the database cannot see whether a point is on its curve.
    private static func setKey(
        of partner: String, _ configuration: Configuration, _ arguments: Arguments
    ) async throws {
        guard (arguments["jwk"] == nil) == arguments.has("remove") else {
            throw UsageError("'partner key' needs --jwk or --remove")
        }
        let key = try arguments["jwk"].map {
            try PartnerKey(
                jwk: try InputFile.readOrInput($0, of: "--jwk", limit: 1 << 14, isSetting: true))
        }
        let client = JobClient(databaseURL: configuration.databaseURL)
        let stored = try await client.setKey(ofPartner: partner, to: key?.jwk)
        await client.close()
        Output.line(stored.map { String(decoding: $0, as: UTF8.self) } ?? "{}")
    }

    private struct PartnerErasure: Encodable {
        var partner: String
        var keyDestroyed = false
        var jobs = 0
        var templates = 0
        var persons = 0
        /// Jobs that another transaction holds, or whose data is damaged.
        var kept = 0
        /// Those that write jobs, perhaps the partner's, and were open before the erasure; `nil`: all have ended.
        var openTransactions: Int?
    }

    /// Safe to repeat at any time: completed work is not counted again.
    private static func erase(
        _ partner: String, _ client: JobClient, _ keys: KeyStore?, _ configuration: Configuration
    ) async throws -> PartnerErasure {
        var outcome = PartnerErasure(partner: partner)
        // Nothing is accepted from here on, so no program has a reason to make another key.
        let numbers = try await client.beginErasure(ofPartner: partner)
        // First: whatever happens to the rest, no sealed data can be opened any more.
        if let keys {
            // Recorded first: a call that is killed here may have destroyed it.
            try await client.recordKeys("destroy_partner_begin", of: partner)
            let destroyed = try await Self.destroyKeys(of: numbers, keys)
            outcome.keyDestroyed = destroyed > 0
            try await client.recordKeys("destroy_partner", of: partner, keys: destroyed)
        }
        try await Self.eraseData(of: partner, &outcome, client, configuration)
        // A transaction that was open may have accepted a job before the partner was ended; it may have ended by now.
        let open = try await client.waitForWriters()
        if open > 0 {
            outcome.openTransactions = open
            configuration.log.warning(
                "open transactions write jobs: end them (insp.v_xmin_holders) and repeat the erasure",
                ["transactions": .integer(Int64(open))])
        }
        try await Self.eraseData(of: partner, &outcome, client, configuration)
        if let keys {
            // A key that a gateway made for a request that was under way.
            let destroyed = try await Self.destroyKeys(of: numbers, keys)
            if destroyed > 0 { try await client.recordKeys("destroy_partner", of: partner, keys: destroyed) }
            while try await keys.sweep() > 0 {}
        }
        return outcome
    }

    private static func eraseData(
        of partner: String, _ outcome: inout PartnerErasure, _ client: JobClient, _ configuration: Configuration
    ) async throws {
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
    }

    /// - Returns: How many of these partners had a key.
    private static func destroyKeys(of partners: [Int64], _ keys: KeyStore) async throws -> Int {
        var destroyed = 0
        for partner in partners where try await keys.destroyPartner(partner) { destroyed += 1 }
        return destroyed
    }
}
