internal import Postgres

extension JobClient {
    /// Erases a person's jobs and faces.
    ///
    /// - Parameter reference: As the database has it: the pseudonym, where the jobs are sealed.
    /// - Returns: How many jobs.
    package func erasePerson(_ reference: String, of partner: String) async throws -> Int {
        try await self.translating { connection in
            Int(
                try await connection.query(
                    "SELECT insp.erase_person($1, $2)", [.text(partner), .text(reference)]
                ).single().int(0))
        }
    }

    /// Ends a partner for good, as the first step of its erasure.
    ///
    /// - Returns: Its number, for its key.
    package func beginErasure(ofPartner partner: String) async throws -> Int64 {
        try await self.translating { connection in
            try await connection.query("SELECT insp.erase_partner($1)", [.text(partner)]).single().int(0)
        }
    }

    /// What one step of a partner's erasure did.
    package struct PartnerErasureStep: Sendable {
        package var jobs: Int
        package var templates: Int
        package var persons: Int
        package var kept: Int
        /// Where the next step begins; `nil`: no job was left to read.
        package var last: Int64?
        package var more: Bool
    }

    /// Erases a batch of what a partner has, after ``beginErasure(ofPartner:)``.
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

    /// The face ids of a person, as the database has them.
    package func faces(of reference: String, partner: String) async throws -> [String] {
        try await self.translating { connection in
            try await connection.query("SELECT insp.faces_of_person($1, $2)", [.text(partner), .text(reference)])
                .map { try $0.string(0) }
        }
    }
}
