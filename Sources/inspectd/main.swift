import Analyzer
import Dispatch
import Foundation
import InspectCore

// A partner that closes its connection must not end the process.
signal(SIGPIPE, SIG_IGN)

let words = Array(CommandLine.arguments.dropFirst())

// The analyzer's warm parent forks, so it must stay single-threaded: it starts before anything that creates threads.
if words.first == AnalyzerCommand.name {
    AnalyzerCommand.run(Array(words.dropFirst()))
}

func exit(_ error: UsageError, _ command: Command? = nil) -> Never {
    let help = error.help ?? command.map { "inspectd \($0.name) --help" } ?? "inspectd --help"
    FileHandle.standardError.write(Data("inspectd: \(error.message)\nTry '\(help)'.\n".utf8))
    exit(2)
}

/// As in ``Arguments``, an unambiguous prefix is enough.
func isPrefix(_ word: String, of option: String) -> Bool { word.count > 2 && option.hasPrefix(word) }

/// A word that would have no effect is refused, as commands do.
func alone(_ option: String) {
    guard words.count == 1 else { exit(UsageError("'\(option)' takes no arguments")) }
}

guard let name = words.first else { exit(UsageError("a command is missing")) }
switch name {
case _ where name == "-h" || isPrefix(name, of: "--help"):
    alone(name)
    Output.text(Command.overview)
    exit(0)
case _ where name == "-v" || isPrefix(name, of: "--version"):
    alone(name)
    Output.line("inspectd \(Version.current)")
    exit(0)
default: break
}
let command: Command
do { command = try Command.named(name) } catch { exit(error) }
let rest = Array(words.dropFirst())
// Help works even if the rest of the line is invalid. If it is valid, -h may be another option's value.
if (try? Arguments(rest, options: command.table)) == nil,
    rest.prefix(while: { $0 != "--" }).contains(where: { ["-h", "--help"].contains($0) })
{
    Output.text(command.helpText)
    exit(0)
}

// The same for `inspect --usability`, without a second start of the program. A configured analyzer takes precedence.
if command.name == "inspect", words.contains("--usability"),
    !words.contains(where: { $0.hasPrefix("--analyzer") && !$0.hasPrefix("--analyzers") }),
    getenv("INSPECTD_ANALYZER") == nil
{
    _ = AnalyzerCommand.forked
}

// Commands hold credentials, images or both, which must not reach a core file or another process of the same user. Set
// after the fork, since the analyzers' parent has neither.
do { try CoreDumps.disable() } catch {
    FileHandle.standardError.write(Data("inspectd: \(error)\n".utf8))
    exit(1)
}

Task.detached {
    do {
        try await command.run(rest)
        exit(0)
    } catch let error as UsageError {
        exit(error, command)
    } catch let failure as Failure {
        exit(failure.status)
    } catch {
        FileHandle.standardError.write(Data("inspectd: \(error)\n".utf8))
        exit(1)
    }
}
dispatchMain()
