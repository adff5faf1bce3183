/// How far a session of several blobs has come.
package struct VendorSession: Codable, Sendable, Hashable {
    /// Blobs that the vendor's server has answered.
    package var answered: Int
    /// Whether a further blob may come: the server has proven no liveness yet, or a document is to be scanned.
    package var isOpen: Bool

    package init(answered: Int, isOpen: Bool) {
        self.answered = answered
        self.isOpen = isOpen
    }
}

/// A vendor server's answer about a session: the documented fields of FaceTec's 10.x `/process-request`, without the
/// session's contents.
package struct VendorSessionFacts: Codable, Sendable, Hashable {
    /// Opaque data for the client's SDK; Base64 as the vendor wrote it.
    package var sessionResponseBlob: String?
    /// Whether the server could process the request.
    package var success: Bool
    /// Whether a living person was in front of the camera (`livenessProven`); `nil` before the server says so.
    package var livenessPassed: Bool?
    /// Whether the face matches the session's reference face; `nil` without a reference.
    package var matched: Bool?
    /// The vendor's match level, 0–15 (FaceTec, "3D Face Match Levels").
    package var matchLevel: Int?
    /// A short status word from the server, such as `OK`; letters, digits, space and `_.-` only, at most 64 characters.
    package var reason: String?

    package init(
        sessionResponseBlob: String?, success: Bool, livenessPassed: Bool? = nil, matched: Bool? = nil,
        matchLevel: Int? = nil, reason: String? = nil
    ) {
        self.sessionResponseBlob = sessionResponseBlob
        self.success = success
        self.livenessPassed = livenessPassed
        self.matched = matched
        self.matchLevel = matchLevel
        self.reason = reason
    }
}
