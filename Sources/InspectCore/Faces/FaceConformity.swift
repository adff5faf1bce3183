/// Whether a picture shows one face well enough to be judged: the gate before liveness and comparison.
///
/// ISO/IEC 19794-5 describes a portrait taken by a photographer; a selfie that a person takes alone never meets it. The limits
/// here are capture limits: each is the standard's measure, widened to the point beyond which the descriptor or the
/// cues stop working. ``FaceQuality`` reports the measures themselves, so that a partner can be stricter.
public struct FaceConformity: Sendable, Hashable {
    /// Why a picture is not fit.
    public enum Fault: String, Codable, Sendable, CaseIterable {
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

    /// Empty when the picture is fit.
    public let faults: [Fault]
    public var isConform: Bool { self.faults.isEmpty }

    /// - Parameter faces: The faces of the picture, largest first.
    public init(faces: [FaceFacts]) {
        guard let face = faces.first else {
            self.faults = [.noFace]
            return
        }
        var faults: [Fault] = Self.hasSeveralPeople(faces) ? [.severalFaces] : []
        faults += Fault.allCases.filter { $0.applies(to: face.quality) }
        self.faults = faults
    }

    /// Whether somebody else is in the picture, and not just passing in the background.
    ///
    /// OFIQ's "single face present" weighs the areas of the two largest faces; a tenth of the area is a face a third as
    /// wide. Weak second answers of the detector (below 0.3) are patterns more often than faces.
    public static func hasSeveralPeople(_ faces: [FaceFacts]) -> Bool {
        guard let first = faces.first else { return false }
        let area = first.box.width * first.box.height
        return faces.dropFirst().contains {
            $0.detectionScore >= 0.3 && $0.box.width * $0.box.height >= 0.1 * area
        }
    }
}

extension FaceConformity.Fault {
    fileprivate func applies(to quality: FaceQuality) -> Bool {
        switch self {
        case .noFace, .severalFaces: false
        // ISO/IEC 19794-5 asks for 90 px between the eyes, 60 px in a token image; half of the former still verifies.
        case .tooSmall: quality.interEyeDistance < 45
        case .notFullyVisible: quality.visible < 0.7
        // ISO/IEC 19794-5: 0.45–0.55 across, eyes at 0.5–0.7 of the height.
        case .offCentre: !(0.2...0.8).contains(quality.centreX) || !(0.25...0.9).contains(quality.eyeLineY)
        // ISO/IEC 19794-5: ±8°. The alignment undoes any rotation, but nobody holds a camera like this by chance.
        case .tilted: abs(quality.roll) > 25
        // ISO/IEC 19794-5: ±5°. 0.25 eye distances are a head turned by about 40°.
        case .turned: abs(quality.yawOffset) > 0.25
        // Luminance is linear light: dark skin in a dim room lies near 0.03. What counts is whether structure is left.
        case .tooDark: quality.luminanceMean < 0.01 || quality.underExposed > 0.9 || quality.dynamicRange < 4
        case .tooBright: quality.luminanceMean > 0.85 || quality.overExposed > 0.25
        // Sharp selfies measure 100 to 1,300, a picture that was blurred on purpose 12.
        case .blurred: quality.sharpness < 15
        }
    }
}
