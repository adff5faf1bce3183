internal import CVision
internal import InspectCore

/// Calls one native function and converts its error.
func callVision(_ call: (inout cv_error) -> cv_status) throws(InspectError) {
    var error = cv_error()
    let status = call(&error)
    guard let code = ErrorCode(status) else { return }
    throw InspectError(code, error.text)
}

extension ErrorCode {
    /// The only conversion of native codes; `nil` for success.
    init?(_ status: cv_status) {
        switch status {
        case .ok: return nil
        case .unsupportedFormat: self = .unsupportedFormat
        case .corruptImage: self = .corruptImage
        case .tooManyPixels: self = .tooManyPixels
        case .outOfMemory: self = .analyzerOutOfMemory
        case .modelUnavailable: self = .modelUnavailable
        case .internalError: self = .internalError
        }
    }
}

extension cv_error {
    /// The message up to its terminating NUL.
    fileprivate var text: String {
        withUnsafeBytes(of: self.message) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
}
