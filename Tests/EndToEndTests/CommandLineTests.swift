import Foundation
import TestSupport
import Testing

@Suite struct CommandLineTests {
    @Test(arguments: [
        [], ["unheard-of"], ["inspect"], ["compare", "one"], ["enqueue", "--front", "x"], ["status"],
        ["top", "--interval", "0"], ["top", "much"], ["worker", "--slots", "many"], ["worker", "--unheard-of"],
        ["bench"], ["gateway", "--listen", "x"], ["gateway", "--certificate", "x"],
        ["inspect", "--front", "a", "--front", "b"], ["inspect", "--f", "a"],
    ])
    func `A command line that says nothing sensible ends with status 2`(arguments: [String]) async throws {
        let done = try await Program.run(arguments)
        #expect(done.status == 2)
        #expect(done.output.isEmpty)
        #expect(done.errors.hasPrefix("inspectd: "))
    }

    @Test func `Help names every command, and each command has its own`() async throws {
        let overview = try await Program.run(["--help"])
        #expect(overview.status == 0)
        let text = String(decoding: overview.output, as: UTF8.self)
        for name in [
            "inspect", "compare", "enqueue", "status", "worker", "gateway", "top", "migrate", "doctor", "bench",
        ] {
            #expect(text.contains("  \(name) "))
            let help = try await Program.run([name, "--help"])
            #expect(help.status == 0)
            #expect(String(decoding: help.output, as: UTF8.self).hasPrefix("Usage: inspectd \(name) "))
        }
    }

    @Test func `Migrating twice applies nothing the second time, and the doctor is content`() async throws {
        let database = try await ScratchDatabase.empty()
        let environment = ["INSPECTD_DATABASE_URL": database.url]
        let ill = try await Program.run(["doctor"], environment: environment)
        #expect(ill.status == 1)
        #expect(String(decoding: ill.output, as: UTF8.self).contains("run inspectd migrate"))
        // There already: every scratch database's server has them.
        let roles = try await Program.run(["migrate", "--roles"], environment: environment)
        #expect(roles.status == 0 && String(decoding: roles.output, as: UTF8.self) == #"{"created":[]}"# + "\n")
        let first = try await Program.run(["migrate"], environment: environment)
        #expect(try members(first.output)["applied"].map { ($0 as? [String])?.isEmpty } == false)
        let second = try await Program.run(["migrate"], environment: environment)
        #expect(String(decoding: second.output, as: UTF8.self) == #"{"applied":[],"forgotten":[],"unknown":[]}"# + "\n")
        let doctor = try await Program.run(["doctor"], environment: environment)
        let findings = String(decoding: doctor.output, as: UTF8.self)
        #expect(doctor.status == 0, "\(findings)")
        #expect(findings.contains("system-call filters"))
    }

    @Test func `A database that is not there is an error without the password`() async throws {
        let url = "postgresql:///x?host=/nonexistent&password=hunter2"
        let done = try await Program.run(
            ["status", "00000000-0000-4000-8000-000000000000"], environment: ["INSPECTD_DATABASE_URL": url])
        #expect(done.status == 1)
        #expect(done.errors.contains("DATABASE_UNAVAILABLE"))
        #expect(!done.errors.contains("hunter2"))
    }

    @Test func `An unknown job is said to be unknown`() async throws {
        let database = try await ScratchDatabase.migrated()
        let done = try await Program.run(
            ["status", "00000000-0000-4000-8000-000000000000"], environment: ["INSPECTD_DATABASE_URL": database.url])
        #expect(done.status == 1)
        #expect(done.errors.contains("JOB_UNKNOWN"))
    }
}
