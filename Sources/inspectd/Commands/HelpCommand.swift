extension Command {
    static let help = Command(
        name: "help",
        summary: "prints the list of commands, or the options of one",
        synopsis: "[COMMAND]",
        takesOperands: true,
        options: [],
        body: { arguments in
            guard arguments.operands.count <= 1 else { throw UsageError("'help' takes one command") }
            guard let name = arguments.operands.first else { return Output.text(Command.overview) }
            Output.text(try Command.named(name).helpText)
        }
    )
}
