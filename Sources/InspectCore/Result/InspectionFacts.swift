public import Foundation

/// Everything that the stages measured, and the request that it is judged by.
public struct InspectionFacts: Sendable {
    public var request: InspectionRequest
    /// The parts that the job brought, images or not.
    public var parts: [PartKind]
    public var acquisition: AcquisitionFacts?
    public var documents: DocumentStageFacts?
    public var faces: FaceStageFacts?
    public var liveness: LivenessStageFacts?
    /// What is enrolled under the face id that the request names; `nil` where it names none.
    public var enrolled: EnrolledFace?
    /// What was measured of the engine that makes the features.
    public var calibration = FaceCalibration.dlib

    public init(request: InspectionRequest, parts: [PartKind]) {
        self.request = request
        self.parts = parts
    }

    /// Processor time of all stages in the analyzer, in milliseconds.
    public var cpuMs: Double {
        (self.acquisition?.cpuMs ?? 0) + (self.documents?.cpuMs ?? 0) + (self.faces?.cpuMs ?? 0)
            + (self.liveness?.cpuMs ?? 0)
    }

    /// Processor time by step of looking at documents, over both sides: `cpu.decode`, `cpu.outline`, `cpu.mrz`, ….
    public var stepsMs: [String: Double] {
        var steps: [String: Double] = [:]
        for side in (self.documents?.sides ?? [:]).values {
            for (name, time) in side.stepsMs ?? [:] { steps["cpu.\(name)", default: 0] += time }
        }
        if let acquisition { steps["cpu.decode"] = acquisition.cpuMs }
        return steps
    }

    /// Takes in what a stage stored.
    ///
    /// - Throws: ``InspectError`` with ``ErrorCode/internalError`` if the bytes are not that stage's output.
    public mutating func take(_ output: Data, of stage: JobStatus) throws(InspectError) {
        do {
            let decoder = JSONDecoder()
            switch stage {
            case .acquired: self.acquisition = try decoder.decode(AcquisitionFacts.self, from: output)
            case .document: self.documents = try decoder.decode(DocumentStageFacts.self, from: output)
            case .face: self.faces = try decoder.decode(FaceStageFacts.self, from: output)
            case .liveness: self.liveness = try decoder.decode(LivenessStageFacts.self, from: output)
            case .queued, .started, .decided, .finished: break
            }
        } catch {
            throw InspectError(.internalError, "the stored output of stage \(stage.stageName) is not readable")
        }
    }
}

extension JobStatus {
    /// The stage's name towards the analyzer, in timings and in logs.
    public var stageName: String { "\(self)" }
}
