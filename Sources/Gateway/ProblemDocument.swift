internal import Foundation
public import InspectCore

extension HTTPResponse {
    /// An error as RFC 9457 has it, with the stable code of ``ErrorCode`` and whether trying again can help.
    static func problem(
        _ code: ErrorCode, _ detail: String = "", headers: [(name: String, value: String)] = []
    ) -> HTTPResponse {
        struct Document: Encodable {
            var type = "about:blank"
            var title: String
            var status: Int
            var detail: String
            var code: String
            var retryable: Bool
        }
        let status = code.httpStatus
        let document = Document(
            title: Self.phrase(status), status: status,
            detail: detail.isEmpty ? code.row.message : "\(code.row.message) (\(detail))", code: code.rawValue,
            retryable: code.isRetryable)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        var headers = headers
        // A client that is told when to come back does not come back at once.
        if status == 503 || status == 429, !headers.contains(where: { $0.name == "Retry-After" }) {
            headers.append(("Retry-After", "5"))
        }
        if status == 401 {
            headers.append(("WWW-Authenticate", #"Basic realm="inspectd", charset="UTF-8""#))
            headers.append(("WWW-Authenticate", #"Bearer realm="inspectd""#))
        }
        return HTTPResponse(
            status: status, headers: [("Content-Type", "application/problem+json")] + headers,
            body: (try? encoder.encode(document)) ?? Data())
    }

    static func problem(_ error: InspectError) -> HTTPResponse { self.problem(error.code, error.detail) }

    /// RFC 9110, section 15. A problem of type `about:blank` has the status' phrase for a title (RFC 9457, section 4.2.1).
    static func phrase(_ status: Int) -> String {
        switch status {
        case 200: "OK"
        case 201: "Created"
        case 202: "Accepted"
        case 204: "No Content"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 409: "Conflict"
        case 413: "Content Too Large"
        case 415: "Unsupported Media Type"
        case 417: "Expectation Failed"
        case 429: "Too Many Requests"
        case 431: "Request Header Fields Too Large"
        case 503: "Service Unavailable"
        default: "Internal Server Error"
        }
    }
}

extension ErrorCode {
    /// The status under which the gateway reports the code.
    public var httpStatus: Int {
        switch self {
        case .unauthenticated: 401
        case .scopeMissing, .partnerDisabled: 403
        case .jobUnknown, .pathUnknown: 404
        case .methodNotAllowed: 405
        case .idempotencyConflict: 409
        case .requestTooLarge, .payloadTooLarge, .partTooLarge, .partsTooLarge: 413
        case .mediaTypeUnsupported: 415
        case .rateLimited, .waitingQuotaReached, .storageQuotaReached: 429
        case .gatewayOverloaded, .databaseUnavailable: 503
        // The gateway passes on what a request is refused with: for good, or for now, as by a quota. Whatever else reaches it
        // is its own fault.
        default: self.row.faceSDK == "INVALID_ARGS" ? 400 : self.isRetryable ? 429 : 500
        }
    }
}
