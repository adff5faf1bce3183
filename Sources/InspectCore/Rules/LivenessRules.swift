/// Judges the liveness of a person by one selfie.
///
/// A single image can be enough to reject, never to accept: passive PAD signals do not separate live faces from good
/// artefacts, so the best outcome is WARNING LIVENESS_UNDETERMINED. Only a challenge from the server can pass, unless the
/// partner accepts passive signals without a finding. Labels as in Jumio's contract.
package enum LivenessRules {
    /// How far an outcome can be trusted.
    package static let assurance = "evidence"

    /// Whether measuring signals is worthwhile: liveness runs only if a conforming face was found.
    package static func isWorthwhile(_ image: FaceStageFacts.Image) -> Bool {
        FaceConformity(faces: image.faces).isConform
    }

    /// - Parameters:
    ///   - faces: The faces of the selfie, largest first.
    ///   - passive: The signals, or `nil` when they were not measured.
    ///   - image: The image, whose size may be that of a screen.
    ///   - document: Whether a document may be shown in place of a person.
    ///   - suffices: Whether passive signals pass if all were measured and none was found.
    package static func decide(
        faces: [FaceFacts], passive: LivenessFacts?, image: ImageFacts? = nil, document: DocumentAsSelfie? = nil,
        suffices: Bool = false
    ) -> CapabilityDecision {
        let faults = FaceConformity(faces: faces).faults
        if faults.contains(.noFace) { return self.rejected(.noFacePresent) }
        if faults.contains(.severalFaces) { return self.rejected(.multiplePeople) }
        if faults.contains(.notFullyVisible) { return self.rejected(.faceNotFullyVisible) }
        // Nobody is rejected for it: a person may stand in front of such text.
        let isDocument = document?.isSuspected == true
        if !faults.isEmpty {
            return CapabilityDecision(type: .warning, label: isDocument ? .idUsedAsSelfie : .badQuality)
        }
        if let passive {
            if let grey = passive[.grey], !Limits.signal.allows(grey) { return self.rejected(.blackWhite) }
            if self.looksLikeScreen(passive) {
                return self.rejected(.digitalCopy)
            }
            if isDocument { return CapabilityDecision(type: .warning, label: .idUsedAsSelfie) }
            if suffices, self.isComplete(passive), self.findings(passive, image: image).isEmpty { return .passed }
        }
        return isDocument ? CapabilityDecision(type: .warning, label: .idUsedAsSelfie) : self.undetermined
    }

    /// Signals for a reviewer, whatever the decision: their names, including those that do not count alone, and `metadata`
    /// with its reason.
    package static func findings(_ passive: LivenessFacts, image: ImageFacts?) -> [String] {
        LivenessFacts.Signal.allCases.filter { self.isPresent($0, in: passive) }.map(\.rawValue)
            + (passive.network?.isSuspicious == true ? ["network"] : [])
            + (passive.metadata?.reasons(width: image?.width ?? 0, height: image?.height ?? 0) ?? [])
            .map { "metadata: \($0)" }
    }

    /// Whether all signals were measured: an unmeasured signal is not the absence of one.
    private static func isComplete(_ passive: LivenessFacts) -> Bool {
        LivenessFacts.Signal.allCases.allSatisfy { passive[$0] != nil }
            && passive.metadata != nil && passive.network.map { $0.live != nil } ?? true
    }

    private static func isPresent(_ signal: LivenessFacts.Signal, in passive: LivenessFacts) -> Bool {
        passive[signal].map { !Limits.signal.allows($0) } ?? false
    }

    /// A frame around the face may be a door or a painting instead of a bezel, gloss may be sweat instead of glass, and
    /// networks confuse screens with faces. A screen is therefore reported only when two of its signals occur together.
    private static func looksLikeScreen(_ passive: LivenessFacts) -> Bool {
        let marks = [.moire, .frame, .specular].count { self.isPresent($0, in: passive) }
        return marks + (passive.network?.isSuspicious == true ? 1 : 0) >= 2
    }

    /// The signals with their limits, by name. None counts alone, except the lack of any colour.
    package static func measurements(_ passive: LivenessFacts) -> [Measurement] {
        let isScreen = self.looksLikeScreen(passive)
        let note = { (value: Double?) in value == nil ? "not measured" : "counts only together with others" }
        let signals = LivenessFacts.Signal.allCases.map { signal in
            let accuses = signal == .grey || isScreen && [.moire, .frame, .specular].contains(signal)
            return Measurement(
                signal.rawValue, passive[signal], Limits.signal, counts: accuses, note: note(passive[signal]))
        }
        guard let network = passive.network else { return signals }
        let limit = Limit(.atLeast(network.threshold), "the operator's threshold for \(network.name)")
        return signals + [Measurement("network", network.live, limit, counts: isScreen, note: note(network.live))]
    }

    /// Signals of an artefact in frames that answer no challenge; `nil` if there are none.
    ///
    /// - Parameter suffices: Whether passive signals pass. Frames that do not show the same face throughout prevent that.
    package static func decide(
        _ capture: CaptureFacts, suffices: Bool = false
    ) -> (decision: CapabilityDecision, reason: String)? {
        if let fault = CaptureRules.fault(of: capture, isChallenge: false) {
            switch fault.reason {
            case .severalPeople: return (self.rejected(.multiplePeople), fault.reason.rawValue)
            default: return (self.rejected(.digitalCopy), fault.reason.rawValue)
            }
        }
        if let movement = CaptureRules.movement(capture), capture.frames.count >= 10, !Limits.stillness.allows(movement)
        {
            return (self.undetermined, "the face does not move")
        }
        if suffices, let fault = CaptureRules.fault(of: capture, isChallenge: true) {
            return (self.undetermined, fault.reason.rawValue)
        }
        return nil
    }

    private static let undetermined = CapabilityDecision(type: .warning, label: .livenessUndetermined)

    private static func rejected(_ label: DecisionLabel) -> CapabilityDecision {
        CapabilityDecision(type: .rejected, label: label)
    }
}
