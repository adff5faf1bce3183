/// Which decisions wait for a reviewer before they become final: the payload's key `review`, or the partner's setting.
///
/// NOT_EXECUTED never waits: there is no decision to confirm.
package enum ReviewPolicy: String, Codable, Sendable, CaseIterable {
    case never = "never"
    /// REJECTED.
    case rejected = "rejected"
    /// WARNING and REJECTED.
    case warning = "warning"
    /// PASSED, WARNING and REJECTED.
    case always = "always"

    /// Whether a job with this decision waits.
    package func holds(_ decision: DecisionType) -> Bool {
        switch (self, decision) {
        case (.never, _), (_, .notExecuted): false
        case (.rejected, .rejected), (.warning, .rejected), (.warning, .warning): true
        case (.rejected, _), (.warning, .passed): false
        case (.always, _): true
        }
    }
}
