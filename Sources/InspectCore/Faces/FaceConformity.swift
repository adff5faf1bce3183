/// Whether an image shows one face well enough to be judged: the gate before liveness and comparison.
///
/// ISO/IEC 19794-5 describes a portrait taken by a photographer; a selfie that a person takes alone never meets it. The limits
/// here are capture limits: each is the standard's measure, widened to the point beyond which the descriptor or the
/// signals stop working. ``FaceQuality`` reports the measures themselves, so that a partner can be stricter.
package struct FaceConformity: Sendable, Hashable {
    /// A reason why an image is unfit.
    package enum Fault: String, Codable, Sendable, CaseIterable {
        case noFace = "NO_FACE"
        case severalFaces = "SEVERAL_FACES"
        case tooSmall = "TOO_SMALL"
        case notFullyVisible = "NOT_FULLY_VISIBLE"
        case offCentre = "OFF_CENTRE"
        case tilted = "TILTED"
        case turned = "TURNED"
        case tooDark = "TOO_DARK"
        case tooBright = "TOO_BRIGHT"
        case blurred = "BLURRED"
    }

    /// Empty when the image is fit.
    package let faults: [Fault]
    /// Whether the image has no fault.
    package var isConform: Bool { self.faults.isEmpty }

    /// - Parameter faces: The faces of the image, largest first.
    package init(faces: [FaceFacts]) {
        guard let face = faces.first else {
            self.faults = [.noFace]
            return
        }
        var faults: [Fault] = Self.hasSeveralPeople(faces) ? [.severalFaces] : []
        faults += Fault.allCases.filter { $0.applies(to: face.quality) }
        self.faults = faults
    }

    /// Whether a second person is in the image, unless small in the background.
    ///
    /// OFIQ's "single face present" also compares the areas of the two largest faces.
    package static func hasSeveralPeople(_ faces: [FaceFacts]) -> Bool {
        guard let first = faces.first else { return false }
        let area = first.box.width * first.box.height
        return faces.dropFirst().contains {
            !Limits.secondFaceScore.allows($0.detectionScore)
                && !Limits.secondFaceArea.allows(area > 0 ? $0.box.width * $0.box.height / area : 1)
        }
    }
}

extension FaceConformity.Fault {
    fileprivate func applies(to quality: FaceQuality) -> Bool {
        FaceConformity.criteria.contains { $0.fault == self && !$0.limit.allows($0.value(quality)) }
    }
}

extension FaceConformity {
    /// A measure, its limit, and the fault of an image beyond it.
    struct Criterion: Sendable {
        var fault: Fault
        var name: String
        var limit: Limit
        var value: @Sendable (FaceQuality) -> Double
    }

    static let criteria: [Criterion] = [
        Criterion(fault: .tooSmall, name: "interEyeDistance", limit: Limits.interEyeDistance) { $0.interEyeDistance },
        Criterion(fault: .notFullyVisible, name: "visible", limit: Limits.visible) { $0.visible },
        Criterion(fault: .offCentre, name: "centreX", limit: Limits.centreX) { $0.centreX },
        Criterion(fault: .offCentre, name: "eyeLineY", limit: Limits.eyeLineY) { $0.eyeLineY },
        Criterion(fault: .tilted, name: "roll", limit: Limits.roll) { $0.roll },
        Criterion(fault: .turned, name: "yawOffset", limit: Limits.yawOffset) { $0.yawOffset },
        // A dark face is acceptable as long as it shows structure; that takes three measures.
        Criterion(fault: .tooDark, name: "luminanceMean", limit: Limits.darkFace) { $0.luminanceMean },
        Criterion(fault: .tooDark, name: "underExposed", limit: Limits.underExposed) { $0.underExposed },
        Criterion(fault: .tooDark, name: "dynamicRange", limit: Limits.dynamicRange) { $0.dynamicRange },
        Criterion(fault: .tooBright, name: "luminanceMean", limit: Limits.brightFace) { $0.luminanceMean },
        Criterion(fault: .tooBright, name: "overExposed", limit: Limits.overExposed) { $0.overExposed },
        Criterion(fault: .blurred, name: "sharpness", limit: Limits.sharpness) { $0.sharpness },
    ]

    /// Every measure of a face.
    ///
    /// - Parameter isJudged: Whether the limits apply: they hold for selfies, not for portraits on documents.
    package static func measurements(_ quality: FaceQuality, isJudged: Bool) -> [Measurement] {
        let limited = self.criteria.map { criterion in
            let value = criterion.value(quality)
            return isJudged
                ? Measurement(criterion.name, value, criterion.limit, note: "not measured")
                : Measurement(criterion.name, value)
        }
        let others = [
            Measurement("luminanceVariance", quality.luminanceVariance),
            Measurement("illuminationUniformity", quality.illuminationUniformity),
            Measurement("chroma", quality.chroma), Measurement("headWidth", quality.headWidth),
        ]
        // Without limits the two rows of the mean luminance are one.
        return isJudged
            ? limited + others
            : limited.enumerated().filter { index, row in
                !limited.prefix(index).contains { $0.name == row.name }
            }.map(\.element) + others
    }
}
