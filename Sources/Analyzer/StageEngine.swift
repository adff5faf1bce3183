import Chip
import Foundation
package import InspectCore
package import Vision

/// The engine of a worker's analyzer: the stages of an inspection over the parts of one job.
///
/// Runs in the child process only. Images are decoded on first use and kept until the process ends, so that the stages of one
/// job decode each part once.
package final class StageEngine: AnalyzerEngine {
    let faces: FaceEngine
    let livenessNetwork: LivenessNetwork?
    private let mrz = MRZReader()
    let text = TextReader()
    private let anchors: TrustStore
    private var images: [String: DecodedImage] = [:]
    /// Faces in images of people, so that liveness does not search for them again.
    private var found: [String: [FaceFacts]] = [:]

    /// Loads the models; takes about a second, once, in the warm parent.
    ///
    /// - Parameters:
    ///   - models: The folder with the face models.
    ///   - anchors: Files with the trust anchors for chips, unless a job has its own.
    ///   - faces: The operator's choices for faces.
    /// - Throws: ``ErrorCode/modelUnavailable`` if a model is missing or damaged.
    package init(
        models: String, anchors: [[UInt8]] = [], faces: FaceModels = FaceModels()
    ) throws(InspectError) {
        if let model = faces.liveness {
            self.livenessNetwork = try LivenessNetwork(model)
        } else {
            self.livenessNetwork = nil
        }
        self.faces = try FaceEngine(models: models, contour: faces.contour, network: faces.network)
        TrustStore.prepare()
        self.anchors = TrustStore(anchors)
        try self.rehearse()
    }

    /// Runs a stage: decodes the images that it needs, and answers with the stage's facts as JSON.
    package func handle(stage: String, request: [UInt8], parts: [PartView]) throws(InspectError) -> [UInt8] {
        let start = ProcessorClock.nowMs
        if stage == Self.previewStage { return try self.previews(parts) }
        switch JobStatus.allCases.first(where: { $0.stageName == stage }) {
        case .acquired:
            var facts = AcquisitionFacts(images: [:])
            // Only the first of a capture's frames: the others are decoded when they are measured.
            for part in parts where !ChipStage.isChipFile(part) && facts.images[part.kind] == nil {
                facts.images[part.kind] = try self.image(part).facts
            }
            facts.cpuMs = ProcessorClock.nowMs - start
            return try Self.encode(facts)
        case .document:
            var facts = DocumentStageFacts(sides: [:])
            for part in parts where PartKind(rawValue: part.kind)?.isSide == true {
                let image = try self.image(part)
                var side = try self.document(image, isCompared: Self.hasFace(parts))
                var clock = StepClock()
                side.recompression = try clock.step("file") { () throws(InspectError) in
                    try DocumentAnalyzer.recompression(image)
                }
                side.metadata = part.withBytes { ImageMetadata(file: [UInt8]($0), software: image.software) }
                side.stepsMs?.merge(clock.steps) { $1 }
                facts.sides[part.kind] = side
            }
            if request.elementsEqual(Self.withVIZ) {
                try self.readVIZ(parts, &facts)
                try self.compareGhost(parts, &facts)
            }
            facts.chip = ChipStage.facts(parts, anchors: self.anchors, faces: self.faces)
            facts.cpuMs = ProcessorClock.nowMs - start
            return try Self.encode(facts)
        case .face:
            var facts = FaceStageFacts(images: [:])
            for part in parts {
                let kind = PartKind(rawValue: part.kind)
                // The images of a comparison have other names: only their largest faces are needed.
                guard kind == nil || kind?.row.faceStage == .face else { continue }
                let image = try self.image(part)
                let faces = try self.faces.faces(in: image, embeddings: 1, onlyLargest: kind == nil)
                self.found[part.kind] = faces
                var text: TextAroundFace?
                if kind == .face, let face = faces.first {
                    text = try self.text.text(around: face, in: image)
                }
                facts.images[part.kind] = FaceStageFacts.Image(image: image.facts, faces: faces, text: text)
            }
            facts.cpuMs = ProcessorClock.nowMs - start
            return try Self.encode(facts)
        case .liveness:
            var facts = LivenessStageFacts(passive: nil)
            if let part = parts.first(where: { $0.kind == PartKind.face.rawValue }) {
                let image = try self.image(part)
                var faces = self.found[part.kind]
                if faces == nil { faces = try self.faces.faces(in: image, embeddings: 0) }
                if let face = faces?.first {
                    facts.passive = try self.faces.liveness(in: image, face: face)
                    facts.passive?.network = try self.livenessNetwork?.score(face, in: image)
                    facts.passive?.metadata = part.withBytes {
                        ImageMetadata(file: [UInt8]($0), software: image.software)
                    }
                }
                let selfie = try parts.contains(where: CaptureStage.isFrame) ? self.embedding(of: part, image) : nil
                facts.capture = try CaptureStage.facts(parts, engine: self.faces, face: selfie)
            }
            facts.cpuMs = ProcessorClock.nowMs - start
            return try Self.encode(facts)
        case .queued, .started, .decided, .finished, nil:
            throw InspectError(.internalError, "the analyzer has no stage \(stage)")
        }
    }

    /// Not a stage of a job: returns ``Preview``s by part name, for reports.
    package static let previewStage = "preview"

    private func previews(_ parts: [PartView]) throws(InspectError) -> [UInt8] {
        var previews: [String: Preview] = [:]
        for part in parts where !ChipStage.isChipFile(part) && previews[part.kind] == nil {
            previews[part.kind] = try self.image(part).preview()
        }
        previews[PartKind.dg2.rawValue] = ChipStage.preview(parts)
        return try Self.encode(previews)
    }

    /// The document stage's request that includes reading the VIZ and comparing the ghost image.
    package static let withVIZ = Array("viz".utf8)

    /// Reads the VIZ of the front, or of the back if there is no front: the front identifies the holder.
    private func readVIZ(_ parts: [PartView], _ facts: inout DocumentStageFacts) throws(InspectError) {
        let sides = parts.filter { facts.sides[$0.kind] != nil }
        guard let part = sides.first(where: { $0.kind == PartKind.front.rawValue }) ?? sides.first,
            let side = facts.sides[part.kind]
        else { return }
        let others = facts.sides.filter { $0.key != part.kind }.map(\.value)
        let today = CalendarDate(Date())
        let expected = VIZExpectation(sides: [side] + others, today: today)
        var clock = StepClock()
        facts.sides[part.kind]?.viz = try clock.step("viz") { () throws(InspectError) in
            try VIZStage.facts(
                self.image(part), side: side, expected: expected, today: today, reader: self.text)
        }
        facts.sides[part.kind]?.stepsMs?.merge(clock.steps) { $1 }
    }

    /// Searches a front that bears a portrait for its ghost image.
    private func compareGhost(_ parts: [PartView], _ facts: inout DocumentStageFacts) throws(InspectError) {
        guard let part = parts.first(where: { $0.kind == PartKind.front.rawValue }), let side = facts.sides[part.kind],
            let portrait = side.faces.first
        else { return }
        var clock = StepClock()
        facts.sides[part.kind]?.ghost = try clock.step("ghost") { () throws(InspectError) in
            try self.faces.ghost(
                of: portrait, in: self.image(part),
                on: FaceEngine.DocumentSide(outline: side.outline, mrz: side.mrz?.quad, bearsPortrait: true))
        }
        facts.sides[part.kind]?.stepsMs?.merge(clock.steps) { $1 }
    }

    /// The embedding of the largest face of an image by dlib's network, as for frames, even if another network compares.
    private func embedding(of part: PartView, _ image: DecodedImage) throws(InspectError) -> FaceEmbedding? {
        var face = self.found[part.kind]?.first
        if face == nil { face = try self.faces.faces(in: image, embeddings: 0).first }
        if let embedding = face?.embedding, embedding.engine == FaceEmbedding.currentEngine { return embedding }
        guard let face else { return nil }
        return try self.faces.embedding(in: image, landmarks: face.landmarks)
    }

    /// Whether the job has a face to compare with the document's portrait: only then does the portrait get an embedding.
    private static func hasFace(_ parts: [PartView]) -> Bool {
        parts.contains { part in
            guard let row = PartKind(rawValue: part.kind)?.row else { return true }
            return row.faceStage != nil && row.source != .document
        }
    }

    private func document(_ image: DecodedImage, isCompared: Bool = true) throws(InspectError) -> DocumentFacts {
        var clock = StepClock()
        let outline = try clock.step("outline") { () throws(InspectError) in try DocumentAnalyzer.outline(image) }
        let (mrz, isIllegible) = try clock.step("mrz") { () throws(InspectError) in
            try self.mrz.read(image, outline: outline)
        }
        let barcodes = try clock.step("barcode") { () throws(InspectError) in
            let text = mrz.flatMap { MRZDocument(lines: $0.lines, today: CalendarDate(Date())) }
            // An MRZ whose check digits hold makes a barcode redundant, so only regions that look like one are read. A passport's data
            // page (Doc 9303-4) has no barcode.
            guard let text, text.checksHold, !text.checks.isEmpty else {
                return try BarcodeReader.read(image, outline: outline)
            }
            if text.format == .td3, text.documentCode.hasPrefix("P") { return [] }
            return try BarcodeReader.read(image, outline: outline, onlyLikely: true)
        }
        let quality = try clock.step("quality") { () throws(InspectError) in
            try DocumentAnalyzer.quality(image, outline: outline)
        }
        // The MRZ gives the side's orientation; a side with a barcode and no MRZ is a back, assumed upright.
        let turn = mrz?.turn ?? (barcodes.isEmpty ? nil : 0)
        let isBack = !barcodes.isEmpty || mrz?.lines.count == 3
        let faces = try clock.step("faces") { () throws(InspectError) in
            try self.faces.faces(
                in: image, embeddings: isCompared ? 1 : 0, turn: turn,
                on: FaceEngine.DocumentSide(outline: outline, mrz: mrz?.quad, bearsPortrait: !isBack))
        }
        var facts = DocumentFacts(
            image: image.facts, outline: outline, quality: quality, mrz: mrz, barcodes: barcodes, faces: faces)
        facts.stepsMs = clock.steps
        facts.hasIllegibleZone = isIllegible
        return facts
    }

    /// Frees everything kept of a job's parts.
    func forget() {
        self.images = [:]
        self.found = [:]
    }

    private func image(_ part: PartView) throws(InspectError) -> DecodedImage {
        if let image = self.images[part.kind] { return image }
        do {
            let limits = ImageLimits(keepsCoefficients: PartKind(rawValue: part.kind)?.isSide == true)
            let image = try part.withBytes { bytes throws(InspectError) in
                try DecodedImage.decode(bytes, limits: limits)
            }
            self.images[part.kind] = image
            return image
        } catch {
            throw Self.naming(part, error)
        }
    }

    /// Prefixes the error with the part's name, which the client needs to know.
    static func naming(_ part: PartView, _ error: InspectError) -> InspectError {
        InspectError(error.code, error.detail.isEmpty ? part.kind : "\(part.kind): \(error.detail)")
    }

    static func encode(_ facts: some Encodable) throws(InspectError) -> [UInt8] {
        do {
            return [UInt8](try JSONEncoder().encode(facts))
        } catch {
            throw InspectError(.internalError, "the stage's facts cannot be encoded")
        }
    }
}

/// Processor time of this process in milliseconds.
enum ProcessorClock {
    static var nowMs: Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1000 + Double(time.tv_nsec) / 1e6
    }
}

/// Processor time of each step.
struct StepClock {
    private(set) var steps: [String: Double] = [:]

    mutating func step<Result>(
        _ name: String, _ body: () throws(InspectError) -> Result
    ) throws(InspectError) -> Result {
        let start = ProcessorClock.nowMs
        let result = try body()
        self.steps[name, default: 0] += ((ProcessorClock.nowMs - start) * 10).rounded() / 10
        return result
    }
}
