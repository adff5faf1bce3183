import Foundation

/// The commands and options in the program's help, which is read once.
enum CommandTable {
    private static let loaded = Task {
        var options: [(name: String, options: [String])] = []
        for name in try await Self.listedNames() { options.append((name, try await Self.listedOptions(of: name))) }
        return options
    }

    static func names() async throws -> [String] { try await self.loaded.value.map(\.name) }

    static func options(of command: String) async throws -> [String] {
        try await self.loaded.value.first { $0.name == command }?.options ?? []
    }

    private static func listedNames() async throws -> [String] {
        let text = String(decoding: try await Program.run(["--help"]).output, as: UTF8.self)
        let list = text.components(separatedBy: "Options:")[0]
        return list.matches(of: /^  ([a-z]+)\s/.anchorsMatchLineEndings()).map { String($0.1) }
    }

    private static func listedOptions(of command: String) async throws -> [String] {
        let text = String(decoding: try await Program.run([command, "--help"]).output, as: UTF8.self)
        let list = text.components(separatedBy: "Options:").dropFirst().joined()
        return list.matches(of: /^  (?:-[a-z], )?--([a-z0-9-]+).*? {2,}\S/.anchorsMatchLineEndings()).map {
            String($0.1)
        }
    }

    /// The files of the program's own target, by their names without the extension.
    static func sources() throws -> [(file: String, text: String)] {
        let folder = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Sources/inspectd")
        return try FileManager.default.subpathsOfDirectory(atPath: folder.path).map(folder.appendingPathComponent)
            .filter { $0.pathExtension == "swift" }
            .map { ($0.deletingPathExtension().lastPathComponent, try String(contentsOf: $0, encoding: .utf8)) }
    }
}
