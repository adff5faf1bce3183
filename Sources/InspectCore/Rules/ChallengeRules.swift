/// Judges the frames of a capture: whether they meet the challenge or, without one, whether they show an attack.
///
/// Only a challenge that was met proves a living person, apart from a vendor's answer.
package enum ChallengeRules {
    /// The decision with its reasons.
    package struct Outcome: Sendable {
        /// PASSED only if the outcome is a pass.
        package var decision: CapabilityDecision
        /// The outcome of all methods together.
        package var outcome: LivenessVerdict.Outcome
        /// `colour_flash`, `motion`, both joined by `+`, or `passive`.
        package var method: String
        /// One for each method that was judged.
        package var verdicts: [LivenessVerdict]
        /// `nil` for a pass.
        package var reason: LivenessVerdict.Reason?
        /// The face SDK's result code: 1 success, 53 too bright, 60 timeout.
        package var resultCode: Int?
    }

    /// How far a challenge that was met can be trusted.
    package static let assurance = "challenge"

    /// - Parameter capture: `nil`: the job has no frames.
    package static func decide(_ challenge: LivenessChallenge, _ capture: CaptureFacts?) -> Outcome {
        let methods = [challenge.colours.isEmpty ? nil : "colour_flash", challenge.steps.isEmpty ? nil : "motion"]
        let method = methods.compactMap { $0 }.joined(separator: "+")
        func outcome(
            _ outcome: LivenessVerdict.Outcome, _ reason: LivenessVerdict.Reason?, _ verdicts: [LivenessVerdict] = []
        ) -> Outcome {
            let whole = LivenessVerdict(outcome: outcome, reason: reason)
            return Outcome(
                decision: self.decision(outcome, reason), outcome: outcome, method: method, verdicts: verdicts,
                reason: reason,
                resultCode: whole.resultCode)
        }
        guard let capture else { return outcome(.inconclusive, .faceLost) }
        guard challenge.fault(frames: capture.frames.count) == nil else { return outcome(.fail, .invalidChallenge) }
        if let fault = CaptureRules.fault(of: capture, isChallenge: true), fault.outcome == .fail {
            return outcome(fault.outcome, fault.reason)
        }
        var verdicts: [LivenessVerdict] = []
        if !challenge.colours.isEmpty { verdicts.append(ColourFlashRules.decide(challenge, capture)) }
        if !challenge.steps.isEmpty { verdicts.append(MotionRules.decide(challenge, capture)) }
        if let failed = verdicts.first(where: { $0.outcome == .fail }) {
            return outcome(.fail, failed.reason, verdicts)
        }
        if let open = verdicts.first(where: { $0.outcome == .inconclusive }) {
            return outcome(.inconclusive, open.reason, verdicts)
        }
        if let fault = CaptureRules.fault(of: capture, isChallenge: true) {
            return outcome(fault.outcome, fault.reason, verdicts)
        }
        return outcome(.pass, nil, verdicts)
    }

    private static func decision(
        _ outcome: LivenessVerdict.Outcome, _ reason: LivenessVerdict.Reason?
    ) -> CapabilityDecision {
        switch (outcome, reason) {
        case (.pass, _): .passed
        case (.fail, .severalPeople): CapabilityDecision(type: .rejected, label: .multiplePeople)
        case (.fail, _): CapabilityDecision(type: .rejected, label: .challengeFailed)
        case (.inconclusive, .timeout): CapabilityDecision(type: .warning, label: .challengeTimeout)
        case (.inconclusive, .tooBright): CapabilityDecision(type: .warning, label: .tooBright)
        case (.inconclusive, _): CapabilityDecision(type: .warning, label: .livenessUndetermined)
        }
    }
}
