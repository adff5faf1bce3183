import Analyzer
import Foundation
import InspectCore

/// Runs the stages of one inspection on an analyzer and decides: the same path for a job from the queue, a file on the
/// command line, and a batch.
struct InspectionRunner: Sendable {
    /// One input, with the name that the analyzer knows it by.
    struct Part: Sendable {
        var kind: PartKind
        var bytes: Data
    }

    let pool: AnalyzerPool
    /// Whether a rejection by an earlier capability keeps the later ones from running.
    var isGated = true
    /// Whether the result carries the faces' features.
    var withFeatures = false
    /// Whether the pictures are wanted, made small, beside the result.
    var withPreviews = false
    /// Files with certificates of authorities for this inspection's chip, in place of those that analyzers know.
    var trustAnchors: [Data] = []
    /// The longest that one stage may take; an analyzer that takes longer is ended.
    var stageDeadline: Duration = .seconds(30)

    /// The outputs of stages that an earlier attempt stored, and where to store new ones.
    struct Ledger: Sendable {
        var stored: [JobStatus: Data] = [:]
        /// Also told how long the stage took.
        var store: @Sendable (JobStatus, Data, Duration) async throws -> Void = { _, _, _ in }
    }

    /// A finished inspection with what it was decided on.
    struct Outcome: Sendable {
        var document: ResultDocument
        var facts: InspectionFacts
        /// By part name; empty unless they were asked for.
        var previews: [String: Preview] = [:]
        var today: CalendarDate

        /// The page for a reviewer.
        var report: String {
            InspectionReport(document: self.document, facts: self.facts, previews: self.previews, today: self.today)
                .html
        }
    }

    /// Runs what is missing and decides.
    ///
    /// - Throws: ``InspectError`` for bad input (permanent) and for analyzers that crashed or hung (retryable).
    func run(_ request: InspectionRequest, parts: [Part], ledger: Ledger = Ledger()) async throws -> ResultDocument {
        try await self.inspect(request, parts: parts, ledger: ledger).document
    }

    /// As ``run(_:parts:ledger:)``, and keeps what the decision rests on.
    func inspect(_ request: InspectionRequest, parts: [Part], ledger: Ledger = Ledger()) async throws -> Outcome {
        guard InspectionDecider.implements(request.workflow) else {
            throw InspectError(.workflowNotImplemented, request.workflow.rawValue)
        }
        let today = CalendarDate(Date())
        var facts = InspectionFacts(request: request, parts: parts.map(\.kind))
        var timings: [String: Double] = [:]
        let inputs = Self.imageParts(parts) + self.chipParts(parts)
        let analyzed = try await self.pool.withAnalyzer(
            parts: inputs.map { (kind: $0.name, bytes: $0.bytes) }
        ) { session in
            var facts = facts
            for stage in request.workflow.stages {
                let decider = InspectionDecider(facts: facts, today: today, isGated: self.isGated)
                guard decider.needs(stage) else { continue }
                var output = ledger.stored[stage]
                if output == nil {
                    let start = ContinuousClock.now
                    let reply = try await session.perform(
                        stage: stage.stageName, request: Data(), deadline: self.stageDeadline)
                    let duration = start.duration(to: .now)
                    timings[stage.stageName] = duration.milliseconds
                    try await ledger.store(stage, reply, duration)
                    output = reply
                }
                try facts.take(output ?? Data(), of: stage)
            }
            guard self.withPreviews else { return (facts, [String: Preview]()) }
            return (facts, try await Self.previews(session, deadline: self.stageDeadline))
        }
        facts = analyzed.0
        let start = ContinuousClock.now
        var document = InspectionDecider(facts: facts, today: today, isGated: self.isGated).decide(
            withFeatures: self.withFeatures)
        timings["cpu"] = facts.cpuMs
        timings.merge(facts.stepsMs) { $1 }
        timings["decide"] = start.duration(to: .now).milliseconds
        document.engine.versions["inspectd"] = Version.current
        document.engine.timingsMs = timings
        return Outcome(document: document, facts: facts, previews: analyzed.1, today: today)
    }

    /// The parts' pictures made small, by part name. This process never decodes one.
    static func previews(_ session: AnalyzerSession, deadline: Duration) async throws -> [String: Preview] {
        let reply = try await session.perform(stage: StageEngine.previewStage, request: Data(), deadline: deadline)
        return try JSONDecoder().decode([String: Preview].self, from: reply)
    }

    /// The chip's files, and what they are held against.
    private func chipParts(_ parts: [Part]) -> [(name: String, bytes: Data)] {
        let files = parts.filter(\.kind.isChipFile).map { ($0.kind.rawValue, $0.bytes) }
        return files.isEmpty ? [] : files + self.trustAnchors.map { (TrustAnchors.partName, $0) }
    }

    /// The parts that the analyzer decodes. Of a liveness capture's frames the first stands for the face where no
    /// picture of its own was given.
    private static func imageParts(_ parts: [Part]) -> [(name: String, bytes: Data)] {
        var images = parts.filter { $0.kind.isImage && $0.kind != .frames }.map { ($0.kind.rawValue, $0.bytes) }
        if !parts.contains(where: { $0.kind == .face }), let frame = parts.first(where: { $0.kind == .frames }) {
            images.append((PartKind.face.rawValue, frame.bytes))
        }
        return images
    }
}

extension Duration {
    /// The duration in milliseconds, to a tenth.
    var milliseconds: Double {
        let (seconds, attoseconds) = self.components
        return (Double(seconds) * 10_000 + (Double(attoseconds) / 1e14)).rounded() / 10
    }
}
