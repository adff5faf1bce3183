import Foundation
import InspectCore

extension Command {
    static let man = Command(
        name: "man",
        summary: "prints the manual page, for section 1",
        synopsis: "",
        options: [],
        body: { _ in Output.text(ManualPage.text) }
    )
}

/// `inspectd(1)` in the macros of man(7), generated from the tables of ``Command``.
private enum ManualPage {
    static var text: String {
        var lines = [
            ".\\\" made by: inspectd man",
            ".TH INSPECTD 1 \"\" \"inspectd \(self.escaped(Version.current))\" \"User Commands\"",
            ".SH NAME",
            "inspectd \\- inspects identity documents and faces, from files or from a queue in PostgreSQL",
            ".SH SYNOPSIS", ".B inspectd", ".I COMMAND", ".RI [ OPTION \" ...]",
            ".SH DESCRIPTION",
            "Results are JSON on standard output. Logs are JSON lines on standard error and contain no personal data.",
            "Brackets in an option's description contain its default, or the environment variable with the same effect.",
            "Options may appear anywhere;",
            self.escaped("--name value and --name=value mean the same, and an unambiguous prefix of a name is enough."),
            ".SH COMMANDS",
        ]
        for command in Command.all {
            lines += [".SS \"inspectd \(self.escaped(command.name))\"", ".nf"]
            let words = ["inspectd", command.name, command.synopsis].filter { !$0.isEmpty }.joined(separator: " ")
            lines += words.split(separator: "\n").map { self.escaped($0.drop { $0 == " " }) }
            lines += [".fi", ".PP", self.escaped(command.summary)]
            for option in command.table {
                lines += [".TP", "\\fB" + self.escaped(option.form) + "\\fR", self.escaped(option.description)]
            }
        }
        lines += [
            ".SH EXIT STATUS", ".TP", "0", "Success.", ".TP", "1", "The command failed.", ".TP", "2",
            "The command line is invalid.",
        ]
        return lines.joined(separator: "\n") + "\n"
    }

    /// Escapes characters that troff interprets: a full stop or quote at a line's start, backslashes, and hyphens, which
    /// would become typographic ones that a shell does not accept.
    private static func escaped(_ text: some StringProtocol) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": escaped += "\\e"
            case "-": escaped += "\\-"
            case "'": escaped += "\\(aq"
            case "\"": escaped += "\\(dq"
            default:
                escaped += scalar.isASCII ? String(scalar) : "\\[u\(String(format: "%04X", scalar.value))]"
            }
        }
        return escaped.hasPrefix(".") ? "\\&" + escaped : escaped
    }
}
