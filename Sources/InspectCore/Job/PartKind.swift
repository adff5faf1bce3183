/// One kind of input of a job, by the name that payloads, results and the database use. `insp.part_kind` has the same; a test
/// holds them equal.
package enum PartKind: String, Codable, Sendable, CaseIterable {
    /// The document's front, or a passport's data page.
    case front = "FRONT"
    /// The back of a two-sided document (TD1, TD2).
    case back = "BACK"
    /// The selfie.
    case face = "FACE"
    /// The frames of a liveness capture, in order: the only kind that a job may have more than one of.
    case frames = "FRAMES"
    /// Chip data group 1, the MRZ (ICAO 9303-10, section 4.7.1).
    case dg1 = "DG1"
    /// Chip data group 2, the encoded face (ICAO 9303-10, section 4.7.2).
    case dg2 = "DG2"
    /// The chip's document security object (ICAO 9303-10, section 4.6.2).
    case sod = "SOD"
    /// A vendor's liveness session, opaque to this system.
    case sessionBlob = "SESSION_BLOB"
}

extension PartKind {
    /// The largest part that is accepted, in bytes; the database has the same limit.
    package static let byteLimit = 20_000_000

    /// The number of the data group, for the chip's data groups.
    package var dataGroup: Int? {
        switch self {
        case .dg1: 1
        case .dg2: 2
        case .front, .back, .face, .frames, .sod, .sessionBlob: nil
        }
    }

    /// Whether the part is a file of the chip.
    package var isChipFile: Bool { self == .sod || self.dataGroup != nil }

    /// Whether the part is an image that the analyzer decodes.
    package var isImage: Bool {
        switch self {
        case .front, .back, .face, .frames: true
        case .dg1, .dg2, .sod, .sessionBlob: false
        }
    }
}
