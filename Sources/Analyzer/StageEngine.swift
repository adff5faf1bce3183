import Chip
import Foundation
public import InspectCore
import Vision

/// The engine of a real analyzer: the stages of an inspection over the parts of one job.
///
/// Runs in the child process only. Images are decoded on first use and kept until the job ends, so that the stages of one
/// job decode each part once.
public final class StageEngine: AnalyzerEngine {
    private let faces: FaceEngine
    private let mrz = MRZReader()
    private let anchors: TrustStore
    private var images: [String: DecodedImage] = [:]
    /// Faces of pictures of persons, so that liveness does not look for them again.
    private var found: [String: [FaceFacts]] = [:]

    /// Loads the models; takes about a second, once, in the warm parent.
    ///
    /// - Parameter anchors: Files with the certificates that chips are held against, unless a job brings its own.
    /// - Throws: ``ErrorCode/modelUnavailable`` if a model is missing or damaged.
    public init(models: String, anchors: [[UInt8]] = []) throws(InspectError) {
        self.faces = try FaceEngine(models: models)
        TrustStore.prepare()
        self.anchors = TrustStore(anchors)
        // Libraries set themselves up at first use, and an analyzer can open no file for that: so the first use is here.
        // What they allocate is then shared by every process, too.
        _ = try self.document(DecodedImage.testCard(width: 720, height: 480))
    }

    public func handle(stage: String, request: [UInt8], parts: [PartView]) throws(InspectError) -> [UInt8] {
        let start = ProcessorClock.now
        if stage == Self.previewStage { return try self.previews(parts) }
        switch JobStatus.allCases.first(where: { $0.stageName == stage }) {
        case .acquired:
            var facts = AcquisitionFacts(images: [:])
            for part in parts where !ChipStage.isChipFile(part) {
                facts.images[part.kind] = try self.image(part).facts
            }
            facts.cpuMs = ProcessorClock.now - start
            return try Self.encode(facts)
        case .document:
            var facts = DocumentStageFacts(sides: [:])
            for part in parts where [PartKind.front, .back].contains(PartKind(rawValue: part.kind)) {
                facts.sides[part.kind] = try self.document(self.image(part))
            }
            facts.chip = ChipStage.facts(parts, anchors: self.anchors, faces: self.faces)
            facts.cpuMs = ProcessorClock.now - start
            return try Self.encode(facts)
        case .face:
            var facts = FaceStageFacts(pictures: [:])
            for part in parts
            where ![PartKind.front, .back].contains(PartKind(rawValue: part.kind)) && !ChipStage.isChipFile(part) {
                let image = try self.image(part)
                let faces = try self.faces.faces(in: image, features: 1)
                self.found[part.kind] = faces
                facts.pictures[part.kind] = FaceStageFacts.Picture(image: image.facts, faces: faces)
            }
            facts.cpuMs = ProcessorClock.now - start
            return try Self.encode(facts)
        case .liveness:
            var facts = LivenessStageFacts(passive: nil)
            if let part = parts.first(where: { $0.kind == PartKind.face.rawValue }) {
                let image = try self.image(part)
                var faces = self.found[part.kind]
                if faces == nil { faces = try self.faces.faces(in: image, features: 0) }
                if let face = faces?.first {
                    facts.passive = try self.faces.liveness(in: image, face: face)
                }
            }
            facts.cpuMs = ProcessorClock.now - start
            return try Self.encode(facts)
        case .queued, .started, .decided, .finished, nil:
            throw InspectError(.internalError, "the analyzer has no stage \(stage)")
        }
    }

    /// Stage of no job: answers with ``Preview``s by part name, for reports.
    public static let previewStage = "preview"

    private func previews(_ parts: [PartView]) throws(InspectError) -> [UInt8] {
        var previews: [String: Preview] = [:]
        for part in parts where !ChipStage.isChipFile(part) { previews[part.kind] = try self.image(part).preview() }
        previews[PartKind.dg2.rawValue] = ChipStage.preview(parts)
        return try Self.encode(previews)
    }

    public func endJob() {
        self.images.removeAll()
        self.found.removeAll()
    }

    private func document(_ image: DecodedImage) throws(InspectError) -> DocumentFacts {
        var clock = StepClock()
        let outline = try clock.step("outline") { () throws(InspectError) in try DocumentAnalyzer.outline(image) }
        let (zone, isIllegible) = try clock.step("mrz") { () throws(InspectError) in
            try self.mrz.read(image, outline: outline)
        }
        let barcodes = try clock.step("barcode") { () throws(InspectError) in
            try BarcodeReader.read(image, outline: outline)
        }
        let quality = try clock.step("quality") { () throws(InspectError) in
            try DocumentAnalyzer.quality(image, outline: outline)
        }
        // Print tells which way up the side is; a side with a barcode and no zone is a back, and taken as it lies.
        let turn = zone?.turn ?? (barcodes.isEmpty ? nil : 0)
        let isBack = !barcodes.isEmpty || zone?.lines.count == 3
        let faces = try clock.step("faces") { () throws(InspectError) in
            try self.faces.faces(
                in: image, features: 1, turn: turn,
                on: FaceEngine.DocumentSide(outline: outline, bearsPortrait: !isBack))
        }
        var facts = DocumentFacts(
            image: image.facts, outline: outline, quality: quality, mrz: zone, barcodes: barcodes, faces: faces)
        facts.stepsMs = clock.steps
        facts.hasIllegibleZone = isIllegible
        return facts
    }

    private func image(_ part: PartView) throws(InspectError) -> DecodedImage {
        if let image = self.images[part.kind] { return image }
        do {
            let image = try part.withBytes { bytes throws(InspectError) in try DecodedImage.decode(bytes) }
            self.images[part.kind] = image
            return image
        } catch {
            throw Self.naming(part, error)
        }
    }

    /// Which part it was is what the client needs to know.
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
    static var now: Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1000 + Double(time.tv_nsec) / 1e6
    }
}

/// Processor time by step.
struct StepClock {
    private(set) var steps: [String: Double] = [:]

    mutating func step<Result>(
        _ name: String, _ body: () throws(InspectError) -> Result
    ) throws(InspectError) -> Result {
        let start = ProcessorClock.now
        let result = try body()
        self.steps[name, default: 0] += ((ProcessorClock.now - start) * 10).rounded() / 10
        return result
    }
}
