package import Custody
internal import Foundation
internal import InspectCore
package import JobQueue
package import ObjectStore

/// Processes a claimed job: fetches the parts, runs the missing stages, decides.
package struct InspectionPipeline: JobHandler {
    package let runner: InspectionRunner
    package let fetcher: PartFetcher
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
        if request.workflow == .authentication, enrolled?.templates.isEmpty != false {
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
        let document = specimen.document(of: request.workflow, parts: parts.map(\.kind))
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
}
