internal import Foundation
internal import InspectCore

extension GatewayRoute {
    /// Calls about enrolled faces.
    static let faces = [
        GatewayRoute(
            "GET", "/faces/{faceId}", .none,
            .scope(.faces) { (call) throws(InspectError) in
                let id = try call.name("faceId")
                return { _ in
                    let templates = try await call.store.face(call.credential, id)
                    return GatewayAnswer(
                        response: .json(Data(#"{"templates":"#.utf8) + templates + Data("}".utf8)))
                }
            }),
        GatewayRoute(
            "POST", "/faces/{faceId}", .jsonOrFiles,
            .scope(.faces) { (call) throws(InspectError) in
                let id = try call.name("faceId")
                // The path says what the job is.
                return try call.create(
                    .faces, fixed: ["workflow": Workflow.enrollment.rawValue, "faceId": id])
            }),
        GatewayRoute(
            "DELETE", "/faces/{faceId}", .none,
            .scope(.faces) { (call) throws(InspectError) in
                let id = try call.name("faceId")
                return { _ in GatewayAnswer(response: .json(try await call.store.deleteFace(call.credential, id))) }
            }),
    ]

    /// What a person may demand (GDPR, articles 15, 17 and 20).
    static let persons = [
        GatewayRoute(
            "DELETE", "/persons/{userReference}", .none,
            .scope(.persons) { (call) throws(InspectError) in
                let reference = try call.name("userReference")
                return { _ in
                    let jobs = try await call.store.erase(call.credential, person: reference)
                    return GatewayAnswer(response: try .json(["jobs": jobs]))
                }
            }),
        GatewayRoute(
            "GET", "/persons/{userReference}/export", .none,
            .scope(.persons) { (call) throws(InspectError) in
                let reference = try call.name("userReference")
                let (after, limit) = (try call.after(), try call.number("limit", 1...100) ?? 20)
                return { _ in
                    GatewayAnswer(
                        response: .json(
                            try await call.store.export(
                                call.credential, person: reference, after: after, limit: limit)))
                }
            }),
    ]
}

extension GatewayCall {
    /// A name that the partner gave, in the path.
    fileprivate func name(_ key: String) throws(InspectError) -> String {
        let name = self.values[key] ?? ""
        guard (1...100).contains(name.unicodeScalars.count) else {
            throw InspectError(.parameterInvalid, "\(key) is not 1 to 100 characters")
        }
        return name
    }
}
