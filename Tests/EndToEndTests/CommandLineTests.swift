import Foundation
import InspectCore
import TestSupport
import Testing

@Suite struct CommandLineTests {
    @Test(arguments: [
        [], ["unheard-of"], ["inspect"], ["compare", "one"], ["enqueue", "--front", "x"], ["status"],
        ["top", "--interval", "0"], ["top", "much"], ["worker", "--slots", "many"], ["worker", "--unheard-of"],
        ["worker", "--lanes", ""], ["worker", "--lanes", "urgent,quick"],
        ["bench"], ["gateway", "--listen", "x"], ["console"], ["console", "--local", "--listen", "0.0.0.0:0"],
        ["console", "--local", "--role", "owner:*"],
        ["console", "--url", "http://x.example", "--oidc-issuer", "https://x", "--oidc-client", "x"],
        ["gateway", "--certificate", "x"],
        ["inspect", "--front", "a", "--front", "b"], ["inspect", "--f", "a"], ["inspect", "-x"], ["inspect", "stray"],
        ["enqueue", "stray"], ["migrate", "now"], ["help", "unheard-of"], ["completion"], ["completion", "tcsh"],
        ["man", "worker"], ["audit"], ["audit", "look"], ["audit", "export", "x"], ["audit", "export", "--from", "x"],
        ["audit", "verify", "--head", "operator:1:x"], ["audit", "key"], ["--unheard-of"],
        ["partner", "key", "--partner", "x"], ["partner", "key", "--partner", "x", "--jwk", "-", "--remove"],
        ["partner", "key", "--remove"], ["partner", "vendor", "--partner", "x"],
        ["partner", "vendor", "--partner", "x", "--server", "-", "--remove"],
        ["partner", "capture"], ["partner", "capture", "--partner", "x", "stray"],
        ["endpoint"], ["endpoint", "create"], ["endpoint", "rotate"], ["endpoint", "rotate", "x"],
        ["endpoint", "set", "1"], ["endpoint", "seal", "1"],
        ["endpoint", "seal", "1", "--secret", "-", "--api-key", "-"],
        ["endpoint", "rotate", "1", "--ed25519", "--secret", "-"], ["endpoint", "unheard-of", "1"],
        ["inspect", "--batch", "-", "--front", "x"],
        ["inspect", "--batch", "-", "--challenge", "x"], ["inspect", "--usability", "--batch", "-", "--back", "x"],
        ["inspect", "--usability", "--front", "x", "--sod", "x"],
    ])
    func `A command line that is invalid ends with status 2`(arguments: [String]) async throws {
        let done = try await Program.run(arguments)
        #expect(done.status == 2)
        #expect(done.output.isEmpty)
        #expect(done.errors.hasPrefix("inspectd: "))
    }

    @Test(arguments: [
        (["audit", "key", "--once"], "--once is for audit sign"),
        (["audit", "verify", "--from", "operator:17"], "--from is for audit export, follow"),
        (["keys", "list", "--escrow", "x"], "--escrow is for keys restore"),
        (["bench", "liveness", "--noop"], "--noop is for bench queue"),
        (["inspect", "--usability", "--front", "x", "--format", "TD1"], "--format has no effect with --usability"),
        (["inspect", "--usability", "--front", "x", "--shadow", "x"], "--shadow has no effect with --usability"),
        (["verify", "--new-key", "--body", "x"], "--body has no effect with --new-key"),
        (["status", "x", "--explain", "--purpose", "x"], "--purpose has no effect with --explain"),
        (["compare", "--batch", "-", "a", "b"], "'compare' takes no files with --batch"),
        (["parse", "--batch", "-", "a"], "'parse' takes no lines with --batch"),
        (["--version", "extra"], "'--version' takes no arguments"), (["-v", "--help"], "'-v' takes no arguments"),
        (["--help", "worker"], "'--help' takes no arguments"),
    ])
    func `An option that would have no effect is refused`(arguments: [String], message: String) async throws {
        let done = try await Program.run(arguments)
        #expect(done.status == 2)
        #expect(done.errors.contains(message), "\(done.errors)")
    }

    @Test(arguments: [
        (["inspect", "--front", "x", "--format", "td3"], "--format takes TD1, TD2 or TD3, not td3"),
        (
            ["inspect", "--front", "x", "--workflow", "nope"],
            "--workflow takes id, id_identity, similarity or liveness, not nope"
        ),
        (["-x"], "unknown option -x"), (["--nope"], "unknown option --nope"),
    ])
    func `A wrong value is named with those that are allowed`(arguments: [String], message: String) async throws {
        let done = try await Program.run(arguments)
        #expect(done.status == 2)
        #expect(done.errors.hasPrefix("inspectd: \(message)"), "\(done.errors)")
    }

