internal import Foundation
package import InspectCore

extension HTTPResponse {
    /// A problem document (RFC 9457), with the stable code of ``ErrorCode`` and whether a retry can help.
    ///
    /// - Parameter given: An HTTP status for errors without their own code; `nil`: that of the code.
    package static func problem(
        _ error: InspectError, status given: Int? = nil, headers: [(name: String, value: String)] = []
    ) -> HTTPResponse {
        struct Document: Encodable {
            var type = "about:blank"
            var title: String
            var status: Int
            var detail: String
            var hint: String?
            var field: String?
            var code: String
            var retryable: Bool
            var contractCodes: ContractCodes
        }
        let status = given ?? error.code.httpStatus
        let document = Document(
            title: Self.phrase(status), status: status, detail: error.text, hint: error.hint, field: error.field,
            code: error.code.rawValue, retryable: error.code.isRetryable, contractCodes: error.code.contractCodes)
        var headers = headers
        // Retry-After keeps clients from retrying at once.
        if status == 503 || status == 429, !headers.contains(where: { $0.name == "Retry-After" }) {
            headers.append(("Retry-After", "5"))
        }
        if status == 401 {
            headers.append(("WWW-Authenticate", #"Basic realm="inspectd", charset="UTF-8""#))
            headers.append(("WWW-Authenticate", #"Bearer realm="inspectd""#))
        }
        var response = HTTPResponse(
            status: status, headers: [("Content-Type", "application/problem+json")] + headers,
            body: (try? JSONEncoder.ordered.encode(document)) ?? Data())
        response.code = error.code
        return response
    }

    /// The same for a code: the detail says which value was wrong, and contains no personal data.
    package static func problem(
        _ code: ErrorCode, _ detail: String = "", headers: [(name: String, value: String)] = []
    ) -> HTTPResponse { self.problem(InspectError(code, detail), headers: headers) }

    /// RFC 9110, section 15. A problem of type `about:blank` has the status phrase as its title (RFC 9457, section 4.2.1).
    static func phrase(_ status: Int) -> String {
        switch status {
        case 200: "OK"
        case 201: "Created"
        case 202: "Accepted"
        case 204: "No Content"
        case 303: "See Other"
        case 304: "Not Modified"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 409: "Conflict"
        case 410: "Gone"
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
