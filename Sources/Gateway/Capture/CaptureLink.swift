internal import Custody
internal import Foundation
internal import HTTPServer
internal import InspectCore

/// A request's proof for a link: that its client has the link, and whether it is the browser that began.
struct CaptureKey: Sendable {
    var token: Data
    /// Of the cookie; `nil`: the browser has none.
    var browser: Data?

    /// The cookie's name. Without an attribute Path it is sent to this link alone.
    static let cookie = "capture"

    /// - Returns: `nil` if the path names no token.
    init?(_ request: HTTPRequest) {
        guard request.segments.count > 2, let token = Self.digest(request.segments[2][...]) else { return nil }
        self.token = token
        self.browser = Self.secret(request).flatMap(Self.digest)
    }

    /// The cookie's value.
    static func secret(_ request: HTTPRequest) -> Substring? {
        let values = (request.headers["cookie"] ?? "").split(separator: ";").map { $0.drop { $0 == " " } }
            .filter { $0.hasPrefix(Self.cookie + "=") }
        // Two cookies of that name would be ambiguous.
        return values.count == 1 ? values[0].dropFirst(Self.cookie.count + 1) : nil
    }

    /// The SHA-256 of 32 bytes that are written as 43 characters (RFC 4648, section 5).
    static func digest(_ text: Substring) -> Data? {
        guard text.utf8.count == 43,
            text.utf8.allSatisfy({
                (0x30...0x39).contains($0) || (0x41...0x5a).contains($0) || (0x61...0x7a).contains($0) || $0 == 0x2d
                    || $0 == 0x5f
            })
        else { return nil }
        return Data(SHA256.digest(Array(text.utf8)))
    }
}

/// A capture link, as its page must know it.
struct CaptureLink: Sendable {
    enum State: String, Codable, Sendable {
        case new = "new"
        case open = "open"
        case submitted = "submitted"
    }

    var key: CaptureKey
    var id: String
    var partner: String
    var partnerID: Int64
    var state: State
    /// Whether this browser began.
    var isMine: Bool
    /// The job's payload without consent and challenge, JSON; of a sealed one with pseudonyms. `nil`: the job has it.
    var request: Data?
    var returnURL: String?
    /// The values for which the request has pseudonyms, and the return URL.
    var sealed: Data?
    /// What the page captures, in order.
    var parts: [PartKind]
    var challenge: String
    var fallback: String
    var showsResult: Bool
    var locale: String?
    var embedOrigin: String?
    var expiresInSeconds: Int
    /// How long it works from when the person begins.
    var sessionSeconds: Int
    /// Of the person, JSON; `nil`: none yet.
    var consent: Data?
    var policyURL: String?
    var policyVersion: String?
    var purposes: [String]
    /// How many images of each part were judged, JSON.
    var tries: Data?
    var job: String?
    var jobStatus: Int?

    /// How often one part is judged; then the person continues with the latest image.
    static let mostTries = 3

    /// The language of advice.
    func language(_ request: HTTPRequest) -> String {
        let asked = self.locale ?? request.query["language"] ?? "en"
        return asked.wholeMatch(of: /[A-Za-z]{2}(-[A-Za-z0-9]{1,8})?/) == nil ? "en" : asked
    }
}

/// A call of a link's page, without its body.
struct CaptureCall: Sendable {
    var service: GatewayService
    var request: HTTPRequest
    var link: CaptureLink

    var store: GatewayStore { self.service.store }

    /// Checks by the head alone that it comes from the browser that began: no body from another one is read.
    func checkBrowser() throws(InspectError) {
        guard self.link.isMine else { throw InspectError(.linkTaken) }
    }

    /// Reads a form.
    func parsing() throws(InspectError) -> @Sendable (Data) async throws -> CreateRequest {
        guard let boundary = FormData.boundary(of: self.request.headers["content-type"] ?? "") else {
            throw InspectError(
                .mediaTypeUnsupported, "multipart/form-data without a valid boundary", field: "Content-Type")
        }
        return { body in
            try await self.service.largeBodies.parse(self.link.partner, body) { body in
                try CreateRequest(try FormData(body, boundary: boundary), idempotencyKey: nil, picksWorkflow: false)
            }
        }
    }
}
