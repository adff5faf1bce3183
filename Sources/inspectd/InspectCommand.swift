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
        options: [
            .value("front", "FILE", "front of the document, or a passport's data page"),
            .value("back", "FILE", "back of a two-sided document"),
            .value("face", "FILE", "image of the person"),
            .value("frames", "DIR", "frames of a liveness capture, in the order of their names"),
            .value(
                "challenge", "FILE",
                "what the frames answer, as insp.challenge_issue returned it, with frameTimes (ms); nothing is consumed"
            ),
            .value("dg1", "FILE", "chip data group 1, the MRZ"),
            .value("dg2", "FILE", "chip data group 2, the portrait"),
            .value("sod", "FILE", "chip document security object, which vouches for both"),
            .value("workflow", "W", "id, id_identity, similarity or liveness; by default what the files allow"),
            .value("format", "F", "expected document format: TD1, TD2 or TD3"),
            .value("batch", "FILE", "a request object a line in (- for standard input), a result document a line out"),
            .value(
                "report", "FILE",
                "also writes a report for a reviewer; it contains personal data and is readable by its owner alone"),
            .flag(
                "usability",
                "only judges the images of the document, at once: before anything is read, without models"),
            .flag("no-gate", "a rejection by an earlier capability does not stop the later ones"),
            .flag("features", "puts the face features into the result"),
            .value("slots", "N", "analyzer processes; by default one per core"),
        ] + Configuration.trustOptions + Configuration.analyzerOptions + Configuration.logOptions,
        body: { arguments in
            let configuration = try Configuration(arguments)
            if arguments.has("usability") { return try await Self.judgeUsability(arguments, configuration) }
            let hasFile = ["front", "face", "frames", "dg1", "dg2", "sod"].contains { arguments[$0] != nil }
            guard hasFile || arguments["batch"] != nil else {
                throw UsageError("inspect needs --front, --face, --frames, --dg1, --dg2, --sod or --batch")
            }
            guard arguments["batch"] == nil || !arguments.has("report") else {
                throw UsageError("--report is for one inspection, not for --batch")
            }
            var analyzers = try configuration.analyzerConfiguration(arguments)
            if arguments["batch"] == nil { analyzers.serveOneJob() }
            try await configuration.withAnalyzers(analyzers) { pool in
                if let list = arguments["batch"] {
                    try await Batch.run(list, slots: analyzers.slots) { line in
                        await Self.answer(line, pool: pool, arguments: arguments)
                    }
                    return
                }
                let request = BatchRequest(
                    front: arguments["front"], back: arguments["back"], face: arguments["face"],
                    frames: arguments["frames"], challenge: arguments["challenge"], dg1: arguments["dg1"],
                    dg2: arguments["dg2"], sod: arguments["sod"], prefix: "--")
                let (result, report, failed) = await Self.inspect(request, pool: pool, arguments: arguments)
                Output.line(result)
                if let path = arguments["report"] { try ReportFile.write(report, to: path) }
                if failed { throw Failure() }
            }
        }
    )

    /// One line of a batch; the members of DESIGN's batch format.
    struct BatchRequest: Codable {
        var id: String?
        var front: String?
        var back: String?
        var face: String?
        var frames: String?
        var challenge: String?
        var dg1: String?
        var dg2: String?
        var sod: String?
        /// Files and folders, in place of those of the command line.
        var csca: [String]?
        var workflow: String?
        var format: String?
        var gate: Bool?
        /// What stands before the members' names where they are options; no member of a line.
        var prefix: String?

        private enum CodingKeys: String, CodingKey {
            case id, front, back, face, frames, challenge, dg1, dg2, sod, csca, workflow, format, gate
        }

        /// Who names a file, for errors.
        func source(_ member: String) -> String { (self.prefix ?? "") + member }
    }

    private static func answer(_ line: Data, pool: AnalyzerPool, arguments: Arguments) async -> Data {
        do {
            let request = try JSONDecoder().decode(BatchRequest.self, from: line)
            return await self.inspect(request, pool: pool, arguments: arguments).result
        } catch {
            return ResultEnvelope.failed(id: nil, InspectError(.payloadInvalid, "the line is not a request object"))
        }
    }

    /// Reads the files and runs the inspection; a failure also gives a result document, with its error.
    private static func inspect(
        _ request: BatchRequest, pool: AnalyzerPool, arguments: Arguments
    ) async -> (result: Data, report: String, failed: Bool) {
        do {
            let parts = try Self.parts(of: request)
            let workflow = try Self.workflow(of: request, arguments: arguments)
            let format = try (request.format ?? arguments["format"]).map { name throws(InspectError) in
                guard let format = DocumentFormat(rawValue: name) else { throw InspectError(.documentFormatUnknown) }
                return format
            }
            var runner = InspectionRunner(pool: pool)
            runner.calibration = try Configuration(arguments).faces.calibration()
            runner.isGated = request.gate ?? !arguments.has("no-gate")
            runner.withFeatures = arguments.has("features")
            runner.withPreviews = arguments.has("report")
            runner.trustAnchors = try TrustAnchorFiles.read(request.csca ?? [])
            let outcome = try await runner.inspect(
                InspectionRequest(
                    workflow: workflow, documentFormat: format, challenge: try Self.challenge(of: request)),
                parts: parts)
            let result = ResultEnvelope.encode(id: request.id, workflow: workflow, outcome.document)
            return (result, runner.withPreviews ? outcome.report : "", false)
        } catch {
            let known = InspectError(unexpected: error)
            return (ResultEnvelope.failed(id: request.id, known), ReportFile.page(of: known), true)
        }
    }

    static func parts(of request: BatchRequest) throws(InspectError) -> [InspectionRunner.Part] {
        let named: [(PartKind, String, String?)] = [
            (.front, "front", request.front), (.back, "back", request.back), (.face, "face", request.face),
            (.dg1, "dg1", request.dg1), (.dg2, "dg2", request.dg2), (.sod, "sod", request.sod),
        ]
        var parts: [InspectionRunner.Part] = []
        for (kind, name, path) in named {
            guard let path else { continue }
            parts.append(InspectionRunner.Part(kind: kind, bytes: try PartFile.read(path, of: request.source(name))))
        }
        if let folder = request.frames {
            parts += try PartFile.frames(folder, of: request.source("frames")).map {
                InspectionRunner.Part(kind: .frames, bytes: $0)
            }
        }
        guard !parts.isEmpty else { throw InspectError(.partMissing, "no file is named") }
        return parts
    }

    private static func challenge(of request: BatchRequest) throws(InspectError) -> LivenessChallenge? {
        guard let path = request.challenge else { return nil }
        let bytes = try PartFile.read(path, of: request.source("challenge"))
        guard let challenge = try? JSONDecoder().decode(LivenessChallenge.self, from: bytes) else {
            throw InspectError(.challengeInvalid, "the file holds no challenge")
        }
        return challenge
    }

    private static func workflow(of request: BatchRequest, arguments: Arguments) throws(InspectError) -> Workflow {
        if let name = request.workflow ?? arguments["workflow"] {
            guard let workflow = Workflow(name: name) else { throw InspectError(.workflowUnknown, name) }
            return workflow
        }
        let hasChip = request.dg1 != nil || request.dg2 != nil || request.sod != nil
        if request.front == nil && !hasChip { return .liveness }
        return request.face == nil ? .id : .idIdentity
    }
}
