import Foundation

/// One subcommand: what it is called, what it takes, and what it does.
struct Command: Sendable {
    var name: String
    var summary: String
    /// What follows the name in the usage line.
    var synopsis: String
    var options: [Arguments.Option]
    var run: @Sendable (Arguments) async throws -> Void

    /// Every subcommand, in the order in which the help text lists them.
    static let all: [Command] = [
        .inspect, .compare, .parse, .enqueue, .face, .status, .worker, .gateway, .top, .migrate, .doctor, .bench,
        .verify,
    ]

    /// The text of `inspectd NAME --help`.
    var help: String {
        var lines = ["Usage: inspectd \(self.name) \(self.synopsis)", "", self.summary, "", "Options:"]
        let shown = self.options.map { option in
            (option.value.map { "--\(option.name) \($0)" } ?? "--\(option.name)", option.help)
        }
        let width = (shown.map(\.0.count).max() ?? 0) + 2
        for (name, help) in shown + [("--help", "prints this text")] {
            lines.append("  " + name.padding(toLength: max(width, name.count), withPad: " ", startingAt: 0) + help)
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// The text of `inspectd --help`.
    static var overview: String {
        var lines = ["Usage: inspectd COMMAND [OPTION...]", "", "Commands:"]
        for command in self.all {
            lines.append("  " + command.name.padding(toLength: 10, withPad: " ", startingAt: 0) + command.summary)
        }
        lines += ["", "inspectd COMMAND --help tells the options of one command."]
        return lines.joined(separator: "\n") + "\n"
    }
}

/// The exit status of a command that ran but found a failure that it has already reported.
struct Failure: Error {}

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
            // Whoever reads has seen enough, as `head` has: the program ends the way that others do.
            signal(SIGPIPE, SIG_DFL)
            raise(SIGPIPE)
        }
    }
}
