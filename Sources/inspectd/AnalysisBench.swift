import Analyzer
import Benchmarks
import Foundation
import InspectCore

/// The images of `inspectd bench analysis`.
enum AnalysisBench {
    static let options: [Arguments.Option] = [
        .value("partner", "NAME", "analysis: the partner that owns the jobs"),
        .value("front", "FILE", "analysis: front of the document; likewise --back, --face and --frames DIR"),
        .value("back", "FILE", "analysis: see --front"),
        .value("face", "FILE", "analysis: see --front"),
        .value("frames", "DIR", "analysis: see --front"),
    ]

    static func run(_ arguments: Arguments, _ configuration: Configuration) async throws {
        guard let partner = arguments["partner"] else { throw UsageError("bench analysis requires --partner") }
        var parts: [PartKind: [Data]] = [:]
        for (kind, option) in [(PartKind.front, "front"), (.back, "back"), (.face, "face")] {
            if let path = arguments[option] { parts[kind] = [try PartFile.read(path, of: "--\(option)")] }
        }
        if let folder = arguments["frames"] {
            parts[.frames] = try PartFile.frames(folder, of: "--frames")
        }
        guard parts[.front] != nil, parts[.face] != nil else {
            throw UsageError("bench analysis requires --front and --face; each job has a copy of them")
        }
        let analyzers = try configuration.analyzerConfiguration(arguments)
        let benchmark = AnalysisBenchmark(
            databaseURL: configuration.databaseURL, partner: partner, parts: parts,
            jobs: try arguments.integer("jobs", in: 1...100_000) ?? 60, slots: analyzers.slots)
        let calibration = try configuration.faces.calibration()
        let report = try await benchmark.run { body in
            try await configuration.withAnalyzers(analyzers) { pool in try await body(pool, calibration) }
        }
        Output.line(ResultEnvelope.json(report))
    }
}
