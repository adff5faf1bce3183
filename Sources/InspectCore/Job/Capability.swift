/// One kind of check, by the name that the result document uses (the names are those of Jumio's API).
package enum Capability: String, Codable, Sendable, CaseIterable {
    case usability
    case imageChecks
    case extraction
    case dataChecks
    case similarity
    case liveness
    case authentication
    case enrollment
}
