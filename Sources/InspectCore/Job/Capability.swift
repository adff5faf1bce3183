/// One kind of check, by the name that the result document uses (the names are those of Jumio's API).
package enum Capability: String, Codable, Sendable, CaseIterable {
    case usability = "usability"
    case imageChecks = "imageChecks"
    case extraction = "extraction"
    case dataChecks = "dataChecks"
    case similarity = "similarity"
    case liveness = "liveness"
    case authentication = "authentication"
    case enrollment = "enrollment"
}
