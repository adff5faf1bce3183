import Foundation

/// One subcommand: its name, options and action. Help, completion and the manual page come from these tables.
struct Command: Sendable {
    var name: String
    var summary: String
    /// The rest of the usage line.
    var synopsis: String
    /// Words that may follow the name, such as `list` in `inspectd face list`.
    var words: [String] = []
    /// Whether the command takes operands.
    var takesOperands = false
    /// The command's own options; ``Arguments/Option/help`` comes last in ``table``.
    var options: [Arguments.Option]
    /// Options that change what the command does, each with the options that would then have no effect.
    var excluded: [String: [String]] = [:]
    var body: @Sendable (Arguments) async throws -> Void

    /// Every subcommand, in the order in which the help text lists them.
    static let all: [Command] = [
        .inspect, .compare, .parse, .enqueue, .face, .person, .partner, .status, .review, .worker, .gateway, .console,
        .endpoint, .top, .audit,
        .migrate, .keys, .doctor, .bench, .verify, .help, .completion, .man,
    ]

    static func named(_ name: String) throws(UsageError) -> Command {
        guard let command = self.all.first(where: { $0.name == name }) else {
            let kind = name.hasPrefix("-") ? "option" : "command"
            throw UsageError("unknown \(kind) \(name)", help: "inspectd --help")
        }
        return command
    }

    /// Every option of the command.
    var table: [Arguments.Option] { self.options + [.help] }

    /// Runs the command with the words after its name.
    func run(_ words: [String]) async throws {
        let arguments = try Arguments(words, options: self.table)
        guard !arguments.has(Arguments.Option.help.name) else { return Output.text(self.helpText) }
        // `--csca *.cer` is one option's value followed by operands. The message does not repeat the operand: a file's name
        // may reveal whose document it shows.
        guard self.takesOperands || arguments.operands.isEmpty || arguments.has("csca") else {
            throw UsageError("'\(self.name)' takes options only")
        }
        try self.refuseUnused(arguments)
        try await self.body(try arguments.withInput(self.table))
    }

    /// An option without effect is refused: a caller who gives it expects one.
    private func refuseUnused(_ arguments: Arguments) throws(UsageError) {
        if let word = arguments.operands.first, self.words.contains(word) {
            for option in self.options where arguments.has(option.name) && !option.serves(word) {
                throw UsageError("--\(option.name) is for \(self.name) \(option.words.joined(separator: ", "))")
            }
        }
        for (name, others) in self.excluded where arguments.has(name) {
            guard let other = others.first(where: arguments.has) else { continue }
            throw UsageError("--\(other) has no effect with --\(name)")
        }
    }

    /// The text of `inspectd NAME --help`.
    var helpText: String {
        let usage = ["Usage: inspectd", self.name, self.synopsis].filter { !$0.isEmpty }.joined(separator: " ")
        var lines = [usage, "", self.summary, "", "Options:"]
        let width = (self.table.map(\.form.count).max() ?? 0) + 2
        for option in self.table {
            lines.append("  " + option.form.padding(toLength: width, withPad: " ", startingAt: 0) + option.description)
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// The text of `inspectd --help`.
    static var overview: String {
        var lines = ["Usage: inspectd COMMAND [OPTION...]", "", "Commands:"]
        let width = (self.all.map(\.name.count).max() ?? 0) + 2
        for command in self.all {
            lines.append("  " + command.name.padding(toLength: width, withPad: " ", startingAt: 0) + command.summary)
        }
        lines += ["", "Options:", "  -h, --help     prints this help", "  -v, --version  prints the version"]
        lines += ["", "inspectd COMMAND --help lists the options of one command."]
        return lines.joined(separator: "\n") + "\n"
    }
}

extension Arguments.Option {
    /// How the option is written, such as `-h, --help` or `--slots N`.
    var form: String {
        (self.letter.map { "-\($0), " } ?? "") + "--\(self.name)" + (self.value.map { " \($0)" } ?? "")
    }
}

/// The exit status of a command that ran but found a failure that it has already reported.
struct Failure: Error {
    var status: Int32 = 1
}

/// Standard output, line by line.
enum Output {
    static func line(_ data: Data) {
        self.write(data + [0x0A])
    }

    static func line(_ text: String) {
        self.line(Data(text.utf8))
    }

    static func text(_ text: String) {
        self.write(Data(text.utf8))
    }

    private static func write(_ data: Data) {
        do {
            try FileHandle.standardOutput.write(contentsOf: data)
        } catch {
            // The reader closed the pipe, as `head` does: the program ends as other programs do.
            signal(SIGPIPE, SIG_DFL)
            raise(SIGPIPE)
        }
    }
}
