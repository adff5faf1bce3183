package import Custody
package import Foundation
internal import Glibc
package import InspectCore
package import ObjectStore
internal import Postgres

/// A job's result; its two parts together are the result document.
package struct JobResult: Sendable {
    /// Decides whether the result waits for a review.
    package let decision: DecisionType
    /// Whether the partner's decision policy makes it wait for a review, in addition to what the payload requests.
    let asksForReview: Bool
    /// `nil` if it is not JSON that PostgreSQL can store; the job then ends with an error.
    package let stored: StorableResult?

    /// - Parameters:
    ///   - summary: The part that the database reads, as JSON: ``ResultSummary``.
    ///   - body: The rest, as JSON: ``ResultBody``. The database does not read it, so it is checked here.
    ///   - seal: The job's; `nil`: it is not sealed.
    ///   - asksForReview: Whether it waits for a review by the partner's decision policy.
    package init(
        decision: DecisionType, summary: Data, body: Data, seal: JobSeal? = nil, asksForReview: Bool = false
    ) {
        self.decision = decision
        self.asksForReview = asksForReview
        self.stored = StorableJSON.checked(body).map {
            StorableResult(summary: StorableJSON.text(summary), body: seal?.seal(result: $0) ?? $0)
        }
    }
}

/// Processes jobs.
package protocol JobHandler: Sendable {
    /// Processes a job.
    ///
    /// The task is cancelled when the lease is lost, when the job takes longer than its deadline, or when the worker must
    /// stop at once; its result or error is then not stored.
    ///
    /// - Returns: The job's result; it is stored with status 128.
    /// - Throws: ``InspectError``: a retryable one is tried again later, a permanent one finishes the job with decision
    ///   NOT_EXECUTED. Any other error counts as ``ErrorCode/internalError``.
    func run(_ context: JobContext) async throws -> JobResult
}

/// There is no permit for the job, or no room for its bytes: it is released, with the attempt refunded.
package struct NoPermit: Error, Sendable {
    package init() {}
}

/// The job's session waits for its next blob, and the job's lease has ended (``JobContext/pauseSession(for:)``).
package struct SessionPaused: Error, Sendable {
    package init() {}
}

/// The vendor's server for a partner's sessions.
package struct SessionVendor: Sendable {
    /// `nil`: the worker's own.
    package var url: String?
    /// Public keys, one of which the server must show, as `sha256//BASE64`; empty: any valid certificate.
    package var pins: [String]
    /// Name of the key that is sent to the server; `nil`: none.
    package var keyName: String?
    /// Whether the server may have a private address.
    package var allowPrivate: Bool
    /// In CIDR notation; `nil`: no list.
    package var networks: [String]?
    /// The request's `userReference`; `nil`: it has none, or it is sealed.
    package var userReference: String?

    package init(
        url: String? = nil, pins: [String], keyName: String? = nil, allowPrivate: Bool, networks: [String]? = nil,
        userReference: String? = nil
    ) {
        self.url = url
        self.pins = pins
        self.keyName = keyName
        self.allowPrivate = allowPrivate
        self.networks = networks
        self.userReference = userReference
    }
}

