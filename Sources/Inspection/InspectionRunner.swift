package import Analyzer
package import Foundation
package import InspectCore

/// Runs the stages of one inspection on an analyzer and decides. Jobs, `inspect` and batches share this path.
package struct InspectionRunner: Sendable {
    /// One input, with its name for the analyzer.
    package struct Part: Sendable {
        /// Its raw value is the part's name in requests and results.
        package var kind: PartKind
        /// The plain file, neither encrypted nor sealed.
        package var bytes: Data

        package init(kind: PartKind, bytes: Data) {
            self.kind = kind
            self.bytes = bytes
        }
    }

    /// The analyzer processes; every image is decoded in one of them.
    package let pool: AnalyzerPool
    /// Whether a rejection by an earlier capability skips the later ones.
    package var isGated = true
    /// The calibration of the engine that the analyzers compare faces with.
    package var calibration = FaceCalibration.dlib
    /// Whether the result contains the faces' embeddings.
    package var withEmbeddings = false
    /// Whether the result comes with previews of the images.
    package var withPreviews = false
    /// CSCA files for this inspection's chip, instead of those that the analyzers loaded.
    package var trustAnchors: [Data] = []
    /// Time limit of one stage; an analyzer that exceeds it is killed.
    package var stageDeadline: Duration = .seconds(30)
    /// Limits by which each inspection is decided once more, without effect on it; `nil`: none.
    package var shadow: LimitChanges?

    package init(pool: AnalyzerPool) { self.pool = pool }

    /// The stored outputs of earlier attempts, and the function that stores new ones.
    package struct Ledger: Sendable {
        /// By stage; a stage with an output is not run again.
        package var stored: [JobStatus: Data]
        /// The last argument is the stage's duration.
        package var store: @Sendable (JobStatus, Data, Duration) async throws -> Void

        package init(
            stored: [JobStatus: Data] = [:],
            store: @escaping @Sendable (JobStatus, Data, Duration) async throws -> Void = { _, _, _ in }
        ) {
            self.stored = stored
            self.store = store
        }
    }

    /// A finished inspection with the facts behind its decision.
    package struct Outcome: Sendable {
        /// The result as it is stored and sent.
        package var document: ResultDocument
        /// Never stored as a whole: it contains what was read.
        package var facts: InspectionFacts
        /// By part name; empty unless requested.
        package var previews: [String: Preview] = [:]
        /// The UTC date against which expiry and age were checked.
        package var today: CalendarDate
        /// The embedding to store under the request's face id.
        package var template: FaceEmbedding?
        /// `nil` without other limits (``InspectionRunner/shadow``).
        package var shadow: Shadow?

        /// The report for a reviewer.
        package func report(from origin: ReportOrigin) -> String {
            InspectionReport(
                document: self.document, facts: self.facts, previews: self.previews, today: self.today, origin: origin
            ).html
        }
    }

    /// What other limits would have changed, and the processor time that it took to find out.
    package struct Shadow: Sendable {
        /// Which labels and decisions differ.
        package var comparison: ShadowComparison
        /// Of the analyzers, for the comparison alone.
        package var cpuSeconds: Double
    }

    /// Asks the vendor's server about the blobs of a session.
    ///
    /// - Parameter former: The stage's output as far as the session had come.
    /// - Returns: The stage's output.
    package typealias AskVendor = @Sendable (_ blobs: [Data], _ former: Data?) async throws -> Data

    /// Runs the missing stages and decides.
    ///
    /// - Parameters:
    ///   - enrolled: The templates of the face id that the request names.
    ///   - askVendor: Asks a vendor's server about the blobs of a session, and returns the liveness stage's facts; given its former
    ///     output, if there is any.
    /// - Throws: ``InspectError`` for bad input (permanent) and for analyzers that crashed or hung (retryable).
    package func inspect(
        _ request: InspectionRequest, parts: [Part], ledger: Ledger = Ledger(), enrolled: EnrolledFace? = nil,
        askVendor: AskVendor = { _, _ in throw InspectError(.vendorNotConfigured) }
    ) async throws -> Outcome {
        guard request.workflow.namesFace == (enrolled != nil) else {
            throw InspectError(.workflowNotImplemented, "\(request.workflow.rawValue) without the queue")
        }
        let today = CalendarDate(Date())
        var facts = InspectionFacts(request: request, parts: parts.map(\.kind))
        facts.enrolled = enrolled
        facts.calibration = self.calibration
        var timings: [String: Double] = [:]
        let inputs = Self.imageParts(parts) + self.chipParts(parts)
        let session = parts.filter(\.kind.isOpaque).map(\.bytes)
        if !session.isEmpty, inputs.isEmpty {
            // Nothing to decode, so no analyzer is needed: the vendor's answer is the only stage.
            let start = ContinuousClock.now
            let output = try await Self.vendorStage(session, ledger, askVendor)
            timings[JobStatus.liveness.stageName] = start.duration(to: .now).milliseconds
            try facts.take(output, of: .liveness)
            return self.outcome(of: facts, timings: timings, previews: [:], today: today)
        }
        var analyzed = try await self.pool.withAnalyzer(
            parts: inputs.map { (kind: $0.name, bytes: $0.bytes) }
        ) { analyzer in
            var facts = facts
            for stage in request.workflow.stages {
                let decider = InspectionDecider(facts: facts, today: today, isGated: self.isGated)
                guard decider.needs(stage) else { continue }
                // The last stage, run after the analyzer is returned.
                if stage == .liveness, !session.isEmpty { break }
                // Stored facts have no embedding.
                var output = request.workflow.namesFace && stage == .face ? nil : ledger.stored[stage]
                if output == nil {
                    let start = ContinuousClock.now
                    let reply = try await analyzer.perform(
                        stage: stage.stageName, request: Self.orders(stage, of: request),
                        deadline: self.stageDeadline)
                    let duration = start.duration(to: .now)
                    timings[stage.stageName] = duration.milliseconds
                    try await ledger.store(
                        stage, request.workflow.namesFace ? Self.withoutEmbeddings(reply, of: stage) : reply, duration)
                    output = reply
                }
                try facts.take(output ?? Data(), of: stage)
            }
            guard self.withPreviews else { return (facts, [String: Preview]()) }
            return (facts, try await Self.previews(analyzer, deadline: self.stageDeadline))
        }
        if !session.isEmpty, request.workflow.stages.contains(.liveness),
            InspectionDecider(facts: analyzed.0, today: today, isGated: self.isGated).needs(.liveness)
        {
            try analyzed.0.take(try await Self.vendorStage(session, ledger, askVendor), of: .liveness)
        }
        return self.outcome(of: analyzed.0, timings: timings, previews: analyzed.1, today: today)
    }

    /// The stage that a vendor's server replaces.
    private static func vendorStage(
        _ session: [Data], _ ledger: Ledger, _ ask: AskVendor
    ) async throws -> Data {
        let former = ledger.stored[.liveness]
        let start = ContinuousClock.now
        let output = try await ask(session, former)
        if output != former { try await ledger.store(.liveness, output, start.duration(to: .now)) }
        return output
    }

    private func outcome(
        of facts: InspectionFacts, timings: [String: Double], previews: [String: Preview], today: CalendarDate
    ) -> Outcome {
        var timings = timings
        let start = ContinuousClock.now
        let decider = InspectionDecider(facts: facts, today: today, isGated: self.isGated)
        var document = decider.decide(withEmbeddings: self.withEmbeddings)
        timings["cpu"] = facts.cpuMs
        timings.merge(facts.stepsMs) { $1 }
        timings["decide"] = start.duration(to: .now).milliseconds
        document.engine.versions["inspectd"] = Version.current
        document.engine.timingsMs = timings
        return Outcome(
            document: document, facts: facts, previews: previews, today: today, template: decider.template,
            shadow: self.shadow.map { changes in
                // Nothing in between suspends, so it is this thread's time.
                let start = Self.threadSeconds
                let comparison = ShadowComparison(
                    of: document, facts: facts, today: today, isGated: self.isGated, changes: changes)
                return Shadow(comparison: comparison, cpuSeconds: max(0, Self.threadSeconds - start))
            })
    }

    /// Processor time of the calling thread.
    private static var threadSeconds: Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// A stage's output without embeddings, as it is stored for jobs with a face id.
    private static func withoutEmbeddings(_ output: Data, of stage: JobStatus) throws -> Data {
        guard stage == .face else { return output }
        var facts = try JSONDecoder().decode(FaceStageFacts.self, from: output)
        for (name, image) in facts.images {
            for index in image.faces.indices { facts.images[name]?.faces[index].embedding = nil }
        }
        return ResultEnvelope.json(facts)
    }

    /// The stage's options: VIZ text is read only if a capability or the client's preselection uses it.
    private static func orders(_ stage: JobStatus, of request: InspectionRequest) -> Data {
        let readsVIZ =
            request.workflow.capabilities.contains(.dataChecks) || !request.countries.isEmpty
            || !request.documentTypes.isEmpty
        return stage == .document && readsVIZ ? Data(StageEngine.withVIZ) : Data()
    }

    /// Previews of the parts' images, by part name. This process never decodes an image.
    package static func previews(_ session: AnalyzerSession, deadline: Duration) async throws -> [String: Preview] {
        let reply = try await session.perform(stage: StageEngine.previewStage, request: Data(), deadline: deadline)
        return try JSONDecoder().decode([String: Preview].self, from: reply)
    }

    private func chipParts(_ parts: [Part]) -> [(name: String, bytes: Data)] {
        let files = parts.filter(\.kind.isChipFile).map { ($0.kind.rawValue, $0.bytes) }
        return files.isEmpty ? [] : files + self.trustAnchors.map { (TrustAnchors.partName, $0) }
    }

    /// The parts that the analyzer decodes. Of a liveness capture's frames the first, which shows the person at rest, stands for
    /// the face where no image of its own was given.
    private static func imageParts(_ parts: [Part]) -> [(name: String, bytes: Data)] {
        var images = parts.filter { $0.kind.row.isImage }.map { ($0.kind.rawValue, $0.bytes) }
        if !parts.contains(where: { $0.kind == .face }), let frame = parts.first(where: { $0.kind == .frames }) {
            images.append((PartKind.face.rawValue, frame.bytes))
        }
        return images
    }
}
