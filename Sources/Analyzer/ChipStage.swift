import Chip
import Foundation
import InspectCore
import Vision

/// The chip's part of the document stage. Nothing here fails a job: a fault in a chip is a finding.
enum ChipStage {
    static func isChipFile(_ part: PartView) -> Bool {
        part.kind == TrustAnchors.partName || PartKind(rawValue: part.kind)?.isChipFile == true
    }

    /// - Parameter anchors: The configured certificates; those of the job replace them.
    /// - Returns: `nil` if the job has no chip file.
    static func facts(_ parts: [PartView], anchors: TrustStore, faces: FaceEngine) -> ChipFacts? {
        var groups: [Int: [UInt8]] = [:]
        var sod: [UInt8]?
        var own: [[UInt8]] = []
        for part in parts where self.isChipFile(part) {
            let bytes = part.withBytes { Array($0) }
            if let group = PartKind(rawValue: part.kind)?.row.dataGroup {
                groups[group] = bytes
            } else if part.kind == PartKind.sod.rawValue {
                sod = bytes
            } else {
                own.append(bytes)
            }
        }
        guard !groups.isEmpty || sod != nil else { return nil }
        var facts = ChipFacts(
            authentication: PassiveAuthentication.verify(
                dataGroups: groups, sod: sod, anchors: own.isEmpty ? anchors : TrustStore(own), at: Date()))
        if let file = groups[1] {
            do throws(LDSError) {
                facts.mrzLines = try DataGroup.mrzLines(dg1: file[...])
            } catch {
                facts.dg1Problem = "DG1_UNREADABLE: \(error.detail)"
            }
        }
        if let file = groups[2] {
            do {
                facts.portrait = try self.portrait(file, faces)
            } catch let error as LDSError {
                facts.dg2Problem = "DG2_UNREADABLE: \(error.detail)"
            } catch let error as InspectError {
                facts.dg2Problem = "PORTRAIT_UNREADABLE: \(error.code.rawValue)"
            } catch {
                facts.dg2Problem = "PORTRAIT_UNREADABLE"
            }
        }
        if let file = groups[7] {
            do throws(LDSError) {
                facts.signature = SignatureImages(count: try DataGroup.signatureImages(dg7: file[...]).count)
            } catch {
                facts.signature = SignatureImages(reason: "DG7_UNREADABLE: \(error.detail)")
            }
        }
        if let file = groups[11] {
            do throws(LDSError) {
                facts.person = try DataGroup.personalDetails(dg11: file[...])
            } catch {
                facts.person = PersonalDetails(reason: "DG11_UNREADABLE: \(error.detail)")
            }
        }
        if let file = groups[12] {
            do throws(LDSError) {
                facts.document = try DataGroup.documentDetails(dg12: file[...])
            } catch {
                facts.document = DocumentDetails(reason: "DG12_UNREADABLE: \(error.detail)")
            }
        }
        return facts
    }

    /// The chip's portrait, reduced; `nil` if none can be read.
    static func preview(_ parts: [PartView]) -> Preview? {
        guard let part = parts.first(where: { $0.kind == PartKind.dg2.rawValue }) else { return nil }
        return try? self.image(part.withBytes { Array($0) }).preview()
    }

    private static func image(_ file: [UInt8]) throws -> DecodedImage {
        let record = try FacialRecord(dg2: file[...])
        return try record.image.withUnsafeBytes { bytes throws(InspectError) in try DecodedImage.decode(bytes) }
    }

    private static func portrait(_ file: [UInt8], _ faces: FaceEngine) throws -> FaceStageFacts.Image {
        let image = try self.image(file)
        // Doc 9303-10 §4.7.2 and ISO/IEC 19794-5 §7.2: portraits are upright.
        return FaceStageFacts.Image(image: image.facts, faces: try faces.faces(in: image, embeddings: 1, turn: 0))
    }
}

/// How certificates of authorities are sent with a job's parts.
package enum TrustAnchors {
    /// The name of each part that is a file of certificates; there may be several.
    package static let partName = "CSCA"
}
