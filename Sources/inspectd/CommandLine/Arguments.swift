/// A command line parsed as GNU `getopt_long` does: options may stand anywhere, `--name value` and `--name=value` mean the
/// same, an unambiguous prefix of a name is enough, and `--` ends the options.
struct Arguments {
    /// One option that a command knows.
    struct Option: Sendable {
        var name: String
        /// The letter of its short form, such as `h` of `-h`.
        var letter: Character?
        /// The value's name in the help text; `nil` for a switch.
        var value: String?
        var help: String
        var repeats = false
        /// Whether `-` stands for the next line of standard input: other users see a command line in the list of processes.
        var isPersonal = false
        /// The command's words that take it; empty: all.
        var words: [String] = []

        /// The help with the words that take the option.
        var description: String {
            let help = self.isPersonal ? self.help + "; -: the next line of standard input" : self.help
            return self.words.isEmpty ? help : self.words.joined(separator: ", ") + ": " + help
        }

        /// The option with a value that other users must not see.
        var personal: Option {
            var option = self
            option.isPersonal = true
            return option
        }

        /// The option, restricted to some of the command's words.
        func of(_ words: String...) -> Option {
            var option = self
            option.words = words
            return option
        }

        func serves(_ word: String?) -> Bool { self.words.isEmpty || word.map(self.words.contains) ?? false }

        static func flag(_ name: String, _ help: String) -> Option { Option(name: name, value: nil, help: help) }
        static func value(_ name: String, _ value: String, _ help: String) -> Option {
            Option(name: name, value: value, help: help)
        }
        static func list(_ name: String, _ value: String, _ help: String) -> Option {
            Option(name: name, value: value, help: help, repeats: true)
        }

        /// The purpose for which an operator or reviewer reads personal data.
        static let purpose = Option.value(
            "purpose", "P", "purpose of an operator's access, recorded: review, support, export or delivery")

        /// The one option that every command has.
        static let help = Option(name: "help", letter: "h", value: nil, help: "prints this help")
    }

    private var values: [String: [String]] = [:]
    private(set) var operands: [String] = []

    init(_ words: [String], options: [Option]) throws(UsageError) {
        var words = words[...]
        while let word = words.popFirst() {
            if word == "--" {
                self.operands += words
                return
            }
            guard word.hasPrefix("--") else {
                guard word != "-", word.hasPrefix("-") else {
                    self.operands.append(word)
                    continue
                }
                guard let option = options.first(where: { $0.letter.map { "-\($0)" } == word }) else {
                    throw UsageError("unknown option \(word)")
                }
                self.values[option.name] = []
                continue
            }
            let pieces = word.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let option = try Self.resolve(String(pieces[0]), in: options)
            if option.value == nil {
                guard pieces.count == 1 else { throw UsageError("--\(option.name) takes no value") }
                self.values[option.name] = []
            } else {
                guard let value = pieces.count == 2 ? String(pieces[1]) : words.popFirst() else {
                    throw UsageError("--\(option.name) needs a value")
                }
                guard option.repeats || self.values[option.name] == nil else {
                    throw UsageError("--\(option.name) was given twice")
                }
                self.values[option.name, default: []].append(value)
            }
        }
    }

    /// The same with lines of standard input instead of each `-` that stands for one.
    func withInput(_ options: [Option]) throws(UsageError) -> Arguments {
        var arguments = self
        for option in options where option.isPersonal && self[option.name] == "-" {
            guard let line = readLine() else {
                throw UsageError("--\(option.name) - needs a line of standard input")
            }
            arguments.values[option.name] = [line]
        }
        return arguments
    }

    private static func resolve(_ name: String, in options: [Option]) throws(UsageError) -> Option {
        if let exact = options.first(where: { $0.name == name }) { return exact }
        let matching = options.filter { !name.isEmpty && $0.name.hasPrefix(name) }
        guard let only = matching.first else { throw UsageError("unknown option --\(name)") }
        guard matching.count == 1 else {
            throw UsageError("--\(name) could be \(matching.map { "--\($0.name)" }.joined(separator: ", "))")
        }
        return only
    }

    func has(_ name: String) -> Bool { self.values[name] != nil }
    subscript(_ name: String) -> String? { self.values[name]?.first }
    func all(_ name: String) -> [String] { self.values[name] ?? [] }

    /// The value of a whole-number option within a range.
    func integer(_ name: String, in range: ClosedRange<Int>) throws(UsageError) -> Int? {
        guard let text = self[name] else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw UsageError(
                "--\(name) takes a whole number from \(range.lowerBound) to \(range.upperBound), not \(text)")
        }
        return number
    }
}

/// The command line is invalid: exit status 2.
struct UsageError: Error {
    var message: String
    /// The command line that shows help; `nil`: the help of the given command.
    var help: String?

    init(_ message: String, help: String? = nil) {
        self.message = message
        self.help = help
    }
}
