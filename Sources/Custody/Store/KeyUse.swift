internal import InspectCore
package import Postgres

/// The main database's knowledge of keys, for operators.
package enum KeyUse {
    /// Those of the keys that have nothing to open in the database, also after the transactions that are open now.
    ///
    /// - Throws: ``InspectError`` with ``ErrorCode/rowLocked`` if such a transaction is still open ten seconds later.
    package static func unused(_ keys: [KeyID], on connection: PostgresConnection) async throws -> [KeyID] {
        guard try await self.waitForWriters(on: connection) == 0 else {
            throw InspectError(
                .rowLocked, "an open transaction writes jobs, and their keys cannot be told from unused ones",
                hint: "End it (insp.v_xmin_holders names open and prepared ones), or try again later.")
        }
        return try await connection.query(
            "SELECT insp.keys_of_no_job($1::uuid[])::text", [.textArray(keys.map(\.text))]
        ).compactMap { KeyID(try $0.string(0)) }
    }

    /// Waits at most ten seconds for the transactions that may have stored jobs or templates which nobody else sees yet.
    ///
    /// - Returns: How many of those that were open still are.
    package static func waitForWriters(on connection: PostgresConnection) async throws -> Int {
        var open = Set(try await self.writers(connection))
        let deadline = ContinuousClock.now + .seconds(10)
        while !open.isEmpty, .now < deadline {
            try await Task.sleep(for: .milliseconds(100))
            open.formIntersection(try await self.writers(connection))
        }
        return open.count
    }

    private static func writers(_ connection: PostgresConnection) async throws -> [String] {
        try await connection.query("SELECT insp.key_writers()").map { try $0.string(0) }
    }

    /// Those of the numbers that no partner of the database has.
    package static func unknown(_ partners: [Int64], on connection: PostgresConnection) async throws -> [Int64] {
        try await connection.query(
            "SELECT insp.numbers_of_no_partner($1::integer[])", [.intArray(partners)]
        ).map { try $0.int(0) }
    }

    /// Records what an operator did: the key store keeps no record.
    ///
    /// - Parameters:
    ///   - action: One of those that `insp.record_keys` lists.
    ///   - partner: Whose keys they are; `nil`: it is not about one partner.
    ///   - keys: How many keys were affected; `nil`: the action is not about a number of keys.
    package static func record(
        _ action: String, of partner: String? = nil, keys: Int?, on connection: PostgresConnection
    ) async throws {
        _ = try await connection.query(
            "SELECT insp.record_keys($1, $2, $3::integer)",
            [.text(action), .optional(partner), keys.map { .int(Int64($0)) } ?? .null])
    }

    /// The number of a partner.
    package static func number(of partner: String, on connection: PostgresConnection) async throws -> Int64 {
        try await connection.query("SELECT insp.custody_partner($1)", [.text(partner)]).single().int(0)
    }

    /// The names of partners, by number.
    package static func partners(
        _ numbers: [Int64], on connection: PostgresConnection
    ) async throws -> [Int64: String] {
        try await connection.query(
            "SELECT id, name FROM insp.v_partner WHERE id = ANY ($1::integer[])", [.intArray(numbers)]
        ).reduce(into: [:]) { $0[try $1.int(0)] = try $1.string(1) }
    }

    /// Records that partners' keys are abandoned.
    ///
    /// - Parameters:
    ///   - partner: The partner; `nil`: those of the lost wrapping key.
    ///   - reason: Must not name a person.
    package static func recordAbandonment(
        of partner: String?, keys: Int, lost: String?, reason: String, on connection: PostgresConnection
    ) async throws {
        _ = try await connection.query(
            "SELECT insp.record_keys('abandon', $1, $2::integer, $3, $4)",
            [.optional(partner), .int(Int64(keys)), .optional(lost), .text(reason)])
    }
}
