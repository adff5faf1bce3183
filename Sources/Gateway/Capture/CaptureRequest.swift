internal import Foundation
internal import InspectCore

/// The body of `POST /capture/sessions`.
struct CaptureRequest {
    /// The job's request: a JSON object as `insp.enqueue` takes it, without partner, lane, consent and challenge.
    var payload: [String: Any]
    /// The page's settings.
    var options: [String: Any]

    private static let optionNames: Set<String> = [
        "challenge", "fallback", "showResult", "locale", "embedOrigin", "returnUrl", "lifetimeSeconds",
        "sessionSeconds",
    ]

    init(_ body: Data) throws(InspectError) {
        let (object, texts) = try JSONBody.object(body)
        // The database refuses unknown members; no member may be a long text.
        _ = try JSONBody.data(object, texts)
        let members = object.filter { !($0.value is NSNull) }
        self.options = members.filter { Self.optionNames.contains($0.key) }
        self.payload = members.filter { !Self.optionNames.contains($0.key) }
    }

    var returnURL: String? { self.options["returnUrl"] as? String }
}

/// What a link's page sends at the end: the parts, and the times of the frames that answer a challenge.
struct CaptureSubmission: Sendable {
    var parts: [PartKind: [Data]]
    /// JSON; `nil`: there is none.
    var challenge: Data?

    init(_ request: CreateRequest) throws(InspectError) {
        let object = (try? JSONSerialization.jsonObject(with: request.payload)) as? [String: Any] ?? [:]
        // The partner's request is in the session, and nothing in a form changes it.
        if let other = object.keys.filter({ $0 != "workflow" && $0 != "challenge" }).min() {
            throw InspectError(
                .payloadInvalid, "unknown key '\(other.prefix(40))'",
                hint: "A form has the parts, and challenge in request.", field: String(other.prefix(40)))
        }
        self.parts = request.parts
        guard let challenge = object["challenge"] else { return }
        guard challenge is [String: Any], let data = try? JSONSerialization.data(withJSONObject: challenge) else {
            throw InspectError(.payloadInvalid, "challenge is not an object", field: "challenge")
        }
        self.challenge = data
    }
}
