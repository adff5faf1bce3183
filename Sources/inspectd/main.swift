import Analyzer
import Dispatch
import Foundation
import InspectCore

// A partner that hangs up must not end the process.
signal(SIGPIPE, SIG_IGN)

let words = Array(CommandLine.arguments.dropFirst())

// The analyzer's warm parent forks, so it must stay single-threaded: it is started before anything that makes threads.
if words.first == AnalyzerCommand.name {
    AnalyzerCommand.run(Array(words.dropFirst()))
}

func exit(_ error: UsageError, _ command: Command? = nil) -> Never {
    let help = error.help ?? command.map { "inspectd \($0.name) --help" } ?? "inspectd --help"
    FileHandle.standardError.write(Data("inspectd: \(error.message)\nTry '\(help)'.\n".utf8))
    exit(2)
}

guard let name = words.first else { exit(UsageError("a command is missing")) }
switch name {
case "-h", "--help":
    Output.text(Command.overview)
    exit(0)
case "-v", "--version":
    Output.line("inspectd \(Version.current)")
    exit(0)
default: break
}
let command: Command
do { command = try Command.named(name) } catch { exit(error) }
let rest = Array(words.dropFirst())
// Also where the rest of the line is wrong, for that is when somebody asks.
if rest.prefix(while: { $0 != "--" }).contains(where: { ["-h", "--help"].contains($0) }) {
    Output.text(command.helpText)
    exit(0)
}

// The same for a client that waits, without starting the program a second time. Whoever names another analyzer gets that.
if command.name == "inspect", words.contains("--usability"), !words.contains(where: { $0.hasPrefix("--analyzer") }),
    getenv("INSPECTD_ANALYZER") == nil
{
    _ = AnalyzerCommand.forked
}

// Commands hold credentials, images or both: none of it reaches a core file, or another process of the same user. After the
// fork, which is as open as the parent that a worker starts: it has neither.
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
    } catch is Failure {
        exit(1)
    } catch {
        FileHandle.standardError.write(Data("inspectd: \(error)\n".utf8))
        exit(1)
    }
}
dispatchMain()
