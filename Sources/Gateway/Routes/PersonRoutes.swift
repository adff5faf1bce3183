internal import Foundation
internal import HTTPServer
internal import InspectCore

extension GatewayRoute {
    /// Calls about enrolled faces.
    static let faces = [
        GatewayRoute(
            "GET", "/faces/{faceId}", .none,
            Operation(
                id: "getFace", summary: "The templates of a face id, without the embeddings",
                answers: [.json("The face", "Face")], refusals: [404]),
            .scope(.faces) { (call) throws(InspectError) in
                let id = try call.name("faceId")
                return { _ in
                    let templates = try await call.store.face(call.credential, id)
                    return GatewayAnswer(
                        response: call.answer(Data(#"{"templates":"#.utf8) + templates + Data("}".utf8)))
                }
            }),
        GatewayRoute(
            "POST", "/faces/{faceId}", .jsonOrFiles,
            Operation(
                id: "enrolFace", summary: "Enrols a face: a job of the workflow enrollment",
                detail:
                    "\(Operation.waiting) Takes what /inspectionjob/create takes, FACE included; workflow and faceId follow from the path.",
                parameters: [.wait, .idempotencyKey, .traceparent], request: "CreateRequest", form: "CreateForm",
                answers: [
                    .json("Accepted before, under the same idempotency key; otherwise as 201", "Job", .location)
                        .encrypted,
                    .json(
                        201, "Accepted; with wait, the job as it is at the end of the wait", "Job", .location,
                        isJob: true
                    ).encrypted,
                ], refusals: [409]),
            .scope(.faces) { (call) throws(InspectError) in
                let id = try call.name("faceId")
                // The path determines the job.
                return try call.create(
                    .faces, fixed: ["workflow": Workflow.enrollment.rawValue, "faceId": id])
            }),
        GatewayRoute(
            "DELETE", "/faces/{faceId}", .none,
            Operation(
                id: "deleteFace", summary: "Deletes a face id with all its templates, and ends its jobs",
                detail: "Also if there is nothing to delete.",
                answers: [.json("What was deleted", "FaceDeletion")]),
            .scope(.faces) { (call) throws(InspectError) in
                let id = try call.name("faceId")
                return { _ in
                    GatewayAnswer(response: call.answer(try await call.store.deleteFace(call.credential, id)))
                }
            }),
    ]

    /// Calls for a person's rights (GDPR, articles 15, 17 and 20).
    static let persons = [
        GatewayRoute(
            "DELETE", "/persons/{userReference}", .none,
            Operation(
                id: "erasePerson", summary: "Erases all that is kept of a person (GDPR, article 17)",
                detail:
                    "All jobs with their reruns, faces and references; none while a job is not finished. Also if there is nothing to erase.",
                answers: [.json("How many jobs were erased, each with its reruns", "Erasure")], refusals: [409]),
            .scope(.persons) { (call) throws(InspectError) in
                let reference = try call.name("userReference")
                return { _ in
                    let jobs = try await call.store.erase(call.credential, person: reference)
                    return GatewayAnswer(response: try call.answer(["jobs": jobs]))
                }
            }),
        GatewayRoute(
            "DELETE", "/persons/{userReference}/consent", .none,
            Operation(
                id: "withdrawConsent",
                summary: "Withdraws a person's consents (GDPR, article 7): cancels jobs, then erases",
                detail:
                    "Jobs that are not finished are cancelled; then all is erased as erasePerson does. The proof that a consent was given stays, with the time of the withdrawal.",
                answers: [.json("How many jobs were stopped, and how many erased", "Withdrawal")], refusals: [409]),
            .scope(.persons) { (call) throws(InspectError) in
                let reference = try call.name("userReference")
                return { _ in
                    let done = try await call.store.withdraw(call.credential, person: reference)
                    return GatewayAnswer(response: try call.answer(["cancelled": done.stopped, "jobs": done.erased]))
                }
            }),
        GatewayRoute(
            "DELETE", "/inspectionjob/{id}/consent", .none,
            Operation(
                id: "withdrawJobConsent",
                summary: "Withdraws the consent of one job: stops it with its reruns, and erases them",
                detail: "For jobs without a userReference. Also if there is nothing left to erase.",
                answers: [.json("The job is stopped and erased now", "JobWithdrawal")], refusals: [404, 409]),
            .scope(.persons) { (call) throws(InspectError) in
                let id = try call.jobID()
                return { _ in
                    let isWithdrawn = try await call.store.withdraw(call.credential, job: id)
                    return GatewayAnswer(
                        response: try .json(
                            JobWithdrawal(
                                id: id, withdrawn: isWithdrawn, test: call.credential.isTest ? true : nil)), job: id)
                }
            }),
        GatewayRoute(
            "GET", "/persons/{userReference}/export", .none,
            Operation(
                id: "exportPerson",
                summary: "All that is kept of a person (GDPR, articles 15 and 20), newest job first",
                detail: "The bytes of parts come from /inspectionjob/{id}/parts/{kind}.",
                parameters: [.after, .limit(20)], answers: [.json("A page", "Export").encrypted]),
            .scope(.persons) { (call) throws(InspectError) in
                let reference = try call.name("userReference")
                let (after, limit) = (try call.after(), try call.number("limit", 1...100) ?? 20)
                return { _ in
                    let page = try await call.store.export(
                        call.credential, person: reference, after: after, limit: limit)
                    return GatewayAnswer(response: try await call.sealed(call.answer(page), .persons))
                }
            }),
    ]
}

private struct JobWithdrawal: Encodable {
    var id: String
    /// False: there was nothing to stop and nothing to erase.
    var withdrawn: Bool
    /// Present and true if it is a test.
    var test: Bool?
}

extension GatewayCall {
    /// A name that the partner gave, in the path.
    fileprivate func name(_ key: String) throws(InspectError) -> String {
        let name = self.values[key] ?? ""
        guard (1...100).contains(name.unicodeScalars.count) else {
            throw InspectError(.parameterInvalid, "\(key) is not 1 to 100 characters", field: key)
        }
        return name
    }
}
