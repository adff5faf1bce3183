import Foundation
import InspectCore
import JobQueue
import Postgres
import TestSupport
import Testing

/// Parts by URL of sealed jobs: what the database does not have is in no row, and the worker fetches it.
@Suite struct SealedSourceTests {
    @Test(.timeLimit(.minutes(5)))
    func `A part by URL is fetched by its sealed URL and compared with its sealed digest`() async throws {
        let site = try await SealedSite()
        let face = try await TestInputs.face("obama.jpg")
        try face.write(to: site.service.files.appendingPathComponent("zqmark.jpg"))
        let client = JobClient(databaseURL: site.service.database.url, keys: site.keys)
        let sum = try await site.connection.query("SELECT encode(sha256($1), 'hex')", [.bytes(face)])[0].string(0)
        func enqueue(_ sum: String) async throws -> String {
            let url = site.service.receiver.url("/image?file=zqmark.jpg&token=zqmark")
            let payload =
                #"{"partner":"bank","workflow":"liveness","parts":{"FACE":{"url":"\#(url)","sha256":"\#(sum)"}}}"#
            return try await client.enqueue(payload: Data(payload.utf8))
        }
        let good = try await enqueue(sum.uppercased())
        let bad = try await enqueue(String(repeating: "0", count: 64))
        let worker = try site.worker(["--slots", "1"])
        defer { worker.send(SIGKILL) }
        try await site.waitForJobs()
        let result = try members(try await site.run("status", good, "--purpose", "support"))
        #expect(result.at("capabilities.liveness.0.decision.type") as? String == "WARNING")
        let wrong = try members(try await site.run("status", bad, "--purpose", "support"))
        #expect(wrong.at("error.code") as? String == "DIGEST_MISMATCH")
        #expect(
            try await site.count("insp.part p WHERE p.location LIKE '%zqmark%' OR encode(p.sha256, 'hex') = '\(sum)'")
                == 0)
        #expect(try await site.count("insp.part") == 2)
        // A rerun has the same sealed values.
        let again = try await site.connection.query("SELECT insp.rerun($1)", [.text(good)])[0].string(0)
        try await site.waitForJobs()
        let second = try members(try await site.run("status", again, "--purpose", "support"))
        #expect(second.at("capabilities.liveness.0.decision.type") as? String == "WARNING")
        #expect(!worker.standardError.contains("zqmark"))
    }
}