/// A handler's operations on its job.
package final class JobContext: Sendable {
    /// The job with its lease; it stays the same for the whole attempt.
    package let job: ClaimedJob
    private let worker: JobWorker

    init(_ job: ClaimedJob, _ worker: JobWorker) {
        self.job = job
        self.worker = worker
    }

    /// Reads the job's inputs.
    ///
    /// - Throws: ``InspectError`` with ``ErrorCode/leaseLost``, ``ErrorCode/partNotFound`` if retention removed the bytes, or
    ///   ``ErrorCode/databaseUnavailable``.
    package func parts() async throws -> [JobPart] {
        let parts = try QueueStatements.parts(from: try await self.reading(QueueStatements.parts(of: self.job)))
        // The session is looked up once the images are analysed, and its job must then find a permit.
        let isNeeded = parts.contains { $0.isRemote || $0.kind == .sessionBlob }
        self.worker.send { machine, actions in
            machine.keepPermit(for: self.job, isNeeded: isNeeded, at: .now, &actions)
        }
        return parts
    }

    /// Reads the job's sealed values; `nil`: they were removed.
    ///
    /// - Throws: ``InspectError`` with ``ErrorCode/leaseLost`` or ``ErrorCode/databaseUnavailable``.
    package func sealedValues() async throws -> Data? {
        try await self.reading(QueueStatements.sealedValues(of: self.job)).single().optionalData(0)
    }

    /// Reads the templates of the job's face id, all from one snapshot.
    ///
    /// - Throws: ``InspectError`` with ``ErrorCode/leaseLost``, ``ErrorCode/faceIDInvalid`` if it has none, or
    ///   ``ErrorCode/databaseUnavailable``.
    package func enrolledFace() async throws -> EnrolledFace {
        let rows = try await self.reading(QueueStatements.face(of: self.job))
        guard let face = try QueueStatements.face(from: rows) else { throw InspectError(.faceIDInvalid) }
        return face
    }

    /// Hands over the embedding of an enrolment. The transaction that finishes the job decides whether it becomes a template; with
    /// any other outcome the embedding is deleted with the job.
    ///
    /// - Parameter generation: The face id's generation on which the decision is based.
    /// - Throws: ``InspectError`` with ``ErrorCode/leaseLost``, or ``ErrorCode/faceBusy`` if the face id has changed since or
    ///   another job is enrolling it, or ``ErrorCode/faceTaken`` if it is another person's.
    package func hand(over embedding: FaceEmbedding, generation: Int64) async throws {
        _ = try await self.reading(QueueStatements.stage(embedding, generation: generation, of: self.job))
    }

    /// Stores the result of a stage.
    ///
    /// It is written with the next batch, in the order of the calls and before the job's own result. After a crash before that,
    /// the next attempt repeats the stage.
    ///
    /// - Parameters:
    ///   - stage: The status that the job thereby reaches.
    ///   - output: The result as JSON.
    ///   - seal: The job's; `nil`: it is not sealed.
    /// - Throws: ``InspectError`` with ``ErrorCode/leaseLost`` if the job is known to be no longer this worker's.
    package func complete(_ stage: JobStatus, output: Data, seal: JobSeal? = nil) async throws {
        precondition(stage.isStage, "\(stage.name) is not a stage whose result is stored")
        let body = StorableJSON.checked(output).map { seal?.seal($0, of: stage) ?? $0 }
        let isHeld = self.worker.send { machine, actions in
            guard let body else {
                machine.refused(self.job, at: .now, &actions)
                return false
            }
            return machine.completed(stage, body, of: self.job, at: .now, &actions)
        }
        guard isHeld else { throw InspectError(.leaseLost) }
    }

    // MARK: Vendor sessions

    /// Reads where the job's session goes.
    ///
    /// - Throws: ``InspectError`` with ``ErrorCode/leaseLost`` or ``ErrorCode/databaseUnavailable``.
    package func sessionVendor() async throws -> SessionVendor {
        try QueueStatements.vendor(from: try await self.reading(QueueStatements.vendor(of: self.job)).single())
    }

    /// Records that a blob of the job's session is about to be sent to a vendor's server.
    ///
    /// - Parameter blob: Its place in the session.
    /// - Throws: ``InspectError`` with ``ErrorCode/leaseLost``, or ``ErrorCode/vendorOutcomeUnknown`` if an earlier attempt may
    ///   have sent it: a blob can be used once.
    package func beginSession(blob: Int = 0) async throws {
        guard try await self.reading(QueueStatements.beginSession(of: self.job, blob: blob)).single().bool(0) else {
            throw InspectError(.vendorOutcomeUnknown, "an earlier attempt ended while it was under way")
        }
    }

    /// Records the outcome of the blob that was sent.
    ///
    /// - Parameters:
    ///   - outcome: `answered`, `refused`, `not_sent`, `invalid` or `lost`.
    ///   - output: The liveness stage's result as JSON; stored at once, since the blob cannot be used again.
    ///   - seal: The job's; `nil`: it is not sealed.
    package func endSession(
        blob: Int = 0, outcome: String, status: Int?, output: Data? = nil, seal: JobSeal? = nil
    ) async throws {
        _ = try await self.asking(
            QueueStatements.endSession(
                of: self.job, blob: blob, outcome: outcome, status: status,
                output: output.map { seal?.seal($0, of: .liveness) ?? $0 }))
    }

    /// Ends the lease of a job whose session continues, until the next blob arrives or the time is over.
    ///
    /// - Parameter patience: From the last answer on.
    /// - Returns: False if that has passed: the job must be decided with the blobs it has. Otherwise the handler must throw
    ///   ``SessionPaused``.
    /// - Throws: ``InspectError`` with ``ErrorCode/leaseLost`` or ``ErrorCode/databaseUnavailable``.
    package func pauseSession(for patience: Duration) async throws -> Bool {
        try await self.reading(QueueStatements.pauseSession(of: self.job, for: patience)).single().bool(0)
    }

    // MARK: Outside the slot

    /// Frees the job's slot while the job waits for another server. The job keeps its lease and its deadline. Does nothing if it
    /// has left its slot already.
    ///
    /// A job may end outside its slot; before it uses an analyzer or much processor time, it calls ``returnToSlot()``.
    ///
    /// - Parameter bytes: The job's bytes in memory.
    /// - Throws: ``NoPermit``, which the handler must rethrow; ``InspectError`` with ``ErrorCode/leaseLost``.
    package func leaveSlot(holding bytes: Int) throws {
        let isOutside = self.worker.send { machine, actions in
            machine.leaveSlot(self.job, holding: bytes, at: .now, &actions)
        }
        guard let isOutside else { throw InspectError(.leaseLost) }
        guard isOutside else { throw NoPermit() }
    }

    /// Reserves room for bytes that the job will hold outside its slot. Returns at once, on any thread.
    ///
    /// - Returns: False if there is no room: the job must throw ``NoPermit``.
    package func hold(_ bytes: Int) -> Bool {
        self.worker.ask { $0.outside.hold(bytes, self.job.fence, at: .now) }
    }

    /// Waits for a slot, ahead of jobs that are not claimed yet.
    ///
    /// - Throws: `CancellationError`.
    package func returnToSlot() async throws {
        let isBack = await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Bool, Never>) in
                let isQueued = self.worker.exchange { guarded, actions in
                    // Cancelled before it waited, so the cancellation handler found nothing to wake.
                    guard !Task.isCancelled, guarded.machine.queueForSlot(self.job, &actions) else { return false }
                    guarded.waiters[self.job.fence] = continuation
                    return true
                }
                if !isQueued { continuation.resume(returning: false) }
            }
        } onCancel: {
            self.worker.send { machine, actions in machine.leaveOutside(self.job, &actions) }
        }
        guard isBack else { throw CancellationError() }
    }

    // MARK: Statements

    /// Runs one statement for the leased job, on a connection that does not claim or write.
    private func reading(_ statement: PostgresStatement) async throws -> [PostgresRow] {
        do {
            return try await self.asking(statement)
        } catch let error as PostgresError {
            guard let refusal = error.refusal else {
                throw InspectError(.databaseUnavailable, error.sqlState ?? error.code.rawValue)
            }
            if refusal.code == .leaseLost {
                self.worker.send { machine, actions in
                    machine.lose(at: .now, &actions) { $0.job.fence == self.job.fence }
                }
            }
            throw refusal
        }
    }

    /// Runs a statement that may be repeated. It does not wait for held rows: this connection is the only one that reads parts, and
    /// other jobs need it.
    private func asking(_ statement: PostgresStatement) async throws -> [PostgresRow] {
        try await self.worker.auxiliary.retrying(for: .seconds(20)) { connection in
            try await connection.pipeline([QueueStatements.limits(lock: .milliseconds(50)), statement])[1]
        }
    }
}

