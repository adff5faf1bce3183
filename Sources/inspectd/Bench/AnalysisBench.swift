import Analyzer
import Benchmarks
import Foundation
import InspectCore

/// The images of `inspectd bench analysis`.
enum AnalysisBench {
    static let options: [Arguments.Option] =
        [.value("partner", "NAME", "the partner that owns the jobs").of("analysis")]
        + PartFile.options(Self.kinds).map { $0.of("analysis") }

    private static let kinds = PartKind.allCases.filter(\.row.isImage)

    static func run(_ arguments: Arguments, _ configuration: Configuration) async throws {
        guard let partner = arguments["partner"] else { throw UsageError("'bench analysis' needs --partner") }
        var parts: [PartKind: [Data]] = [:]
        for kind in Self.kinds {
            let option = kind.row.option
            if let path = arguments[option] { parts[kind] = try PartFile.parts(kind, path, of: "--\(option)") }
        }
        guard parts[.front] != nil, parts[.face] != nil else {
            throw UsageError("'bench analysis' needs --front and --face; each job has a copy of them")
        }
        let analyzers = try configuration.analyzerConfiguration(arguments, countOption: "slots")
        let benchmark = AnalysisBenchmark(
            databaseURL: configuration.databaseURL, partner: partner, parts: parts,
            jobs: try arguments.integer("jobs", in: 1...100_000) ?? 60, slots: analyzers.count,
            keys: try configuration.openKeyStore())
        let calibration = try configuration.faces.calibration()
        let report = try await benchmark.run { body in
            try await configuration.withAnalyzers(analyzers) { pool in try await body(pool, calibration) }
        }
        Output.line(ResultEnvelope.json(report))
    }
}
