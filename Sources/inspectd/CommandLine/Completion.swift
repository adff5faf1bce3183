/// Shell completion, generated from the tables of ``Command``.
enum Completion {
    static let shells: [(name: String, script: @Sendable () -> String)] = [
        ("bash", bash), ("zsh", zsh), ("fish", fish),
    ]

    /// The words that may follow a command's name; after `help`, every command.
    private static func words(of command: Command) -> String {
        (command.name == "help" ? Command.all.map(\.name) : command.words).joined(separator: " ")
    }

    /// The words that take only some of the command's options.
    private static func wordsWithOptions(of command: Command) -> [String] {
        command.words.filter { word in command.table.contains { !$0.serves(word) } }
    }

    /// Independent of the package bash-completion, so that it works wherever it is sourced.
    private static func bash() -> String {
        let cases = Command.all.map { command in
            func names(_ belongs: (Arguments.Option) -> Bool) -> String {
                command.table.filter(belongs).map { "--\($0.name)" }.joined(separator: " ")
            }
            let own = Self.wordsWithOptions(of: command).map { word in
                "        [ \"${COMP_WORDS[2]}\" != \(word) ] || options='\(names { $0.serves(word) })'"
            }
            return """
                    \(command.name))
                        words='\(Self.words(of: command))'
                        options='\(names { _ in true })'
                \(own.joined(separator: "\n    "))
                        files='\(names { $0.operand == .file })'
                        folders='\(names { $0.operand == .folder })'
                        texts='\(names { $0.operand == .text })'
                        ;;
                """
        }
        return """
            # bash completion for inspectd, made by: inspectd completion bash
            _inspectd() {
                local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
                local words='' options='' files='' folders='' texts=''
                COMPREPLY=()
                if [ "$COMP_CWORD" -eq 1 ]; then
                    compopt +o default 2>/dev/null
                    COMPREPLY=($(compgen -W '\(Command.all.map(\.name).joined(separator: " ")) --help --version' -- "$word"))
                    return
                fi
                # --option=value comes as three words.
                if [ "$word" = = ]; then
                    word=''
                elif [ "$previous" = = ]; then
                    previous=${COMP_WORDS[COMP_CWORD - 2]}
                fi
                case ${COMP_WORDS[1]} in
            \(cases.joined(separator: "\n"))
                esac
                case " $files " in *" $previous "*) return ;; esac
                case " $folders " in *" $previous "*) compopt +o default -o dirnames 2>/dev/null; return ;; esac
                case " $texts " in *" $previous "*) compopt +o default 2>/dev/null; return ;; esac
                if [[ $word == -* ]]; then
                    COMPREPLY=($(compgen -W "$options" -- "$word"))
                elif [ "$COMP_CWORD" -eq 2 ] && [ -n "$words" ]; then
                    compopt +o default 2>/dev/null
                    COMPREPLY=($(compgen -W "$words" -- "$word"))
                fi
            }
            complete -o default -F _inspectd inspectd

            """
    }

    private static func zsh() -> String {
        func quoted(_ text: String) -> String { "'" + text.replacing("'", with: #"'\''"#) + "'" }
        func escaped(_ text: String, _ characters: String) -> String {
            text.map { characters.contains($0) ? "\\\($0)" : "\($0)" }.joined()
        }
        let commands = Command.all.map { quoted("\($0.name):\(escaped($0.summary, ":"))") }
        func options(of command: Command, _ word: String? = nil) -> [String] {
            command.table.filter { word == nil || $0.serves(word) }.map { option in
                let help = "[\(escaped(option.description, "[]\\"))]"
                let value =
                    switch option.operand {
                    case .none: ""
                    case .file: "=\(help):\(escaped(option.value ?? "", ":[]")):_files"
                    case .folder: "=\(help):\(escaped(option.value ?? "", ":[]")):_directories"
                    case .text: "=\(help):\(escaped(option.value ?? "", ":[]")): "
                    }
                guard let letter = option.letter else {
                    return quoted((option.repeats ? "*" : "") + "--\(option.name)" + (value.isEmpty ? help : value))
                }
                return "'(-\(letter) --\(option.name))'{-\(letter),--\(option.name)}" + quoted(help)
            }
        }
        let cases = Command.all.map { command in
            let operand =
                Self.words(of: command).isEmpty
                ? (command.takesOperands ? ["'*:file:_files'"] : [])
                : [quoted("1:word:(\(Self.words(of: command)))")]
            func arguments(_ word: String? = nil) -> String {
                "_arguments \((options(of: command, word) + operand).joined(separator: " ")) ;;"
            }
            let words = Self.wordsWithOptions(of: command)
            guard !words.isEmpty else { return "    \(command.name)) \(arguments())" }
            let own = words.map { "        \($0)) \(arguments($0))\n" }.joined()
            return "    \(command.name)) case $words[2] in\n\(own)        *) \(arguments())\n        esac ;;"
        }
        return """
            #compdef inspectd
            # zsh completion for inspectd, made by: inspectd completion zsh
            _inspectd() {
                if (( CURRENT == 2 )); then
                    local -a commands=(\(commands.joined(separator: " ")))
                    _describe command commands
                    return
                fi
                shift words
                (( CURRENT-- ))
                case $words[1] in
            \(cases.joined(separator: "\n"))
                esac
            }
            if [ "$funcstack[1]" = _inspectd ]; then _inspectd "$@"; else compdef _inspectd inspectd; fi

            """
    }

    private static func fish() -> String {
        func quoted(_ text: String) -> String {
            "'" + text.replacing("\\", with: #"\\"#).replacing("'", with: #"\'"#) + "'"
        }
        var lines = ["# fish completion for inspectd, made by: inspectd completion fish"]
        for command in Command.all {
            lines.append(
                "complete -c inspectd -f -n __fish_use_subcommand -a \(command.name) -d \(quoted(command.summary))")
            let seen = "-n '__fish_seen_subcommand_from \(command.name)'"
            for option in command.table {
                let value =
                    switch option.operand {
                    case .none: "-f"
                    case .file: "-r -F"
                    case .folder: "-x -a '(__fish_complete_directories)'"
                    case .text: "-x"
                    }
                let letter = option.letter.map { "-s \($0) " } ?? ""
                let words = option.words.joined(separator: " ")
                let condition =
                    words.isEmpty ? seen : seen.dropLast() + "; and __fish_seen_subcommand_from \(words)'"
                lines.append(
                    "complete -c inspectd \(condition) \(letter)-l \(option.name) \(value) "
                        + "-d \(quoted(option.description))")
            }
            if !Self.words(of: command).isEmpty {
                lines.append("complete -c inspectd -f \(seen) -a \(quoted(Self.words(of: command)))")
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }
}

extension Arguments.Option {
    fileprivate enum Operand { case none, file, folder, text }

    /// The completion of the option's value.
    fileprivate var operand: Operand {
        guard let value else { return .none }
        if value == "DIR" { return .folder }
        return value.hasPrefix("FILE") || value == "PATH" ? .file : .text
    }
}
