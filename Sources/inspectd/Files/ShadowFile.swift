import Analyzer
import Foundation
import InspectCore

/// The file of `--shadow`: `{"limits": {"blur": 6.2, "centreX": [0.25, 0.75]}}`, or with another program or other models.
struct ShadowFile: Sendable {
    static let option = Arguments.Option.value(
        "shadow", "FILE",
        "JSON with changed limits, or another program or models, by which inspections are repeated, without effect")

    /// Empty if limits stay as they are.
    var changes = LimitChanges()
    /// The analyzers that analyse again; `nil`: none, the same facts are decided again.
    var models: Models?

    /// The program and models that the file names instead of the worker's own.
    struct Models: Sendable {
        /// A build of this program.
        var analyzer: String?
        /// The folder of its models.
        var models: String?
        var faceEngine: String?
        var livenessEngine: String?

        /// The same analyzers with these programs and models.
        func configuration(
            _ own: AnalyzerConfiguration, of configuration: Configuration, count: Int
        ) -> AnalyzerConfiguration {
            var analyzers = own
            analyzers.count = count
            analyzers.executable = self.analyzer ?? configuration.analyzer
            analyzers.arguments =
                [AnalyzerCommand.name, self.models ?? configuration.models] + self.faces(of: configuration).words
                + configuration.trustAnchors
            return analyzers
        }

        func calibration(of configuration: Configuration) throws(InspectError) -> FaceCalibration {
            try self.faces(of: configuration).calibration()
        }

        private func faces(of configuration: Configuration) -> FaceModelFiles {
            var faces = configuration.faces
            if let faceEngine { faces.engine = faceEngine }
            if let livenessEngine { faces.liveness = livenessEngine }
            return faces
        }
    }

    private struct Content: Decodable {
        var limits: [String: Numbers]?
        var analyzer: String?
        var models: String?
        var faceEngine: String?
        var livenessEngine: String?

        static let members: Set<String> = ["limits", "analyzer", "models", "faceEngine", "livenessEngine"]
    }

    private struct Numbers: Decodable {
        /// Empty if it is something else.
        var values: [Double]

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            let single = try? container.decode(Double.self)
            self.values = single.map { [$0] } ?? (try? container.decode([Double].self)) ?? []
        }
    }

    static func read(_ path: String) throws -> ShadowFile {
        let bytes = try InputFile.read(path, of: "--shadow", limit: 1 << 20, isSetting: true)
        let members = (try? JSONSerialization.jsonObject(with: bytes)) as? [String: Any]
        guard let members, !members.isEmpty, Content.members.isSuperset(of: members.keys),
            let content = try? JSONDecoder().decode(Content.self, from: bytes), content.limits?.isEmpty != true
        else {
            throw UsageError(
                #"--shadow takes a file such as {"limits": {"blur": 6.2, "centreX": [0.25, 0.75]}}, "#
                    + #"or {"analyzer": "/opt/next/bin/inspectd"}"#)
        }
        var shadow = ShadowFile()
        let files = [content.analyzer, content.models, content.faceEngine, content.livenessEngine].compactMap(\.self)
        for file in files { try InputFile.check(file, of: "--shadow") }
        if !files.isEmpty {
            shadow.models = Models(
                analyzer: content.analyzer, models: content.models, faceEngine: content.faceEngine,
                livenessEngine: content.livenessEngine)
        }
        shadow.changes = try Self.changes(content.limits ?? [:])
        return shadow
    }

    private static func changes(_ limits: [String: Numbers]) throws(UsageError) -> LimitChanges {
        var changes = LimitChanges()
        for (name, numbers) in limits.sorted(by: { $0.key < $1.key }) {
            do throws(LimitChanges.Refusal) {
                try changes.set(name, to: numbers.values)
            } catch {
                switch error {
                case .unknown:
                    let names = LimitChanges.names.joined(separator: ", ")
                    throw UsageError("--shadow: '\(name)' is not a limit; the limits are \(names)")
                case .takes(numbers: 1): throw UsageError("--shadow: \(name) takes a number")
                case .takes: throw UsageError("--shadow: \(name) takes two numbers, the lower one first")
                }
            }
        }
        return changes
    }
}