    @Test(arguments: [
        (["partner", "key", "--partner", "x", "--jwk", "-"], "--jwk"),
        (["person", "consent", "--partner", "x", "--job", "x", "--consent", "-"], "--consent"),
    ])
    func `Standard input that cannot be read is no empty file`(arguments: [String], option: String) async throws {
        let program = try Program(
            arguments, environment: ["INSPECTD_DATABASE_URL": "postgresql:///absent?host=/absent"], inputPath: "/")
        #expect(try await program.wait() != 0)
        let errors = program.standardError
        #expect(errors.contains("\(option): standard input is a folder"), "\(errors)")
    }

    @Test func `Help lists every command, and each command has its own help by every way to request it`() async throws {
        let overview = try await self.text(["--help"])
        #expect(try await self.text(["-h"]) == overview)
        #expect(try await self.text(["help"]) == overview)
        let names = try await CommandTable.names()
        #expect(names.count >= 17 && Set(names).count == names.count)
        for name in names {
            let help = try await self.text([name, "--help"])
            #expect(help.hasPrefix("Usage: inspectd \(name) ") || help.hasPrefix("Usage: inspectd \(name)\n"))
            #expect(!help.contains(" \n"))
            #expect(try await self.text([name, "-h"]) == help)
            #expect(try await self.text(["help", name]) == help)
            // Even where the rest is invalid, but not after the end of the options.
            #expect(try await self.text([name, "--unheard-of", "--help"]) == help)
        }
        #expect(try await self.text(["verify", "--hel"]).hasPrefix("Usage: inspectd verify "))
        #expect(try await Program.run(["parse", "--", "--help"]).status == 1)
    }

    @Test(arguments: [
        (["person", "--help"], "export: purpose of an operator's access, recorded: review, support"),
        (["partner", "--help"], "vendor, key: removes the key or the vendor's server"),
        (["keys", "--help"], "inspectd keys init [--to NAME] [--in-place-of ID] [--migrations DIR]"),
        (["man"], "Results are JSON on standard output. Logs are JSON lines"),
    ])
    func `Help says plainly what an option does and which it takes`(arguments: [String], line: String) async throws {
        let text = try await self.text(arguments).split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(text.contains(line), "\(text)")
    }

    @Test func `The version is printed by both options`() async throws {
        let version = try await self.text(["--version"])
        #expect(version.wholeMatch(of: /inspectd \d+\.\d+\.\d+\S*\n/) != nil)
        #expect(try await self.text(["-v"]) == version)
    }

