/// How an enrolment, verification or liveness check ended, in the words of the face SDK's contract: its event stream, result
/// codes and error codes. `insp.face_outcome` is the same table; a test keeps them equal.
package struct FaceSDKEvent: Codable, Sendable, Equatable {
    /// The stream that the event belongs to.
    package enum Kind: String, Codable, Sendable, CaseIterable {
        case enrollment = "enrollment"
        case verification = "verification"
        case liveness = "liveness"
    }

    /// The outcomes that the contract distinguishes; its codes are in ``Outcome/row``.
    package enum Outcome: String, Codable, Sendable, CaseIterable {
        case success = "success"
        case noMatch = "no_match"
        case cancelled = "cancelled"
        case tooBright = "too_bright"
        case timeout = "timeout"
        case livenessFailed = "liveness_failed"
        case unusable = "unusable"
        case unknown = "unknown"

        /// One row: status of the event, result code and error code if the contract has them.
        package var row: (status: String, code: Int?, error: String?) {
            switch self {
            case .success: ("success", 1, nil)
            case .noMatch: ("success", 6, nil)
            case .cancelled: ("cancelled", 0, "ENROLL_CANCELLED")
            case .tooBright: ("error", 53, "LIVENESS_FAILED")
            case .timeout: ("error", 60, "LIVENESS_FAILED")
            case .livenessFailed: ("error", nil, "LIVENESS_FAILED")
            case .unusable: ("error", nil, "INVALID_ARGS")
            case .unknown: ("error", nil, "UNKNOWN_ERROR")
            }
        }
    }

    /// Enrolment, verification or a liveness check.
    package var type: Kind
    /// How it ended.
    package var outcome: Outcome
    /// `success`, `error` or `cancelled`.
    package var status: String
    /// The result code: 0 cancelled, 1 success, 6 no match, 53 too bright, 60 timeout.
    package var code: Int?
    /// The error code: ENROLL_CANCELLED, LIVENESS_FAILED, INVALID_ARGS or UNKNOWN_ERROR.
    package var error: String?
    /// Only for a completed verification: `Verify` or `Not Verify`.
    package var result: String?

    package init(_ type: Kind, _ outcome: Outcome) {
        self.type = type
        self.outcome = outcome
        (self.status, self.code, self.error) = outcome.row
        if type == .verification, self.status == "success" {
            self.result = outcome == .success ? "Verify" : "Not Verify"
        }
    }
}

extension FaceSDKEvent {
    /// The event of a job's capabilities; `nil` for workflows that the SDK does not know.
    init?(workflow: Workflow, _ capabilities: Capabilities) {
        let liveness = capabilities.liveness?.first
        switch workflow.row.faceEvent {
        case .enrollment:
            let type = capabilities.enrollment?.first?.decision.type
            self.init(.enrollment, type == .passed ? .success : Self.failure(liveness))
        case .verification:
            switch capabilities.authentication?.first?.decision.type {
            case .passed: self.init(.verification, .success)
            case .rejected: self.init(.verification, .noMatch)
            case .warning, .notExecuted, nil: self.init(.verification, Self.failure(liveness))
            }
        case .liveness:
            // Passive signals without a finding do not prove a living person.
            self.init(.liveness, liveness?.decision.type == .passed ? .success : Self.failure(liveness))
        case nil: return nil
        }
    }

    /// Why an image was refused.
    private static func failure(_ liveness: CapabilityRecord<LivenessData>?) -> Outcome {
        guard let liveness else { return .unusable }
        switch liveness.data?.resultCode {
        case Outcome.tooBright.row.code: return .tooBright
        case Outcome.timeout.row.code: return .timeout
        default: break
        }
        if liveness.data?.reason?.contains(FaceConformity.Fault.tooBright.rawValue) == true { return .tooBright }
        switch DecisionLabel(rawValue: liveness.decision.details.label) {
        case .noFacePresent, .multiplePeople, .faceNotFullyVisible, .badQuality: return .unusable
        default: return .livenessFailed
        }
    }
}
