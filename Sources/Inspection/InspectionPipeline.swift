package import Custody
internal import Foundation
internal import InspectCore
package import JobQueue

/// Processes a claimed job: fetches the parts, runs the missing stages, decides.
package struct InspectionPipeline: JobHandler {
    package let runner: InspectionRunner
    package let fetcher: PartFetcher
    package let decryption: PartDecryption
    /// Opens sealed jobs; `nil`: this worker has no key store.
    package var keys: KeyStore?
    /// `nil` where no vendor's server is configured.
    package var vendor: VendorSessionClient?
    /// Called after each stage, before its result is stored.
    package var onStage: @Sendable (JobReference, Duration) -> Void = { _, _ in }
    /// Time limit for fetching all parts by URL of one job.
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
        let outcome = try await self.runner.inspect(request, parts: parts, ledger: ledger, enrolled: known) { blob in
            // A vendor's server may be slow, so another job gets the slot meanwhile.
            try context.leaveSlot(holding: bytes)
            return try await self.ask(about: blob, context, seal)
        }
        if var template = outcome.template, let known {
            if let seal, let keys {
                template = TemplateSeal.seal(template, under: try await keys.templateKey(of: seal))
            }
            try await context.hand(over: template, generation: known.generation)
        }
        let document = outcome.document
        return JobResult(
            decision: document.decision.type, summary: ResultEnvelope.json(document.summary),
            body: ResultEnvelope.json(document.body), seal: seal)
    }

    /// The vendor server's answer about a session, as the liveness stage's facts. Each access is recorded before and after
    /// it happens.
    private func ask(about blob: Data, _ context: JobContext, _ seal: JobSeal?) async throws -> Data {
        guard let vendor = self.vendor else { throw InspectError(.vendorNotConfigured) }
        try VendorSessionClient.check(blob)
        try await context.beginSession()
        do {
            let answer = try await vendor.process(blob)
            let output = try JSONEncoder().encode(LivenessStageFacts(passive: nil, vendor: answer.facts))
            try await context.endSession(outcome: "answered", status: answer.status, output: output, seal: seal)
            return output
        } catch let failure as VendorSessionClient.Failure {
            try await context.endSession(outcome: failure.outcome, status: failure.status)
            throw failure.error
        }
    }

    /// The bytes of every part, verified against its digest: images are analysed exactly as received. The job leaves its
    /// slot while a part must be fetched, as its server may be slow.
    private func inputs(of context: JobContext, _ seal: JobSeal?) async throws -> [InspectionRunner.Part] {
        let parts = try await Self.located(try await context.parts(), context, seal)
        var sources: [PartFetcher.Source] = []
        var size = 0
        for part in parts {
            switch part.source {
            case .bytes(let bytes):
                guard PartFetcher.matches(bytes, sha256: part.sha256) else {
                    throw InspectError(.digestMismatch, part.kind.rawValue)
                }
                size += bytes.count
            case .url(let remote):
                sources.append(
                    PartFetcher.Source(
                        name: part.kind.rawValue, url: remote.url,
                        expectedSHA256: part.sha256.map { String(format: "%02x", $0) }.joined(),
                        allowHTTP: remote.allowHTTP, allowPrivate: remote.allowPrivate, networks: remote.networks))
            }
        }
        let fetched = sources.isEmpty ? [] : try await self.fetch(sources, beside: size, context)
        if !sources.isEmpty, parts.contains(where: { !$0.kind.isOpaque }) { try await context.returnToSlot() }
        var rest = fetched.makeIterator()
        return try parts.compactMap { part in
            let given = if case .bytes(let bytes) = part.source { bytes } else { rest.next() }
            guard let bytes = given else { return nil }
            let plain = try part.isSealed ? Self.unseal(bytes, of: part, seal) : bytes
            return InspectionRunner.Part(kind: part.kind, bytes: try self.open(plain, of: part.kind))
        }
    }

    /// - Parameter size: Bytes of the parts that are already in memory.
    private func fetch(
        _ sources: [PartFetcher.Source], beside size: Int, _ context: JobContext
    ) async throws -> [Data] {
        try context.leaveSlot(holding: size)
        let bounds = PartFetcher.Bounds(limit: PartKind.byteLimit, within: self.fetchDeadline) { context.hold($0) }
        let reference = context.job.reference(at: context.job.status)
        do {
            return try await self.fetcher.fetch(sources, bounds, total: JobPart.limit - size) { part, reason in
                self.onFetchFailure(reference, part, reason)
            }
        } catch is PartFetcher.NotAdmitted {
            throw NoPermit()
        }
    }

    /// The plaintext of a part that the client encrypted for the workers. Digests cover the encrypted bytes. Session blobs
    /// are opaque and stay as they are.
    private func open(_ bytes: Data, of kind: PartKind) throws(InspectError) -> Data {
        guard !kind.isOpaque else { return bytes }
        do { return try self.decryption.open(bytes) } catch { throw InspectError(error.code, kind.rawValue) }
    }
}
