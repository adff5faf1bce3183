/// An error with a stable code.
public struct InspectError: Error, Sendable, Equatable, Codable {
    public var code: ErrorCode
    /// What exactly was wrong, without personal data: a part's name, a limit, a library's own words. May be empty.
    public var detail: String

    public init(_ code: ErrorCode, _ detail: String = "") {
        self.code = code
        self.detail = detail
    }
}

extension InspectError: CustomStringConvertible {
    public var description: String {
        self.detail.isEmpty
            ? "\(self.code.rawValue): \(self.code.row.message)"
            : "\(self.code.rawValue): \(self.code.row.message) (\(self.detail))"
    }
}
