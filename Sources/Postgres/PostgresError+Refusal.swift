package import Foundation
package import InspectCore

extension PostgresError {
    /// The schema's own error that the database raised (`insp.refuse`).
    package var refusal: InspectError? {
        self.sqlState.flatMap(ErrorCode.init(sqlState:)).map {
            InspectError($0, self.detail ?? "", hint: self.hint, field: self.column)
        }
    }

    /// For logs: classes 22 and 23 (data and constraint errors) may quote values.
    package var reason: String {
        guard let state = self.sqlState else { return "\(self.code.rawValue): \(self.message)" }
        if state.hasPrefix("22") || state.hasPrefix("23") { return "SQLSTATE \(state)" }
        return "\(state) \(self.refusal?.description ?? self.message)"
    }

    /// The caller's error: an ``InspectError`` if there is one for it.
    package var meaning: any Error {
        if let refusal = self.refusal { return refusal }
        switch self.sqlState {
        // The payload is no JSON, or contains \u0000 or half a surrogate pair.
        case "22P02", "22P05", "22021": return InspectError(.payloadInvalid, "not JSON that can be stored")
        case _ where self.isTransient: return InspectError(.databaseUnavailable, self.reason)
        default: return self
        }
    }
}

extension PostgresValue {
    /// JSON as text. `jsonb` cannot hold U+0000, and libpq would cut a text at a zero byte.
    ///
    /// - Throws: ``InspectError`` with ``ErrorCode/payloadInvalid``.
    package static func json(_ data: Data) throws(InspectError) -> String {
        guard !data.contains(0), let text = String(data: data, encoding: .utf8) else {
            throw InspectError(.payloadInvalid, "not UTF-8, or a zero byte")
        }
        return text
    }
}
