/// Decides what one selfie tells about a living person.
///
/// A single picture can be enough to reject, never to accept: passive cues do not separate live faces from good artefacts, so
/// the best outcome is WARNING LIVENESS_UNDETERMINED. Only challenges that the server issued can pass. Labels as in
/// Jumio's contract.
public enum LivenessRules {
    /// How far an outcome can be trusted.
    public static let assurance = "evidence"

    /// Whether measuring cues is worthwhile: liveness runs only where a conforming face was found.
    public static func isWorthwhile(_ picture: FaceStageFacts.Picture) -> Bool {
        FaceConformity(faces: picture.faces).isConform
    }

    /// - Parameters:
    ///   - faces: The faces of the selfie, largest first.
    ///   - passive: The cues, or `nil` when they were not measured.
    public static func decide(faces: [FaceFacts], passive: LivenessFacts?) -> CapabilityDecision {
        let faults = FaceConformity(faces: faces).faults
        if faults.contains(.noFace) { return self.rejected("NO_FACE_PRESENT") }
        if faults.contains(.severalFaces) { return self.rejected("MULTIPLE_PEOPLE") }
        if faults.contains(.notFullyVisible) { return self.rejected("FACE_NOT_FULLY_VISIBLE") }
        if !faults.isEmpty { return CapabilityDecision(type: .warning, label: "BAD_QUALITY") }
        if let passive {
            if let grey = passive[.grey], !Limits.cue.allows(grey) { return self.rejected("BLACK_WHITE") }
            if self.looksLikeScreen(passive) {
                return self.rejected("DIGITAL_COPY")
            }
        }
        return CapabilityDecision(type: .warning, label: "LIVENESS_UNDETERMINED")
    }

    /// A frame around the face is a door or a picture on the wall as often as a bezel, and gloss is sweat as often as
    /// glass: a screen is only named when its frame and one of its other marks are there together.
    private static func looksLikeScreen(_ passive: LivenessFacts) -> Bool {
        let present = { (cue: LivenessFacts.Cue) in passive[cue].map { !Limits.cue.allows($0) } ?? false }
        return present(.moire) && (present(.frame) || present(.specular)) || present(.frame) && present(.specular)
    }

    /// The cues beside their limit, by name. One alone accuses nobody, except lack of any colour.
    public static func measurements(_ passive: LivenessFacts) -> [Measurement] {
        let isScreen = self.looksLikeScreen(passive)
        return LivenessFacts.Cue.allCases.map { cue in
            let accuses = cue == .grey || isScreen && [.moire, .frame, .specular].contains(cue)
            return Measurement(
                cue.rawValue, passive[cue], Limits.cue, counts: accuses,
                note: passive[cue] == nil ? "not measured" : "counts only together with others")
        }
    }

    /// What frames that answer no challenge show of an artefact; `nil` where they show nothing of it.
    public static func decide(_ capture: CaptureFacts) -> (decision: CapabilityDecision, reason: String)? {
        if let fault = CaptureRules.fault(of: capture, isChallenge: false) {
            switch fault.reason {
            case .severalPeople: return (self.rejected("MULTIPLE_PEOPLE"), fault.reason.rawValue)
            default: return (self.rejected("DIGITAL_COPY"), fault.reason.rawValue)
            }
        }
        if let movement = CaptureRules.movement(capture), capture.frames.count >= 10, !Limits.stillness.allows(movement)
        {
            return (CapabilityDecision(type: .warning, label: "LIVENESS_UNDETERMINED"), "the face does not move")
        }
        return nil
    }

    private static func rejected(_ label: String) -> CapabilityDecision {
        CapabilityDecision(type: .rejected, label: label)
    }
}
