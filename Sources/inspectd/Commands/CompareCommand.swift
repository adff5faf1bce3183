import Analyzer
import Foundation
import InspectCore
import Inspection

extension Command {
    static let compare = Command(
        name: "compare",
        summary: "compares the largest faces of two images, 1:1",
        synopsis: "A B [--report FILE.html]\n       inspectd compare --batch LIST.jsonl",
        takesOperands: true,
        options: [
            .value("threshold", "S", "similarity at which two faces match, 0 to 1 [0.85]"),
            .value(
                "batch", "FILE", #"lines of {"a": FILE, "b": FILE} (- for standard input); one answer per line"#),
            .value("report", "FILE", "also writes a report for a reviewer, which only its owner can read"),
            .value("analyzers", "N", "analyzer processes at once; by default one per core"),
        ] + Configuration.analyzerOptions + Configuration.logOptions,
        body: { arguments in
            let configuration = try Configuration(arguments)
            let threshold = try Self.threshold(arguments)
            let calibration = try configuration.faces.calibration()
            guard arguments["batch"] != nil || arguments.operands.count == 2 else {
                throw UsageError("'compare' needs two files, or --batch")
            }
            guard arguments["batch"] == nil || arguments.operands.isEmpty else {
                throw UsageError("'compare' takes no files with --batch, which lists the pairs")
            }
            guard arguments["batch"] == nil || !arguments.has("report") else {
                throw UsageError("--report is for one comparison, not for --batch")
            }
            if let path = arguments["report"] { try ReportFile.check(path) }
            var analyzers = try configuration.analyzerConfiguration(arguments)
            if arguments["batch"] == nil { analyzers.serveOneJob() }
            try await configuration.withAnalyzers(analyzers) { pool in
                if let list = arguments["batch"] {
                    try await Batch.run(list, count: analyzers.count) { line in
                        guard let pair = try? JSONDecoder().decode(Pair.self, from: line) else {
                            return ResultEnvelope.json(
                                Answer(
                                    InspectError(.payloadInvalid, "the line is not an object with a and b"),
                                    threshold: threshold))
                        }
                        return ResultEnvelope.json(
                            await Self.compare(pair, pool: pool, threshold: threshold, calibration: calibration).answer)
                    }
                    return
                }
                let pair = Pair(a: arguments.operands[0], b: arguments.operands[1])
                let (answer, report) = await Self.compare(
                    pair, pool: pool, threshold: threshold, calibration: calibration,
                    withReport: arguments.has("report"))
                Output.line(ResultEnvelope.json(answer))
                if let path = arguments["report"], let report { try ReportFile.write(report.html, to: path) }
                if answer.error != nil { throw Failure() }
            }
        }
    )

    private struct Pair: Codable {
        var a: String
        var b: String
    }

    /// The answer to one comparison; `similarity` is null, with the reason, if a face is missing.
    private struct Answer: Encodable {
        var similarity: Double?
        var distance: Double?
        var match: Bool?
        var threshold: Double
        var fmrAtThreshold: Double?
        var engine: String?
        var reason: String?
        var error: ErrorRecord?

        enum CodingKeys: String, CodingKey {
            case similarity, distance, match, threshold, fmrAtThreshold, engine, reason, error
        }

        init(_ match: FaceMatch) {
            self.similarity = match.similarity
            self.distance = match.distance
            self.match = match.match
            self.threshold = match.threshold
            self.fmrAtThreshold = match.fmrAtThreshold
            self.engine = match.engine
        }

        init(reason: String, threshold: Double) {
            self.reason = reason
            self.threshold = threshold
        }

        init(_ error: InspectError, threshold: Double) {
            self.error = ErrorRecord(error)
            self.reason = error.code.rawValue
            self.threshold = threshold
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            // `similarity` and `match` are always present, null if undetermined.
            try container.encode(self.similarity, forKey: .similarity)
            try container.encode(self.distance, forKey: .distance)
            try container.encode(self.match, forKey: .match)
            try container.encode(self.threshold, forKey: .threshold)
            try container.encodeIfPresent(self.fmrAtThreshold, forKey: .fmrAtThreshold)
            try container.encodeIfPresent(self.engine, forKey: .engine)
            try container.encodeIfPresent(self.reason, forKey: .reason)
            try container.encodeIfPresent(self.error, forKey: .error)
        }
    }

    private static func threshold(_ arguments: Arguments) throws(UsageError) -> Double {
        guard let text = arguments["threshold"] else { return SimilarityScale.defaultThreshold }
        guard let value = Double(text), (0...1).contains(value) else {
            throw UsageError("--threshold takes a number from 0 to 1, not \(text)")
        }
        return value
    }

    /// One comparison, with a report for a reviewer if requested.
    private static func compare(
        _ pair: Pair, pool: AnalyzerPool, threshold: Double, calibration: FaceCalibration, withReport: Bool = false
    ) async -> (answer: Answer, report: ComparisonReport?) {
        do {
            let parts = [
                (kind: "A", bytes: try PartFile.read(pair.a, of: "A")),
                (kind: "B", bytes: try PartFile.read(pair.b, of: "B")),
            ]
            let (reply, previews) = try await pool.withAnalyzer(parts: parts) { session in
                let reply = try await session.perform(
                    stage: JobStatus.face.stageName, request: Data(), deadline: .seconds(30))
                guard withReport else { return (reply, [String: Preview]()) }
                return (reply, try await InspectionRunner.previews(session, deadline: .seconds(30)))
            }
            let facts = try JSONDecoder().decode(FaceStageFacts.self, from: reply)
            let (answer, match) = try Self.answer(facts, threshold: threshold, calibration: calibration)
            guard withReport else { return (answer, nil) }
            let engine = EngineRecord(
                versions: ["inspectd": Version.current],
                models: Dictionary(
                    facts.images.values.flatMap(\.faces).compactMap(\.embedding).map { ($0.engine, $0.modelSHA256) }
                ) { first, _ in first },
                timingsMs: ["cpu": facts.cpuMs])
            return (
                answer,
                ComparisonReport(
                    facts: facts, previews: previews, match: match, reason: answer.reason, threshold: threshold,
                    engine: engine,
                    origin: ReportOrigin(
                        files: [("A", pair.a), ("B", pair.b)].map {
                            ($0.0, URL(fileURLWithPath: $0.1).lastPathComponent)
                        }, decidedAt: Date()))
            )
        } catch {
            return (Answer(InspectError(unexpected: error), threshold: threshold), nil)
        }
    }

    private static func answer(
        _ facts: FaceStageFacts, threshold: Double, calibration: FaceCalibration
    ) throws -> (Answer, FaceMatch?) {
        guard let first = facts.images["A"]?.faces.first?.embedding else {
            return (Answer(reason: "NO_FACE_IN_A", threshold: threshold), nil)
        }
        guard let second = facts.images["B"]?.faces.first?.embedding else {
            return (Answer(reason: "NO_FACE_IN_B", threshold: threshold), nil)
        }
        let match = try FaceMatch.compare(first, second, threshold: threshold, calibration: calibration)
        return (Answer(match), match)
    }
}
