import Callbacks
import Foundation
import InspectCore
import JobQueue

/// What a worker does with a claimed job: fetch the parts, run the stages that are missing, decide.
struct InspectionPipeline: JobHandler {
    let runner: InspectionRunner
    let fetcher: PartFetcher
    let decryption: PartDecryption
    /// `nil` where no vendor's server is configured.
    var vendor: VendorSessionClient?
    /// Told of every stage that was run, before its result is stored.
    var onStage: @Sendable (JobReference, Duration) -> Void = { _, _ in }

    func run(_ job: ClaimedJob, _ context: JobContext) async throws -> Data {
        let request: InspectionRequest
        do {
            request = try JSONDecoder().decode(InspectionRequest.self, from: job.payload)
        } catch {
            // `enqueue` validated the payload, so this is a schema newer than this worker: another one may know it.
            throw InspectError(.internalError, "the payload is of a newer version")
        }
        // Before any picture is fetched: without a template there is nothing to do.
        let enrolled = request.workflow.namesFace ? try await context.enrolledFace() : nil
        if request.workflow == .authentication, enrolled?.templates.isEmpty != false {
            throw InspectError(.faceNotEnrolled)
        }
        let parts = try await self.fetch(context.parts())
        let ledger = InspectionRunner.Ledger(stored: job.steps) { stage, output, duration in
            self.onStage(job.reference(at: stage), duration)
            try await context.complete(stage, output: output)
        }
        let outcome = try await self.runner.inspect(request, parts: parts, ledger: ledger, enrolled: enrolled) { blob in
            try await self.ask(about: blob, context)
        }
        if let template = outcome.template, let enrolled {
            try await context.hand(over: template, generation: enrolled.generation)
        }
        return ResultEnvelope.json(outcome.document)
    }

    /// What the vendor's server says about a session, as the liveness stage's facts. Each access is recorded before it is made and after.
    private func ask(about blob: Data, _ context: JobContext) async throws -> Data {
        guard let vendor = self.vendor else { throw InspectError(.vendorNotConfigured) }
        try VendorSessionClient.check(blob)
        try await context.beginSession()
        do {
            let answer = try await vendor.process(blob)
            let output = try JSONEncoder().encode(LivenessStageFacts(passive: nil, vendor: answer.facts))
            try await context.endSession(outcome: "answered", status: answer.status, output: output)
            return output
        } catch let failure as VendorSessionClient.Failure {
            try await context.endSession(outcome: failure.outcome, status: failure.status)
            throw failure.error
        }
    }

    /// The bytes of every part, verified against its digest: images are analysed exactly as they were received.
    private func fetch(_ parts: [JobPart]) async throws -> [InspectionRunner.Part] {
        var fetched: [InspectionRunner.Part] = []
        for part in parts {
            switch part.source {
            case .bytes(let bytes):
                guard PartFetcher.matches(bytes, sha256: part.sha256) else {
                    throw InspectError(.digestMismatch, part.kind.rawValue)
                }
                fetched.append(InspectionRunner.Part(kind: part.kind, bytes: try self.open(bytes, of: part.kind)))
            case .url(let url, let allowHTTP, let allowPrivate):
                do {
                    let bytes = try await self.fetcher.fetch(
                        url: url, expectedSHA256: part.sha256.map { String(format: "%02x", $0) }.joined(),
                        limit: PartFile.limit, allowHTTP: allowHTTP,
                        allowPrivate: allowPrivate)
                    fetched.append(InspectionRunner.Part(kind: part.kind, bytes: try self.open(bytes, of: part.kind)))
                } catch let error as InspectError {
                    // The part's name, never the URL: it may carry a signature that opens the object.
                    throw InspectError(
                        error.code, [part.kind.rawValue, error.detail].filter { !$0.isEmpty }.joined(separator: ": "))
                }
            }
        }
        return fetched
    }

    /// What a part's client encrypted for the workers; digests are of what was sent. A session is opaque and stays so.
    private func open(_ bytes: Data, of kind: PartKind) throws(InspectError) -> Data {
        guard kind != .sessionBlob else { return bytes }
        do { return try self.decryption.open(bytes) } catch { throw InspectError(error.code, kind.rawValue) }
    }
}
