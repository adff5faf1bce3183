import Chip
import Foundation
package import InspectCore
package import Vision

/// The engine of a real analyzer: the stages of an inspection over the parts of one job.
///
/// Runs in the child process only. Images are decoded on first use and kept until the process ends, so that the stages of one
/// job decode each part once.
package final class StageEngine: AnalyzerEngine {
    let faces: FaceEngine
    let livenessNetwork: LivenessNetwork?
    private let mrz = MRZReader()
    let text: TextReader
    private let anchors: TrustStore
    private var images: [String: DecodedImage] = [:]
    /// Faces of images of persons, so that liveness does not look for them again.
    private var found: [String: [FaceFacts]] = [:]

    /// Loads the models; takes about a second, once, in the warm parent.
    ///
    /// - Parameters:
    ///   - models: The folder with the face models.
    ///   - textModels: The folder with Tesseract's `eng.traineddata`.
    ///   - anchors: Files with the certificates that chips are held against, unless a job brings its own.
    ///   - faces: What the operator chose for faces.
    /// - Throws: ``ErrorCode/modelUnavailable`` if a model is missing or damaged.
    package init(
        models: String, textModels: String = StageEngine.textModels, anchors: [[UInt8]] = [],
        faces: FaceModels = FaceModels()
    ) throws(InspectError) {
        if let model = faces.liveness {
            self.livenessNetwork = try LivenessNetwork(model)
        } else {
            self.livenessNetwork = nil
        }
        self.faces = try FaceEngine(models: models, contour: faces.contour, network: faces.network)
        self.text = try TextReader(models: textModels)
        TrustStore.prepare()
        self.anchors = TrustStore(anchors)
        try self.rehearse()
    }

    /// Where Debian's tesseract-ocr-eng keeps its model.
    package static let textModels = "/usr/share/tesseract-ocr/5/tessdata"

    package func handle(stage: String, request: [UInt8], parts: [PartView]) throws(InspectError) -> [UInt8] {
        let start = ProcessorClock.now
        if stage == Self.previewStage { return try self.previews(parts) }
        switch JobStatus.allCases.first(where: { $0.stageName == stage }) {
        case .acquired:
            var facts = AcquisitionFacts(images: [:])
            // Of a capture's frames the first one: the others are decoded when they are measured.
            for part in parts where !ChipStage.isChipFile(part) && facts.images[part.kind] == nil {
                facts.images[part.kind] = try self.image(part).facts
            }
            facts.cpuMs = ProcessorClock.now - start
            return try Self.encode(facts)
        case .document:
            var facts = DocumentStageFacts(sides: [:])
            for part in parts where [PartKind.front, .back].contains(PartKind(rawValue: part.kind)) {
                facts.sides[part.kind] = try self.document(self.image(part), isCompared: Self.hasFace(parts))
            }
            if request.elementsEqual(Self.withPrint) { try self.readPrint(parts, &facts) }
            facts.chip = ChipStage.facts(parts, anchors: self.anchors, faces: self.faces)
            facts.cpuMs = ProcessorClock.now - start
            return try Self.encode(facts)
        case .face:
            var facts = FaceStageFacts(images: [:])
            for part in parts
            where ![PartKind.front, .back, .frames].contains(PartKind(rawValue: part.kind))
                && !ChipStage.isChipFile(part)
            {
                let image = try self.image(part)
                // The images of a comparison bear names of their own: nothing but their largest faces is asked for.
                let faces = try self.faces.faces(
                    in: image, features: 1, onlyLargest: PartKind(rawValue: part.kind) == nil)
                self.found[part.kind] = faces
                facts.images[part.kind] = FaceStageFacts.Image(image: image.facts, faces: faces)
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
                    facts.passive?.network = try self.livenessNetwork?.score(face, in: image)
                    facts.passive?.metadata = part.withBytes { ImageMetadata(file: [UInt8]($0)) }
                }
                let selfie = try parts.contains(where: CaptureStage.isFrame) ? self.feature(of: part, image) : nil
                facts.capture = try CaptureStage.facts(parts, engine: self.faces, face: selfie)
            }
            facts.cpuMs = ProcessorClock.now - start
            return try Self.encode(facts)
        case .queued, .started, .decided, .finished, nil:
            throw InspectError(.internalError, "the analyzer has no stage \(stage)")
        }
    }

    /// Stage of no job: answers with ``Preview``s by part name, for reports.
    package static let previewStage = "preview"

    private func previews(_ parts: [PartView]) throws(InspectError) -> [UInt8] {
        var previews: [String: Preview] = [:]
        for part in parts where !ChipStage.isChipFile(part) && previews[part.kind] == nil {
            previews[part.kind] = try self.image(part).preview()
        }
        previews[PartKind.dg2.rawValue] = ChipStage.preview(parts)
        return try Self.encode(previews)
    }

    /// Request of the document stage that asks for the VIZ, too.
    package static let withPrint = Array("print".utf8)

    /// Reads the print of the front; of the back only where no front was given, since it is the front that says who the
    /// holder is.
    private func readPrint(_ parts: [PartView], _ facts: inout DocumentStageFacts) throws(InspectError) {
        let sides = parts.filter { facts.sides[$0.kind] != nil }
        guard let part = sides.first(where: { $0.kind == PartKind.front.rawValue }) ?? sides.first,
            let side = facts.sides[part.kind]
        else { return }
        let others = facts.sides.filter { $0.key != part.kind }.map(\.value)
        let today = CalendarDate(Date())
        let expected = VIZExpectation(sides: [side] + others, today: today)
        var clock = StepClock()
        facts.sides[part.kind]?.visualZone = try clock.step("print") { () throws(InspectError) in
            try VisualZoneStage.facts(
                self.image(part), side: side, expected: expected, today: today, reader: self.text)
        }
        facts.sides[part.kind]?.stepsMs?.merge(clock.steps) { $1 }
    }

    /// The feature of the largest face of an image, as frames are described: by dlib's network, also where another compares.
    private func feature(of part: PartView, _ image: DecodedImage) throws(InspectError) -> FaceEmbedding? {
        var face = self.found[part.kind]?.first
        if face == nil { face = try self.faces.faces(in: image, features: 0).first }
        if let feature = face?.feature, feature.engine == FaceEmbedding.currentEngine { return feature }
        guard let face else { return nil }
        return try self.faces.feature(in: image, landmarks: face.landmarks)
    }

    /// Whether the job brings a face that the document's portrait is compared with: only then is the portrait described.
    private static func hasFace(_ parts: [PartView]) -> Bool {
        parts.contains { ![PartKind.front, .back, .dg1, .sod].contains(PartKind(rawValue: $0.kind)) }
    }

    private func document(_ image: DecodedImage, isCompared: Bool = true) throws(InspectError) -> DocumentFacts {
        var clock = StepClock()
        let outline = try clock.step("outline") { () throws(InspectError) in try DocumentAnalyzer.outline(image) }
        let (zone, isIllegible) = try clock.step("mrz") { () throws(InspectError) in
            try self.mrz.read(image, outline: outline)
        }
        let barcodes = try clock.step("barcode") { () throws(InspectError) in
            let text = zone.flatMap { MRZDocument(lines: $0.lines, today: CalendarDate(Date())) }
            // An MRZ that proves itself says what a barcode would: only what looks like one is looked into. A passport's data
            // page (Doc 9303-4) has none beside its MRZ.
            guard let text, text.checksHold, !text.checks.isEmpty else {
                return try BarcodeReader.read(image, outline: outline)
            }
            if text.format == .td3, text.documentCode.hasPrefix("P") { return [] }
            return try BarcodeReader.read(image, outline: outline, onlyLikely: true)
        }
        let quality = try clock.step("quality") { () throws(InspectError) in
            try DocumentAnalyzer.quality(image, outline: outline)
        }
        // Print tells which way up the side is; a side with a barcode and no MRZ is a back, and taken as it lies.
        let turn = zone?.turn ?? (barcodes.isEmpty ? nil : 0)
        let isBack = !barcodes.isEmpty || zone?.lines.count == 3
        let faces = try clock.step("faces") { () throws(InspectError) in
            try self.faces.faces(
                in: image, features: isCompared ? 1 : 0, turn: turn,
                on: FaceEngine.DocumentSide(outline: outline, zone: zone?.quad, bearsPortrait: !isBack))
        }
        var facts = DocumentFacts(
            image: image.facts, outline: outline, quality: quality, mrz: zone, barcodes: barcodes, faces: faces)
        facts.stepsMs = clock.steps
        facts.hasIllegibleZone = isIllegible
        return facts
    }

    /// What was kept of a job's parts.
    func forget() {
        self.images = [:]
        self.found = [:]
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
