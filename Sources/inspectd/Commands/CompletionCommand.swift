extension Command {
    static let completion = Command(
        name: "completion",
        summary: "prints the completion script of a shell: bash, zsh or fish",
        synopsis: Completion.shells.map(\.name).joined(separator: " | "),
        words: Completion.shells.map(\.name),
        takesOperands: true,
        options: [],
        body: { arguments in
            guard arguments.operands.count == 1,
                let shell = Completion.shells.first(where: { $0.name == arguments.operands[0] })
            else { throw UsageError("'completion' needs bash, zsh or fish") }
            Output.text(shell.script())
        }
    )
}
