import Analyzer
import Foundation
import Gateway
import InspectCore

extension Command {
    /// `inspect --usability`: an immediate answer about images, one line of JSON for each request.
    static func judgeUsability(_ arguments: Arguments, _ configuration: Configuration) async throws {
        let request = BatchRequest(arguments)
        guard request.files.keys.allSatisfy({ $0.row.source == .document }), !arguments.has("report") else {
            throw UsageError("--usability takes --front and --back only")
        }
        guard !request.files.isEmpty || arguments["batch"] != nil else {
            throw UsageError("'inspect --usability' needs --front, --back or --batch")
        }
        try Self.refuseBesideBatch(arguments)
        var analyzers = try configuration.analyzerConfiguration(arguments, needsModels: false)
        analyzers.arguments = [AnalyzerCommand.name, AnalyzerCommand.usability]
        // For a single request, one process judges both sides.
        if arguments["batch"] == nil { analyzers.serveOneJob() }
        if analyzers.executable == AnalyzerConfiguration.ownProgram { analyzers.forked = AnalyzerCommand.forked }
        // The caller of a single request also waits for the program's end. The analyzers end after the program.
        let endsAtOnce = arguments["batch"] == nil
        try await configuration.withAnalyzers(analyzers, stops: !endsAtOnce) { pool in
            if let list = arguments["batch"] {
                return try await Batch.run(list, count: analyzers.count) { line in
                    do {
                        let request = try JSONDecoder().decode(BatchRequest.self, from: line)
                        return ResultEnvelope.json(await UsabilityAnswer.make(request, pool: pool))
                    } catch {
                        let fault = BatchRequest.fault(of: line, error)
                        return ResultEnvelope.json(UsabilityAnswer(id: fault.id, fault.error))
                    }
                }
            }
            let answer = await UsabilityAnswer.make(request, pool: pool)
            Output.line(ResultEnvelope.json(answer))
            if answer.error != nil { throw Failure() }
        }
    }
}

/// The capability `usability` of a result document, before text is read.
///
/// REJECTED is final. WARNING is what a full inspection rejects unless the text proves that the image can be read.
struct UsabilityAnswer: Encodable {
    var id: String?
    var usability: [CapabilityRecord<UsabilityData>] = []
    var rejectReasons: [RejectReason] = []
    var error: ErrorRecord?
    /// Processor time of the analyzer, and wall time.
    var timingsMs: [String: Double] = [:]

    init(id: String?) { self.id = id }

    init(id: String?, _ error: InspectError) {
        self.id = id
        self.error = ErrorRecord(error)
    }

    static func make(_ request: BatchRequest, pool: AnalyzerPool) async -> UsabilityAnswer {
        do {
            let start = ContinuousClock.now
            var documents = request
            documents.files = request.files.filter { $0.key.row.source == .document }
            let parts = try Command.parts(of: documents).map { (kind: $0.kind, bytes: $0.bytes) }
            let (verdict, cpuMs) = try await Self.judge(parts, pool: pool, deadline: .seconds(10))
            var answer = UsabilityAnswer(id: request.members.id)
            (answer.usability, answer.rejectReasons) = (verdict.records, verdict.numbered)
            answer.timingsMs = ["cpu": cpuMs, "total": start.duration(to: .now).milliseconds]
            return answer
        } catch {
            return UsabilityAnswer(id: request.members.id, InspectError(unexpected: error))
        }
    }

    /// Judges images in one process of the pool.
    ///
    /// - Returns: The verdict, and the process's time in milliseconds.
    static func judge(
        _ images: [(kind: PartKind, bytes: Data)], pool: AnalyzerPool, deadline: Duration
    ) async throws -> (verdict: UsabilityVerdict, cpuMs: Double) {
        let reply = try await pool.withAnalyzer(
            parts: images.map { (kind: $0.kind.rawValue, bytes: $0.bytes) }
        ) { session in
            try await session.perform(stage: UsabilityEngine.stage, request: Data(), deadline: deadline)
        }
        let facts = try JSONDecoder().decode(UsabilityFacts.self, from: reply)
        var verdict = UsabilityVerdict(records: [], numbered: [])
        let sides = images.map(\.kind).compactMap { kind in facts.sides[kind.rawValue].map { (kind, $0) } }
        let decisions = UsabilityRules.decideBeforeReading(Dictionary(sides) { first, _ in first })
        for (kind, side) in sides {
            guard let decision = decisions[kind] else { continue }
            verdict.records.append(
                CapabilityRecord(
                    parts: [kind.rawValue], decision: Decision(decision.type, decision.label),
                    data: UsabilityData(side, reading: decision.type == .rejected ? .proven : .none)))
            verdict.numbered += decision.reasons
        }
        if let selfie = facts.selfie { verdict.records.append(UsabilityRules.recordAtOnce(selfie)) }
        return (verdict, facts.cpuMs)
    }
}
