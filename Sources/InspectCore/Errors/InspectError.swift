/// An error with a stable code.
package struct InspectError: Error, Sendable, Equatable, Codable {
    package var code: ErrorCode
    /// What exactly was wrong, without personal data: a part's name, a limit, a library's own words. May be empty.
    package var detail: String
    /// What is allowed, or what to do.
    package var hint: String?

    /// - Parameter hint: `nil`: what the code's row says.
    package init(_ code: ErrorCode, _ detail: String = "", hint: String? = nil) {
        self.code = code
        self.detail = detail
        self.hint = hint ?? code.row.hint
    }

    /// An error of any type. One without a code is `INTERNAL_ERROR`, with words that neither a type's name nor a value is in:
    /// the former may change, and the latter may be about a person.
    package init(unexpected error: any Error) {
        switch error {
        case let error as InspectError: self = error
        case is CancellationError: self.init(.internalError, "cancelled")
        case is DecodingError: self.init(.internalError, "what was read has another form than expected")
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
