package import Foundation
package import Postgres

/// Sessions of a liveness vendor.
extension QueueStatements {
    package static func vendor(of job: ClaimedJob) -> PostgresStatement {
        PostgresStatement("SELECT * FROM insp.session_vendor($1, $2)", [.int(job.id), .int(job.fence)])
    }

    package static func vendor(from row: PostgresRow) throws -> SessionVendor {
        SessionVendor(
            url: try row.optionalString("url"), pins: try row.textArray("pins"),
            keyName: try row.optionalString("key_name"), allowPrivate: try row.bool("allow_private"),
            networks: try row.isNull("networks") ? nil : row.textArray("networks"),
            userReference: try row.optionalString("reference"))
    }

    package static func beginSession(of job: ClaimedJob, blob: Int = 0) -> PostgresStatement {
        PostgresStatement("SELECT insp.session_begin($1, $2, $3)", [.int(job.id), .int(job.fence), .int(Int64(blob))])
    }

    package static func endSession(of job: ClaimedJob, blob: Int = 0, outcome: String, status: Int?, output: Data?)
        -> PostgresStatement
    {
        PostgresStatement(
            "SELECT insp.session_end($1, $2, $3, $4, $5, $6)",
            [
                .int(job.id), .int(job.fence), .text(outcome), status.map { .int(Int64($0)) } ?? .null,
                .optional(output), .int(Int64(blob)),
            ])
    }

    package static func pauseSession(of job: ClaimedJob, for patience: Duration) -> PostgresStatement {
        PostgresStatement(
            "SELECT insp.session_pause($1, $2, $3)", [.int(job.id), .int(job.fence), .double(patience / .seconds(1))])
    }
}
