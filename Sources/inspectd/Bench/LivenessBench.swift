import Benchmarks
import Foundation
import InspectCore

/// `inspectd bench liveness`: simulated people and attackers against the product's decisions, and blinks in recorded
/// traces.
enum LivenessBench {
    static let options: [Arguments.Option] = [
        .value("runs", "N", "simulated captures of each subject and method [10000]").of("liveness"),
        .value("seed", "N", "seed of the random generator [random]").of("liveness"),
        .list("trace", "FILE.csv", "a trace of frame,ear,blink to find blinks in, instead of the simulation")
            .of("liveness"),
        .value("fps", "N", "frames a second of the traces [30]").of("liveness"),
    ]

    private struct Report: Encodable {
        var bench = "liveness"
        var runs: Int
        var seed: UInt64
        var colourFlash: LivenessSimulation.Result
        var motion: LivenessSimulation.Result
        var faults: [String]
        var seconds: Double
    }

    /// - Throws: ``Failure`` if a limit is missed.
    static func run(_ arguments: Arguments) throws {
        let traces = arguments.all("trace")
        guard traces.isEmpty else { return try self.blinks(traces, fps: arguments.integer("fps", in: 1...1000) ?? 30) }
        let runs = try arguments.integer("runs", in: 10...10_000_000) ?? 10_000
        let seed =
            try arguments.integer("seed", in: 0...Int.max).map { UInt64($0) } ?? UInt64.random(in: 0...UInt64(Int.max))
        let start = ContinuousClock.now
        let colour = LivenessSimulation.colourFlash(runs: runs, seed: seed)
        let motion = LivenessSimulation.motion(runs: runs, seed: seed)
        let faults = colour.faults.map { "colour flash: \($0)" } + motion.faults.map { "motion: \($0)" }
        Output.line(
            ResultEnvelope.json(
                Report(
                    runs: runs, seed: seed, colourFlash: colour, motion: motion, faults: faults,
                    seconds: start.duration(to: .now).milliseconds / 1000)))
        if !faults.isEmpty { throw Failure() }
    }

    private struct Blinks: Encodable {
        var trace: String
        var frames: Int
        var blinks: Int
        var found: Int
        var missed: Int
        var invented: Int
    }

    /// A blink counts as found if a detected one overlaps it, within two frames.
    private static func blinks(_ files: [String], fps: Int) throws {
        for file in files {
            let text = String(decoding: try InputFile.read(file, of: "--trace"), as: UTF8.self)
            var openings: [Double?] = []
            var truth: [ClosedRange<Int>] = []
            for row in text.split(separator: "\n").dropFirst() {
                let fields = row.split(separator: ",", omittingEmptySubsequences: false)
                guard fields.count >= 3 else { continue }
                if fields[2].hasPrefix("1") {
                    let index = openings.count
                    if let last = truth.last, last.upperBound == index - 1 {
                        truth[truth.count - 1] = last.lowerBound...index
                    } else {
                        truth.append(index...index)
                    }
                }
                openings.append(Double(fields[1]))
            }
            let times = openings.indices.map { Double($0) * 1000 / Double(fps) }
            let slack = 2000 / Double(fps)
            var hit: Set<Int> = []
            var invented = 0
            for blink in BlinkDetector.blinks(timesMs: times, openings: openings) {
                let near = truth.indices.filter {
                    times[truth[$0].lowerBound] <= blink.endMs + slack
                        && times[truth[$0].upperBound] >= blink.startMs - slack
                }
                if near.isEmpty { invented += 1 }
                hit.formUnion(near)
            }
            Output.line(
                ResultEnvelope.json(
                    Blinks(
                        trace: URL(fileURLWithPath: file).lastPathComponent, frames: openings.count,
                        blinks: truth.count,
                        found: hit.count, missed: truth.count - hit.count, invented: invented)))
        }
    }
}
