import Custody
import Foundation
import InspectCore
import JobQueue

extension Command {
    static let person = Command(
        name: "person",
        summary: "erases a person with all keys, exports all of a person's jobs, withdraws or verifies a consent",
        synopsis: "erase --partner NAME --reference R\n"
            + "       inspectd person withdraw --partner NAME --reference R\n"
            + "       inspectd person export --partner NAME --reference R [--purpose P]\n"
            + "       inspectd person consent --partner NAME --job ID --consent FILE",
        words: ["erase", "withdraw", "export", "consent"],
        takesOperands: true,
        options: [
            .value("partner", "NAME", "the partner"),
            .value("reference", "R", "the partner's userReference for the person")
                .personal.of("erase", "withdraw", "export"),
            .purpose.of("export"),
            .value("job", "ID", "the job, which may be erased").of("consent"),
            .value("consent", "FILE", "the request's consent: a JSON object; - is standard input").of("consent"),
        ] + Configuration.databaseOptions + Configuration.keyOptions + Configuration.logOptions,
        body: { arguments in
            let configuration = try Configuration(arguments)
            guard let partner = arguments["partner"], arguments.operands.count == 1 else {
                throw UsageError("'person' needs erase, withdraw, export or consent, and --partner")
            }
            if arguments.operands == ["consent"] { return try await Self.prove(arguments, partner, configuration) }
            let word = arguments.operands[0]
            guard let reference = arguments["reference"], ["erase", "withdraw", "export"].contains(word) else {
                throw UsageError("'person erase', 'person withdraw' and 'person export' need --reference")
            }
            try await configuration.withClient { client, keys in
                if word != "export" {
                    try await Self.erase(reference, partner, client, keys, stopping: word == "withdraw")
                } else {
                    try await Self.export(reference, partner, arguments["purpose"], client, keys)
                }
            }
        }
    )

    private static func prove(_ arguments: Arguments, _ partner: String, _ configuration: Configuration) async throws {
        guard let job = arguments["job"], let path = arguments["consent"] else {
            throw UsageError("'person consent' needs --job and --consent")
        }
        let consent = try InputFile.readOrInput(path, of: "--consent")
        let holds = try await configuration.withClient { client, _ in
            try await client.holds(consent, of: job, partner: partner)
        }
        Output.line(ResultEnvelope.json(["holds": holds]))
        if !holds { throw Failure() }
    }

    private struct Erasure: Encodable {
        /// Jobs, each with its chain of reruns.
        var jobs = 0
        /// Spellings of the reference that had jobs: the pseudonym, the plain text.
        var persons = 0
        var keyDestroyed = false
        /// Jobs that a withdrawal stopped.
        var cancelled: Int?
        /// Those that write jobs, perhaps the person's, and were open before the erasure; `nil`: all have ended.
        var openTransactions: Int?
    }

    /// - Parameter isWithdrawal: Whether the person withdrew the consent: what is under way stops as well.
    ///
    /// The keys go after the jobs: a repeated call finds what an interrupted one left. The intention is recorded first, since an
    /// interrupted call may have destroyed keys.
    private static func erase(
        _ reference: String, _ partner: String, _ client: JobClient, _ keys: KeyStore?, stopping isWithdrawal: Bool
    ) async throws {
        var outcome = Erasure(cancelled: isWithdrawal ? 0 : nil)
        var faces: [String] = []
        let indexes = try await Self.indexes(reference, partner, client, keys)
        if keys != nil { try await client.recordKeys("destroy_person_begin", of: partner) }
        var erased: Set<Data> = []
        func eraseAll() async throws {
            for index in indexes {
                faces += try await client.faces(of: index, partner: partner)
                let jobs: Int
                if isWithdrawal {
                    let withdrawn = try await client.withdrawConsent(of: index, partner: partner)
                    outcome.cancelled = (outcome.cancelled ?? 0) + withdrawn.cancelled
                    jobs = withdrawn.erased
                } else {
                    jobs = try await client.erasePerson(index, of: partner)
                }
                outcome.jobs += jobs
                if jobs > 0 { erased.insert(index) }
            }
        }
        let number = try await client.number(of: partner)
        var gone = 0
        func destroyKeys() async throws {
            guard let keys else { return }
            // Of jobs that named only the face, and are erased with the person.
            for face in faces where try await keys.destroyPerson(pseudonym: face, of: number) { gone += 1 }
            faces = []
            if try await keys.destroyPerson(.user(reference), of: number) {
                gone += 1
                outcome.keyDestroyed = true
            }
        }
        try await eraseAll()
        // At once: a worker destroys them seconds after the erasure, too, and nobody could say then that this call did.
        try await destroyKeys()
        // Transactions that were open may have accepted a job that could not be seen; they may have ended by now.
        let open = try await client.waitForWriters()
        try await eraseAll()
        try await destroyKeys()
        if open > 0 { outcome.openTransactions = open }
        outcome.persons = erased.count
        if keys != nil { try await client.recordKeys("destroy_person", of: partner, keys: gone) }
        Output.line(ResultEnvelope.json(outcome))
        if outcome.openTransactions != nil { throw Failure() }
    }

    private static func export(
        _ reference: String, _ partner: String, _ purpose: String?, _ client: JobClient, _ keys: KeyStore?
    ) async throws {
        for index in try await Self.indexes(reference, partner, client, keys) {
            for job in try await client.jobs(of: index, partner: partner, purpose: purpose) {
                Output.line(try await client.result(of: job, purpose: purpose, marksMissingKey: true))
            }
        }
    }

    /// How the database finds the reference in sealed jobs, then in plain jobs.
    private static func indexes(
        _ reference: String, _ partner: String, _ client: JobClient, _ keys: KeyStore?
    ) async throws -> [Data] {
        var spellings = [reference]
        if let keys {
            let key = try await keys.partnerKey(try await client.number(of: partner))
            spellings.insert(BlindIndex(key).pseudonym(reference, use: "user"), at: 0)
        }
        return spellings.map(BlindIndex.ofStored)
    }
}
