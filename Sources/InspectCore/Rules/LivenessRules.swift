/// Decides what one selfie tells about a living person.
///
/// A single image can be enough to reject, never to accept: passive PAD signals do not separate live faces from good artefacts, so
/// the best outcome is WARNING LIVENESS_UNDETERMINED. Only challenges that the server issued can pass, unless the partner chose
/// that evidence without any finding suffices. Labels as in Jumio's contract.
package enum LivenessRules {
    /// How far an outcome can be trusted.
    package static let assurance = "evidence"

    /// Whether measuring signals is worthwhile: liveness runs only where a conforming face was found.
    package static func isWorthwhile(_ picture: FaceStageFacts.Image) -> Bool {
        FaceConformity(faces: picture.faces).isConform
    }

    /// - Parameters:
    ///   - faces: The faces of the selfie, largest first.
    ///   - passive: The signals, or `nil` when they were not measured.
    ///   - image: The image, whose size may be that of a screen.
    ///   - suffices: Whether evidence passes where everything was measured and nothing was found.
    package static func decide(
        faces: [FaceFacts], passive: LivenessFacts?, image: ImageFacts? = nil, suffices: Bool = false
    ) -> CapabilityDecision {
        let faults = FaceConformity(faces: faces).faults
        if faults.contains(.noFace) { return self.rejected(.noFacePresent) }
        if faults.contains(.severalFaces) { return self.rejected(.multiplePeople) }
        if faults.contains(.notFullyVisible) { return self.rejected(.faceNotFullyVisible) }
        if !faults.isEmpty { return CapabilityDecision(type: .warning, label: .badQuality) }
        if let passive {
            if let grey = passive[.grey], !Limits.signal.allows(grey) { return self.rejected(.blackWhite) }
            if self.looksLikeScreen(passive) {
                return self.rejected(.digitalCopy)
            }
            if suffices, self.isComplete(passive), self.findings(passive, image: image).isEmpty { return .passed }
        }
        return self.undetermined
    }

    /// What a person should look at, whatever was decided: names of signals, also of those that accuse nobody by themselves, and
    /// `metadata` with its reason.
    package static func findings(_ passive: LivenessFacts, image: ImageFacts?) -> [String] {
        LivenessFacts.Signal.allCases.filter { self.isPresent($0, in: passive) }.map(\.rawValue)
            + (passive.network?.isSuspicious == true ? ["network"] : [])
            + (passive.metadata?.reasons(width: image?.width ?? 0, height: image?.height ?? 0) ?? [])
            .map { "metadata: \($0)" }
    }

    /// Whether everything was measured: what was not looked at is not free of findings.
    private static func isComplete(_ passive: LivenessFacts) -> Bool {
        LivenessFacts.Signal.allCases.allSatisfy { passive[$0] != nil }
            && passive.metadata != nil && passive.network.map { $0.live != nil } ?? true
    }

    private static func isPresent(_ signal: LivenessFacts.Signal, in passive: LivenessFacts) -> Bool {
        passive[signal].map { !Limits.signal.allows($0) } ?? false
    }

    /// A frame around the face is a door or an image on the wall as often as a bezel, and gloss is sweat as often as
    /// glass, and networks take phones' screens for faces and faces for screens: a screen is only named when two of its marks
    /// are there together.
    private static func looksLikeScreen(_ passive: LivenessFacts) -> Bool {
        let marks = [.moire, .frame, .specular].count { self.isPresent($0, in: passive) }
        return marks + (passive.network?.isSuspicious == true ? 1 : 0) >= 2
    }

    /// The signals beside their limit, by name. One alone accuses nobody, except lack of any colour.
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

    /// What frames that answer no challenge show of an artefact; `nil` where they show nothing of it.
    ///
    /// - Parameter suffices: Whether evidence passes: frames that do not show the same face throughout then keep it from that.
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
