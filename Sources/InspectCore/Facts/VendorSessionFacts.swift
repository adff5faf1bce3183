/// What a vendor's server answered about a session: the documented fields of FaceTec's 10.x `/process-request`, and nothing of
/// what the session holds.
package struct VendorSessionFacts: Codable, Sendable, Hashable {
    /// What the client's SDK must be given; opaque. Base64 as the vendor wrote it.
    package var sessionResponseBlob: String?
    /// Whether the server could process the request.
    package var success: Bool
    /// Whether a living person was before the camera; `nil` while the session goes on, or where the server does not say.
    package var livenessPassed: Bool?
    /// Whether the face matches the one that the session was to be compared with; `nil` where none was.
    package var matched: Bool?
    /// The vendor's match level, 0–15 (FaceTec, "3D Face Match Levels").
    package var matchLevel: Int?
    /// A short word of the server's, such as `OK`; letters, digits, space and `_.-` only, at most 64 characters.
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
