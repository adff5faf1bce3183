import Foundation
import InspectCore
import TestSupport
import Vision

/// Models and images of the face tests: freely licensed photographs, and images derived from them.
///
/// `INSPECTD_MODELS` and `INSPECTD_TEST_FACES` (or `INSPECTD_TEST_INPUTS`, with the photographs in `faces`) name folders that are
/// already filled; otherwise the first test that asks runs the scripts of `deploy/`, which keep what they fetch under
/// `.build`.
enum FaceFixtures {
    struct PreparationFailed: Error {
        var script: String
        var status: Int32
    }

    /// Folder of the models.
    static var models: String { get async throws { try await Self.preparedModels.value } }

    /// A photograph: `obama.jpg` and `obama2.jpg` show one person, `biden.jpg` another.
    static func photograph(_ name: String) async throws -> DecodedImage {
        try Self.decoded(await Self.preparedFaces.value.appending(path: name))
    }

    /// An image made by `Tests/derive-faces.py`.
    static func derived(_ name: String) async throws -> DecodedImage {
        try Self.decoded(await Self.preparedDerivatives.value.appending(path: name))
    }

    static let repository = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private static let preparedModels = Task {
        let name = ProcessInfo.processInfo.environment["INSPECTD_MODELS"] ?? "/usr/local/share/inspectd/models"
        if FileManager.default.fileExists(atPath: name) { return name }
        let folder = Self.repository.appending(path: ".build/models").path
        try await Self.run("deploy/install-models.sh", [], environment: ["INSPECTD_MODELS": folder])
        return folder
    }

    private static let preparedFaces = Task {
        let environment = ProcessInfo.processInfo.environment
        if let prepared = environment["INSPECTD_TEST_FACES"]
            ?? environment["INSPECTD_TEST_INPUTS"].map({ $0 + "/faces" })
        {
            return URL(fileURLWithPath: prepared, isDirectory: true)
        }
        let folder = Self.repository.appending(path: ".build/faces", directoryHint: .isDirectory)
        try await Self.run("deploy/fetch-faces.sh", [folder.path])
        return folder
    }

    private static let preparedDerivatives = Task {
        let folder = Self.repository.appending(path: ".build/faces-derived", directoryHint: .isDirectory)
        try await Self.run("Tests/derive-faces.py", [Self.preparedFaces.value.path, folder.path])
        return folder
    }

    private static func decoded(_ url: URL) throws -> DecodedImage {
        try Data(contentsOf: url).withUnsafeBytes { bytes throws(InspectError) in try DecodedImage.decode(bytes) }
    }

    private static func run(
        _ script: String, _ arguments: [String], environment: [String: String] = [:]
    ) async throws {
        let status = try await ChildProcess.run(
            Self.repository.appending(path: script).path, arguments,
            environment: ProcessInfo.processInfo.environment.merging(environment) { $1 }, within: .seconds(900)
        ).status
        guard status == 0 else { throw PreparationFailed(script: script, status: status) }
    }
}
