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
                detail:
                    "All blobs of a session are one job: send sessionId back until isFinished. Without it, a blob continues the session of the same userId and flow that waits for one. A repeat under its idempotency key is the same blob. The raw payload of SDK 9 is refused.",
                parameters: [.idempotencyKey, .traceparent], request: "SessionRequest",
                answers: [
                    .json(
                        "The vendor's server answered, or the session could not be run (success is false then)",
                        "SessionAnswer"
                    ).encrypted,
                    .json(202, "Accepted, but not answered in time; the job continues", "Job", .location),
                ], refusals: [404, 409, 410]),
            .scope(.session) { (call) throws(InspectError) in
                let key = try call.idempotencyKey()
                return { body in
                    let request = try await call.service.largeBodies.parse(call.credential.partner, body) {
                        try SessionRequest($0, idempotencyKey: key)
                    }
                    return try await call.session(request)
                }
            }),
        GatewayRoute(
            "GET", "/facetec/session/{id}", .none,
            Operation(
                id: "getSession", summary: "The answer to a session that took longer than its request",
                detail: Operation.destroyed,
                parameters: [.wait],
                answers: [
                    .json("The answer to the last blob, as of POST /facetec/session", "SessionAnswer").encrypted,
                    .json(202, "Not answered yet", "Job", .location),
                ], refusals: [404, 410]),
            .scope(.session) { (call) throws(InspectError) in
                let (id, wait) = (try call.jobID(), try call.wait())
                return { _ in
                    let known = try await call.store.result(call.credential, .session, id: id)
                    if wait > .zero, !known.isFinished {
                        _ = await call.service.waits.wait(
                            for: JobWait(job: known.number, endsWithAnswer: true), within: wait,
                            owner: call.credential.partner)
                    }
                    return try await call.sessionAnswer(id)
                }
            }),
        GatewayRoute(
            "POST", "/liveness/challenge", .optionalJSON,
            Operation(
                id: "issueChallenge",
                summary: "Issues a liveness challenge for one use: colours to show, or motions to make",
                detail: "A job answers it with FRAMES and challenge.", request: "ChallengeRequest",
                answers: [.json(201, "The challenge", "Challenge")]),
            .scope(.create) { (call) throws(InspectError) in
                { body in
                    let (members, texts) = try JSONBody.object(body.isEmpty ? Data("{}".utf8) : body)
                    let options = try JSONBody.data(members, texts)
                    let challenge = try await call.store.challenge(call.credential, options)
                    return GatewayAnswer(response: call.answer(challenge, status: 201))
                }
            }),
    ]
}

extension GatewayCall {
    /// `POST /facetec/session`: the blob becomes a job, or a part of its session's, and its result contains the answer's blob.
    fileprivate func session(_ request: SessionRequest) async throws -> GatewayAnswer {
        // A session is only answered within the request, so the client must wait.
        guard self.service.waits.hasRoom(for: self.credential.partner) else { throw InspectError(.rateLimited) }
        let job: GatewayStore.SessionJob
        do {
            job = try await self.store.session(self.credential, request, traceparent: self.traceparent)
        } catch let error as InspectError {
            throw SessionRequest.refusal(error)
        }
        _ = await self.service.waits.wait(
            for: JobWait(job: job.number, endsWithAnswer: true),
            within: .seconds(self.service.configuration.longestWaitSeconds), owner: self.credential.partner)
        return try await self.sessionAnswer(job.id, isRepeated: job.isRepeated)
    }

    /// A session's answer, or where to ask for it: with the same scope, as a session's credential need not read jobs.
    fileprivate func sessionAnswer(_ id: String, isRepeated: Bool = false) async throws -> GatewayAnswer {
        let answer = try await self.store.result(self.credential, .session, id: id)
        var found = answer.isFinished ? SessionAnswer(answer.document, id: id) : nil
        if found == nil {
            found = try await self.store.sessionFacts(self.credential, id: id).map { SessionAnswer($0, id: id) }
        }
        let (isRepeated, test) = (isRepeated ? true : nil, self.credential.isTest ? true : nil)
        guard var found else {
            // The job is accepted and not lost, but the person cannot wait in front of the camera indefinitely.
            return GatewayAnswer(
                response: try .json(
                    JobProgress(id: id, status: answer.status, isRepeated: isRepeated, test: test), status: 202,
                    headers: [("Location", "/facetec/session/\(id)")]), job: id)
        }
        found.isRepeated = isRepeated
        found.test = test
        return GatewayAnswer(response: try .json(found).encrypted(for: answer.key), job: id)
    }
}
