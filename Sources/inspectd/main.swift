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

func exit(usage message: String) -> Never {
    FileHandle.standardError.write(Data("inspectd: \(message)\nTry 'inspectd --help'.\n".utf8))
    exit(2)
}

guard let name = words.first else { exit(usage: "a command is missing") }
if name == "--help" || name == "help" {
    Output.text(Command.overview)
    exit(0)
}
if name == "--version" {
    Output.line("inspectd \(Version.current)")
    exit(0)
}
guard let command = Command.all.first(where: { $0.name == name }) else { exit(usage: "unknown command \(name)") }
if words.contains("--help") {
    Output.text(command.help)
    exit(0)
}

// The same for a client that waits, without starting the program a second time. Whoever names another analyzer gets that.
if command.name == "inspect", words.contains("--usability"), !words.contains(where: { $0.hasPrefix("--analyzer") }),
    getenv("INSPECTD_ANALYZER") == nil
{
    _ = AnalyzerCommand.forked
}

// Commands hold credentials, pictures or both: none of it reaches a core file, or another process of the same user. After the
// fork, which is as open as the parent that a worker starts: it has neither.
do { try CoreDumps.disable() } catch {
    FileHandle.standardError.write(Data("inspectd: \(error)\n".utf8))
    exit(1)
}

Task.detached {
    do {
        try await command.run(Arguments(Array(words.dropFirst()), options: command.options))
        exit(0)
    } catch let error as UsageError {
        exit(usage: error.message)
    } catch is Failure {
        exit(1)
    } catch {
        FileHandle.standardError.write(Data("inspectd: \(error)\n".utf8))
        exit(1)
    }
}
dispatchMain()
