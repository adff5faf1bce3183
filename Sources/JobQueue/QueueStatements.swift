internal import Custody
package import Foundation
package import InspectCore
internal import ObjectStore
package import Postgres

/// All SQL of the queue: calls of the functions in `Migrations/`.
package enum QueueStatements {
    /// Registers a run of a worker: its number, region and floors to start from.
    package static func register(
        _ configuration: JobWorkerConfiguration, incarnation: String, process: Int32
    ) -> PostgresStatement {
        PostgresStatement(
            // The epoch before the floors were read: if it has changed since, the floors are ignored.
            """
            SELECT r.*, insp.check_epoch() AS epoch, insp.worker_keys(r.worker_id, $8)
            FROM insp.worker_register($1, $2, $3, $4, $5, $6, $7) r
            """,
            [
                .text(incarnation), .text(configuration.host), .int(Int64(process)), .text(configuration.version),
                .optional(configuration.region), .intArray(configuration.lanes.map(Int64.init)),
                .int(Int64(configuration.slots)), .text(configuration.publicKeys),
            ])
    }

    /// Whether the worker still counts as alive, and whether its floors and leases still hold.
    package static func heartbeat(
        _ identity: WorkerIdentity, busy: Int, fenceFloor: Int64, floors: (queues: [Int64], seqs: [Int64]),
        seen: SeenNumbers = SeenNumbers()
    ) -> PostgresStatement {
        PostgresStatement(
            "SELECT * FROM insp.heartbeat($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            [
                .int(identity.id), .text(identity.incarnation), .int(Int64(busy)), .int(fenceFloor),
                .intArray(floors.queues), .intArray(floors.seqs), .int(seen.epoch), .int(seen.fence), .int(seen.seq),
            ])
    }

    /// Removes a worker that has released all its jobs.
    package static func stop(_ identity: WorkerIdentity) -> PostgresStatement {
        PostgresStatement("SELECT insp.worker_stop($1, $2)", [.int(identity.id), .text(identity.incarnation)])
    }

    /// Whether no job that the worker could process is waiting, delayed or running.
    package static func isEmpty(_ identity: WorkerIdentity) -> PostgresStatement {
        PostgresStatement("SELECT insp.is_empty($1)", [.int(identity.id)])
    }

    /// Leases up to `limit` jobs; the last statement of its transaction.
    package static func claim(
        _ identity: WorkerIdentity, leaseTime: Duration, limit: Int, _ scans: [QueueFloors.Scan], known: Int,
        seen: SeenNumbers = SeenNumbers(), horizon: Bool = false
    ) -> PostgresStatement {
        PostgresStatement(
            "SELECT * FROM insp.claim($1, $2, make_interval(secs => $3), $4, $5, $6, $7, $8, $9, $10, $11)",
            [
                .int(identity.id), .text(identity.incarnation), .double(leaseTime.seconds), .int(Int64(limit)),
                .intArray(scans.map { Int64($0.queue) }), .intArray(scans.map(\.floor)),
                .intArray(scans.map { Int64($0.most) }), .int(Int64(known)), .int(seen.fence), .int(seen.seq),
                .bool(horizon),
            ])
    }

    /// After a claim that failed because of a second row of a job: deletes such rows from the queues that it scanned.
    static func dropStrays(_ scans: [QueueFloors.Scan], limit: Int) -> PostgresStatement {
        PostgresStatement(
            "SELECT insp.drop_strays($1, $2, $3)",
            [.intArray(scans.map { Int64($0.queue) }), .intArray(scans.map(\.floor)), .int(Int64(limit))])
    }

    /// The inputs of a leased job; no bytes if they have more than ``JobPart/limit`` together.
    package static func parts(of job: ClaimedJob) -> PostgresStatement {
        PostgresStatement(
            "SELECT * FROM insp.parts($1, $2, $3)", [.int(job.id), .int(job.fence), .int(Int64(JobPart.limit))])
    }

    /// The sealed values of a leased job, which contain the URLs of its parts.
    package static func sealedValues(of job: ClaimedJob) -> PostgresStatement {
        PostgresStatement("SELECT insp.sealed_values($1, $2)", [.int(job.id), .int(job.fence)])
    }

    /// The face id of a leased job, and its templates, a row each.
    package static func face(of job: ClaimedJob) -> PostgresStatement {
        PostgresStatement("SELECT * FROM insp.face_of($1, $2)", [.int(job.id), .int(job.fence)])
    }

    /// Hands over an enrolment's embedding, which is kept if the job ends as PASSED or WARNING.
    package static func stage(_ embedding: FaceEmbedding, generation: Int64, of job: ClaimedJob) -> PostgresStatement {
        PostgresStatement(
            "SELECT insp.face_stage($1, $2, $3, $4, $5, $6)",
            [
                .int(job.id), .int(job.fence), .int(generation), .text(embedding.engine), .text(embedding.modelSHA256),
                .text(embedding.hex),
            ])
    }

    /// Sets the lock and statement time-outs of the transaction's further statements. Also works through a pooler, where settings of
    /// the session would affect another client.
    package static func limits(lock: Duration, statement: Duration? = nil) -> PostgresStatement {
        func milliseconds(_ time: Duration) -> PostgresValue { .text("\(Int(time / .milliseconds(1)))ms") }
        guard let statement else {
            return PostgresStatement("SELECT set_config('lock_timeout', $1, true)", [milliseconds(lock)])
        }
        return PostgresStatement(
            "SELECT set_config('lock_timeout', $1, true), set_config('statement_timeout', $2, true)",
            [milliseconds(lock), milliseconds(statement)])
    }

    /// Those of the jobs whose row or lease another transaction holds; waits for none.
    package static func locked(_ jobs: [Int64]) -> PostgresStatement {
        PostgresStatement("SELECT * FROM insp.locked_jobs($1)", [.intArray(jobs)])
    }

    // MARK: Vendor sessions

    /// The vendor's server to which a leased job's session goes.
    package static func vendor(of job: ClaimedJob) -> PostgresStatement {
        PostgresStatement("SELECT * FROM insp.session_vendor($1, $2)", [.int(job.id), .int(job.fence)])
    }

    /// Records that a blob is about to be sent; false: an earlier attempt may already have sent it.
    package static func beginSession(of job: ClaimedJob, blob: Int = 0) -> PostgresStatement {
        PostgresStatement("SELECT insp.session_begin($1, $2, $3)", [.int(job.id), .int(job.fence), .int(Int64(blob))])
    }

    /// Records the outcome of a blob that was sent, and stores the answer.
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

    /// Ends the lease of a job until its session's next blob comes or its patience is over.
    package static func pauseSession(of job: ClaimedJob, for patience: Duration) -> PostgresStatement {
        PostgresStatement(
            "SELECT insp.session_pause($1, $2, $3)", [.int(job.id), .int(job.fence), .double(patience / .seconds(1))])
    }

    // MARK: Writes

    /// The statements for a batch of writes, in the order in which they must run.
    ///
    /// - Returns: Each statement with its writes; it returns the jobs whose lease was valid.
    package static func writes(_ batch: [QueueWrite]) -> [(statement: PostgresStatement, writes: [QueueWrite])] {
        var steps: [QueueWrite] = []
        var finishes: [QueueWrite] = []
        var results: [StorableResult] = []
        var held: [QueueWrite] = []
        var heldResults: [StorableResult] = []
        var deadLettered: [QueueWrite] = []
        var deadLetterErrors: [InspectError] = []
        var retried: [QueueWrite] = []
        var retries: [(error: InspectError, after: Duration)] = []
        var released: [QueueWrite] = []
        for write in batch {
            switch write.kind {
            case .step: steps.append(write)
            case .finish(let result):
                finishes.append(write)
                results.append(result)
            case .holdForReview(let result):
                held.append(write)
                heldResults.append(result)
            case .deadLetter(let error):
                deadLettered.append(write)
                deadLetterErrors.append(error)
            case .retry(let error, let after):
                retried.append(write)
                retries.append((error, after))
            case .release: released.append(write)
            }
        }
        var statements: [(statement: PostgresStatement, writes: [QueueWrite])] = []
        func add(_ sql: String, _ writes: [QueueWrite], _ parameters: @autoclosure () -> [PostgresValue]) {
            guard !writes.isEmpty else { return }
            let lease: [PostgresValue] = [.bigints(writes.map(\.job.id)), .bigints(writes.map(\.job.fence))]
            statements.append((PostgresStatement(sql, lease + parameters()), writes))
        }
        // A result is stored in one statement with the steps of its job that are in the same batch.
        let finishing = Set(finishes.map(\.job.id))
        let holding = Set(held.map(\.job.id))
        let stepsAlone = steps.filter { !finishing.contains($0.job.id) && !holding.contains($0.job.id) }
        add("SELECT * FROM insp.store_steps($1, $2, $3, $4)", stepsAlone, self.bodies(of: stepsAlone))
        add(
            "SELECT * FROM insp.settle($1, $2, $3, $4, $5, $6, $7, $8)", finishes,
            self.arrays(of: results, steps.filter { finishing.contains($0.job.id) }))
        add(
            "SELECT * FROM insp.hold_for_review($1, $2, $3, $4, $5, $6, $7, $8)", held,
            self.arrays(of: heldResults, steps.filter { holding.contains($0.job.id) }))
        add(
            "SELECT * FROM insp.dead_letter($1, $2, $3, $4, $5)", deadLettered,
            [
                .texts(deadLetterErrors.map(\.code.rawValue)),
                .texts(deadLetterErrors.map { $0.detail.replacing("\0", with: "") }),
                self.booleans(deadLetterErrors.map(\.code.isCrash)),
            ])
        add(
            "SELECT * FROM insp.retry_later($1, $2, $3, $4, $5)", retried,
            [
                .doubleArray(retries.map(\.after.seconds)), .texts(retries.map(\.error.code.rawValue)),
                self.booleans(retries.map(\.error.code.isCrash)),
            ])
        add("SELECT * FROM insp.release($1, $2)", released, [])
        return statements
    }

    private static func arrays(of results: [StorableResult], _ steps: [QueueWrite]) -> [PostgresValue] {
        [
            .texts(results.map(\.summary)), .byteas(results.map(\.body)), .bigints(steps.map(\.job.id)),
            .bigints(steps.map(\.job.fence)),
        ] + self.bodies(of: steps)
    }

    /// The statuses and bodies of steps.
    private static func bodies(of steps: [QueueWrite]) -> [PostgresValue] {
        var statuses: [Int64] = []
        var bodies: [Data?] = []
        for write in steps {
            guard case .step(let status, let body) = write.kind else { continue }
            statuses.append(Int64(status.rawValue))
            bodies.append(body)
        }
        return [.intArray(statuses), .byteas(bodies)]
    }

    /// An array of booleans; its type follows from the function that takes it.
    private static func booleans(_ values: [Bool]) -> PostgresValue {
        .text("{" + values.map { $0 ? "t" : "f" }.joined(separator: ",") + "}")
    }

    // MARK: Rows

    /// The writes of each statement, with the jobs that it returned. If the database ended a damaged job itself, the write is the
    /// dead letter that it wrote instead.
    static func settled(
        _ groups: [(statement: PostgresStatement, writes: [QueueWrite])], _ rows: [[PostgresRow]]
    ) throws -> [(writes: [QueueWrite], held: Set<Int64>)] {
        try groups.enumerated().map { index, group in
            guard group.writes.first?.hasResult == true else {
                return (group.writes, Set(try rows[index].map { try $0.int(0) }))
            }
            var held: Set<Int64> = []
            var damaged: Set<Int64> = []
            for row in rows[index] {
                let job = try row.int(0)
                held.insert(job)
                if try row.bool(1) { damaged.insert(job) }
            }
            if damaged.isEmpty { return (group.writes, held) }
            return (group.writes.map { damaged.contains($0.job.id) ? $0.deadLetteredAsDamaged : $0 }, held)
        }
    }

    /// - Returns: `nil` if the job has no face id.
    package static func face(from rows: [PostgresRow]) throws -> EnrolledFace? {
        guard let first = rows.first else { return nil }
        return EnrolledFace(
            generation: try first.int("generation"),
            templates: try rows.compactMap { row in
                guard let hex = try row.optionalString("embedding") else { return nil }
                return FaceEmbedding(
                    engine: try row.string("engine"), modelSHA256: try row.string("model_sha256"), hex: hex)
            },
            isToBeReplaced: try first.string("mode") == "replace")
    }

    /// Reads the row of ``vendor(of:)``.
    package static func vendor(from row: PostgresRow) throws -> SessionVendor {
        SessionVendor(
            url: try row.optionalString("url"), pins: try row.textArray("pins"),
            keyName: try row.optionalString("key_name"), allowPrivate: try row.bool("allow_private"),
            networks: try row.isNull("networks") ? nil : row.textArray("networks"),
            userReference: try row.optionalString("reference"))
    }

    /// Reads the rows of ``parts(of:)``.
    package static func parts(from rows: [PostgresRow]) throws -> [JobPart] {
        try rows.map { row in
            let name = try row.string("kind")
            guard let kind = PartKind(rawValue: name) else { throw InspectError(.partUnknown, name) }
            let source: JobPart.Source
            if let bytes = try row.optionalData("bytes") {
                source = .bytes(bytes)
            } else if let location = try row.optionalString("url").flatMap({ ObjectLocation($0) }),
                let size = try row.optionalInt("size")
            {
                source = .object(ObjectStore.Piece(location, size: Int(size)))
            } else if let url = try row.optionalString("url") {
                source = .url(
                    JobPart.Remote(
                        url: url, allowHTTP: try row.bool("allow_http"), allowPrivate: try row.bool("allow_private"),
                        networks: try row.isNull("networks") ? nil : row.textArray("networks")))
            } else {
                throw InspectError(.partNotFound, "\(name) was purged")
            }
            return JobPart(
                kind: kind, ordinal: Int(try row.int("ordinal")), source: source, isSealed: try row.bool("is_sealed"),
                sha256: try row.data("sha256"))
        }
    }
}
