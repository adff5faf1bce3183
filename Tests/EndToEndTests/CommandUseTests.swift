import Foundation
import TestSupport
import Testing

/// The command lines in scripts, tests and deployments. Some run seldom, and an option that is gone ends the program before it begins.
@Suite struct CommandUseTests {
    /// What follows a command's name, up to the end of its words: a part of the text.
    private typealias Use = (command: String, words: Substring)
    private typealias Found = (Substring, Substring, Substring)

    private static func uses(in text: String, of names: [String]) throws -> [Use] {
        let name = #"["']?(\#(names.joined(separator: "|")))(?![\w-])"#
        // A comma: a list of words in Python.
        let call = try Regex(#"(?:inspectd|program|confined \w+)["'}]*(,?)\s+\#(name)"#, as: Found.self)
        let list = try Regex(#"(?:command|args):\s*(\[|- )\s*\#(name)"#, as: Found.self)
        let calls = text.matches(of: call).map { match -> Use in
            let rest = text[match.range.upperBound...]
            return (String(match.2), Self.words(of: rest, until: match.1.isEmpty ? "\n|;&<>`" : ""))
        }
        return calls
            + text.matches(of: list).map { match -> Use in
                let rest = text[match.range.upperBound...]
                guard match.1 != "[" else { return (String(match.2), Self.words(of: rest, until: "")) }
                let end = rest.firstMatch(of: /\n(?!\s*[-#])/)?.range.lowerBound ?? rest.endIndex
                return (String(match.2), rest[..<end])
            }
    }

    /// Up to one of the characters, or the bracket that closes what was opened before. A line may go on after `\`.
    private static func words(of text: Substring, until ends: String) -> Substring {
        var depth = 0
        var last: Character?
        for index in text.indices {
            let character = text[index]
            if "([{".contains(character) { depth += 1 }
            if ")]}".contains(character) { depth -= 1 }
            let goesOn = character == "\n" && last == "\\"
            guard depth >= 0, goesOn || !ends.contains(character) else { return text[..<index] }
            last = character
        }
        return text
    }

    private static func options(_ use: Use) -> [Substring] {
        use.words.matches(of: /(?:^|[^\w-])--([a-z][a-z0-9-]*)/).map(\.1)
    }

    @Test func `Scripts and deployments give each command only options that it has`() async throws {
        let names = try await CommandTable.names()
        var count = 0
        for folder in ["Tests", "deploy"] {
            let path = "\(ScratchDatabase.root)/\(folder)"
            for file in try FileManager.default.subpathsOfDirectory(atPath: path) {
                guard ["py", "service", "sh", "yaml"].contains((file as NSString).pathExtension) else { continue }
                let text = try String(contentsOfFile: "\(path)/\(file)", encoding: .utf8)
                for use in try Self.uses(in: text, of: names) {
                    let table = try await CommandTable.options(of: use.command)
                    for option in Self.options(use) where !table.contains(String(option)) {
                        let line = text[..<option.startIndex].count { $0 == "\n" } + 1
                        Issue.record("\(folder)/\(file):\(line): \(use.command) has no option --\(option)")
                    }
                    count += Self.options(use).count
                }
            }
        }
        #expect(count > 150)
    }

    @Test(arguments: [
        (#""$bin/inspectd" worker --slots 2 2>"$log" --other"#, ["slots"]),
        ("inspectd worker --slots 2 \\\n    --lanes high\nother --option", ["slots", "lanes"]),
        (#"id=$("$inspectd" enqueue --front "$(a b)" --back x) --other"#, ["front", "back"]),
        (##"run([self.program, "worker", "--slots", "1",\##n    "--lanes=x"], "--other")"##, ["slots", "lanes"]),
        ("command: [worker, --slots, \"1\"]\nother: --option", ["slots"]),
        ("args:\n  - worker\n  - --slots\n  - 1\n  # Why.\n  - --lanes=x\nother: --option", ["slots", "lanes"]),
        ("ExecStart=/usr/local/bin/inspectd worker --slots 1\nOther=--option", ["slots"]),
    ])
    func `A command's options are found as each kind of file writes them`(text: String, options: [String]) throws {
        let uses = try Self.uses(in: text, of: ["enqueue", "worker"])
        #expect(uses.count == 1)
        #expect(uses.flatMap(Self.options).map(String.init) == options)
    }
}
