/// Decides whether a document's portrait and a selfie show the same person.
///
/// Labels as in Jumio's contract: PASSED MATCH, REJECTED NO_MATCH, WARNING NOT_POSSIBLE.
package enum SimilarityRules {
    /// Why the faces were not compared.
    package enum Obstacle: String, Codable, Sendable {
        case noPortrait = "NO_FACE_ON_DOCUMENT"
        case portraitTooSmall = "PORTRAIT_TOO_SMALL"
        case portraitTooPoor = "PORTRAIT_TOO_POOR"
        case noFace = "NO_FACE_PRESENT"
        case severalPeople = "MULTIPLE_PEOPLE"
        case faceTooSmall = "FACE_TOO_SMALL"
    }

    /// The decision with its reasons.
    package struct Outcome: Sendable, Hashable {
        /// PASSED if the faces match; otherwise REJECTED, or WARNING if they cannot be compared.
        package var decision: CapabilityDecision
        /// `nil` when nothing was compared.
        package var match: FaceMatch?
        /// Why nothing was compared.
        package var obstacle: Obstacle?
    }

    /// - Parameters:
    ///   - portrait: The faces of the document's image, largest first: the portrait, then ghost images.
    ///   - selfie: The faces of the person's image, largest first.
    /// - Throws: `PAYLOAD_INVALID` if an embedding is malformed or of another engine.
    package static func decide(
        portrait: [FaceFacts], selfie: [FaceFacts], threshold: Double = SimilarityScale.portraitThreshold,
        calibration: FaceCalibration = .dlib
    ) throws(InspectError) -> Outcome {
        // A second person in the selfie makes the comparison impossible: the rules do not guess who is meant.
        guard !FaceConformity.hasSeveralPeople(selfie) else {
            return Outcome(decision: CapabilityDecision(type: .rejected, label: .noMatch), obstacle: .severalPeople)
        }
        guard let person = selfie.first, let mine = person.embedding else { return .notPossible(.noFace) }
        guard let document = portrait.first, let theirs = document.embedding else { return .notPossible(.noPortrait) }
        guard Limits.comparableEyeDistance.allows(person.quality.interEyeDistance) else {
            return .notPossible(.faceTooSmall)
        }
        guard Limits.comparableEyeDistance.allows(document.quality.interEyeDistance) else {
            return .notPossible(.portraitTooSmall)
        }
        guard Limits.portraitDynamicRange.allows(document.quality.dynamicRange),
            Limits.portraitSharpness.allows(document.quality.sharpness)
        else { return .notPossible(.portraitTooPoor) }
        let match = try FaceMatch.compare(theirs, mine, threshold: threshold, calibration: calibration)
        let decision =
            match.match
            ? CapabilityDecision(type: .passed, label: .match) : CapabilityDecision(type: .rejected, label: .noMatch)
        return Outcome(decision: decision, match: match)
    }

    /// The measurements that decide whether the faces can be compared.
    package static func measurements(portrait: [FaceFacts], selfie: [FaceFacts]) -> [Measurement] {
        [("portraitEyeDistance", portrait.first), ("faceEyeDistance", selfie.first)].map { name, face in
            Measurement(name, face?.quality.interEyeDistance, Limits.comparableEyeDistance, note: "no face was found")
        } + [
            Measurement(
                "portraitDynamicRange", portrait.first?.quality.dynamicRange, Limits.portraitDynamicRange,
                note: "no face was found"),
            Measurement(
                "portraitSharpness", portrait.first?.quality.sharpness, Limits.portraitSharpness,
                note: "no face was found"),
        ]
    }
}

extension SimilarityRules.Outcome {
    fileprivate static func notPossible(_ obstacle: SimilarityRules.Obstacle) -> Self {
        Self(decision: CapabilityDecision(type: .warning, label: .notPossible), obstacle: obstacle)
    }
}
