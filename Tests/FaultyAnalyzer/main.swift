// An analyzer that misbehaves on purpose, for the tests of the pool and of the whole worker.
//
// Started by a pool (socket as descriptor 3) it speaks the analyzer's real protocol. What a stage does:
//   1. `--fault STAGE=FAULT` names a fault for a stage, `--every N` limits it to every Nth call of such a stage among
//      the processes of one parent (default 1: every call), `--when TEXT` to requests that contain the text; `--fault` may be
//      given several times;
//   2. a stage whose name is that of a fault (see Fault) commits it;
//   3. any other stage answers with `--reply STAGE=TEXT`, else with `--reply TEXT`, else with the request's bytes, after
//      `--delay MILLISECONDS`; `{sum}` in a text stands for a number that follows from the bytes of the parts.
// Arguments that are no options are ignored, so that it can stand in for `inspectd analyzer`:
//   faulty-analyzer analyzer --fault document=segfault --every 3 --reply '{}'
//
// `--start fail|exit|slow|thread`: raises an error, exits, takes a minute, or leaves a second thread while starting.
//
// Started by hand:
//   faulty-analyzer --own-pool COUNT   owns a pool of itself, prints the pids (parent first) and waits to be killed
//   faulty-analyzer --measure          prints what forks and round trips take, as one JSON line
import Analyzer
import Glibc
import InspectCore

var engine = FaultyEngine()
var start = ""
var arguments = Array(CommandLine.arguments.dropFirst())
while !arguments.isEmpty {
    let option = arguments.removeFirst()
    guard option.hasPrefix("--") else { continue }
    if option == "--measure" { measure() }
    guard !arguments.isEmpty else { usage("\(option) needs a value") }
    let value = arguments.removeFirst()
    let pair = value.split(separator: "=", maxSplits: 1).map(String.init)
    switch option {
    case "--fault":
        guard pair.count == 2, let fault = Fault(rawValue: pair[1]) else { usage("no such fault: \(value)") }
        engine.faults[pair[0]] = fault
    case "--every":
        guard let number = Int(value), number > 0 else { usage("not a number: \(value)") }
        engine.every = number
    case "--delay":
        guard let milliseconds = UInt32(value) else { usage("not a number: \(value)") }
        engine.delayMs = milliseconds
    case "--when": engine.marker = value
    case "--reply":
        if pair.count == 2, !value.hasPrefix("{") {
            engine.replies[pair[0]] = pair[1]
        } else {
            engine.reply = value
        }
    case "--start": start = value
    case "--own-pool":
        guard let analyzers = Int(value), analyzers > 0 else { usage("not a number: \(value)") }
        ownPool(analyzers: analyzers)
    default: usage("no such option: \(option)")
    }
}

AnalyzerServer.run {
    switch start {
    case "fail": throw InspectError(.modelUnavailable, "no such file: model.dat")
    case "exit":
        complain("cannot open shared object\u{1B}[31m")
        exit(3)
    case "slow": sleep(60)
    case "thread": startThread()
    default: break
    }
    return engine
}

func usage(_ message: String) -> Never {
    complain(message)
    exit(2)
}

func complain(_ message: String) {
    let line = "faulty-analyzer: \(message)\n"
    _ = line.withCString { write(STDERR_FILENO, $0, strlen($0)) }
}

func startThread() {
    var thread = pthread_t()
    pthread_create(
        &thread, nil,
        { _ in
            sleep(60)
            return nil
        }, nil)
}
