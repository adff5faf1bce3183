/// An error with a stable code.
public struct InspectError: Error, Sendable, Equatable, Codable {
    public var code: ErrorCode
    /// What exactly was wrong, without personal data: a part's name, a limit, a library's own words. May be empty.
    public var detail: String
    /// What is allowed, or what to do.
    public var hint: String?

    /// - Parameter hint: `nil`: what the code's row says.
    public init(_ code: ErrorCode, _ detail: String = "", hint: String? = nil) {
        self.code = code
        self.detail = detail
        self.hint = hint ?? code.row.hint
    }

    /// The error in words, as `insp.failure_summary` has them.
    public var text: String {
        self.detail.isEmpty ? self.code.row.message : "\(self.code.row.message) (\(self.detail))"
    }
}

extension InspectError: CustomStringConvertible {
    public var description: String {
        "\(self.code.rawValue): \(self.text)" + (self.hint.map { ". \($0)" } ?? "")
    }
}
