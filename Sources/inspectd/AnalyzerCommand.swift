import Analyzer
import Foundation
import InspectCore

/// The hidden subcommand that a worker starts itself with: the warm parent of the analyzers.
enum AnalyzerCommand {
    static let name = "__analyzer"

    /// Never returns: serves until the worker closes the control socket.
    static func run(_ words: [String]) -> Never {
        let models = words.first ?? ""
        AnalyzerServer.run { () throws(InspectError) in try StageEngine(models: models) }
    }
}

extension Configuration {
    static let analyzerOptions: [Arguments.Option] = [
        .value("analyzer", "FILE", "analyzer executable; by default this program [INSPECTD_ANALYZER]"),
        .value("analyzer-memory", "MIB", "memory limit of one analyzer process [2048]"),
    ]

    /// How analyzers are started.
    func analyzerConfiguration(_ arguments: Arguments) throws(UsageError) -> AnalyzerConfiguration {
        var configuration = AnalyzerConfiguration(
            executable: self.analyzer, arguments: [AnalyzerCommand.name, self.models],
            slots: try arguments.integer("slots", in: 1...256) ?? ProcessInfo.processInfo.activeProcessorCount)
        if let mebibytes = try arguments.integer("analyzer-memory", in: 256...65_536) {
            configuration.memoryLimit = mebibytes * 1024 * 1024
        }
        return configuration
    }
}
