package import Foundation
package import InspectCore
package import Postgres

/// All SQL of the queue: calls of the functions in `Migrations/`.
package enum QueueStatements {
    package static func register(
        _ configuration: JobWorkerConfiguration, incarnation: String, process: Int32
    ) -> PostgresStatement {
        PostgresStatement(
            // The epoch before the floors were read: if it has changed since, the floors are ignored.
            "SELECT r.*, insp.check_epoch() AS epoch FROM insp.worker_register($1, $2, $3, $4, $5, $6, $7) r",
            [
                .text(incarnation), .text(configuration.host), .int(Int64(process)), .text(configuration.version),
                .optional(configuration.region), .intArray(configuration.lanes.map(Int64.init)),
                .int(Int64(configuration.slots)),
            ])
    }

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

    package static func stop(_ identity: WorkerIdentity) -> PostgresStatement {
        PostgresStatement("SELECT insp.worker_stop($1, $2)", [.int(identity.id), .text(identity.incarnation)])
    }

    package static func isEmpty(_ identity: WorkerIdentity) -> PostgresStatement {
        PostgresStatement("SELECT insp.is_empty($1)", [.int(identity.id)])
    }

    package static func claim(
        _ identity: WorkerIdentity, leaseTime: Duration, limit: Int, _ scans: [QueueFloors.Scan], known: Int,
        seen: SeenNumbers = SeenNumbers(), horizon: Bool = false
    ) -> PostgresStatement {
        PostgresStatement(
            "SELECT * FROM insp.claim($1, $2, make_interval(secs => $3), $4, $5, $6, $7, $8, $9, $10, $11)",
            [
                .int(identity.id), .text(identity.incarnation), .double(leaseTime.seconds), .int(Int64(limit)),
                .intArray(scans.map { Int64($0.queue) }), .intArray(scans.map(\.floor)),
                .intArray(scans.map { Int64($0.cap) }), .int(Int64(known)), .int(seen.fence), .int(seen.seq),
                .bool(horizon),
            ])
    }

    /// After a claim that failed because of a second row of a job: deletes such rows from the queues that it scanned.
    package static func dropStrays(_ scans: [QueueFloors.Scan], limit: Int) -> PostgresStatement {
        PostgresStatement(
            "SELECT insp.drop_strays($1, $2, $3)",
            [.intArray(scans.map { Int64($0.queue) }), .intArray(scans.map(\.floor)), .int(Int64(limit))])
    }

    package static func beginSession(of job: ClaimedJob) -> PostgresStatement {
        PostgresStatement("SELECT insp.session_begin($1, $2)", [.int(job.id), .int(job.fence)])
    }

    package static func endSession(of job: ClaimedJob, outcome: String, status: Int?, output: Data?)
        -> PostgresStatement
    {
        PostgresStatement(
            "SELECT insp.session_end($1, $2, $3, $4, $5)",
            [
                .int(job.id), .int(job.fence), .text(outcome), status.map { .int(Int64($0)) } ?? .null,
                .optional(output),
            ])
    }

    package static func parts(of job: ClaimedJob) -> PostgresStatement {
        PostgresStatement(
            "SELECT * FROM insp.parts($1, $2, $3)", [.int(job.id), .int(job.fence), .int(Int64(JobPart.limit))])
    }

    package static func face(of job: ClaimedJob) -> PostgresStatement {
        PostgresStatement("SELECT * FROM insp.face_of($1, $2)", [.int(job.id), .int(job.fence)])
    }

    package static func stage(_ feature: FaceEmbedding, generation: Int64, of job: ClaimedJob) -> PostgresStatement {
        PostgresStatement(
            "SELECT insp.face_stage($1, $2, $3, $4, $5, $6)",
            [
                .int(job.id), .int(job.fence), .int(generation), .text(feature.engine), .text(feature.modelSHA256),
                .text(feature.hex),
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

    package static func locked(_ jobs: [Int64]) -> PostgresStatement {
        PostgresStatement("SELECT * FROM insp.locked_jobs($1)", [.intArray(jobs)])
    }

    // MARK: Writes

    /// The statements for a batch of writes, in the order in which they must run.
    ///
    /// - Returns: Each statement with its writes; it returns the jobs whose lease was valid.
    package static func writes(_ batch: [QueueWrite]) -> [(statement: PostgresStatement, writes: [QueueWrite])] {
        var statements: [(PostgresStatement, [QueueWrite])] = []
        var finishing: Set<Int64> = []
        var held: [QueueWrite] = []
        for write in batch {
            switch write.kind {
            case .finish: finishing.insert(write.job.id)
            case .holdForReview: held.append(write)
            default: break
            }
        }
        let holding = Set(held.map(\.job.id))
        let stepsAlone = batch.filter {
            !$0.endsLease && !finishing.contains($0.job.id) && !holding.contains($0.job.id)
        }
        if !stepsAlone.isEmpty {
            let arrays = self.stepArrays(stepsAlone)
            statements.append(
                (PostgresStatement("SELECT * FROM insp.store_steps($1, $2, $3, $4)", arrays), stepsAlone))
        }
        let finishes = batch.filter { if case .finish = $0.kind { true } else { false } }
        if !finishes.isEmpty {
            let results = finishes.map { write -> StorableResult? in
                if case .finish(let result) = write.kind { result } else { nil }
            }
            let steps = self.stepArrays(batch.filter { !$0.endsLease && finishing.contains($0.job.id) })
            statements.append(
                (
                    PostgresStatement(
                        "SELECT * FROM insp.settle($1, $2, $3, $4, $5, $6, $7, $8)",
                        [self.jobs(finishes), self.fences(finishes)] + self.resultArrays(results) + steps), finishes
                ))
        }
        if !held.isEmpty {
            let results = held.map { write -> StorableResult? in
                if case .holdForReview(let result) = write.kind { result } else { nil }
            }
            let steps = self.stepArrays(batch.filter { !$0.endsLease && holding.contains($0.job.id) })
            statements.append(
                (
                    PostgresStatement(
                        "SELECT * FROM insp.hold_for_review($1, $2, $3, $4, $5, $6, $7, $8)",
                        [self.jobs(held), self.fences(held)] + self.resultArrays(results) + steps), held
                ))
        }
        var deadLettered: [QueueWrite] = []
        var deadLetterErrors: [InspectError] = []
        var retried: [QueueWrite] = []
        var retries: [(error: InspectError, after: Duration)] = []
        var released: [QueueWrite] = []
        for write in batch {
            switch write.kind {
            case .step, .finish, .holdForReview: break
            case .deadLetter(let error):
                deadLettered.append(write)
                deadLetterErrors.append(error)
            case .retry(let error, let after):
                retried.append(write)
                retries.append((error, after))
            case .release: released.append(write)
            }
        }
        if !deadLettered.isEmpty {
            statements.append(
                (
                    PostgresStatement(
                        "SELECT * FROM insp.dead_letter($1, $2, $3, $4, $5)",
                        [
                            self.jobs(deadLettered), self.fences(deadLettered),
                            .texts(deadLetterErrors.map(\.code.rawValue)),
                            .texts(deadLetterErrors.map { $0.detail.replacing("\0", with: "") }),
                            self.booleans(deadLetterErrors.map(\.code.isCrash)),
                        ]), deadLettered
                ))
        }
        if !retried.isEmpty {
            statements.append(
                (
                    PostgresStatement(
                        "SELECT * FROM insp.retry_later($1, $2, $3, $4, $5)",
                        [
                            self.jobs(retried), self.fences(retried), .doubleArray(retries.map(\.after.seconds)),
                            .texts(retries.map(\.error.code.rawValue)),
                            self.booleans(retries.map(\.error.code.isCrash)),
                        ]), retried
                ))
        }
        if !released.isEmpty {
            statements.append(
                (
                    PostgresStatement(
                        "SELECT * FROM insp.release($1, $2)", [self.jobs(released), self.fences(released)]),
                    released
                ))
        }
        return statements
    }

    private static func stepArrays(_ writes: [QueueWrite]) -> [PostgresValue] {
        var statuses: [Int64] = []
        var bodies: [Data?] = []
        for write in writes {
            guard case .step(let status, let body) = write.kind else { continue }
            statuses.append(Int64(status.rawValue))
            bodies.append(body)
        }
        return [self.jobs(writes), self.fences(writes), .intArray(statuses), .byteas(bodies)]
    }

    private static func resultArrays(_ results: [StorableResult?]) -> [PostgresValue] {
        [.texts(results.map { $0?.summary }), .byteas(results.map { $0?.body })]
    }

    private static func jobs(_ writes: [QueueWrite]) -> PostgresValue { .bigints(writes.map(\.job.id)) }
    private static func fences(_ writes: [QueueWrite]) -> PostgresValue { .bigints(writes.map(\.job.fence)) }

    /// An array of booleans; its type follows from the function that takes it.
    private static func booleans(_ values: [Bool]) -> PostgresValue {
        .text("{" + values.map { $0 ? "t" : "f" }.joined(separator: ",") + "}")
    }

    // MARK: Rows

    /// The writes of each statement, with the jobs that it returned. Where the database ended a damaged job itself, the write is the
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
                guard let hex = try row.optionalString("feature") else { return nil }
                return FaceEmbedding(
                    engine: try row.string("engine"), modelSHA256: try row.string("model_sha256"), hex: hex)
            },
            isToBeReplaced: try first.string("mode") == "replace")
    }

    package static func parts(from rows: [PostgresRow]) throws -> [JobPart] {
        try rows.map { row in
            let name = try row.string("kind")
            guard let kind = PartKind(rawValue: name) else { throw InspectError(.partUnknown, name) }
            let source: JobPart.Source
            if let bytes = try row.optionalData("bytes") {
                source = .bytes(bytes)
            } else if let url = try row.optionalString("url") {
                source = .url(
                    JobPart.Remote(
                        url: url, allowHTTP: try row.bool("allow_http"), allowPrivate: try row.bool("allow_private"),
                        networks: try row.isNull("networks") ? nil : row.textArray("networks")))
            } else {
                throw InspectError(.partNotFound, "\(name) was purged")
            }
            return JobPart(
                kind: kind, ordinal: Int(try row.int("ordinal")), source: source, sha256: try row.data("sha256"))
        }
    }
}

/// A worker's identity in the database.
package struct WorkerIdentity: Sendable, Equatable {
    package var id: Int64
    package var incarnation: String
    package var region: Int

    package init(id: Int64, incarnation: String, region: Int) {
        self.id = id
        self.incarnation = incarnation
        self.region = region
    }
}
