import Foundation
import Testing

/// What ARCHITECTURE.md promises about the source itself.
@Suite struct ArchitectureTests {
    private static let sources = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Sources")

    /// The Swift files of a target, with their text.
    private func files(_ target: String) throws -> [(name: String, text: String)] {
        let folder = Self.sources.appendingPathComponent(target)
        let names = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".swift") }
        #expect(!names.isEmpty)
        return try names.map { name in
            (name, try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8))
        }
    }

    private func imports(_ target: String) throws -> Set<String> {
        let lines = try self.files(target).flatMap { $0.text.split(separator: "\n") }
        return Set(
            lines.compactMap { line in
                let words = line.split(separator: " ")
                guard let at = words.firstIndex(of: "import"), at <= 2, !line.hasPrefix("/"), at + 1 < words.count
                else {
                    return nil
                }
                return String(words[at + 1])
            })
    }

    @Test func `Targets import only what lies above them`() throws {
        let system: Set<String> = ["Foundation", "Glibc", "Dispatch", "Synchronization"]
        let allowed: [String: Set<String>] = [
            "InspectCore": ["Foundation"],
            "Postgres": ["CPostgres"],
            "Vision": ["CVision", "InspectCore"],
            "JobQueue": ["InspectCore", "Postgres"],
            "Callbacks": ["CCurl", "COpenSSL", "InspectCore", "Postgres"],
            "Chip": ["COpenSSL", "InspectCore"],
            "Analyzer": ["CSystem", "Chip", "InspectCore", "Vision"],
            "Gateway": ["CEpoll", "COpenSSL", "InspectCore"],
            "inspectd": ["Analyzer", "Callbacks", "Gateway", "InspectCore", "JobQueue", "Postgres", "Vision"],
        ]
        for (target, above) in allowed {
            let extra = try self.imports(target).subtracting(target == "InspectCore" ? [] : system).subtracting(above)
            #expect(extra.isEmpty, "\(target) imports \(extra.sorted())")
        }
    }

    @Test func `Only the program reads the environment, and the core does no input or output`() throws {
        for target in ["InspectCore", "Postgres", "Vision", "Chip", "JobQueue", "Callbacks", "Analyzer", "Gateway"] {
            for file in try self.files(target) {
                #expect(!file.text.contains("getenv("), "\(target)/\(file.name)")
                #expect(!file.text.contains(".environment["), "\(target)/\(file.name)")
                #expect(!file.text.contains("processInfo.environment"), "\(target)/\(file.name)")
            }
        }
        for file in try self.files("InspectCore") {
            for word in ["FileHandle", "FileManager", "URLSession", "Date()", "print("] {
                #expect(!file.text.contains(word), "InspectCore/\(file.name) uses \(word)")
            }
        }
    }

    @Test func `The queue's tables are named in its own target alone`() throws {
        for target in ["InspectCore", "Postgres", "Vision", "Callbacks", "Analyzer", "Gateway", "inspectd"] {
            for file in try self.files(target) {
                for table in ["insp.ready", "insp.lease", "insp.delayed", "insp.step", "insp.settle", "insp.claim("] {
                    #expect(!file.text.contains(table), "\(target)/\(file.name) names \(table)")
                }
            }
        }
    }
}
