import Foundation
import Testing

/// ARCHITECTURE.md's invariants of the source code.
@Suite struct ArchitectureTests {
    private static let sources = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Sources")

    /// The Swift files of a target, with their text.
    private func files(_ target: String, of root: URL = Self.sources) throws -> [(name: String, text: String)] {
        let folder = root.appendingPathComponent(target)
        let names = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".swift") }
        #expect(!names.isEmpty)
        return try names.map { name in
            (name, try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8))
        }
    }

    /// Whether a line begins, behind its indentation, with one of these.
    private static func begins(_ line: Substring, _ starts: String...) -> Bool {
        let text = line.drop { $0 == " " || $0 == "\t" }
        return starts.contains { text.hasPrefix($0) }
    }

    /// The lines of a file that name something of the schema, without comments.
    private static func statements(_ text: String) -> [Substring] {
        guard text.contains("insp.") else { return [] }
        return text.split(separator: "\n").filter { $0.contains("insp.") && !Self.begins($0, "//") }
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

    /// Targets and what each depends on, as Package.swift has them.
    private func declared() throws -> [String: Set<String>] {
        let package = try String(
            contentsOf: Self.sources.deletingLastPathComponent().appendingPathComponent("Package.swift"),
            encoding: .utf8)
        var targets: [String: Set<String>] = [:]
        for piece in package.components(separatedBy: "arget(").dropFirst() {
            guard let name = piece.firstMatch(of: /^\s*name: "(\w+)"/)?.1 else { continue }
            let list = piece.firstMatch(of: /dependencies: \[([^\]]*)\]/)?.1 ?? ""
            targets[String(name)] = Set(list.matches(of: /"(\w+)"/).map { String($0.1) })
        }
        return targets
    }

    /// Those of them that stand in Sources and hold Swift.
    private func targets() throws -> [String: Set<String>] {
        try self.declared().filter { target, _ in
            let folder = Self.sources.appendingPathComponent(target).path
            guard FileManager.default.fileExists(atPath: folder) else { return false }
            return try FileManager.default.subpathsOfDirectory(atPath: folder).contains { $0.hasSuffix(".swift") }
        }
    }

    @Test func `A target imports only its dependencies in Package.swift, and the core none`() throws {
        let system: Set<String> = ["Foundation", "Glibc", "Dispatch", "Synchronization"]
        let targets = try self.targets()
        #expect(targets.count >= 13 && targets["InspectCore"] == [])
        for (target, dependencies) in targets {
            let given = target == "InspectCore" ? ["Foundation", "Synchronization"] : system
            let extra = try self.imports(target).subtracting(given).subtracting(dependencies)
            #expect(extra.isEmpty, "\(target) imports \(extra.sorted())")
        }
    }

    @Test func `Tests import only what their target declares in Package.swift`() throws {
        let system: Set<String> = [
            "Foundation", "FoundationNetworking", "FoundationXML", "Glibc", "Synchronization", "Testing",
        ]
        let tests = Self.sources.deletingLastPathComponent().appendingPathComponent("Tests")
        let targets = try self.declared().filter { target, _ in target.hasSuffix("Tests") }
        #expect(targets.count >= 14)
        for (target, dependencies) in targets {
            // Indented lines are other languages' programs.
            let imports = try self.files(target, of: tests).flatMap {
                $0.text.matches(of: /(?m)^(?:[@\w]+ )*import (\w+)/).map { String($0.1) }
            }
            let extra = Set(imports).subtracting(system).subtracting(dependencies)
            #expect(extra.isEmpty, "\(target) imports \(extra.sorted())")
        }
    }

    /// The package has no users of its modules: each declaration is `package`, or less.
    @Test func `Nothing is public`() throws {
        for target in try self.targets().keys {
            for file in try self.files(target) {
                // A regular expression over every line would take seconds.
                for line in file.text.split(separator: "\n") where Self.begins(line, "@", "public ", "open ") {
                    let isPublic = line.contains(/^\s*(?:@\w+ )*(?:public|open) (?!=)/)
                    #expect(!isPublic, "\(target)/\(file.name): \(line)")
                }
            }
        }
    }

    /// Initializers take what their type's properties explain, and the standard library explains its requirements.
    @Test func `What a module offers to others has a doc comment`() throws {
        let declaration = /^\s*(?:@[^ ]+ )*package (?!import|extension)/
        let witness = /package (?:static )?(?:init|var (?:\w*escription|customMirror)|func (?:encode|<|==))/
        for target in try self.targets().keys {
            for file in try self.files(target) {
                var above: Substring = ""
                for line in file.text.split(separator: "\n", omittingEmptySubsequences: false) {
                    let mayDeclare = Self.begins(line, "@", "package ")
                    // An attribute may stand on a line of its own, between a comment and what it explains.
                    if mayDeclare, line.contains(/^\s*@[^ ]+$/) { continue }
                    if mayDeclare, line.contains(declaration), !line.contains(witness) {
                        #expect(above.contains(/^\s*\/\/\//), "\(target)/\(file.name): \(line)")
                    }
                    above = line
                }
            }
        }
    }

    @Test func `Only the analyzer knows the code that decodes images and parses chips`() throws {
        for (target, dependencies) in try self.targets() where !["Analyzer", "Vision", "Chip"].contains(target) {
            #expect(!dependencies.contains("CVision") && !dependencies.contains("Chip"), "\(target)")
            if target != "inspectd" { #expect(!dependencies.contains("Vision"), "\(target)") }
        }
    }

    /// One place seals and opens, for all callers.
    @Test func `Custody does not know the queue, and keys are bytes nowhere else`() throws {
        let targets = try self.targets()
        #expect(targets["Custody"] == ["COpenSSL", "CPKCS11", "HTTPClient", "InspectCore", "Postgres"])
        for target in targets.keys where target != "Custody" {
            for file in try self.files(target) {
                #expect(!file.text.contains("CPKCS11"), "\(target)/\(file.name)")
                #expect(!file.text.contains("SecretKey"), "\(target)/\(file.name) handles a key's bytes")
            }
        }
        // These may hold keys; no other target may, not even through one of its dependencies.
        let holders: Set = [
            "Custody", "ObjectStore", "JobQueue", "Callbacks", "Inspection", "Gateway", "Console", "Benchmarks",
            "inspectd",
        ]
        #expect(holders.isSubset(of: targets.keys))
        for target in targets.keys where !holders.contains(target) {
            #expect(!self.reach(target, in: targets).contains("Custody"), "\(target) holds no key")
        }
        #expect(self.reach("new", in: targets.merging(["new": ["Inspection"]]) { $1 }).contains("Custody"))
    }

    /// What a target depends on, through others as well.
    private func reach(_ target: String, in targets: [String: Set<String>]) -> Set<String> {
        var found: Set<String> = []
        var open = targets[target] ?? []
        while let next = open.popFirst() {
            if found.insert(next).inserted { open.formUnion(targets[next] ?? []) }
        }
        return found
    }

    @Test func `Only the program reads the environment, and the core does no input or output`() throws {
        for target in try self.targets().keys where target != "inspectd" {
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

    /// The numbered scripts' tables. A target uses functions and views.
    @Test func `Tables are named in Migrations alone`() throws {
        let folder = Self.sources.deletingLastPathComponent().appendingPathComponent("Migrations")
        let tables = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
            .filter { $0.hasSuffix(".sql") && !$0.contains("functions/") }
            .flatMap { name in
                try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
                    .matches(of: /CREATE TABLE insp\.(\w+)/).map { String($0.1) }
            }
        #expect(tables.count > 40)
        // Settings and texts may have a table's name.
        let texts: Set = ["current_setting('insp.duty", "Stable code; insp.error_code"]
        // Benchmarks prepare their own database; the migrator checks for workers of another version before any function
        // exists.
        for target in try self.targets().keys where target != "Benchmarks" {
            for file in try self.files(target) where file.name != "Migrator.swift" {
                for line in Self.statements(file.text) {
                    for found in line.matches(of: /insp\.(\w+)(?!\w|\()/) where tables.contains(String(found.1)) {
                        let isText = texts.contains { line[..<found.range.upperBound].hasSuffix($0) }
                        #expect(isText, "\(target)/\(file.name) names insp.\(found.1)")
                    }
                }
            }
        }
    }

    /// Another module asks the one that calls it.
    @Test func `A function of the database is called by one module`() throws {
        var callers: [String: Set<String>] = [:]
        // Benchmarks drive the queue past its modules; what the program names are texts for operators.
        for target in try self.targets().keys where target != "Benchmarks" && target != "inspectd" {
            for file in try self.files(target) {
                for line in Self.statements(file.text) {
                    for found in line.matches(of: /insp\.(\w+)\(/) {
                        callers[String(found.1), default: []].insert(target)
                    }
                }
            }
        }
        #expect(callers.count > 100)
        for (function, targets) in callers {
            #expect(targets.count == 1, "\(targets.sorted()) call insp.\(function)")
        }
    }

    /// A command asks the module that owns the functions.
    @Test func `The program's commands send no SQL of their own`() throws {
        for file in try self.files("inspectd") {
            for word in [".query(", ".execute(", ".pipeline(", "PostgresStatement("] {
                #expect(!file.text.contains(word), "inspectd/\(file.name): \(word)")
            }
        }
    }

    /// On the wire, in metrics and in logs a name is a string of its own: a case or a type may be renamed.
    @Test func `No name is made of a case's or a type's`() throws {
        var sources: [(name: String, text: String)] = []
        for target in try self.targets().keys {
            for file in try self.files(target) {
                for word in ["\\(type(of:", ".self)\"", "String(describing:", "String(reflecting:"] {
                    #expect(!file.text.contains(word), "\(target)/\(file.name): \(word)")
                }
                sources.append(("\(target)/\(file.name)", file.text))
            }
        }
        let names = CaseNames(sources)
        #expect(names.count > 1500 && names.misread == [])
        #expect(names.found == [])
    }

    /// Only so can a simulation drive them: the caller passes the time and the random numbers.
    @Test func `Machines and their values have no clock, draw nothing and wait for nothing`() throws {
        let files = try self.targets().keys.flatMap { try self.files($0) }
        let machines = files.compactMap { $0.name.firstMatch(of: /(\w+Machine)\.swift$/)?.1 }.map(String.init)
        #expect(machines.count >= 2)
        for name in machines + ["QueueFloors", "OutsideJobs", "CallbackLanes", "DatabaseHealth"] {
            let parts = files.filter { $0.name.contains("\(name).swift") || $0.name.contains("\(name)+") }
            #expect(!parts.isEmpty, "\(name)")
            for file in parts {
                for word in [".now", "Date()", ".random(", "await ", "autoclosure"] {
                    #expect(!file.text.contains(word), "\(file.name): \(word)")
                }
            }
        }
    }

    /// The same for cases: what is stored, sent and logged stands in quotation marks. Keys of documents are members' names.
    @Test func `Each case of an enumeration of strings says its string`() throws {
        var count = 0
        for target in try self.targets().keys {
            for file in try self.files(target) {
                for found in file.text.matches(of: /enum (\w+): String[^{]*\{/) where found.1 != "CodingKeys" {
                    var depth = 1
                    for line in file.text[found.range.upperBound...].split(separator: "\n") {
                        let text = line.drop { $0 == " " }
                        if depth == 1, text.hasPrefix("case "), !text.hasPrefix("case .") {
                            #expect(text.contains(" = \""), "\(target)/\(file.name): \(text)")
                            count += 1
                        }
                        depth += line.count { $0 == "{" } - line.count { $0 == "}" }
                        if depth <= 0 { break }
                    }
                }
            }
        }
        #expect(count > 300)
    }

    /// What failed once can be run again with the seed that was printed.
    @Test func `Tests draw their numbers from a seed`() throws {
        let tests = Self.sources.deletingLastPathComponent().appendingPathComponent("Tests")
        for name in try FileManager.default.subpathsOfDirectory(atPath: tests.path)
        where name.hasSuffix(".swift") && !name.hasSuffix("TestRandom.swift")
            && !name.hasSuffix("ArchitectureTests.swift")
        {
            let text = try String(contentsOf: tests.appendingPathComponent(name), encoding: .utf8)
            for word in [".shuffled()", ".randomElement()", "Bool.random()", "SystemRandom"] {
                #expect(!text.contains(word), "\(name): \(word)")
            }
            for found in text.matches(of: /\.random\(in:/) {
                #expect(
                    text[found.range.upperBound...].prefix(120).contains("using: &"), "\(name) draws without a seed")
            }
        }
    }

    /// `--filter` chooses by it, and so does `Tests/run.sh`, which repeats no suite whose faults count at once.
    @Test func `No two suites have the same name, and none has another one`() throws {
        let tests = Self.sources.deletingLastPathComponent().appendingPathComponent("Tests")
        var files: [String: String] = [:]
        for name in try FileManager.default.subpathsOfDirectory(atPath: tests.path) where name.hasSuffix(".swift") {
            let text = try String(contentsOf: tests.appendingPathComponent(name), encoding: .utf8)
            for found in text.matches(of: /\b(?:struct|class|actor|enum) ([A-Za-z0-9]+Tests)\b/) {
                let other = files.updateValue(name, forKey: String(found.1))
                #expect(other == nil, "\(found.1) is in \(other ?? "") and in \(name)")
            }
            #expect(!text.contains("@Suite(\u{22}"), "\(name): the suite is known by its type's name")
        }
        #expect(files.count > 150)
    }

    /// It says what holds, and the log of a run reads as a list of that.
    @Test func `The name of a test is a sentence`() throws {
        let tests = Self.sources.deletingLastPathComponent().appendingPathComponent("Tests")
        var count = 0
        for name in try FileManager.default.subpathsOfDirectory(atPath: tests.path) where name.hasSuffix(".swift") {
            let text = try String(contentsOf: tests.appendingPathComponent(name), encoding: .utf8)
            let lines = text.split(separator: "\n")
            for (index, line) in lines.enumerated() where line.drop(while: { $0 == " " }).hasPrefix("@Test") {
                let signature = lines[index...].first { $0.contains(#/^ *(?:@Test\b.* )?func /#) } ?? line
                #expect(signature.contains(/func `[A-Z0-9][^`]* [^`]*[^`.]`/), "\(name): \(signature)")
                count += 1
            }
        }
        #expect(count > 900)
    }

    /// Were it an equality, a plan that is made while no job runs would find the lease by its fence: all leases are read along the
    /// index `lease_worker`.
    @Test func `No lease is found by its fence`() throws {
        let folder = Self.sources.deletingLastPathComponent().appendingPathComponent("Migrations/functions")
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(files.count > 20)
        for name in files {
            let text = try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
            // Whatever the lease is called there, also where it is updated or deleted.
            var aliases: Set<String> = ["lease"]
            for found in text.matches(of: /insp\.lease (?:AS )?(\w+)/) { aliases.insert(String(found.1)) }
            for found in text.matches(of: /(\w+)\.fence (?:=|IN\b)/) {
                #expect(!aliases.contains(String(found.1)), "\(name): \(found.0)")
            }
            for found in text.matches(of: /\s= (\w+)\.fence\b/) {
                #expect(!aliases.contains(String(found.1)), "\(name): \(found.0)")
            }
        }
    }

    @Test(arguments: [("README.md", 120), ("ARCHITECTURE.md", 250)])
    func `The pages that everybody reads are short`(page: String, limit: Int) throws {
        let file = Self.sources.deletingLastPathComponent().appendingPathComponent(page)
        let text = try String(contentsOf: file, encoding: .utf8)
        #expect(text.hasSuffix("\n"))
        #expect(text.split(separator: "\n", omittingEmptySubsequences: false).count - 1 <= limit)
    }

    @Test func `ARCHITECTURE.md has every target, and the tests that it names exist`() throws {
        let root = Self.sources.deletingLastPathComponent()
        let page = try String(contentsOf: root.appendingPathComponent("ARCHITECTURE.md"), encoding: .utf8)
        for target in try self.targets().keys { #expect(page.contains("`\(target)`"), "\(target)") }
        let tests = root.appendingPathComponent("Tests")
        let files = try FileManager.default.subpathsOfDirectory(atPath: tests.path)
        let suites = try files.filter { $0.hasSuffix("Tests.swift") }.flatMap { name in
            try String(contentsOf: tests.appendingPathComponent(name), encoding: .utf8)
                .matches(of: /struct (\w+Tests)\b/).map { String($0.1) }
        }
        let named = page.matches(of: /`(?:Tests\/)?(\w+Tests|[\w-]+\.(?:sh|py))[ `]/).map { String($0.1) }
        #expect(named.count > 100)
        for name in named { #expect(suites.contains(name) || files.contains(name), "\(name)") }
    }
}
