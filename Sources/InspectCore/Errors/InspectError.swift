/// Why a job, a request or a command failed: a stable code, and details for people.
package struct InspectError: Error, Sendable, Equatable, Codable {
    /// Decides whether a job is retried and which HTTP status a request gets.
    package var code: ErrorCode
    /// What exactly was wrong, without personal data: a part's name, a limit or a library's message. May be empty.
    package var detail: String
    /// What is allowed, or what to do.
    package var hint: String?
    /// The member, parameter, header or part of a request that is wrong; members of members after a dot.
    package var field: String?

    /// - Parameter hint: `nil`: the hint in the code's row.
    package init(_ code: ErrorCode, _ detail: String = "", hint: String? = nil, field: String? = nil) {
        self.code = code
        self.detail = detail
        self.hint = hint ?? code.row.hint
        self.field = field
    }

    /// An error of any type. One without a code becomes `INTERNAL_ERROR` with a fixed message: a type's name may change,
    /// and a value may be personal data.
    package init(unexpected error: any Error) {
        switch error {
        case let error as InspectError: self = error
        case is CancellationError: self.init(.internalError, "cancelled")
        case is DecodingError: self.init(.internalError, "the data do not have the expected form")
        default: self.init(.internalError, "an unexpected error")
        }
    }

    /// The error in words, as `insp.failure_summary` has them.
    package var text: String {
        self.detail.isEmpty ? self.code.row.message : "\(self.code.row.message) (\(self.detail))"
    }
}

extension InspectError: CustomStringConvertible {
    package var description: String {
        "\(self.code.rawValue): \(self.text)" + (self.hint.map { ". \($0)" } ?? "")
    }
}