/// One input of a job.
package struct JobPart: Sendable {
    /// The maximum of bytes in all parts of one job together.
    package static let limit = 64 << 20

    /// The source of the bytes.
    package enum Source: Sendable {
        case bytes(Data)
        case url(Remote)
        /// In the object store, sealed.
        case object(ObjectStore.Piece)
    }

    /// A part to fetch, and what the job's endpoint allows.
    package struct Remote: Sendable {
        /// An http or https URL. It may contain a secret, so it is never logged.
        package var url: String
        /// Whether plain http is allowed.
        package var allowHTTP: Bool
        /// Whether private addresses are allowed: all, or those of ``networks``.
        package var allowPrivate: Bool
        /// In CIDR notation; `nil`: no list.
        package var networks: [String]?
    }

    /// The kind determines what is checked in it, and how large it may be.
    package var kind: PartKind
    /// Place among the frames; 0 for other kinds.
    package var ordinal: Int
    /// Where its bytes are.
    package var source: Source
    /// Whether its bytes are sealed. The digest is of these bytes.
    package var isSealed = false
    /// Whether it must be fetched.
    package var isRemote: Bool { if case .bytes = self.source { false } else { true } }
    /// SHA-256 that the bytes must have.
    package var sha256: Data
}

/// A job's result in a form that PostgreSQL can store.
package struct StorableResult: Sendable {
    /// ``ResultSummary`` as JSON: all that the database itself reads of a result.
    package var summary: String
    /// JSON, or sealed.
    package var body: Data
}

/// Text that PostgreSQL can store as `jsonb`.
enum StorableJSON {
    /// - Returns: `nil` if it is not JSON.
    package static func checked(_ data: Data) -> Data? {
        let data = Data(self.text(data).utf8)
        guard (try? JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed)) != nil else { return nil }
        return data
    }

    /// Decodes as UTF-8 with damaged sequences replaced by U+FFFD, and removes U+0000, which `jsonb` cannot hold, as a byte and as
    /// the escape `\u0000`.
    package static func text(_ data: Data) -> String {
        let hasNUL = data.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else { return false }
            if memchr(start, 0, bytes.count) != nil { return true }
            var place = 0
            while let found = memchr(start + place, CInt(UInt8(ascii: "\\")), bytes.count - place) {
                place = found - UnsafeMutableRawPointer(mutating: start)
                if bytes[place...].starts(with: #"\u0000"#.utf8) { return true }
                place += 1
            }
            return false
        }
        guard hasNUL else { return String(decoding: data, as: UTF8.self) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(data.count)
        let replacement = Array(#"\ufffd"#.utf8)
        let input = [UInt8](data)
        var index = 0
        while index < input.count {
            if input[index] == UInt8(ascii: "\\"), index + 1 < input.count {
                // A backslash is copied with the next character, so that an escaped backslash before u0000 is left alone.
                if input[index...].starts(with: #"\u0000"#.utf8) {
                    bytes += replacement
                    index += 6
                } else {
                    bytes += input[index...(index + 1)]
                    index += 2
                }
            } else {
                if input[index] != 0 { bytes.append(input[index]) }
                index += 1
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
