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
