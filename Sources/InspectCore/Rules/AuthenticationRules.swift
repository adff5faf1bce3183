/// Decides whether a face matches a face id's templates, and whether a face may be enrolled under it.
///
/// Labels: authentication PASSED MATCH, REJECTED NO_MATCH, WARNING NOT_POSSIBLE; enrollment PASSED ENROLLED, REJECTED
/// NOT_ENROLLED.
package enum AuthenticationRules {
    /// Why the faces were not compared.
    package enum Obstacle: String, Codable, Sendable {
        case noFace = "NO_FACE_PRESENT"
        case severalPeople = "MULTIPLE_PEOPLE"
        case faceTooSmall = "FACE_TOO_SMALL"
        case otherEngine = "TEMPLATES_OF_ANOTHER_ENGINE"
    }

    /// The decision with its reasons.
    package struct Outcome: Sendable, Hashable {
        /// PASSED if a template matches, REJECTED if none does, otherwise WARNING.
        package var decision: CapabilityDecision
        /// The best match; `nil` when nothing was compared.
        package var match: FaceMatch?
        /// Templates that the face was compared with.
        package var compared = 0
        /// Why nothing was compared.
        package var obstacle: Obstacle?
    }

    /// The face against every template of its own engine and model; the best counts.
    ///
    /// - Parameter faces: The faces of the person's image, largest first.
    package static func authenticate(
        _ faces: [FaceFacts], against enrolled: EnrolledFace, threshold: Double, calibration: FaceCalibration
    ) -> Outcome {
        func notPossible(_ obstacle: Obstacle) -> Outcome {
            Outcome(decision: CapabilityDecision(type: .warning, label: .notPossible), obstacle: obstacle)
        }
        guard !FaceConformity.hasSeveralPeople(faces) else { return notPossible(.severalPeople) }
        guard let face = faces.first, let embedding = face.embedding else { return notPossible(.noFace) }
        guard Limits.comparableEyeDistance.allows(face.quality.interEyeDistance) else {
            return notPossible(.faceTooSmall)
        }
        let matches = Self.matches(embedding, enrolled.templates, threshold: threshold, calibration: calibration)
        guard var best = matches.max(by: { $0.similarity < $1.similarity }) else { return notPossible(.otherEngine) }
        // Each template gives a stranger another chance: the sum is the upper bound (Boole's inequality).
        best.fmrAtThreshold = best.fmrAtThreshold.map { min(1, $0 * Double(matches.count)) }
        return Outcome(
            decision: best.match
                ? CapabilityDecision(type: .passed, label: .match)
                : CapabilityDecision(type: .rejected, label: .noMatch),
            match: best, compared: matches.count)
    }

    /// Whether a face may be enrolled, and why not: the names of ``FaceConformity/Fault``, a label of liveness, or
    /// NO_MATCH.
    ///
    /// A further template must match the existing ones: otherwise, anyone who may enrol could join another person's face
    /// id.
    ///
    /// - Parameter liveness: What was decided about the image.
    package static func obstacles(
        _ faces: [FaceFacts], to enrolled: EnrolledFace, liveness: CapabilityDecision?, calibration: FaceCalibration
    ) -> [String] {
        let faults = FaceConformity(faces: faces).faults.map(\.rawValue)
        guard faults.isEmpty, let embedding = faces.first?.embedding else { return faults }
        if let liveness, liveness.type == .rejected { return [liveness.label] }
        guard !enrolled.isToBeReplaced else { return [] }
        let matches = Self.matches(
            embedding, enrolled.templates, threshold: SimilarityScale.defaultThreshold, calibration: calibration)
        return matches.isEmpty || matches.contains(where: \.match) ? [] : ["NO_MATCH"]
    }

    /// Comparisons with all usable templates, skipping those of another engine or model and damaged ones.
    private static func matches(
        _ embedding: FaceEmbedding, _ templates: [FaceEmbedding], threshold: Double, calibration: FaceCalibration
    ) -> [FaceMatch] {
        templates.compactMap { template in
            try? FaceMatch.compare(template, embedding, threshold: threshold, calibration: calibration)
        }
    }
}
