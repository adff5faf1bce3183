import Custody
import Foundation
import InspectCore
import JobQueue

extension Command {
    static let person = Command(
        name: "person",
        summary: "erases a person and the person's key, exports all of a person's jobs, or verifies a consent",
        synopsis: "erase --partner NAME --reference R\n"
            + "       inspectd person export --partner NAME --reference R [--purpose P]\n"
            + "       inspectd person consent --partner NAME --job ID --consent FILE",
        words: ["erase", "export", "consent"],
        takesOperands: true,
        options: [
            .value("partner", "NAME", "the partner"),
            .value("reference", "R", "the partner's userReference of the person").of("erase", "export"),
            .purpose.of("export"),
            .value("job", "ID", "the job, which may be erased").of("consent"),
            .value("consent", "FILE", "the request's consent: a JSON object; - is standard input").of("consent"),
        ] + Configuration.databaseOptions + Configuration.keyOptions + Configuration.logOptions,
        body: { arguments in
            let configuration = try Configuration(arguments)
            guard let partner = arguments["partner"], arguments.operands.count == 1 else {
                throw UsageError("'person' needs erase, export or consent, and --partner")
            }
            if arguments.operands == ["consent"] { return try await Self.prove(arguments, partner, configuration) }
            guard let reference = arguments["reference"], ["erase", "export"].contains(arguments.operands[0]) else {
                throw UsageError("'person erase' and 'person export' need --reference")
            }
            let keys = try await configuration.checkedKeyStore()
            let client = JobClient(databaseURL: configuration.databaseURL, keys: keys)
            if arguments.operands == ["erase"] {
                try await Self.erase(reference, partner, client, keys)
            } else {
                try await Self.export(reference, partner, arguments["purpose"], client, keys)
            }
            await client.close()
            await keys?.close()
        }
    )

    private static func prove(_ arguments: Arguments, _ partner: String, _ configuration: Configuration) async throws {
        guard let job = arguments["job"], let path = arguments["consent"] else {
            throw UsageError("'person consent' needs --job and --consent")
        }
        let consent =
            path == "-"
            ? FileHandle.standardInput.readDataToEndOfFile() : try InputFile.read(path, of: "--consent")
        let keys = try await configuration.checkedKeyStore()
        let client = JobClient(databaseURL: configuration.databaseURL, keys: keys)
        let holds = try await client.holds(consent, of: job, partner: partner)
        await client.close()
        await keys?.close()
        Output.line(ResultEnvelope.json(["holds": holds]))
        if !holds { throw Failure() }
    }

    private struct Erasure: Encodable {
        /// Jobs, each with its chain of reruns.
        var jobs = 0
        /// Spellings of the reference that had jobs: the pseudonym, the plain text.
        var persons = 0
        var keyDestroyed = false
    }

    /// Faces' keys go first, as only the person's rows name the faces, and the person's key last: a repeated call finds what an
    /// interrupted one has left.
    private static func erase(
        _ reference: String, _ partner: String, _ client: JobClient, _ keys: KeyStore?
    ) async throws {
        var outcome = Erasure()
        let number = try await client.number(of: partner)
        var gone = 0
        for index in try await Self.indexes(reference, partner, client, keys) {
            // Of jobs that named the face alone, and are erased with the person.
            if let keys {
                for face in try await client.faces(of: index, partner: partner)
                where try await keys.destroyPerson(pseudonym: face, of: number) { gone += 1 }
            }
            let jobs = try await client.erasePerson(index, of: partner)
            outcome.jobs += jobs
            outcome.persons += jobs > 0 ? 1 : 0
        }
        if let keys {
            outcome.keyDestroyed = try await keys.destroyPerson(.user(reference), of: number)
            gone += outcome.keyDestroyed ? 1 : 0
            if gone > 0 { try await client.recordKeys("destroy_person", of: partner, keys: gone) }
        }
        Output.line(ResultEnvelope.json(outcome))
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

    /// By what the database finds the reference as sealed jobs have it, then as plain jobs do.
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
