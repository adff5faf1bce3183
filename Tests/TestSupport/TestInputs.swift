package import Foundation

/// The face photographs and rendered specimens that `deploy/inputs.sh` prepares.
///
/// `Tests/run.sh` prepares them beforehand and names the folder in `INSPECTD_TEST_INPUTS`; under a plain `swift test` the
/// first test that asks runs the script, which keeps what it made under `.build`.
package enum TestInputs {
    /// What is true of one specimen; a subset of `specimens/manifest.json`.
    package struct Specimen: Decodable, Sendable {
        package var file: String
        package var mrzLines: [String]?
        /// The error code that a broken file ends with.
        package var error: String?
    }

    /// The script ended with this status, or a file is not there.
    package struct PreparationFailed: Error {
        package var status: Int32
    }

    private static let preparation = Task { try await Self.prepare() }

    /// The folder with `faces` and `specimens`.
    package static var folder: URL { get async throws { try await Self.preparation.value } }

    /// Bytes of a specimen, for example `passport.jpg`.
    package static func specimen(_ name: String) async throws -> Data {
        try Data(contentsOf: await Self.folder.appending(path: "specimens/\(name)"))
    }

    /// Bytes of a face photograph: `obama.jpg` (the specimens' portrait), `obama2.jpg` (the same person), `biden.jpg`.
    package static func face(_ name: String) async throws -> Data {
        try Data(contentsOf: await Self.folder.appending(path: "faces/\(name)"))
    }

    /// Every specimen.
    package static var manifest: [Specimen] {
        get async throws {
            let decoder = JSONDecoder()
            decoder.keyDecodingStrategy = .convertFromSnakeCase
            return try decoder.decode([Specimen].self, from: await Self.specimen("manifest.json"))
        }
    }

    private static func prepare() async throws -> URL {
        if let prepared = ProcessInfo.processInfo.environment["INSPECTD_TEST_INPUTS"] {
            return URL(fileURLWithPath: prepared, isDirectory: true)
        }
        let repository = URL(fileURLWithPath: ScratchDatabase.root, isDirectory: true)
        let folder = repository.appending(path: ".build/inputs", directoryHint: .isDirectory)
        let script = repository.appending(path: "deploy/inputs.sh").path
        let status = try await ChildProcess.run(script, [folder.path], within: .seconds(900)).status
        guard status == 0 else { throw PreparationFailed(status: status) }
        return folder
    }
}
