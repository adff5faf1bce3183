import Analyzer
import Foundation
import InspectCore
import Inspection

extension Command {
    static let inspect = Command(
        name: "inspect",
        summary: "analyses files without a database and prints the result document",
        synopsis:
            "--front FILE [--back FILE] [--face FILE] [--dg1 FILE --dg2 FILE --sod FILE --csca PATH...] [--workflow W]\n"
            + "           [--report FILE.html]\n       inspectd inspect --usability --front FILE [--back FILE]\n"
            + "       inspectd inspect --batch LIST.jsonl",
        options: PartFile.options(BatchRequest.kinds) + [
            .value(
                "challenge", "FILE",
                "challenge that the frames answer, as insp.challenge_issue returned it, with frameTimes (ms)"
            ),
            PartFile.workflowOption(Workflow.allCases.filter { !$0.namesFace }),
            .value("format", "F", "expected document format: TD1, TD2 or TD3"),
            .value(
                "batch", "FILE", "a request object per line (- for standard input); prints a result document per line"),
            .value(
                "report", "FILE",
                "also writes a report for a reviewer; it contains personal data, and only its owner can read it"),
            .flag(
                "usability",
                "judges only the images of the document, at once: before any text is read, without models"),
            .flag("no-gate", "a rejection by one capability does not stop the later ones"),
            .flag("features", "puts the faces' embeddings into the result"),
            ShadowFile.option,
            .value("analyzers", "N", "analyzer processes at once; by default one per core"),
        ] + Configuration.trustOptions + Configuration.analyzerOptions + Configuration.logOptions,
        // No stage runs, and nothing is read.
        excluded: ["usability": ["workflow", "format", "no-gate", "features", "challenge", "csca", "shadow"]],
        body: { arguments in
            let configuration = try Configuration(arguments)
            if arguments.has("usability") { return try await Self.judgeUsability(arguments, configuration) }
            let request = BatchRequest(arguments)
            guard !request.files.isEmpty || arguments["batch"] != nil else {
                throw UsageError("'inspect' needs \(PartFile.choices(BatchRequest.kinds, or: "--batch"))")
            }
            try Self.refuseBesideBatch(arguments)
            try Self.checkNames(arguments)
            guard arguments["batch"] == nil || !arguments.has("report") else {
                throw UsageError("--report is for one inspection, not for --batch")
            }
            if let path = arguments["report"] { try ReportFile.check(path) }
            let shadow = try arguments["shadow"].map(ShadowFile.read)
            var analyzers = try configuration.analyzerConfiguration(arguments)
            if arguments["batch"] == nil { analyzers.serveOneJob() }
            try await Self.withPools(configuration, analyzers, shadow) { pool, shadow in
                if let list = arguments["batch"] {
                    try await Batch.run(list, count: analyzers.count) { line in
                        await Self.answer(line, pool: pool, shadow, arguments: arguments)
                    }
                    return
                }
                let (result, report, failed) = await Self.inspect(
                    request, pool: pool, shadow, arguments: arguments)
                Output.line(result)
                if let path = arguments["report"] { try ReportFile.write(report, to: path) }
                if failed { throw Failure() }
            }
        }
    )

    /// The engine that repeats an inspection.
    private enum Shadow {
        case limits(LimitChanges)
        case models(AnalyzerPool, FaceCalibration, LimitChanges)

        func compare(
            _ outcome: InspectionRunner.Outcome, _ runner: InspectionRunner, of request: InspectionRequest,
            _ parts: [InspectionRunner.Part]
        ) async throws -> InspectionRunner.Shadow? {
            guard case .models(let pool, let calibration, let changes) = self else { return outcome.shadow }
            var other = InspectionRunner(pool: pool)
            other.calibration = calibration
            other.isGated = runner.isGated
            other.trustAnchors = runner.trustAnchors
            return try await ShadowAnalysis(runner: other, changes: changes).compare(outcome, of: request, parts)
        }
    }

    /// Lends the analyzers, and those that the file of `--shadow` asks for.
    private static func withPools(
        _ configuration: Configuration, _ analyzers: AnalyzerConfiguration, _ shadow: ShadowFile?,
        _ body: (AnalyzerPool, Shadow?) async throws -> Void
    ) async throws {
        try await configuration.withAnalyzers(analyzers) { pool in
            guard let shadow else { return try await body(pool, nil) }
            guard let models = shadow.models else { return try await body(pool, .limits(shadow.changes)) }
            let others = models.configuration(analyzers, of: configuration, count: analyzers.count)
            let calibration = try models.calibration(of: configuration)
            try await configuration.withAnalyzers(others) { other in
                try await body(pool, .models(other, calibration, shadow.changes))
            }
        }
    }

