internal import Foundation
internal import HTTPServer
internal import InspectCore

extension GatewayRoute {
    /// Calls for a person in front of a camera.
    static let sessions = [
        GatewayRoute(
            "POST", "/facetec/session", .json,
            Operation(
                id: "runSession", summary: "Turns a session request blob (SDK 10) into a session response blob",
                detail: "The raw payload of SDK 9 is refused.", parameters: [.traceparent], request: "SessionRequest",
                answers: [
                    .json(
                        "The vendor's server answered, or the session could not be run (success is false then)",
                        "SessionAnswer"),
                    .json(202, "Accepted, but not answered within the time; the job goes on", "Job", .location),
                ]),
            .scope(.session) { (call) throws(InspectError) in
                { body in
                    let request = try await call.service.largeBodies.parse(call.credential.partner, body) {
                        try SessionRequest($0)
                    }
                    return try await call.session(request)
                }
            }),
        GatewayRoute(
            "POST", "/liveness/challenge", .optionalJSON,
            Operation(
                id: "issueChallenge",
                summary: "Issues a liveness challenge: what a person shall show or do in front of the camera, once",
                detail: "A job answers it with FRAMES and challenge.", request: "ChallengeRequest",
                answers: [.json(201, "The challenge", "Challenge")]),
            .scope(.create) { (call) throws(InspectError) in
                { body in
                    let options = body.isEmpty ? [:] : try JSONBody.object(body).0
                    let challenge = try await call.store.challenge(call.credential, options)
                    return GatewayAnswer(
                        response: .json(challenge, status: 201))
                }
            }),
    ]
}

extension GatewayCall {
    /// `POST /facetec/session`: the blob becomes a job, whose result contains the blob to answer with.
    fileprivate func session(_ request: SessionRequest) async throws -> GatewayAnswer {
        // A session is only answered within the request, so the client must wait.
        guard self.service.waits.hasRoom(for: self.credential.partner) else { throw InspectError(.rateLimited) }
        let job = try await self.store.create(
            self.credential, .session, payload: request.payload, parts: [.sessionBlob: [request.blob]],
            traceparent: self.traceparent)
        guard let number = job.number else { throw InspectError(.jobUnknown) }
        _ = await self.service.waits.wait(
            for: number, within: .seconds(self.service.configuration.longestWaitSeconds),
            partner: self.credential.partner)
        let answer = try await self.store.result(self.credential, .session, id: job.id)
        guard answer.isFinished else {
            // The job is accepted and not lost, but the person cannot wait in front of the camera for ever.
            let body = Data(#"{"id":"\#(job.id)","status":\#(JobStatus.queued.rawValue)}"#.utf8)
            return GatewayAnswer(
                response: .json(body, status: 202, headers: [("Location", "/inspectionjob/\(job.id)")]), job: job.id)
        }
        return GatewayAnswer(response: try .json(SessionAnswer(answer.document)), job: job.id)
    }
}
