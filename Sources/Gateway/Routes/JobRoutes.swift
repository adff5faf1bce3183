internal import Foundation
internal import HTTPServer
internal import InspectCore

extension GatewayRoute {
    /// Calls about jobs.
    static let jobs = [
        GatewayRoute(
            "POST", "/inspectionjob/create", .jsonOrFiles,
            Operation(
                id: "createInspectionJob", summary: "Accepts an inspection",
                detail: "\(Operation.waiting) The same request under the same idempotency key is one job.",
                parameters: [.wait, .idempotencyKey, .traceparent], request: "CreateRequest",
                requestExamples: [.specimen], form: "CreateForm",
                answers: [
                    .json("Accepted before, under the same idempotency key; otherwise as 201", "Job", .location)
                        .encrypted,
                    .json(
                        201, "Accepted; with wait, the job as it is at the end of the wait", "Job", .location,
                        isJob: true
                    ).encrypted.showing(.created),
                ], refusals: [409]),
            .scope(.create) { (call) throws(InspectError) in
                try call.create(.create)
            }),
        GatewayRoute(
            "GET", "/inspectionjob", .none,
            Operation(
                id: "listInspectionJobs", summary: "The jobs that have all of the given references, newest first",
                detail:
                    "Give at least one reference. A page may have fewer jobs than limit, or none, and still have next.",
                parameters: JobSearch.Reference.allCases.map {
                    .query($0.parameter, ##"{ "$ref": "#/components/schemas/Reference" }"##)
                } + [
                    .query("status", #"{ "enum": [1, 2, 4, 8, 16, 32, 64, 128] }"#), .after, .limit(50),
                ], answers: [.json("A page", "JobPage")]),
            .scope(.read) { (call) throws(InspectError) in
                let search = try JobSearch(call)
                return { _ in
                    GatewayAnswer(response: try call.answer(try await call.store.jobs(call.credential, search)))
                }
            }),
        GatewayRoute(
            "GET", "/inspectionjob/{id}", .none,
            Operation(
                id: "getInspectionJob", summary: "How far a job is, and its results once status is 128",
                detail: "Another partner's job is unknown. \(Operation.destroyed)",
                parameters: [.wait, .header("If-None-Match", "ETag of an earlier answer")],
                answers: [
                    .json("The job", "Job", .entityTag, .retryAfter).encrypted
                        .showing(.passed, .rejected, .liveness),
                    .init(status: 304, description: "The job is unchanged", headers: [.entityTag]),
                ], refusals: [404, 410]),
            .scope(.read) { (call) throws(InspectError) in
                let (id, wait) = (try call.jobID(), try call.wait())
                return { _ in try await call.result(id, wait) }
            }),
        GatewayRoute(
            "DELETE", "/inspectionjob/{id}", .none,
            Operation(
                id: "cancelInspectionJob", summary: "Ends a job that is not finished",
                detail: "The job remains, finished as NOT_EXECUTED with the error CANCELLED.",
                answers: [.json("The job is finished now", "Cancellation")], refusals: [404]),
            .scope(.create) { (call) throws(InspectError) in
                let id = try call.jobID()
                return { _ in
                    let isCancelled = try await call.store.cancel(call.credential, id: id)
                    return GatewayAnswer(
                        response: try .json(
                            Cancellation(
                                id: id, cancelled: isCancelled, test: call.credential.isTest ? true : nil)), job: id)
                }
            }),
        GatewayRoute(
            "POST", "/inspectionjob/{id}/rerun", .none,
            Operation(
                id: "rerunInspectionJob", summary: "Runs a finished job again, as a new job",
                detail: "Each call creates a job, unless it repeats one under its idempotency key.",
                parameters: [.idempotencyKey],
                answers: [
                    .json("Accepted before, under the same idempotency key", "Job", .location),
                    .json(201, "The new job", "Job", .location, isJob: true),
                ], refusals: [404, 409]),
            .scope(.create) { (call) throws(InspectError) in
                let (id, key) = (try call.jobID(), try call.idempotencyKey())
                return { _ in
                    let (job, status, isRepeated) = try await call.store.rerun(call.credential, id: id, key: key)
                    return GatewayAnswer(
                        response: try .json(
                            JobProgress(
                                id: job, status: status, isRepeated: isRepeated ? true : nil,
                                test: call.credential.isTest ? true : nil),
                            status: isRepeated ? 200 : 201, headers: [("Location", "/inspectionjob/\(job)")]),
                        job: job)
                }
            }),
        GatewayRoute(
            "GET", "/inspectionjob/{id}/parts/{kind}", .none,
            Operation(
                id: "getPart", summary: "The bytes of a part, as they were received",
                detail: "Parts that were given by URL are not kept. \(Operation.destroyed)",
                parameters: [
                    .query(
                        "ordinal", #"{ "type": "integer", "minimum": 0, "maximum": \#(PartKind.countLimit - 1) }"#,
                        "Which of several parts of the kind, from 0")
                ],
                answers: [
                    .init(
                        description: "The bytes", type: "application/octet-stream", headers: [.disposition],
                        isEncrypted: true)
                ],
                refusals: [404, 409, 410]),
            .scope(.images) { (call) throws(InspectError) in
                let id = try call.jobID()
                guard let kind = PartKind(rawValue: call.values["kind"] ?? "") else {
                    throw InspectError(.partUnknown, "'\((call.values["kind"] ?? "").prefix(40))'", field: "kind")
                }
                let ordinal = try call.number("ordinal", 0...PartKind.countLimit - 1) ?? 0
                return { _ in
                    let bytes = try await call.store.part(call.credential, id: id, kind: kind, ordinal: ordinal)
                    // As it was received: its type is not known here, and no browser may guess it.
                    let response = HTTPResponse(
                        status: 200,
                        headers: [
                            ("Content-Type", "application/octet-stream"), ("Content-Disposition", "attachment"),
                        ], body: bytes)
                    return GatewayAnswer(response: try await call.sealed(response, .images), job: id)
                }
            }),
    ]
}

/// A job before its result.
struct JobProgress: Encodable {
    var id: String
    var status: Int
    /// Present and true if the request had been accepted before, under the same idempotency key.
    var isRepeated: Bool?
    /// Present and true if it is a test.
    var test: Bool?
}

private struct Cancellation: Encodable {
    var id: String
    /// False: the job was finished already.
    var cancelled: Bool
    /// Present and true if it is a test.
    var test: Bool?
}

extension GatewayCall {
    /// `POST /inspectionjob/create` and similar calls, and the legacy call that waits for the result.
    ///
    /// - Parameter fixed: Members that the path determines.
    func create(
        _ scope: GatewayCredential.Scope, fixed: [String: String] = [:]
    ) throws(InspectError) -> GatewayRoute.Work {
        let (parse, wait) = (try self.parsing(key: try self.idempotencyKey(), fixed: fixed), try self.wait())
        return { body in try await self.create(try await parse(body), scope, wait) }
    }

    /// Reads JSON or a form, according to the head.
    ///
    /// - Parameter key: The header `Idempotency-Key`, if the call uses it; other calls ignore it.
    func parsing(
        key: String? = nil, fixed: [String: String] = [:], picksWorkflow: Bool = true
    ) throws(InspectError) -> @Sendable (Data) async throws -> CreateRequest {
        let type = self.request.headers["content-type"] ?? ""
        let boundary = FormData.boundary(of: type)
        guard boundary != nil || !type.lowercased().hasPrefix("multipart/") else {
            throw InspectError(
                .mediaTypeUnsupported, "multipart/form-data without a valid boundary", field: "Content-Type")
        }
        let members = picksWorkflow ? CreateRequest.members : nil
        return { body in
            try await self.service.largeBodies.parse(self.credential.partner, body) { body in
                guard let boundary else {
                    return try CreateRequest(
                        body, idempotencyKey: key, fixed: fixed, picksWorkflow: picksWorkflow, members: members)
                }
                let form = try FormData(body, boundary: boundary)
                return try CreateRequest(
                    form, idempotencyKey: key, fixed: fixed, picksWorkflow: picksWorkflow, members: members)
            }
        }
    }

    private func create(
        _ request: CreateRequest, _ scope: GatewayCredential.Scope, _ wait: Duration
    ) async throws -> GatewayAnswer {
        // Checked before the job is created: waiting for a result requires the right to read it.
        guard wait == .zero || self.credential.scopes.contains(GatewayCredential.Scope.read.rawValue) else {
            throw InspectError(.scopeMissing, GatewayCredential.Scope.read.rawValue)
        }
        let job = try await self.store.create(
            self.credential, scope, payload: request.payload, parts: request.parts, traceparent: self.traceparent)
        var response = try HTTPResponse.json(
            JobProgress(
                id: job.id, status: job.status, isRepeated: job.isRepeated ? true : nil,
                test: self.credential.isTest ? true : nil),
            status: job.isRepeated ? 200 : 201, headers: [("Location", "/inspectionjob/\(job.id)")])
        if wait > .zero, let number = job.number {
            _ = await self.service.waits.wait(
                for: JobWait(job: number), within: wait, owner: self.credential.partner)
            // The job now exists whatever happens next, so the client must get its id.
            if let answer = try? await self.store.result(self.credential, .read, id: job.id) {
                var whole = response
                whole.body = answer.document
                response = (try? whole.encrypted(for: answer.key)) ?? response
            }
        }
        return GatewayAnswer(response: response, job: job.id)
    }

    /// `GET /inspectionjob/{id}`.
    fileprivate func result(_ id: String, _ wait: Duration) async throws -> GatewayAnswer {
        var answer = try await self.store.result(self.credential, .read, id: id)
        if wait > .zero, !answer.isFinished,
            case .found = await self.service.waits.wait(
                for: JobWait(job: answer.number), within: wait, owner: self.credential.partner)
        {
            answer = try await self.store.result(self.credential, .read, id: id)
        }
        var headers = [("ETag", answer.tag)]
        if !answer.isFinished { headers.append(("Retry-After", "1")) }
        if answer.isNamed(by: self.request.headers["if-none-match"]) {
            return GatewayAnswer(response: HTTPResponse(status: 304, headers: headers), job: id)
        }
        return GatewayAnswer(
            response: try HTTPResponse.json(answer.document, headers: headers).encrypted(for: answer.key), job: id)
    }
}
