internal import Custody
package import Foundation
internal import Postgres

extension JobClient {
    /// Erases a person's jobs and faces.
    ///
    /// - Parameter index: Of the reference as the database has it: of the pseudonym, if the jobs are sealed.
    /// - Returns: How many jobs.
    package func erasePerson(_ index: Data, of partner: String) async throws -> Int {
        try await self.translating { connection in
            Int(
                try await connection.query(
                    "SELECT insp.erase_by_index($1, $2)", [.text(partner), .bytes(index)]
                ).single().int(0))
        }
    }

    /// Stops a person's jobs and erases them, with the person's faces; the proofs of the consents stay.
    ///
    /// - Parameter index: As of ``erasePerson(_:of:)``.
    package func withdrawConsent(
        of index: Data, partner: String
    ) async throws -> (cancelled: Int, erased: Int) {
        try await self.translating { connection in
            let row = try await connection.query(
                "SELECT cancelled, erased FROM insp.withdraw_by_index($1, $2)", [.text(partner), .bytes(index)]
            ).single()
            return (Int(try row.int(0)), Int(try row.int(1)))
        }
    }

    /// Ends a partner for good, with the partner of its tests, as the first step of its erasure.
    ///
    /// - Returns: Their numbers, for their keys.
    package func beginErasure(ofPartner partner: String) async throws -> [Int64] {
        try await self.translating { connection in
            try await connection.query("SELECT insp.erase_partner($1)", [.text(partner)]).map { try $0.int(0) }
        }
    }

    /// What one step of a partner's erasure did.
    package struct PartnerErasureStep: Sendable {
        /// Jobs erased in this step.
        package var jobs: Int
        /// Face templates erased in this step.
        package var templates: Int
        /// Persons erased in this step.
        package var persons: Int
        /// Jobs of the batch that were read but not erased.
        package var kept: Int
        /// Where the next step begins; `nil`: no job was left to read.
        package var last: Int64?
        /// Whether another step is needed.
        package var more: Bool
    }

    /// Erases a batch of a partner's data, after ``beginErasure(ofPartner:)``.
    package func eraseData(ofPartner partner: String, after last: Int64) async throws -> PartnerErasureStep {
        try await self.translating { connection in
            let row = try await connection.query(
                "SELECT jobs, templates, persons, kept, last, more FROM insp.erase_partner_data($1, $2)",
                [.text(partner), .int(last)]
            ).single()
            return PartnerErasureStep(
                jobs: Int(try row.int(0)), templates: Int(try row.int(1)), persons: Int(try row.int(2)),
                kept: Int(try row.int(3)), last: try row.optionalInt(4), more: try row.bool(5))
        }
    }

    /// The face ids of a person, as the database has them, for the destruction of their keys.
    package func faces(of index: Data, partner: String) async throws -> [String] {
        try await self.translating { connection in
            try await connection.query(
                "SELECT insp.faces_by_index($1, $2, 'support')", [.text(partner), .bytes(index)]
            ).map { try $0.string(0) }
        }
    }

    /// Waits for transactions that may have accepted a job before an erasure began, which the erasure could not see.
    ///
    /// - Returns: How many of those that were open still are after ten seconds.
    package func waitForWriters() async throws -> Int {
        try await self.translating { try await KeyUse.waitForWriters(on: $0) }
    }

    /// Records what an operator's program does in the key store.
    ///
    /// - Parameters:
    ///   - action: One of those that `insp.record_keys` lists.
    ///   - keys: How many keys were affected; `nil`: the action only begins.
    package func recordKeys(_ action: String, of partner: String, keys: Int? = nil) async throws {
        try await self.translating { connection in
            try await KeyUse.record(action, of: partner, keys: keys, on: connection)
        }
    }
}
