package import Custody
internal import Foundation
internal import InspectCore
package import JobQueue
package import ObjectStore

/// Processes a claimed job: fetches the parts, runs the missing stages, decides.
package struct InspectionPipeline: JobHandler {
    /// Decides once the parts are there.
    package let runner: InspectionRunner
    /// Fetches the parts that a request gives as URLs.
    package let fetcher: PartFetcher
    /// Opens the parts that partners encrypted.
    package let decryption: PartDecryption
    /// Opens sealed jobs; `nil`: this worker has no key store.
    package var keys: KeyStore?
    /// Has parts of sealed jobs; `nil`: this worker has no object store.
    package var objects: ObjectStore?
    /// Asks vendors' servers; `nil`: none.
    package var vendor: VendorSessionClient?
    /// Called after each stage, before its result is stored.
    package var onStage: @Sendable (JobReference, Duration) -> Void = { _, _ in }
    /// Time limit for fetching all parts of one job, by URL and from the object store; and, up to a minute, for its key.
    package var fetchDeadline: Duration = .seconds(60)
    /// Called with what other limits would have changed, before the result is stored; with what other analyzers would have changed, later.
    /// Test jobs have none, since nothing is decided.
    package var onShadow: @Sendable (JobReference, InspectionRunner.Shadow) -> Void = { _, _ in }
    /// Inspects jobs once more with other analyzers; `nil`: none.
    package var shadowAnalysis: ShadowAnalysis?
    /// Called if a job was not inspected once more.
    package var onShadowOmitted: @Sendable (JobReference, ShadowAnalysis.Omission) -> Void = { _, _ in }
    /// Called with the reason why a part was not fetched, which the job's owner must not learn. Contains no URL.
    package var onFetchFailure: @Sendable (JobReference, _ part: String, _ reason: String) -> Void = { _, _, _ in }

    package init(
        runner: InspectionRunner, fetcher: PartFetcher, decryption: PartDecryption, vendor: VendorSessionClient? = nil,
        onStage: @escaping @Sendable (JobReference, Duration) -> Void = { _, _ in }
    ) {
        self.runner = runner
        self.fetcher = fetcher
        self.decryption = decryption
        self.vendor = vendor
        self.onStage = onStage
    }

    /// Completes the stages that earlier attempts did not store, and decides.
    ///
    /// - Throws: ``NoPermit``, ``SessionPaused``, or an ``InspectError``, whose code says whether the job is retried.
    package func run(_ context: JobContext) async throws -> JobResult {
        let job = context.job
        let request: InspectionRequest
        do {
            request = try JSONDecoder().decode(InspectionRequest.self, from: job.payload)
        } catch {
            // `enqueue` validated the payload, so the schema is newer than this worker; another worker may know it.
            throw InspectError(.internalError, "the payload is of a newer version")
        }
        let seal = try await self.seal(of: job)
        if request.isTest { return try await self.tested(request, context, seal) }
        // Checked before any image is fetched: without a template, there is nothing to do.
        var enrolled = request.workflow.namesFace ? try await context.enrolledFace() : nil
        if let keys, let templates = enrolled?.templates {
            enrolled?.templates = try await keys.open(templates, of: job.partner)
        }
        if request.workflow.capabilities.contains(.authentication), enrolled?.templates.isEmpty != false {
            throw InspectError(.faceNotEnrolled)
        }
        let parts = try await self.inputs(of: context, seal)
        let bytes = parts.reduce(0) { $0 + $1.bytes.count }
        let stored = try seal.map { seal in try job.steps.map { ($0, try seal.open($1, of: $0)) } }
        let ledger = InspectionRunner.Ledger(stored: stored.map { Dictionary(uniqueKeysWithValues: $0) } ?? job.steps) {
            stage, output, duration in
            self.onStage(job.reference(at: stage), duration)
            try await context.complete(stage, output: output, seal: seal)
        }
        let known = enrolled
        let outcome = try await self.runner.inspect(request, parts: parts, ledger: ledger, enrolled: known) {
            blobs, former in
            // A vendor's server may be slow, so another job gets the slot meanwhile.
            try context.leaveSlot(holding: bytes)
            return try await self.ask(about: blobs, after: former, request, context, seal)
        }
        if var template = outcome.template, let known {
            if let seal, let keys {
                template = TemplateSeal.seal(template, under: try await keys.templateKey(of: seal))
            }
            try await context.hand(over: template, generation: known.generation)
        }
        let decided = job.reference(at: .decided)
        if let shadow = outcome.shadow { self.onShadow(decided, shadow) }
        self.shadowAnalysis?.begin(outcome, of: request, parts) { compared in
            switch compared {
            case .success(let shadow): self.onShadow(decided, shadow)
            case .failure(let omitted): self.onShadowOmitted(decided, omitted.reason)
            }
        }
        return Self.result(outcome.document, of: request, seal)
    }

    private static func result(
        _ document: ResultDocument, of request: InspectionRequest, _ seal: JobSeal?
    ) -> JobResult {
        JobResult(
            decision: document.decision.type, summary: ResultEnvelope.json(document.summary),
            body: ResultEnvelope.json(document.body), seal: seal,
            asksForReview: request.decisionPolicy?.asksForReview(of: document) ?? false)
    }

    /// A job of a test credential: nothing is analysed, compared, enrolled or sent to a vendor.
    private func tested(
        _ request: InspectionRequest, _ context: JobContext, _ seal: JobSeal?
    ) async throws -> JobResult {
        let parts = try await self.inputs(of: context, seal)
        guard let specimen = parts.lazy.filter({ !$0.kind.isOpaque }).compactMap({ TestSpecimen($0.bytes) }).first
        else {
            throw InspectError(
                .partMissing, "a specimen",
                hint: "A test job has inspectd-specimen:passed, or another specimen, instead of an image.")
        }
        var document = specimen.document(of: request.workflow, parts: parts.map(\.kind))
        if document.error == nil { document.policyVersion = request.decisionPolicy?.version }
        return Self.result(document, of: request, seal)
    }

    /// The bytes of every part, verified against its digest: images are analysed exactly as received. The job leaves its
    /// slot while a part must be fetched, as its server may be slow.
    private func inputs(of context: JobContext, _ seal: JobSeal?) async throws -> [InspectionRunner.Part] {
        let parts = try await Self.located(try await context.parts(), context, seal)
        let fetched = parts.contains(where: \.isRemote) ? try await self.fetch(parts, context) : [:]
        if !fetched.isEmpty, parts.contains(where: { !$0.kind.isOpaque }) { try await context.returnToSlot() }
        return try parts.enumerated().compactMap { index, part in
            let given = if case .bytes(let bytes) = part.source { bytes } else { fetched[index] }
            guard let bytes = given else { return nil }
            // Those by URL were compared as they arrived.
            if case .url = part.source {
            } else {
                guard PartFetcher.matches(bytes, sha256: part.sha256) else {
                    throw InspectError(.digestMismatch, part.kind.rawValue)
                }
            }
            let plain = try part.isSealed ? Self.unseal(bytes, of: part, seal) : bytes
            return InspectionRunner.Part(kind: part.kind, bytes: try self.open(plain, of: part.kind))
        }
    }

    /// The plaintext of a part that the client encrypted for the workers. Digests cover the encrypted bytes. Session blobs
    /// are opaque and stay as they are.
    private func open(_ bytes: Data, of kind: PartKind) throws(InspectError) -> Data {
        guard !kind.isOpaque else { return bytes }
        do { return try self.decryption.open(bytes) } catch { throw InspectError(error.code, kind.rawValue) }
    }

    // MARK: Parts from elsewhere

    /// Fetches what is not in the database, outside the slot: parts by URL, and sealed ones from the object store. They share the job's
    /// permit, its memory and its time.
    ///
    /// - Returns: The bytes by the part's place.
    private func fetch(_ parts: [JobPart], _ context: JobContext) async throws -> [Int: Data] {
        var size = 0
        var pieces: [(place: Int, piece: ObjectStore.Piece)] = []
        var sources: [(place: Int, source: PartFetcher.Source)] = []
        for (place, part) in parts.enumerated() {
            switch part.source {
            case .bytes(let bytes): size += bytes.count
            case .object(let piece): pieces.append((place, piece))
            case .url(let remote):
                sources.append(
                    (
                        place,
                        PartFetcher.Source(
                            name: part.kind.rawValue, url: remote.url,
                            expectedSHA256: part.sha256.hexadecimal,
                            allowHTTP: remote.allowHTTP, allowPrivate: remote.allowPrivate, networks: remote.networks)
                    ))
            }
        }
        try context.leaveSlot(holding: size)
        let bounds = PartFetcher.Bounds(limit: PartKind.byteLimit, within: self.fetchDeadline) { context.hold($0) }
        var fetched: [Int: Data] = [:]
        if !pieces.isEmpty {
            // Their sizes are known, so the room is found before the first byte.
            let stored = pieces.reduce(0) { $0 + $1.piece.size }
            guard context.hold(stored) else { throw NoPermit() }
            size += stored
            for (place, data) in zip(
                pieces, try await self.stored(pieces.map(\.piece), until: bounds.deadline))
            {
                fetched[place.place] = data
            }
        }
        guard !sources.isEmpty else { return fetched }
        let reference = context.job.reference(at: context.job.status)
        do {
            let found = try await self.fetcher.fetch(sources.map(\.source), bounds, total: JobPart.limit - size) {
                self.onFetchFailure(reference, $0, $1)
            }
            for (source, data) in zip(sources, found) { fetched[source.place] = data }
        } catch is PartFetcher.NotAdmitted {
            throw NoPermit()
        }
        return fetched
    }

    /// - Throws: ``InspectError`` with ``ErrorCode/objectMissing``, ``ErrorCode/digestMismatch``, or ``ErrorCode/objectStoreUnavailable``,
    ///   with which the job is delayed.
    private func stored(
        _ pieces: [ObjectStore.Piece], until deadline: ContinuousClock.Instant
    ) async throws -> [Data] {
        guard let objects else {
            throw InspectError(.objectStoreUnavailable, "this worker has no object store")
        }
        return try await objects.get(pieces, until: deadline)
    }

    // MARK: Sealed jobs

    /// What opens and seals the job; `nil`: it is not sealed.
    ///
    /// It waits for the key store as long as it would for the parts, a minute at most. Then others get the slot.
    ///
    /// - Throws: ``InspectError`` with one of the codes after which an attempt does not count (``ErrorCode/isUncounted``).
    private func seal(of job: ClaimedJob) async throws -> JobSeal? {
        guard let id = job.key else { return nil }
        guard let keys else { throw InspectError(.keyMissing) }
        let end = ContinuousClock.now + min(self.fetchDeadline, .seconds(60))
        while true {
            do throws(InspectError) {
                return try JobSeal(try await keys.key(id), partner: job.partner)
            } catch {
                guard error.code == .keysUnavailable, ContinuousClock.now < end else { throw error }
            }
            try await Task.sleep(for: .seconds(1))
        }
    }

    /// Parts with the URLs and digests that the request had: of sealed ones the database has the origin alone.
    private static func located(_ parts: [JobPart], _ context: JobContext, _ seal: JobSeal?) async throws -> [JobPart] {
        guard let seal, parts.contains(where: { if case .url = $0.source { true } else { false } }),
            let values = try await context.sealedValues().map({ sealed throws(InspectError) in try seal.values(sealed) }
            )
        else { return parts }
        return try parts.map { part in
            guard case .url(var remote) = part.source,
                let source = values.source(of: part.kind, part.ordinal, inPlaceOf: remote.url)
            else { return part }
            guard let sum = [UInt8](hexadecimal: source.sha256.lowercased()), sum.count == 32 else {
                throw InspectError(.sealBroken, part.kind.rawValue)
            }
            var part = part
            remote.url = source.url
            part.source = .url(remote)
            part.sha256 = Data(sum)
            return part
        }
    }

    /// A part's bytes as they were before they were sealed.
    private static func unseal(_ bytes: Data, of part: JobPart, _ seal: JobSeal?) throws(InspectError) -> Data {
        // A part of a job without a key was not stored by `insp.enqueue_parts`.
        guard let seal else { throw InspectError(.sealBroken, part.kind.rawValue) }
        do { return try seal.open(bytes, part: part.kind, part.ordinal) } catch {
            throw InspectError(error.code, part.kind.rawValue)
        }
    }

    // MARK: Vendor sessions

    /// The vendor server's answers about a session, as the liveness stage's facts. Each access is recorded before and after it happens.
    ///
    /// - Parameters:
    ///   - former: The stage's output as far as the session had come.
    /// - Throws: ``SessionPaused`` if the session waits for its next blob.
    private func ask(
        about blobs: [Data], after former: Data?, _ request: InspectionRequest, _ context: JobContext, _ seal: JobSeal?
    ) async throws -> Data {
        var output = former
        var facts = LivenessStageFacts(passive: nil)
        if let former { facts = try JSONDecoder().decode(LivenessStageFacts.self, from: former) }
        let answered = former == nil ? 0 : facts.session?.answered ?? blobs.count
        guard let vendor else { throw InspectError(.vendorNotConfigured) }
        if answered < blobs.count {
            let session = try await context.sessionVendor()
            let server = try vendor.server(of: session)
            let reference = try await self.userReference(session, context, seal)
            for (place, blob) in blobs.enumerated().dropFirst(answered) {
                // A rerun has all the blobs of a session that may end earlier this time.
                guard place == 0 || facts.session?.isOpen == true else { break }
                try VendorSessionClient.check(blob)
                try await context.beginSession(blob: place)
                do {
                    let known = facts.vendor.map { VendorSessionAnswer($0, isOpen: facts.session?.isOpen == true) }
                    let (answer, status) = try await vendor.process(
                        blob, of: reference, at: server, after: known, scansDocument: request.scansDocument)
                    facts.vendor = answer.facts
                    facts.session = VendorSession(answered: place + 1, isOpen: answer.isOpen)
                    let made = try JSONEncoder().encode(facts)
                    try await context.endSession(
                        blob: place, outcome: "answered", status: status, output: made, seal: seal)
                    output = made
                } catch let failure as VendorSessionClient.Failure {
                    try await context.endSession(blob: place, outcome: failure.outcome, status: failure.status)
                    throw failure.error
                }
            }
        }
        if request.isSession, facts.session?.isOpen == true, try await context.pauseSession(for: vendor.patience) {
            throw SessionPaused()
        }
        guard let output else { throw InspectError(.partMissing, PartKind.sessionBlob.rawValue) }
        return output
    }

    /// The user whom the session is about, as the vendor's server knows persons.
    private func userReference(
        _ session: SessionVendor, _ context: JobContext, _ seal: JobSeal?
    ) async throws -> String? {
        guard let seal else { return session.userReference }
        guard let sealed = try await context.sealedValues() else { return nil }
        return try seal.values(sealed).userReference
    }
}
