import Foundation
import TestSupport
import Testing

/// `inspectd top` over a queue with jobs in every state.
@Suite struct TopTests {
    /// A worker that is busy with one job for long, jobs that wait, and one that was dead-lettered.
    private func busyService() async throws -> (service: Service, worker: Program) {
        let service = try await Service.start()
        let corrupt = try await service.enqueue(["workflow": "liveness"], face: Data("no image".utf8))
        let first = try service.worker(["--slots", "1"])
        defer { first.send(SIGKILL) }
        #expect(try await service.result(of: corrupt)["status"] as? Int == 128)
        #expect(
            try await service.waitForNone(
                "SELECT count(*) FROM insp.v_callback WHERE state <> 'delivered'", within: .seconds(60)))
        first.send(SIGTERM)
        #expect(try await first.wait() == 0)

        let worker = try service.worker([
            "--slots", "1", "--stage-deadline", "300", "--analyzer", FaultyAnalyzer.script("--fault face=sleep"),
        ])
        let image = PNG.noise(width: 64, height: 64)
        for lane in ["urgent", "normal", "normal", "bulk"] {
            _ = try await service.enqueue(["workflow": "liveness", "lane": lane], face: image)
        }
        _ = try await service.enqueue(["workflow": "liveness", "delaySeconds": 900], face: image)
        _ = try await service.connection.query("SELECT insp.pause('bulk', reason => 'a test')")
        #expect(
            try await service.waitForNone(
                "SELECT 1 - count(*) FROM insp.lease l JOIN insp.job j ON j.id = l.job_id AND j.status >= 4",
                within: .seconds(60)))
        return (service, worker)
    }

    @Test(.timeLimit(.minutes(5)))
    func `A single snapshot is plain text and shows the state`() async throws {
        let (service, worker) = try await self.busyService()
        defer { worker.send(SIGKILL) }
        let done = try await Program.run(["top", "--once"], environment: service.environment)
        #expect(done.status == 0, "\(done.errors)")
        let text = String(decoding: done.output, as: UTF8.self)
        #expect(!text.contains("\u{1b}"))
        func line(_ start: String) -> [Substring] {
            text.split(separator: "\n").first { $0.hasPrefix(start) }?.split(separator: " ") ?? []
        }
        // Lane, region, waiting, oldest with its unit, running, delayed.
        let lanes = ["urgent", "normal", "bulk"].map { line("\($0) ") }
        #expect(lanes.map { $0.dropFirst().first } == ["any", "any", "any"])
        #expect(lanes[2].contains("paused") && !lanes[1].contains("paused"))
        let waiting = lanes.compactMap { $0.dropFirst(2).first.flatMap { Int($0) } }
        #expect(waiting.reduce(0, +) == 3 && waiting.last == 1)
        #expect(line("normal ").last == "1", "one job is delayed")
        #expect(line("bank ").dropFirst().first == "3")
        #expect(
            [line("CORRUPT_IMAGE "), line("UNSUPPORTED_FORMAT ")].contains { $0.dropFirst() == ["bank", "1", "0"] })
        #expect(text.contains(" of 1 jobs finished within 5 min"))
        #expect(text.contains("workers 1 live"))
        let job = try await service.connection.query(
            "SELECT right(j.public_id::text, 12) FROM insp.lease l JOIN insp.job j ON j.id = l.job_id")[0].string(0)
        let running = text.split(separator: "\n").first { $0.contains(job) }?.split(separator: " ") ?? []
        #expect(running.starts(with: [Substring(job), "bank", "liveness", "ACQUIRED", "1"]), "\(running)")
        // The part of the id that is shown is enough to look the job up.
        let told = try await Program.run(["status", job, "--explain"], environment: service.environment)
        #expect(told.status == 0, "\(told.errors)")
        #expect(String(decoding: told.output, as: UTF8.self).contains("\(job) of partner bank: lane "))
    }

    @Test(.timeLimit(.minutes(3)))
    func `At 80 columns nothing is cut without an ellipsis, ids stay whole, and a key lists the keys`() async throws {
        let (service, worker) = try await self.busyService()
        defer { worker.send(SIGKILL) }
        let long = "a-partner-with-a-name-that-no-window-is-wide-enough-for"
        for call in ["create_partner($1)", "pause(partner => $1)"] {
            _ = try await service.connection.query("SELECT insp.\(call)", [.text(long)])
        }
        _ = try await service.connection.query(
            #"SELECT insp.enqueue($1, face => 'x')"#, [.text(#"{"partner":"\#(long)","workflow":"liveness"}"#)])
        let job = try await service.connection.query(
            "SELECT right(j.public_id::text, 12) FROM insp.lease l JOIN insp.job j ON j.id = l.job_id")[0].string(0)
        let terminal = try PseudoTerminal(
            ["top", "--interval", "1"], environment: service.environment, columns: 80, rows: 50)
        #expect(try await terminal.wait { $0.screen.text.contains(job) && $0.screen.text.contains("a-partner") })
        let rows = terminal.screen.rows.values
        #expect(rows.allSatisfy { $0.count < 80 })
        let text = terminal.screen.text
        // The head is whole, on more lines where it must be.
        for words in ["workers 1 live", "jobs finished within 5 min", "attempt p50", "BUSY/TRY", "FOR", "? keys"] {
            #expect(text.contains(words), "\(words)")
        }
        #expect(rows.contains { $0.hasPrefix("a-partner-with") && ($0.contains(long) || $0.contains("…")) })
        #expect(rows.contains { $0.contains(job) && $0.contains("bank") })

        terminal.resize(columns: 60, rows: 50)
        #expect(
            try await terminal.wait {
                $0.screen.rows.values.allSatisfy { $0.count < 60 } && $0.screen.text.contains(job)
            })
        #expect(terminal.screen.rows.values.contains { $0.hasPrefix("a-partner") && $0.contains("…") })

        terminal.type("?")
        #expect(try await terminal.wait { $0.screen.text.contains("pause, and go on") })
        #expect(terminal.screen.text.contains("status ID --explain") && !terminal.screen.text.contains("LANE"))
        terminal.type("?")
        #expect(try await terminal.wait { $0.screen.text.contains("LANE") })
        terminal.type("q")
        #expect(try await terminal.end() == 0)
    }

    @Test(.timeLimit(.minutes(5)))
    func `The live view draws, obeys keys and the window, and leaves the terminal as it was`() async throws {
        let (service, worker) = try await self.busyService()
        defer { worker.send(SIGKILL) }
        let terminal = try PseudoTerminal(["top", "--interval", "1"], environment: service.environment)
        let modes = terminal.initialModes
        let words = ["liveness", "urgent", "paused", "bank", "ACQUIRED", "every 1 s"]
        #expect(try await terminal.wait { terminal in words.allSatisfy { terminal.screen.text.contains($0) } })
        #expect(terminal.screen.isAlternate && terminal.modes != modes)
        #expect(terminal.screen.rows.values.allSatisfy { $0.count < 100 })

        // Later frames write over the first; clearing in between would flicker.
        let (clears, title) = (terminal.screen.clears, terminal.screen.rows[1])
        #expect(try await terminal.wait { $0.screen.rows[1] != title })
        #expect(terminal.screen.clears == clears)

        terminal.type("3")
        #expect(try await terminal.wait { $0.screen.rows[1]?.contains("by running") == true })
        terminal.type("p")
        #expect(try await terminal.wait { $0.screen.rows[1]?.contains("· paused ·") == true })
        // Once the frame that says so is there to its end.
        var frozen = 0
        repeat {
            frozen = terminal.output.count
        } while try await terminal.wait(within: 0.5) { $0.output.count > frozen }
        #expect(try await !terminal.wait(within: 2.5) { $0.output.count > frozen })
        terminal.type(" ")
        #expect(try await terminal.wait { $0.screen.rows[1]?.contains("every 1 s") == true })

        terminal.resize(columns: 50, rows: 12)
        #expect(try await terminal.wait { $0.screen.clears > clears && $0.screen.text.contains("urgent") })
        #expect(terminal.screen.rows.keys.allSatisfy { $0 <= 12 })
        #expect(terminal.screen.rows.values.allSatisfy { $0.count < 50 })

        terminal.type("q")
        #expect(try await terminal.end() == 0)
        #expect(!terminal.screen.isAlternate && terminal.modes == modes)
        #expect(terminal.output.hasSuffix("\u{1b}[0m\u{1b}[?7h\u{1b}[?25h\u{1b}[?1049l"))
        #expect(terminal.screen.unknown.isEmpty, "\(terminal.screen.unknown)")
    }

    @Test(.timeLimit(.minutes(5)), arguments: [SIGINT, SIGTERM, SIGHUP])
    func `A signal ends it and the terminal is as it was`(signal: Int32) async throws {
        let database = try await ScratchDatabase.migrated()
        let terminal = try PseudoTerminal(["top"], environment: ["INSPECTD_DATABASE_URL": database.url])
        let modes = terminal.initialModes
        #expect(try await terminal.wait { $0.screen.text.contains("urgent") })
        // Ctrl-C the way a user sends it.
        if signal == SIGINT { terminal.type("\u{3}") } else { kill(terminal.pid, signal) }
        #expect(try await terminal.end() == 0)
        #expect(!terminal.screen.isAlternate && terminal.modes == modes)
    }

    @Test(.timeLimit(.minutes(5)))
    func `An unavailable database is reported, and polled until it is back`() async throws {
        let environment = ["INSPECTD_DATABASE_URL": "postgresql:///x?host=/nonexistent&password=hunter2"]
        let terminal = try PseudoTerminal(["top", "--interval", "1"], environment: environment)
        #expect(try await terminal.wait { $0.screen.text.contains("database unavailable") })
        #expect(!terminal.output.contains("hunter2"))
        terminal.type("q")
        #expect(try await terminal.end() == 0)
        #expect(!terminal.screen.isAlternate)
        let once = try await Program.run(["top", "--once"], environment: environment)
        #expect(once.status == 1 && once.output.isEmpty && !once.errors.contains("hunter2"))
    }

    @Test(.timeLimit(.minutes(5)))
    func `A reader that leaves early ends it without a crash`() async throws {
        let database = try await ScratchDatabase.migrated()
        let script = "'\(Program.inspectd)' top --once | true; echo ${PIPESTATUS[0]}"
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).sh")
        try Data(script.utf8).write(to: file)
        let terminal = try PseudoTerminal(
            [file.path], program: "/bin/bash", environment: ["INSPECTD_DATABASE_URL": database.url])
        _ = try await terminal.end()
        // 141: by SIGPIPE.
        #expect(terminal.output == "141\r\n")
    }

    @Test func `Without a terminal the live view is refused`() async throws {
        let done = try await Program.run(["top"])
        #expect(done.status == 2)
        #expect(done.errors.contains("--once"))
        #expect(done.output.isEmpty)
    }
}
