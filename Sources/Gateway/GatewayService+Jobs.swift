internal import Foundation
internal import InspectCore

extension GatewayService {
    /// `POST /inspectionjob/create`, and the legacy call that waits for the result.
    func create(
        _ credential: GatewayCredential, _ request: CreateRequest, _ wait: Duration, _ traceparent: String?
    ) async throws -> (HTTPResponse, job: String?) {
        // Checked before the job is created: waiting for a result requires the right to read it.
        guard wait == .zero || credential.scopes.contains(GatewayCredential.Scope.read.rawValue) else {
            throw InspectError(.scopeMissing, GatewayCredential.Scope.read.rawValue)
        }
        let job = try await self.store.create(
            credential, .create, payload: request.payload, parts: request.parts, traceparent: traceparent)
        let location = [("Location", "/inspectionjob/\(job.id)")]
        var body = Data(#"{"id":"\#(job.id)","status":\#(JobStatus.queued.rawValue)}"#.utf8)
        if wait > .zero {
            _ = await self.waits.wait(for: job.number, within: wait, partner: credential.partner)
            // The job now exists whatever happens next, so the client must get its id.
            if let answer = try? await self.store.result(credential, .read, id: job.id) { body = answer.document }
        }
        return (.json(body, status: 201, headers: location), job.id)
    }

    /// `GET /inspectionjob/{id}`.
    func result(_ credential: GatewayCredential, _ id: String, _ wait: Duration) async throws -> HTTPResponse {
        guard UUID(uuidString: id) != nil else { throw InspectError(.jobUnknown) }
        var answer = try await self.store.result(credential, .read, id: id)
        if wait > .zero, !answer.isFinished,
            await self.waits.wait(for: answer.number, within: wait, partner: credential.partner)
        {
            answer = try await self.store.result(credential, .read, id: id)
        }
        return .json(answer.document, headers: answer.isFinished ? [] : [("Retry-After", "1")])
    }

    /// `POST /facetec/session`: the blob becomes a job, whose result contains the blob to answer with.
    func session(
        _ credential: GatewayCredential, _ request: SessionRequest, _ traceparent: String?
    ) async throws -> (HTTPResponse, job: String?) {
        // A session is only answered within the request, so the client must wait.
        guard self.waits.hasRoom(for: credential.partner) else { throw InspectError(.rateLimited) }
        let job = try await self.store.create(
            credential, .session, payload: request.payload, parts: [.sessionBlob: [request.blob]],
            traceparent: traceparent)
        _ = await self.waits.wait(
            for: job.number, within: .seconds(self.configuration.longestWaitSeconds), partner: credential.partner)
        let answer = try await self.store.result(credential, .session, id: job.id)
        guard answer.isFinished else {
            // The job is accepted and not lost, but the person cannot wait in front of the camera for ever.
            let body = Data(#"{"id":"\#(job.id)","status":\#(JobStatus.queued.rawValue)}"#.utf8)
            return (.json(body, status: 202, headers: [("Location", "/inspectionjob/\(job.id)")]), job.id)
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (.json(try encoder.encode(SessionAnswer(answer.document))), job.id)
    }
}
