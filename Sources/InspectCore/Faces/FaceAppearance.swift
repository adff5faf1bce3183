/// Pose, eyes, mouth and smile of a face in words. `nil` means not assessed: the words need the 68-point model, except for
/// a clearly turned head, which five points show.
package struct FaceAppearance: Codable, Sendable, Hashable {
    /// Where the face looks, in the image.
    package enum Pose: String, Codable, Sendable {
        case frontal = "frontal"
        case turned = "turned"
        case profile = "profile"
        case up = "up"
        case down = "down"
    }
    /// State of the eyes or of the mouth.
    package enum Opening: String, Codable, Sendable {
        case open = "open"
        case closed = "closed"
    }

    /// Where the face looks; of several deviations one is named.
    package var pose: Pose?
    /// Both eyes together.
    package var eyes: Opening?
    /// By the gap between the inner lips.
    package var mouth: Opening?
    /// Whether the corners of the mouth are raised.
    package var smile: Bool?

    /// Gap of the lids, relative to the distance from eyes to chin, from which eyes are open: shut ones read 0.017 to 0.030.
    static let openEye = 0.035
    /// The same for a person who smiles broadly, which narrows the eyes: 0.024 while they are open.
    static let openEyeOfSmile = 0.02
    /// Gap of the inner lips, relative to the distance from eyes to chin, from which a mouth is open: closed lips reach 0.075, teeth show from 0.08 on.
    static let openMouth = 0.082
    /// Distance of the corners of the mouth, relative to the eyes' distance, from which a person smiles: neutral 0.75 to 0.90, smiles 1.08 to 1.24.
    static let smile = 1.0
    /// Degrees of yaw, and offset of the nose over the eyes' distance, from which a head is turned, or is a profile.
    static let turned = (yaw: 24.0, offset: 0.16)
    static let profile = (yaw: 35.0, offset: 0.25)
    /// Degrees of pitch beyond which a head looks up or down.
    static let tilted = 13.0

    init(_ quality: FaceQuality) {
        let offset = abs(quality.yawOffset)
        guard let contour = quality.contour else {
            self.pose = offset >= Self.profile.offset ? .profile : offset >= Self.turned.offset ? .turned : nil
            return
        }
        let yaw = abs(contour.yaw)
        self.pose =
            offset >= Self.profile.offset || yaw >= Self.profile.yaw
            ? .profile
            : contour.relativePitch <= -Self.tilted
                ? .up
                : contour.relativePitch >= Self.tilted ? .down : yaw >= Self.turned.yaw ? .turned : .frontal
        let isSmile = contour.smileWidth >= Self.smile
        self.smile = isSmile
        self.mouth = contour.mouthOpening >= Self.openMouth ? .open : .closed
        self.eyes = contour.eyeOpening >= (isSmile ? Self.openEyeOfSmile : Self.openEye) ? .open : .closed
    }
}

extension FaceContour {
    /// Pitch of the model head where people look into the camera, in degrees: the median of 78 portraits and stills of 16 persons
    /// turned by less than 15°, which is also the median of the persons' medians (6.4); half of the images read 1 to 11.
    static let frontalPitch = 6.5

    /// Degrees of pitch from looking straight into the camera; positive is down.
    package var relativePitch: Double { self.pitch - Self.frontalPitch }
}
