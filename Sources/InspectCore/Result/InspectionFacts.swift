package import Foundation

/// The facts from which a decision is made, in addition to the limits and the date.
package struct InspectionFacts: Sendable {
    /// The request.
    package var request: InspectionRequest
    /// All parts of the job, images or not.
    package var parts: [PartKind]
    var acquisition: AcquisitionFacts?
    /// `nil`: the stage did not run.
    package var documents: DocumentStageFacts?
    /// `nil`: the stage did not run.
    package var faces: FaceStageFacts?
    /// `nil`: the stage did not run.
    package var liveness: LivenessStageFacts?
    /// The templates of the request's face id; `nil` if it names none.
    package var enrolled: EnrolledFace?
    /// The calibration of the engine that makes the embeddings.
    package var calibration = FaceCalibration.dlib

    package init(request: InspectionRequest, parts: [PartKind]) {
        self.request = request
        self.parts = parts
    }

    /// Processor time of all stages in the analyzer, in milliseconds.
    package var cpuMs: Double {
        (self.acquisition?.cpuMs ?? 0) + (self.documents?.cpuMs ?? 0) + (self.faces?.cpuMs ?? 0)
            + (self.liveness?.cpuMs ?? 0)
    }

    /// Processor time by step of document analysis, over both sides: `cpu.decode`, `cpu.outline`, `cpu.mrz`, ….
    package var stepsMs: [String: Double] {
        var steps: [String: Double] = [:]
        for side in (self.documents?.sides ?? [:]).values {
            for (name, time) in side.stepsMs ?? [:] { steps["cpu.\(name)", default: 0] += time }
        }
        if let acquisition { steps["cpu.decode"] = acquisition.cpuMs }
        return steps
    }

    /// Adds a stage's stored output.
    ///
    /// - Throws: ``InspectError`` with ``ErrorCode/internalError`` if the bytes are not that stage's output.
    package mutating func take(_ output: Data, of stage: JobStatus) throws(InspectError) {
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
    /// The stage's name in analyzer requests, timings and logs.
    package var stageName: String { self.name.lowercased() }
}