    @Test func `An error says which command's help to read`() async throws {
        #expect(try await Program.run(["worker", "--slot", "x"]).errors.hasSuffix("Try 'inspectd worker --help'.\n"))
        for unknown in [["work"], ["help", "work"]] {
            #expect(
                try await Program.run(unknown).errors == "inspectd: unknown command work\nTry 'inspectd --help'.\n")
        }
    }

    /// Reads the source: "keys needs --to" reads as a mistake.
    @Test func `A message that begins with a command has it in quotation marks`() async throws {
        let sources = try CommandTable.sources()
        let names = try await CommandTable.names()
        var quoted = 0
        for (file, text) in sources {
            for match in text.matches(of: /UsageError\(\s*"(?<mark>'?)(?<word>[a-z]+)/) {
                guard names.contains(String(match.word)) else { continue }
                #expect(!match.mark.isEmpty, "\(file): \(match.0)")
                quoted += 1
            }
        }
        #expect(quoted > 20)
    }

    @Test func `Each option stands once in its command's help, with a text`() async throws {
        for name in try await CommandTable.names() {
            let options = try await CommandTable.options(of: name)
            #expect(Set(options).count == options.count, "\(name): \(options)")
            #expect(options.last == "help")
        }
    }

    /// Reads the source: an option that is looked up but in no table can never be given.
    @Test func `A command reads exactly the options of its table`() async throws {
        let sources = try CommandTable.sources()
        let owners = [
            "QueueBench": "bench", "LivenessBench": "bench", "AnalysisBench": "bench", "UsabilityAnswer": "inspect",
        ]
        var all: Set<String> = []
        for name in try await CommandTable.names() { all.formUnion(try await CommandTable.options(of: name)) }
        // Options of parts come from the table of kinds.
        var mentioned = Set(["help"] + PartKind.allCases.map(\.row.option))
        for (file, text) in sources {
            let read = text.matches(of: /arguments(?:\[|\.(?:has|all|integer)\()\s*"([^"]+)"/).map { String($0.1) }
            let owner = owners[file] ?? text.firstMatch(of: /static let (\w+) = Command\(/).map { String($0.1) }
            // Settings that several commands share are looked up whether or not the command has the option.
            let shared = file == "AnalyzerCommand" || file == "Configuration"
            var table = all
            if let owner, !shared { table = Set(try await CommandTable.options(of: owner)) }
            #expect(Set(read).subtracting(table).isEmpty, "\(file) reads \(Set(read).subtracting(table))")
            let rest = text.replacing(/\.(?:flag|value|list)\(\s*"[^"]+"/, with: "")
            mentioned.formUnion(rest.matches(of: /"([a-z0-9-]+)"/).map { String($0.1) })
        }
        #expect(all.count > 80)
        #expect(all.subtracting(mentioned).isEmpty, "no code reads \(all.subtracting(mentioned))")
    }

    @Test func `Every command with a database or analyzers takes a log level, and checks it`() async throws {
        var count = 0
        for name in try await CommandTable.names() {
            let options = Set(try await CommandTable.options(of: name))
            let isConfigured = !options.isDisjoint(with: ["database-url", "models"])
            #expect(options.contains("log-level") == isConfigured, "\(name)")
            guard isConfigured else { continue }
            count += 1
            // A command's other requirements are checked later, or given here.
            let operands = ["status": ["x"], "review": ["x"], "bench": ["queue"]][name] ?? []
            let done = try await Program.run([name] + operands + ["--log-level", "loud"])
            #expect(done.status == 2)
            let message = "--log-level or INSPECTD_LOG_LEVEL takes debug, info, warning or error, not loud"
            #expect(done.errors.contains(message), "\(done.errors)")
        }
        #expect(count >= 13)
    }

    @Test(arguments: [
        (["inspect", "--front", "ABSENT"], "--front: the file does not exist"),
        (["inspect", "--front", "FOLDER"], "--front: the file is a folder"),
        (["inspect", "--usability", "--back", "ABSENT"], "--back: the file does not exist"),
        (["inspect", "--frames", "ABSENT"], "--frames: the folder does not exist"),
        (["inspect", "--frames", "FOLDER"], "--frames: the folder is empty"),
        (["inspect", "--frames", "FILE"], "--frames: the file is not a folder"),
        (["inspect", "--frames", "FRAMES", "--challenge", "ABSENT"], "--challenge: the file does not exist"),
        (["compare", "FILE", "ABSENT"], "B: the file does not exist"),
        (["inspect", "--front", "FILE", "--report", "ABSENT/r.html"], "--report: the folder does not exist"),
        (["inspect", "--front", "FILE", "--report", "FILE/r.html"], "--report: the folder is a file"),
        (["compare", "FILE", "FILE", "--report", "FOLDER"], "--report: the file is a folder"),
        (["enqueue", "--partner", "x", "--face", "ABSENT"], "--face: the file does not exist"),
        (["enqueue", "--partner", "x", "--frames", "ABSENT"], "--frames: the folder does not exist"),
        (
            ["enqueue", "--partner", "x", "--front", "FILE", "--challenge", "ABSENT"],
            "--challenge: the file does not exist"
        ),
        (["verify", "--public-key", "KEY", "--body", "ABSENT"], "--body: the file does not exist"),
    ])
    func `A missing file is reported by its option, not by its name`(
        arguments: [String], message: String
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        for name in ["empty", "frames"] {
            try FileManager.default.createDirectory(
                at: folder.appendingPathComponent(name), withIntermediateDirectories: true)
        }
        for name in ["file", "frames/1"] {
            try PNG.noise(width: 8, height: 8).write(to: folder.appendingPathComponent(name))
        }
        let key = try members(try await Program.run(["verify", "--new-key"]).output)["public"] as? String
        let words = [
            "ABSENT": folder.path + "/ERIKA-MUSTERMANN", "FOLDER": folder.path + "/empty",
            "FILE": folder.path + "/file",
            "FRAMES": folder.path + "/frames", "KEY": key ?? "",
        ]
        let done = try await Program.run(
            arguments.map { argument in
                let (word, rest) = (argument.prefix { $0 != "/" }, argument.drop { $0 != "/" })
                return words[String(word)].map { $0 + rest } ?? argument
            })
        let text = String(decoding: done.output, as: UTF8.self) + done.errors
        #expect(done.status == 1, "\(text)")
        #expect(text.contains(message), "\(text)")
        #expect(!text.contains("ERIKA") && !text.contains(folder.lastPathComponent), "\(text)")
    }

    @Test(arguments: [
        (["inspect", "--front", "/dev/null", "--csca", "/nonexistent/a"], "--csca: /nonexistent/a does not exist"),
        (["inspect", "--front", "/dev/null", "--analyzer", "/nonexistent"], "--analyzer: /nonexistent does not exist"),
        (["inspect", "--front", "/dev/null", "--models", "/nonexistent"], "--models: /nonexistent does not exist"),
        (["worker", "--models", "/nonexistent"], "--models: /nonexistent does not exist"),
        (["worker", "--wrapping-keys", "file:/nonexistent"], "--wrapping-keys: /nonexistent does not exist"),
        (["keys", "make", "--key-file", "/nonexistent/k"], "--key-file: the folder /nonexistent does not exist"),
        (["inspect", "--batch", "/nonexistent"], "--batch: /nonexistent does not exist"),
        (["parse", "--batch", "/"], "--batch: / is a folder"),
        (["worker", "--shadow", "/nonexistent/a"], "--shadow: /nonexistent/a does not exist"),
        (["worker", "--decryption-key", "/nonexistent/a"], "--decryption-key: /nonexistent/a does not exist"),
        (
            ["gateway", "--certificate", "/nonexistent/a", "--key", "/nonexistent/b"],
            "--certificate: /nonexistent/a does not exist"
        ),
        (
            ["compare", "a", "b", "--face-engine", "/nonexistent/a"],
            "--face-engine: /nonexistent/a does not exist"
        ),
        (["verify", "--secret-file", "/nonexistent"], "--secret-file: /nonexistent does not exist"),
        (["migrate", "--migrations", "/nonexistent"], "--migrations: /nonexistent does not exist"),
        (["audit", "verify", "--public-key", "/nonexistent"], "--public-key: /nonexistent does not exist"),
        (["audit", "verify", "/nonexistent"], "FILE: /nonexistent does not exist"),
        (["audit", "key", "--audit-key", "/nonexistent"], "--audit-key: /nonexistent does not exist"),
        (["verify", "--secret-file", "/usr"], "--secret-file: /usr is a folder"),
    ])
    func `A missing file of the operator is reported by name`(arguments: [String], message: String) async throws {
        let done = try await Program.run(arguments)
        #expect(done.status == 1)
        #expect(done.errors.hasPrefix("inspectd: ") && done.errors.contains(message), "\(done.errors)")
    }

    @Test func `Migrating twice applies nothing the second time, and the doctor finds no fault`() async throws {
        let database = try await ScratchDatabase.empty()
        let environment = ["INSPECTD_DATABASE_URL": database.url]
        let ill = try await Program.run(["doctor"], environment: environment)
        #expect(ill.status == 1)
        #expect(String(decoding: ill.output, as: UTF8.self).contains("run inspectd migrate"))
        // They exist already: every scratch database's server has them.
        let roles = try await Program.run(["migrate", "--roles"], environment: environment)
        #expect(roles.status == 0 && String(decoding: roles.output, as: UTF8.self) == #"{"created":[]}"# + "\n")
        let first = try await Program.run(["migrate"], environment: environment)
        #expect(try members(first.output)["applied"].map { ($0 as? [String])?.isEmpty } == false)
        let second = try await Program.run(["migrate"], environment: environment)
        let nothing = #"{"applied":[],"different":[],"forgotten":[],"unknown":[]}"# + "\n"
        #expect(String(decoding: second.output, as: UTF8.self) == nothing)
        let doctor = try await Program.run(["doctor"], environment: environment)
        let findings = String(decoding: doctor.output, as: UTF8.self)
        #expect(doctor.status == 0, "\(findings)")
        #expect(findings.contains("system-call filters"))
    }

    @Test func `The error for an unreachable database contains no password`() async throws {
        let url = "postgresql:///x?host=/nonexistent&password=hunter2"
        for arguments in [["status", "00000000-0000-4000-8000-000000000000"], ["top", "--once"]] {
            let done = try await Program.run(arguments, environment: ["INSPECTD_DATABASE_URL": url])
            #expect(done.status == 1)
            #expect(done.errors.hasPrefix("inspectd: DATABASE_UNAVAILABLE: the database could not be reached"))
            #expect(!done.errors.contains("hunter2"))
        }
    }

    @Test func `An unknown job is reported as unknown`() async throws {
        let database = try await ScratchDatabase.migrated()
        let done = try await Program.run(
            ["status", "00000000-0000-4000-8000-000000000000"], environment: ["INSPECTD_DATABASE_URL": database.url])
        #expect(done.status == 1)
        #expect(done.errors.contains("JOB_UNKNOWN"))
        let none = try await Program.run(["status", "abc"], environment: ["INSPECTD_DATABASE_URL": database.url])
        #expect(none.errors.hasSuffix("An id is a UUID, or its last twelve digits.\n"), "\(none.errors)")
    }

    /// The output of a command line that succeeds.
    private func text(_ arguments: [String]) async throws -> String {
        let done = try await Program.run(arguments)
        #expect(done.status == 0 && done.errors.isEmpty, "\(arguments)")
        return String(decoding: done.output, as: UTF8.self)
    }
}
