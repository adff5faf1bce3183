package import Foundation

/// Chips that `Tests/chips.py` issues with an authority of its own: good ones, and one of each kind that must not pass.
package enum TestChips {
    /// What is true of one chip; a subset of the script's `manifest.json`.
    package struct Chip: Decodable, Sendable, CustomStringConvertible {
        /// The chip's folder.
        package var chip: String
        /// Check to its answer; `nil` for what cannot be told.
        package var checks: [String: Bool?]
        package var status: String
        package var reason: String?
        package var revocation: String?

        package var description: String { self.chip }
    }

    /// The script ended with this status, and these words.
    package struct Failed: Error {
        package var status: Int32
        package var errors: String
    }

    private static let issuing = Task { try await Self.issue() }

    /// The folder with the chips; made again in every run, since certificates run out.
    package static var folder: URL { get async throws { try await Self.issuing.value } }

    /// Every chip.
    package static var manifest: [Chip] {
        get async throws {
            let manifest = try await self.folder.appending(path: "manifest.json")
            return try JSONDecoder().decode([Chip].self, from: Data(contentsOf: manifest))
        }
    }

    /// Bytes of a file of a chip, for example `good_pss`, `EF_SOD.bin`.
    package static func file(_ chip: String, _ name: String) async throws -> Data {
        try Data(contentsOf: await self.folder.appending(path: "\(chip)/\(name)"))
    }

    private static func issue() async throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appending(path: "chips-\(UUID().uuidString)")
        let portrait = try await TestInputs.folder.appending(path: "faces/obama.jpg")
        let script = "\(ScratchDatabase.root)/Tests/chips.py"
        let done = try await ChildProcess.run(
            "/usr/bin/python3", [script, folder.path, "--portrait", portrait.path], within: .seconds(300))
        guard done.status == 0 else { throw Failed(status: done.status, errors: done.errors) }
        return folder
    }
}
