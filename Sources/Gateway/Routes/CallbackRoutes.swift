internal import Foundation
internal import HTTPServer
internal import InspectCore

extension GatewayRoute {
    /// Calls about callbacks and the endpoints that get them.
    static let callbacks = [
        GatewayRoute(
            "GET", "/callbacks", .none,
            Operation(
                id: "listCallbacks",
                summary: "Callbacks with their attempts: a job's, or those in a state, latest first",
                detail: "Give job or state.",
                parameters: [
                    .query("job", #"{ "type": "string", "format": "uuid" }"#),
                    .query("state", #"{ "enum": ["pending", "held", "dead"] }"#),
                    .query(
                        "after",
                        #"{ "type": "string", "pattern": "^(0|[1-9][0-9]{0,17})_msg_[0-9a-f]{32}[0-9a-z_]{0,20}$" }"#,
                        "next from the previous page"), .limit(50),
                ], answers: [.json("A page", "CallbackPage")], refusals: [404]),
            .scope(.callbacks) { (call) throws(InspectError) in
                let search = try CallbackSearch(call)
                return { _ in
                    GatewayAnswer(response: call.answer(try await call.store.callbacks(call.credential, search)))
                }
            }),
        GatewayRoute(
            "POST", "/callbacks/{webhookId}/replay", .none,
            Operation(
                id: "replayCallback",
                summary: "Sends a callback again, in any state, and resets the attempt count",
                detail: "The webhook-id and the body stay the same. At a disabled endpoint it waits.",
                answers: [.json(202, "It will be sent", "Replay")], refusals: [404]),
            .scope(.callbacks) { (call) throws(InspectError) in
                let id = call.values["webhookId"] ?? ""
                return { _ in
                    try await call.store.replay(call.credential, webhookID: id)
                    return GatewayAnswer(response: try call.answer(["replayed": 1], status: 202))
                }
            }),
        GatewayRoute(
            "GET", "/endpoints", .none,
            Operation(
                id: "listEndpoints", summary: "Where callbacks go, and whether delivery works",
                answers: [.json("The endpoints", "EndpointList")]),
            .scope(.callbacks) { (call) throws(InspectError) in
                { _ in
                    let list = try await call.store.endpoints(call.credential)
                    return GatewayAnswer(response: call.answer(Data(#"{"endpoints":"#.utf8) + list + Data("}".utf8)))
                }
            }),
        Self.action(
            .pause,
            Operation(
                id: "pauseEndpoint", summary: "Stops sending; callbacks wait, with their times",
                answers: [.json("It is paused", "Empty")], refusals: [404, 409])),
        Self.action(
            .resume,
            Operation(
                id: "resumeEndpoint", summary: "Ends a pause that the partner made",
                answers: [.json("It is active", "Empty")], refusals: [404, 409])),
        Self.action(
            .test,
            Operation(
                id: "testEndpoint", summary: "Sends the event endpoint.test",
                answers: [.json("It will be sent", "TestCallback")], refusals: [404, 409])),
        Self.action(
            .replay,
            Operation(
                id: "replayEndpoint", summary: "Sends dead callbacks of a period again; with delivered, those as well",
                request: "ReplayRequest", answers: [.json("How many", "Replay")], refusals: [404, 409])),
        Self.action(
            .rotate,
            Operation(
                id: "rotateSecret", summary: "A new signing secret; the old one also signs for a while",
                detail: "The secret is shown only here.", request: "RotateRequest",
                answers: [.json("The secret", "Secret")], refusals: [404])),
    ]

    private static func action(_ action: EndpointAction, _ operation: Operation) -> GatewayRoute {
        GatewayRoute(
            "POST", "/endpoints/{endpoint}/\(action.rawValue)", operation.request == nil ? .none : .optionalJSON,
            operation,
            .scope(.callbacks) { (call) throws(InspectError) in
                let endpoint = try call.endpoint()
                return { body in
                    let options = try EndpointOptions(body, for: action)
                    func act() async throws -> Data {
                        try await call.store.act(call.credential, endpoint: endpoint, action, options)
                    }
                    guard action == .replay else { return GatewayAnswer(response: call.answer(try await act())) }
                    let replayed = try await call.service.replaying(endpoint, of: call.credential, act)
                    return GatewayAnswer(response: call.answer(replayed))
                }
            })
    }
}

/// The query of `GET /callbacks`.
struct CallbackSearch: Sendable {
    var job: String?
    var state: String?
    /// The last callback of the previous page: its time since 1970, and its webhook-id.
    var after: (momentMicroseconds: Int64, webhookID: String)?
    var limit: Int

    init(_ call: GatewayCall) throws(InspectError) {
        let query = call.request.query
        guard (query["job"] == nil) != (query["state"] == nil) else {
            throw InspectError(.parameterInvalid, "job or state", hint: "Give one of them.", field: "state")
        }
        if let id = query["job"] {
            guard UUID(uuidString: id) != nil else { throw InspectError(.jobUnknown) }
            self.job = id.lowercased()
        }
        if let state = query["state"] {
            guard ["pending", "held", "dead"].contains(state) else {
                throw InspectError(
                    .parameterInvalid, "state", hint: "A state is pending, held or dead.", field: "state")
            }
            self.state = state
        }
        if let cursor = query["after"] {
            let halves = cursor.split(separator: "_", maxSplits: 1)
            guard halves.count == 2, let moment = HTTPSyntax.number(halves[0].utf8), halves[1].utf8.count <= 60 else {
                throw InspectError(.parameterInvalid, "after", hint: "Send next of the last page.", field: "after")
            }
            self.after = (Int64(moment), String(halves[1]))
        }
        self.limit = try call.number("limit", 1...100) ?? 50
    }
}

/// The members of a body about an action on an endpoint. `insp.gateway_endpoint_act` has the same names.
struct EndpointOptions: Codable, Sendable {
    var since: String?
    var until: String?
    var delivered: Bool?
    var overlapSeconds: Int?

    init(_ body: Data, for action: EndpointAction) throws(InspectError) {
        let allowed: Set<String> =
            switch action {
            case .replay: ["since", "until", "delivered"]
            case .rotate: ["overlapSeconds"]
            case .pause, .resume, .test: []
            }
        let (options, texts) = try JSONBody.object(body.isEmpty ? Data("{}".utf8) : body)
        if let unknown = options.keys.filter({ !allowed.contains($0) }).min() {
            throw InspectError(
                .payloadInvalid, "unknown key '\(unknown.prefix(40))'",
                hint: allowed.isEmpty
                    ? "The body is empty or {}." : "Keys are \(allowed.sorted().joined(separator: ", ")).",
                field: String(unknown.prefix(40)))
        }
        if let name = options.filter({ $0.value is NSNull }).keys.min() {
            throw InspectError(.payloadInvalid, "\(name) is null", field: name)
        }
        let data = try JSONBody.data(options, texts)
        do {
            // Read by a decoder that does not accept 1 as true.
            self = try JSONDecoder().decode(Self.self, from: data)
        } catch DecodingError.typeMismatch(_, let context) {
            throw Self.mistyped(context.codingPath, of: options)
        } catch DecodingError.dataCorrupted(let context) {
            throw Self.mistyped(context.codingPath, of: options)
        } catch {
            throw Self.mistyped([], of: options)
        }
        for (name, text) in [("since", self.since), ("until", self.until)] {
            guard let text else { continue }
            guard Self.isTime(text) else {
                throw InspectError(
                    .payloadInvalid, "\(name) is not a time", hint: "A time is written as 2026-01-31T12:00:00Z.",
                    field: name)
            }
        }
        guard action != .replay || self.since != nil else {
            throw InspectError(.payloadInvalid, "since is missing", field: "since")
        }
        guard self.overlapSeconds.map((0...31_536_000).contains) != false else {
            throw InspectError(
                .payloadInvalid, "overlapSeconds is not a whole number from 0 to 31536000", field: "overlapSeconds")
        }
    }

    private static func mistyped(_ path: [any CodingKey], of options: [String: Any]) -> InspectError {
        // For a number that is not whole, the decoder's error has no key.
        let name = path.first?.stringValue ?? (options.count == 1 ? options.keys.first : nil)
        return InspectError(
            .payloadInvalid, "\(name ?? "a value") is of the wrong type",
            hint: "since and until are texts, delivered is true or false, overlapSeconds is a whole number.",
            field: name)
    }

    /// RFC 3339, with a year to which PostgreSQL and its callers can add.
    private static func isTime(_ text: String) -> Bool {
        guard text.utf8.count <= 40, text.wholeMatch(of: /2[0-9]{3}-[0-9]{2}-[0-9]{2}[Tt ].*/) != nil else {
            return false
        }
        let format = ISO8601DateFormatter()
        let options: [ISO8601DateFormatter.Options] = [
            [.withInternetDateTime], [.withInternetDateTime, .withFractionalSeconds],
        ]
        return options.contains {
            format.formatOptions = $0
            return format.date(from: text) != nil
        }
    }
}
