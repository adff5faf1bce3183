public import Foundation

/// Chips that `Tests/chips.py` issues with an authority of its own: good ones, and one of each kind that must not pass.
public enum TestChips {
    /// What is true of one chip; a subset of the script's `manifest.json`.
    public struct Chip: Decodable, Sendable, CustomStringConvertible {
        /// The chip's folder.
        public var chip: String
        /// Check to its answer; `nil` for what cannot be told.
        public var checks: [String: Bool?]
        public var status: String
        public var reason: String?
        public var revocation: String?

        public var description: String { self.chip }
    }

    /// The script ended with this status.
    public struct Failed: Error {
        public var status: Int32
    }

    private static let issuing = Task { try await Self.issue() }

    /// The folder with the chips; made anew in every run, since certificates run out.
    public static var folder: URL { get async throws { try await Self.issuing.value } }

    /// Every chip.
    public static var manifest: [Chip] {
        get async throws {
            let manifest = try await self.folder.appending(path: "manifest.json")
            return try JSONDecoder().decode([Chip].self, from: Data(contentsOf: manifest))
        }
    }

    /// Bytes of a file of a chip, for example `good_pss`, `EF_SOD.bin`.
    public static func file(_ chip: String, _ name: String) async throws -> Data {
        try Data(contentsOf: await self.folder.appending(path: "\(chip)/\(name)"))
    }

    private static func issue() async throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appending(path: "chips-\(UUID().uuidString)")
        let portrait = try await TestInputs.folder.appending(path: "faces/obama.jpg")
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
        process.arguments = [
            "\(ScratchDatabase.root)/Tests/chips.py", folder.path, "--portrait", portrait.path,
        ]
        let status: Int32 = try await withCheckedThrowingContinuation { continuation in
            process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
            do { try process.run() } catch { continuation.resume(throwing: error) }
        }
        guard status == 0 else { throw Failed(status: status) }
        return folder
    }
}