    /// Before an analyzer starts, as for every other invalid command line.
    private static func checkNames(_ arguments: Arguments) throws(UsageError) {
        if let name = arguments["format"], DocumentFormat(rawValue: name) == nil {
            throw UsageError("--format takes TD1, TD2 or TD3, not \(name)")
        }
        if let name = arguments["workflow"], Workflow(name: name) == nil {
            let names = Workflow.allCases.filter { !$0.namesFace }.map(\.rawValue)
            let list = names.dropLast().joined(separator: ", ") + " or " + names[names.count - 1]
            throw UsageError("--workflow takes \(list), not \(name)")
        }
    }

    /// Each line of a batch names its own files.
    static func refuseBesideBatch(_ arguments: Arguments) throws(UsageError) {
        let options = BatchRequest.kinds.map(\.row.option) + ["challenge"]
        guard arguments["batch"] != nil, let option = options.first(where: arguments.has) else { return }
        throw UsageError("--\(option) is for one inspection: with --batch, each line names its files")
    }

    private static func answer(
        _ line: Data, pool: AnalyzerPool, _ shadow: Shadow?, arguments: Arguments
    ) async -> Data {
        do {
            let request = try JSONDecoder().decode(BatchRequest.self, from: line)
            return await self.inspect(request, pool: pool, shadow, arguments: arguments).result
        } catch {
            let fault = BatchRequest.fault(of: line, error)
            return ResultEnvelope.failed(id: fault.id, fault.error)
        }
    }

    /// Reads the files and runs the inspection; a failure also gives a result document, with its error.
    private static func inspect(
        _ request: BatchRequest, pool: AnalyzerPool, _ shadow: Shadow?, arguments: Arguments
    ) async -> (result: Data, report: String, failed: Bool) {
        do {
            let parts = try Self.parts(of: request)
            let workflow = try Self.workflow(of: request, arguments: arguments)
            let format = try (request.members.format ?? arguments["format"]).map { name throws(InspectError) in
                guard let format = DocumentFormat(rawValue: name) else {
                    throw InspectError(.documentFormatUnknown, name)
                }
                return format
            }
            let configuration = try Configuration(arguments)
            var runner = InspectionRunner(pool: pool)
            runner.calibration = try configuration.faces.calibration()
            if case .limits(let changes) = shadow { runner.shadow = changes }
            runner.isGated = request.members.gate ?? !arguments.has("no-gate")
            runner.withEmbeddings = arguments.has("features")
            runner.withPreviews = arguments.has("report")
            runner.trustAnchors = try TrustAnchorFiles.read(request.members.csca ?? [])
            let inspection = InspectionRequest(
                workflow: workflow, documentFormat: format, challenge: try Self.challenge(of: request))
            let outcome = try await runner.inspect(inspection, parts: parts)
            if let shadow = try await shadow?.compare(outcome, runner, of: inspection, parts) {
                var fields = Events.fields(of: shadow)
                fields["id"] = request.members.id.map { .string($0) }
                configuration.log.info("shadow decided", fields)
            }
            let result = ResultEnvelope.encode(id: request.members.id, workflow: workflow, outcome.document)
            return (result, runner.withPreviews ? outcome.report(from: Self.origin(of: request)) : "", false)
        } catch {
            let known = InspectError(unexpected: error)
            return (
                ResultEnvelope.failed(id: request.members.id, known),
                ReportFile.page(of: known, from: Self.origin(of: request)), true
            )
        }
    }

    private static func origin(of request: BatchRequest) -> ReportOrigin {
        let files = BatchRequest.kinds.compactMap { kind in
            request.files[kind].map { (part: kind.rawValue, name: URL(fileURLWithPath: $0).lastPathComponent) }
        }
        return ReportOrigin(job: request.members.id, files: files, decidedAt: Date())
    }

    static func parts(of request: BatchRequest) throws(InspectError) -> [InspectionRunner.Part] {
        var parts: [InspectionRunner.Part] = []
        for kind in BatchRequest.kinds {
            guard let path = request.files[kind] else { continue }
            parts += try PartFile.parts(kind, path, of: request.source(kind.row.option)).map {
                InspectionRunner.Part(kind: kind, bytes: $0)
            }
        }
        guard !parts.isEmpty else { throw InspectError(.partMissing, "no file is given") }
        if request.files[.back] != nil, request.files[.front] == nil {
            throw InspectError(.partMissing, "\(PartKind.front.rawValue), whose back is given")
        }
        return parts
    }

    private static func challenge(of request: BatchRequest) throws(InspectError) -> LivenessChallenge? {
        guard let path = request.members.challenge else { return nil }
        let bytes = try PartFile.read(path, of: request.source("challenge"))
        guard let challenge = try? JSONDecoder().decode(LivenessChallenge.self, from: bytes) else {
            throw PartFile.noChallenge
        }
        return challenge
    }

    private static func workflow(of request: BatchRequest, arguments: Arguments) throws(InspectError) -> Workflow {
        if let name = request.members.workflow ?? arguments["workflow"] {
            guard let workflow = Workflow(name: name) else { throw InspectError(.workflowUnknown, name) }
            return workflow
        }
        return .usual(for: Set(request.files.keys))
    }
}
