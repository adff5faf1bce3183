internal import Foundation
internal import InspectCore

/// The body of `POST /facetec/session`: a session request blob of SDK 10, which only the vendor's server can read.
struct SessionRequest {
    var payload: Data
    var blob: Data
    /// The session that it continues; `nil`: its user's session that waits for a blob, or a new one.
    var sessionID: String?
    /// Whether it says whose session it is.
    var namesUser: Bool
    /// Whether it has an idempotency key.
    var hasKey: Bool
    /// Whether a document is scanned in the session once liveness is proven.
    var scansDocument: Bool

    /// Members that SDK 9 sends. They contain raw biometrics, which this service must not receive.
    private static let old: Set<String> = [
        "faceScan", "faceScanBase64", "auditTrailImage", "auditTrailCompressedBase64", "lowQualityAuditTrailImage",
        "lowQualityAuditTrailCompressedBase64",
    ]

    /// - Parameter key: The header `Idempotency-Key`.
    /// - Throws: ``InspectError``: ``ErrorCode/sessionShapeRefused`` for the shape of SDK 9.
    init(_ body: Data, idempotencyKey key: String? = nil) throws(InspectError) {
        let (object, texts) = try JSONBody.object(body)
        guard Self.old.isDisjoint(with: object.keys) else { throw InspectError(.sessionShapeRefused) }
        let unknown = Set(object.keys).subtracting([
            "sessionRequestBlob", "sessionId", "userId", "flow", "consent", "documentScan",
        ])
        if let unknown = unknown.min()?.prefix(40) {
            throw InspectError(
                .payloadInvalid, "unknown key '\(unknown)'",
                hint: "Keys are sessionRequestBlob, sessionId, userId, flow, consent and documentScan.",
                field: String(unknown))
        }
        func text(_ name: String) throws(InspectError) -> String? {
            guard let value = object[name], !(value is NSNull) else { return nil }
            guard let text = value as? String else {
                throw InspectError(.payloadInvalid, "\(name) is not a string", field: name)
            }
            return text
        }
        guard let given = try text("sessionRequestBlob"), !given.isEmpty else {
            throw InspectError(.partMissing, "sessionRequestBlob", field: "sessionRequestBlob")
        }
        guard let blob = texts.string(given) else {
            throw InspectError(.payloadInvalid, "sessionRequestBlob is not a string", field: "sessionRequestBlob")
        }
        self.blob = Data(blob.utf8)
        self.sessionID = try text("sessionId")?.lowercased()
        // As of GET /facetec/session/{id}.
        if let id = self.sessionID, UUID(uuidString: id) == nil { throw InspectError(.jobUnknown) }
        var payload: [String: Any] = ["workflow": Workflow.liveness.rawValue]
        let user = try text("userId")
        payload["userReference"] = user
        self.namesUser = user != nil
        payload["reportingCriteria"] = try text("flow")
        self.scansDocument = try Self.flag("documentScan", in: object)
        self.hasKey = key != nil
        payload["idempotencyKey"] = key
        // Checked by the database with every blob; the first one's is stored.
        if let consent = object["consent"], !(consent is NSNull) { payload["consent"] = consent }
        self.payload = try JSONBody.data(payload, texts)
    }

    /// A refusal of the payload, by the names that the client sent.
    static func refusal(_ error: InspectError) -> InspectError {
        let names = [
            "userReference": "userId", "reportingCriteria": "flow", "idempotencyKey": "Idempotency-Key",
            PartKind.sessionBlob.rawValue: "sessionRequestBlob",
        ]
        guard let field = error.field, let name = names[field] else { return error }
        return InspectError(
            error.code, error.detail.replacing(field, with: name), hint: error.hint?.replacing(field, with: name),
            field: name)
    }

    private static func flag(_ name: String, in object: [String: Any]) throws(InspectError) -> Bool {
        guard let value = object[name], !(value is NSNull) else { return false }
        // By its text: a cast would accept 1 as true.
        switch (try? JSONSerialization.data(withJSONObject: [value])).map({ String(decoding: $0, as: UTF8.self) }) {
        case "[true]": return true
        case "[false]": return false
        default: throw InspectError(.payloadInvalid, "\(name) is not true or false", field: name)
        }
    }
}

/// The answer to a session, for the client's SDK.
struct SessionAnswer: Encodable {
    /// The session's, with which the client sends a further blob.
    var sessionId: String
    /// Whether the session is over, so that no further blob is taken.
    var isFinished: Bool
    var sessionResponseBlob: String?
    var success: Bool
    var livenessPassed: Bool
    var reason: String
    /// Present and true if the blob had been accepted before, under the same idempotency key.
    var isRepeated: Bool?
    /// Present and true if it is a test.
    var test: Bool?

    /// The answer to a session that waits for its next blob.
    init(_ facts: LivenessStageFacts, id: String) {
        self.sessionId = id
        self.isFinished = false
        self.sessionResponseBlob = facts.vendor?.sessionResponseBlob
        self.success = facts.vendor?.success == true && self.sessionResponseBlob != nil
        // Only a session that is over passes.
        self.livenessPassed = false
        self.reason =
            facts.vendor?.reason
            ?? (facts.vendor?.livenessPassed == false ? DecisionLabel.livenessUndetermined.rawValue : "CONTINUE")
    }

    /// Reads a finished job's result document.
    init(_ document: Data, id: String) {
        self.sessionId = id
        self.isFinished = true
        struct Document: Decodable {
            struct Entry: Decodable {
                struct Decision: Decodable {
                    struct Details: Decodable { var label: String? }
                    var type: String?
                    var details: Details?
                }
                struct Outcome: Decodable {
                    var sessionResponseBlob: String?
                    var success: Bool?
                    var livenessPassed: Bool?
                    var reason: String?
                }
                struct Liveness: Decodable { var vendor: Outcome? }
                var decision: Decision?
                var data: Liveness?
            }
            struct Capabilities: Decodable { var liveness: [Entry]? }
            struct Failure: Decodable { var code: String? }
            var capabilities: Capabilities?
            var error: Failure?
        }
        let document = try? JSONDecoder().decode(Document.self, from: document)
        let entry = document?.capabilities?.liveness?.first
        self.sessionResponseBlob = entry?.data?.vendor?.sessionResponseBlob
        // Passed only if the session says so and the decision is PASSED.
        self.livenessPassed = entry?.data?.vendor?.livenessPassed == true && entry?.decision?.type == "PASSED"
        self.success = entry?.data?.vendor?.success == true && self.sessionResponseBlob != nil
        self.reason =
            entry?.data?.vendor?.reason ?? document?.error?.code ?? entry?.decision?.details?.label
            ?? DecisionLabel.livenessUndetermined.rawValue
    }
}
