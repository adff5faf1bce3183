internal import Foundation
internal import HTTPServer
internal import InspectCore

extension GatewayRoute {
    /// Calls that are open to everyone.
    static let contract = [
        token,
        GatewayRoute(
            "GET", "/openapi.json", .none,
            Operation(
                id: "getDescription", summary: "This document", answers: [.json("OpenAPI 3.1", "Description")]),
            .everyone { service, _, _ in
                let text = OpenAPIDocument.text(longestWaitSeconds: service.configuration.longestWaitSeconds)
                return .json(Data(text.utf8))
            }),
        GatewayRoute(
            "GET", "/errors", .none,
            Operation(id: "listErrors", summary: "Every error code", answers: [.json("The table", "ErrorTable")]),
            .everyone { _, _, _ in try .json(["errors": ErrorCode.allCases.map(ErrorEntry.init)]) }),
        GatewayRoute(
            "GET", "/documents", .none,
            Operation(
                id: "listDocuments", summary: "The documents that are read: types, formats, sides and countries",
                answers: [.json("The table", "DocumentTable")]),
            .everyone { _, _, _ in try .json(["documents": ReadableDocument.all]) }),
    ]
}

/// A row of the table of errors.
struct ErrorEntry: Encodable {
    var code: String
    var message: String
    var hint: String?
    var retryable: Bool
    /// HTTP status of a refusal; `nil` for errors of jobs, which are in results.
    var status: Int?
    var contractCodes: ContractCodes

    init(_ code: ErrorCode) {
        let error = InspectError(code)
        self.code = code.rawValue
        self.message = error.text
        self.hint = error.hint
        self.retryable = code.isRetryable
        self.status = code.row.httpStatus
        self.contractCodes = code.contractCodes
    }
}
