import Foundation
import TestSupport
import Testing

/// A short form of Tests/callbacks.sh, which kills for two minutes.
struct KilledDispatchersTests {
    private struct Verdict: Decodable {
        var callbacks: Int
        var kills: Int
        var requests: Int
        var lost: Int
        var otherBodies: Int
        var unsigned: Int
        var undelivered: Int
    }

    @Test func everyCallbackArrivesWhateverIsKilled() async throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "\(ScratchDatabase.root)/Tests/callbacks.sh")
        process.arguments = [
            "--seconds", "6", "--bin", URL(fileURLWithPath: Program.inspectd).deletingLastPathComponent().path,
        ]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        // Read on a thread of its own: it ends only with the script.
        let data: Data = await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(returning: (try? output.fileHandleForReading.readToEnd()) ?? Data())
            }
        }
        let verdict = try JSONDecoder().decode(Verdict.self, from: data)
        #expect(verdict.callbacks > 0 && verdict.kills > 0 && verdict.requests >= verdict.callbacks)
        #expect(verdict.lost == 0 && verdict.otherBodies == 0 && verdict.unsigned == 0 && verdict.undelivered == 0)
    }
}
