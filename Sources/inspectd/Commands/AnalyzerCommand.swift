import Analyzer
import Foundation
import InspectCore

/// The hidden subcommand of a worker's child: the warm parent of the analyzers.
enum AnalyzerCommand {
    static let name = "__analyzer"
    /// Given instead of the models' folder, or before it if selfies are judged: the engine that reads and compares nothing.
    static let usability = "--usability"

    /// The warm parent of `inspect --usability`, forked at the first use if the process has a single thread by then.
    static let forked = ForkedParent.fork { () throws(InspectError) in try UsabilityEngine() }

    /// Never returns: serves until the worker closes the control socket.
    static func run(_ words: [String]) -> Never {
        if words.first == self.usability {
            AnalyzerServer.run { () throws(InspectError) in
                try UsabilityEngine(models: words.dropFirst().first)
            }
        }
        guard let models = words.first else { exit(64) }
        let others = words.dropFirst()
        let faces = FaceModelFiles(words: others)
        AnalyzerServer.run { () throws(InspectError) in
            // Read before the analyzers are forked, since they cannot open files.
            let anchors = try TrustAnchorFiles.read(others.filter { !FaceModelFiles.isWord($0) })
            return try StageEngine(models: models, anchors: anchors.map { [UInt8]($0) }, faces: faces.models())
        }
    }
}

extension Configuration {
    static let analyzerOptions: [Arguments.Option] =
        Self.modelOptions + [
            .value("analyzer", "FILE", "analyzer executable; by default this program [INSPECTD_ANALYZER]"),
            .value("analyzer-memory", "MIB", "memory that one analyzer may use beyond its models [1536]"),
            .value(
                "face-engine", "FILE",
                "JSON that describes an ONNX network instead of dlib's descriptor [INSPECTD_FACE_ENGINE]"),
            .value(
                "face-contour", "FILE",
                "dlib's 68-point model, for eyes, mouth and pose; not for commercial use [INSPECTD_FACE_CONTOUR]"),
            .value(
                "liveness-engine", "FILE",
                "JSON that describes an ONNX network that scores selfies, as a further PAD signal [INSPECTD_LIVENESS_ENGINE]"
            ),
        ]
    static let trustOptions: [Arguments.Option] = [
        .list(
            "csca", "PATH",
            "CSCA certificates, revocation lists or master lists; a file or a folder, may be repeated [INSPECTD_CSCA]"
        )
    ]

    /// Settings of analyzers.
    ///
    /// - Parameters:
    ///   - countOption: The option with their number.
    ///   - needsModels: Whether they compare faces or look for signs of an attack.
    func analyzerConfiguration(
        _ arguments: Arguments, countOption: String = "analyzers", needsModels: Bool = true
    ) throws -> AnalyzerConfiguration {
        let count = try arguments.integer(countOption, in: 1...256) ?? ProcessInfo.processInfo.activeProcessorCount
        try InputFile.check(self.analyzer, of: "--analyzer")
        if needsModels { try InputFile.check(self.models, of: "--models") }
        for path in self.trustAnchors { try InputFile.check(path, of: "--csca") }
        var configuration = AnalyzerConfiguration(count: count)
        configuration.executable = self.analyzer
        configuration.arguments = [AnalyzerCommand.name, self.models] + self.faces.words + self.trustAnchors
        if let mebibytes = try arguments.integer("analyzer-memory", in: 64...65_536) {
            configuration.memoryLimit = UInt64(mebibytes) << 20
        }
        return configuration
    }

    /// Lends a started pool, and stops it however `body` ends.
    ///
    /// - Parameter stops: `false` if the program ends right after: this ends the analyzers without a wait.
    func withAnalyzers<Result: Sendable>(
        _ configuration: AnalyzerConfiguration, stops: Bool = true,
        onEvent: @escaping @Sendable (AnalyzerEvent) -> Void = { _ in },
        _ body: (AnalyzerPool) async throws -> Result
    ) async throws -> Result {
        let pool = AnalyzerPool(configuration: configuration, onEvent: onEvent)
        do {
            try await withTaskCancellationHandler {
                do { try await pool.start() } catch {
                    try Task.checkCancellation()
                    throw error
                }
            } onCancel: {
                // Loading models takes a while.
                Task { await pool.stop() }
            }
            let result = try await body(pool)
            if stops { await pool.stop() }
            return result
        } catch {
            await pool.stop()
            throw error
        }
    }
}
