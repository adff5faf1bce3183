/// One kind of input of a job, by the name that payloads, results and the database use. `insp.part_kind` has the same; a test
/// holds them equal.
package enum PartKind: String, Codable, Sendable, CaseIterable {
    case front = "FRONT"
    case back = "BACK"
    case face = "FACE"
    case frames = "FRAMES"
    case dg1 = "DG1"
    case dg2 = "DG2"
    case dg7 = "DG7"
    case dg11 = "DG11"
    case dg12 = "DG12"
    case sod = "SOD"
    case sessionBlob = "SESSION_BLOB"
}

extension PartKind {
    /// The largest part that is accepted, in bytes; the database has the same limit.
    package static let byteLimit = 20 * 1024 * 1024
    /// How many parts of a kind a job may have if it may have several; the database has the same limit.
    package static let countLimit = 256

    /// The subject or source of a part.
    package enum Source: String, Sendable {
        case document = "document"
        case chip = "chip"
        case person = "person"
        /// Opaque to this system: only a vendor's server opens it.
        case vendor = "vendor"
    }

    /// All facts about a kind. All lists of kinds, such as options and the gateway's description, are made from it.
    package struct Row: Sendable {
        /// Its subject or source.
        package var source: Source
        /// The option and the member of a batch's line that name its file, or its folder if it comes in several.
        package var option: String
        /// In plain English, for help texts and the gateway's description.
        package var meaning: String
        /// Whether it is decoded; others are read byte by byte or passed on.
        package var isImage = false
        /// The stage that searches it for faces; `nil`: none does.
        package var faceStage: JobStatus?
        /// Whether a capture link's page takes it in some workflow.
        package var isCaptured = false
        /// Whether a job may have more than one, in order.
        package var isMany = false
        /// The number of the data group, for the chip's data groups.
        package var dataGroup: Int?
    }

    /// The facts about this kind.
    package var row: Row {
        switch self {
        case .front:
            Row(
                source: .document, option: "front", meaning: "front of the document, or a passport's data page",
                isImage: true, faceStage: .document, isCaptured: true)
        case .back:
            Row(
                source: .document, option: "back", meaning: "back of a two-sided document", isImage: true,
                faceStage: .document, isCaptured: true)
        case .face:
            Row(
                source: .person, option: "face", meaning: "selfie of the person", isImage: true, faceStage: .face,
                isCaptured: true)
        case .frames:
            Row(
                source: .person, option: "frames", meaning: "frames of a liveness capture, in the order of their names",
                isImage: true, faceStage: .liveness, isCaptured: true, isMany: true)
        // ICAO 9303-10, sections 4.7.1, 4.7.2 and 4.6.2.
        case .dg1: Row(source: .chip, option: "dg1", meaning: "chip data group 1, the MRZ", dataGroup: 1)
        case .dg2:
            Row(
                source: .chip, option: "dg2", meaning: "chip data group 2, the portrait", faceStage: .document,
                dataGroup: 2)
        // Sections 4.7.7, 4.7.11 and 4.7.12.
        case .dg7:
            Row(source: .chip, option: "dg7", meaning: "chip data group 7, the displayed signature", dataGroup: 7)
        case .dg11:
            Row(source: .chip, option: "dg11", meaning: "chip data group 11, details of the holder", dataGroup: 11)
        case .dg12:
            Row(source: .chip, option: "dg12", meaning: "chip data group 12, details of the document", dataGroup: 12)
        case .sod:
            Row(
                source: .chip, option: "sod",
                meaning: "Document Security Object of the chip, which vouches for its data groups")
        case .sessionBlob: Row(source: .vendor, option: "session", meaning: "liveness session of a vendor, opaque")
        }
    }

    /// Whether it shows a side of the document, which is read and judged separately.
    package var isSide: Bool { self.row.source == .document }

    /// The kinds that show a side of the document.
    package static let sides = Self.allCases.filter(\.isSide)

    /// The kinds that a capture link's page takes.
    package static let captured = Self.allCases.filter(\.row.isCaptured)

    /// The kinds without which a person may continue on a capture link's page.
    package static let ofPerson = Self.allCases.filter { $0.row.source == .person }

    /// Whether it is a file of the chip, EF.SOD included.
    package var isChipFile: Bool { self.row.source == .chip }

    /// Whether the part is sent to a vendor's server unchanged.
    package var isOpaque: Bool { self.row.source == .vendor }
}
