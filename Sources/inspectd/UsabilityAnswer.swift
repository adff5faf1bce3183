import Analyzer
import Foundation
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
        var analyzers = try configuration.analyzerConfiguration(arguments)
        analyzers.arguments = [AnalyzerCommand.name, AnalyzerCommand.usability]
        // For a single request, one process judges both sides.
        if arguments["batch"] == nil { analyzers.serveOneJob() }
        if analyzers.executable == AnalyzerConfiguration.ownProgram { analyzers.forked = AnalyzerCommand.forked }
        // The caller of a single request also waits for the program's end. The analyzers end after the program.
        let endsAtOnce = arguments["batch"] == nil
        try await configuration.withAnalyzers(analyzers, stops: !endsAtOnce) { pool in
            if let list = arguments["batch"] {
                return try await Batch.run(list, slots: analyzers.slots) { line in
                    guard let request = try? JSONDecoder().decode(BatchRequest.self, from: line) else {
                        return ResultEnvelope.json(
                            UsabilityAnswer(
                                id: nil, InspectError(.payloadInvalid, "the line is not a request object")))
                    }
                    return ResultEnvelope.json(await UsabilityAnswer.make(request, pool: pool))
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
            let parts = try Command.parts(of: documents)
            let reply = try await pool.withAnalyzer(
                parts: parts.map { (kind: $0.kind.rawValue, bytes: $0.bytes) }
            ) { session in
                try await session.perform(stage: UsabilityEngine.stage, request: Data(), deadline: .seconds(10))
            }
            let facts = try JSONDecoder().decode(UsabilityFacts.self, from: reply)
            var answer = UsabilityAnswer(id: request.members.id)
            for part in parts.map(\.kind.rawValue) {
                guard let side = facts.sides[part] else { continue }
                let decision = UsabilityRules.decideBeforeReading(side, part: part)
                answer.usability.append(
                    CapabilityRecord(
                        parts: [part], decision: Decision(decision.type, decision.label),
                        data: UsabilityData(side, reading: decision.type == .rejected ? .proven : .none)))
                answer.rejectReasons += decision.reasons
            }
            answer.timingsMs = ["cpu": facts.cpuMs, "total": start.duration(to: .now).milliseconds]
            return answer
        } catch {
            return UsabilityAnswer(id: request.members.id, InspectError(unexpected: error))
        }
    }
}
