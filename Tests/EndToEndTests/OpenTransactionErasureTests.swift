import Foundation
import Postgres
import TestSupport
import Testing

/// Erasures by command while somebody's open transaction has accepted a job that no one else sees.
@Suite struct OpenTransactionErasureTests {
    static let commands = [
        ["partner", "erase", "--partner", "acme", "--confirm", "acme"],
        ["person", "erase", "--partner", "acme", "--reference", "ann"],
        ["person", "withdraw", "--partner", "acme", "--reference", "ann"],
    ]
    /// An erasure is refused while a job is unfinished.
    private static let accept = """
        SELECT insp.cancel(insp.enqueue('{"partner":"acme","workflow":"id","userReference":"ann"}', front => 'x'))
        """

    /// A job that is committed, and another one that is not.
    private func begin() async throws -> (
        database: ScratchDatabase, admin: PostgresConnection, producer: PostgresConnection
    ) {
        let database = try await ScratchDatabase.migrated()
        let (admin, producer) = (try await database.connect(), try await database.connect())
        _ = try await admin.query("SELECT insp.create_partner('acme', 'https://hooks.example.com/x')")
        _ = try await admin.query(Self.accept)
        _ = try await producer.query("BEGIN")
        _ = try await producer.query(Self.accept)
        return (database, admin, producer)
    }

    private func left(_ admin: PostgresConnection) async throws -> Int64 {
        try await admin.query("SELECT count(*) FROM insp.job WHERE forgotten_at IS NULL")[0].int(0)
    }

    @Test(.timeLimit(.minutes(5)), arguments: Self.commands)
    func `An erasure takes what an open transaction commits meanwhile`(_ words: [String]) async throws {
        let (database, admin, producer) = try await self.begin()
        let program = try Program(words, environment: ["INSPECTD_DATABASE_URL": database.url])
        defer { program.send(SIGKILL) }
        try await waitUntil("what is visible is erased") { try await self.left(admin) == 0 }
        _ = try await producer.query("COMMIT")
        #expect(try await program.wait() == 0, "\(program.standardError)")
        let outcome = try members(program.standardOutput)
        #expect(outcome["jobs"] as? Int == 2 && outcome["openTransactions"] == nil, "\(outcome)")
        #expect(try await self.left(admin) == 0)
        #expect(try await admin.query("SELECT count(*) FROM insp.part")[0].int(0) == 0)
    }

    @Test(.timeLimit(.minutes(5)), arguments: Self.commands)
    func `An erasure that a transaction outlasts says so, and its repetition erases the rest`(
        _ words: [String]
    ) async throws {
        let (database, admin, producer) = try await self.begin()
        let environment = ["INSPECTD_DATABASE_URL": database.url]
        let first = try await Program.run(words, environment: environment)
        #expect(first.status == 1)
        let outcome = try members(first.output)
        #expect(outcome["jobs"] as? Int == 1 && outcome["openTransactions"] as? Int == 1, "\(outcome)")
        _ = try await producer.query("COMMIT")
        #expect(try await self.left(admin) == 1)
        let again = try await Program.run(words, environment: environment)
        #expect(again.status == 0, "\(again.errors)")
        #expect(try members(again.output)["jobs"] as? Int == 1)
        #expect(try await self.left(admin) == 0)
    }
}
