internal import Foundation
internal import InspectCore

extension GatewayService {
    /// `POST /inspectionjob/create`, and the legacy call that waits for the result.
    func create(
        _ credential: GatewayCredential, _ request: CreateRequest, _ wait: Int, _ traceparent: String?
    ) async throws -> (HTTPResponse, job: String?) {
        // Before the job is made: whoever may not read cannot wait for what there is to read.
        guard wait == 0 || credential.scopes.contains(GatewayCredential.Scope.read.rawValue) else {
            throw InspectError(.scopeMissing, GatewayCredential.Scope.read.rawValue)
        }
        let job = try await self.store.create(
            credential, .create, payload: request.payload, parts: request.parts, traceparent: traceparent)
        let location = [("Location", "/inspectionjob/\(job.id)")]
        var body = Data(#"{"id":"\#(job.id)","status":\#(JobStatus.queued.rawValue)}"#.utf8)
        if wait > 0 {
            _ = await self.waits.wait(for: job.number, within: .seconds(wait), partner: credential.partner)
            // The job exists whatever happens now, and its id is what the client must learn.
            if let answer = try? await self.store.result(credential, .read, id: job.id) { body = answer.document }
        }
        return (.json(body, status: 201, headers: location), job.id)
    }

    /// `GET /inspectionjob/{id}`.
    func result(_ credential: GatewayCredential, _ id: String, _ wait: Int) async throws -> HTTPResponse {
        guard UUID(uuidString: id) != nil else { throw InspectError(.jobUnknown) }
        var answer = try await self.store.result(credential, .read, id: id)
        if wait > 0, !answer.isFinished,
            await self.waits.wait(for: answer.number, within: .seconds(wait), partner: credential.partner)
        {
            answer = try await self.store.result(credential, .read, id: id)
        }
        return .json(answer.document, headers: answer.isFinished ? [] : [("Retry-After", "1")])
    }

    /// `POST /facetec/session`: the blob becomes a job of its own, whose result carries the blob to answer with.
    func session(
        _ credential: GatewayCredential, _ request: SessionRequest, _ traceparent: String?
    ) async throws -> (HTTPResponse, job: String?) {
        // Whoever cannot wait gets nothing of a session.
        guard self.waits.hasRoom(for: credential.partner) else { throw InspectError(.rateLimited) }
        let job = try await self.store.create(
            credential, .session, payload: request.payload, parts: [.sessionBlob: [request.blob]],
            traceparent: traceparent)
        _ = await self.waits.wait(
            for: job.number, within: .seconds(self.configuration.longestWait), partner: credential.partner)
        let answer = try await self.store.result(credential, .session, id: job.id)
        guard answer.isFinished else {
            // Accepted, and not lost: but nobody can wait for ever in front of a camera.
            let body = Data(#"{"id":"\#(job.id)","status":\#(JobStatus.queued.rawValue)}"#.utf8)
            return (.json(body, status: 202, headers: [("Location", "/inspectionjob/\(job.id)")]), job.id)
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (.json(try encoder.encode(SessionAnswer(answer.document))), job.id)
    }
}
