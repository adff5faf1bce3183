import Foundation
import TestSupport
import Testing

/// `inspectd status` of one job, as operators use it.
@Suite struct StatusTests {
    /// What `status ID --explain` prints, by what each line is about.
    private func explain(_ service: Service, _ id: String) async throws -> [String: String] {
        let done = try await Program.run(["status", id, "--explain"], environment: service.environment)
        #expect(done.status == 0, "\(done.errors)")
        let lines = String(decoding: done.output, as: UTF8.self).split(separator: "\n")
        return Dictionary(
            lines.map { line in
                // The first column is padded with blanks.
                let gap = line.range(of: "  ")
                return (
                    String(line[..<(gap?.lowerBound ?? line.endIndex)]),
                    gap.map { line[$0.upperBound...].trimmingCharacters(in: .whitespaces) } ?? ""
                )
            }
        ) { $0 + "\n" + $1 }
    }

    @Test(.timeLimit(.minutes(3)))
    func `A job is explained from its queue to its callback, by the end of its id`() async throws {
        // An endpoint that answers 500.
        let service = try await Service.start(path: "/status/500")
        let id = try await service.enqueue(
            ["workflow": "liveness", "userReference": "CANARY"], face: Data("no image".utf8))
        let end = String(id.suffix(12))
        var said = try await self.explain(service, end)
        #expect(said["job"]?.hasPrefix("\(id) of partner bank") == true, "\(said)")
        #expect(said["reason"] == "No live worker serves the lane and region.")
        #expect(said["next step"] == "Start a worker that serves region any and lane normal.")

        let worker = try service.worker(["--slots", "1"])
        defer { worker.send(SIGKILL) }
        #expect(try await service.result(of: id)["status"] as? Int == 128)
        #expect(
            try await service.waitForNone(
                "SELECT 1 - count(DISTINCT callback_id) FROM insp.callback_attempt", within: .seconds(30)))
        said = try await self.explain(service, end)
        #expect(said["state"]?.contains(" as NOT_EXECUTED with ") == true, "\(said)")
        #expect(said["attempts"] == "Dead-lettered after 1 attempt.")
        #expect(said["next step"]?.contains("SELECT insp.rerun('\(id)')") == true)
        let callback = try #require(said["callback"])
        #expect(callback.hasPrefix("job.finished to endpoint 1: attempt 2 is due in "), "\(callback)")
        #expect(callback.contains("The last attempt failed with STATUS_NOT_SUCCESS ("), "\(callback)")
        #expect(callback.contains(", status 500. The endpoint's breaker is closed."), "\(callback)")
        #expect(!said.values.contains { $0.contains("CANARY") })

        // Without the switch the document, found by the same digits.
        let done = try await Program.run(["status", end], environment: service.environment)
        #expect(try members(done.output)["id"] as? String == id)
        worker.send(SIGTERM)
        #expect(try await worker.wait() == 0)
    }

    @Test(.timeLimit(.minutes(5)))
    func `An id of no job is refused with its code`() async throws {
        let database = try await ScratchDatabase.migrated()
        for arguments in [
            ["status", "000000000000", "--explain"], ["status", "000000000000"], ["status", UUID().uuidString],
        ] {
            let done = try await Program.run(arguments, environment: ["INSPECTD_DATABASE_URL": database.url])
            #expect(done.status == 1 && done.output.isEmpty, "\(arguments)")
            #expect(done.errors.contains("JOB_UNKNOWN"), "\(done.errors)")
        }
        #expect(try await Program.run(["status"]).status == 2)
    }
}
