import Foundation
import FoundationXML
import Glibc
import TestSupport
import Testing

/// The pages that `--report` writes, from real images.
@Suite struct ReportTests {
    private func page(_ arguments: [String]) async throws -> (html: String, mode: Int) {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).html").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        // A file that everybody may read must not stay one.
        try Data("old".utf8).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
        let done = try await Program.run(arguments + ["--report", path])
        #expect(done.status == 0, "\(done.errors)")
        _ = try members(done.output)
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        return (try String(contentsOfFile: path, encoding: .utf8), mode ?? 0)
    }

    @Test(.timeLimit(.minutes(5)))
    func `A page shows the passport, its MRZ and both faces, and only its owner may read it`() async throws {
        let folder = try await TestInputs.folder.path
        let (html, mode) = try await self.page([
            "inspect", "--front", "\(folder)/specimens/passport.jpg", "--face", "\(folder)/faces/obama2.jpg",
        ])
        #expect(mode == 0o600)
        #expect(XMLParser(data: Data(html.utf8)).parse())
        let truth = try await TestInputs.manifest.first { $0.file == "passport.jpg" }
        let number = try #require(truth?.mrzLines?.last?.prefix(9)).replacing("<", with: "")
        #expect(html.contains("<b>\(number)</b>"))
        #expect(html.components(separatedBy: "href='data:image/jpeg;base64,/9j/").count - 1 == 2)
        #expect(html.components(separatedBy: " cell' points=").count - 1 == 88)
        #expect(html.contains("<td>similarity</td>"))
        #expect(html.contains("<td>file of FRONT</td><td class='number'>passport.jpg</td>"))
        for part in ["FRONT", "FACE"] { #expect(html.contains("<use href='#image-\(part)'/>")) }
        #expect(!html.contains("http://") && !html.contains("https://"))
        #expect(html.utf8.count < 1_500_000)
    }

    @Test(.timeLimit(.minutes(5)))
    func `A page shows a licence's barcode, and one of two faces shows their similarity`() async throws {
        let folder = try await TestInputs.folder.path
        let licence = try await self.page([
            "inspect", "--front", "\(folder)/specimens/licence_front.jpg", "--back",
            "\(folder)/specimens/licence_back.jpg",
        ])
        #expect(licence.html.contains("<polygon class='barcode'"))
        #expect(licence.html.contains("<td><code>DAQ</code></td><td>customer ID number</td>"))
        let faces = try await self.page(["compare", "\(folder)/faces/obama.jpg", "\(folder)/faces/obama2.jpg"])
        #expect(XMLParser(data: Data(faces.html.utf8)).parse())
        #expect(faces.html.contains("<h1>MATCH</h1>") && faces.mode == 0o600)
        #expect(faces.html.contains("<td>file of B</td><td class='number'>obama2.jpg</td>"))
    }

    @Test(.timeLimit(.minutes(5)))
    func `A report that cannot be written is an error, and many have none`() async throws {
        let image = try await TestInputs.folder.appendingPathComponent("specimens/passport.jpg").path
        let lost = try await Program.run(["inspect", "--front", image, "--report", "/nonexistent/r.html"])
        #expect(lost.status == 1)
        #expect(lost.errors.contains("--report: the folder does not exist"))
        let many = try await Program.run(["inspect", "--batch", "-", "--report", "/nonexistent/r.html"])
        #expect(many.status == 2)
    }
}

/// `inspect --usability`: feedback for a client that waits.
@Suite struct InstantUsabilityTests {
    @Test(.timeLimit(.minutes(5)))
    func `What is rejected at once is rejected in full, and no face model is needed`() async throws {
        let folder = try await TestInputs.folder.appendingPathComponent("specimens").path
        let names = try await TestInputs.manifest.filter { $0.error == nil }.map(\.file)
        let lines = Data(
            names.map { #"{"id": "\#($0)", "front": "\#(folder)/\#($0)", "workflow": "id"}"# }
                .joined(separator: "\n").utf8)
        let early = try await Program.run(
            ["inspect", "--usability", "--batch", "-", "--models", "/nonexistent"], input: lines)
        #expect(early.status == 0, "\(early.errors)")
        let full = try await Program.run(["inspect", "--batch", "-"], input: lines)
        let earlyAnswers = try early.output.split(separator: 0x0A).map { try members($0) }
        let fullAnswers = try full.output.split(separator: 0x0A).map { try members($0) }
        #expect(earlyAnswers.compactMap { $0["id"] as? String } == names)
        var types: [String: Int] = [:]
        for (first, second) in zip(earlyAnswers, fullAnswers) {
            let type = first.at("usability.0.decision.type") as? String ?? "none"
            types[type, default: 0] += 1
            let whole = second.at("capabilities.usability.0.decision.type") as? String
            if type == "REJECTED" { #expect(whole == "REJECTED", "\(first["id"] ?? "")") }
            #expect(first.at("timingsMs.cpu") is Double)
        }
        #expect((types["PASSED"] ?? 0) > 0 && (types["REJECTED"] ?? 0) > 0, "\(types)")
    }

    @Test(.timeLimit(.minutes(5)))
    func `A batch answers each line before the next one is written`() async throws {
        let image = try await TestInputs.folder.appendingPathComponent("specimens/passport.jpg").path
        let script = """
            import json, subprocess, sys
            command = [sys.argv[1], "inspect", "--usability", "--batch", "-", "--analyzers", "1"]
            with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
                for name in ("one", "two"):
                    print(json.dumps({"id": name, "front": sys.argv[2]}), file=program.stdin, flush=True)
                    answer = json.loads(program.stdout.readline())
                    assert answer["id"] == name and len(answer["usability"]) == 1, answer
                program.stdin.write("no line feed")
                program.stdin.close()
                assert json.loads(program.stdout.readline())["error"]["code"] == "PAYLOAD_INVALID"
                assert program.stdout.read() == ""
            sys.exit(program.returncode)
            """
        #expect(try await self.run(script, with: image) == 0)
    }

    @Test(.timeLimit(.minutes(5)))
    func `The forked analyzer is confined and holds nothing of the caller's`() async throws {
        let image = try await TestInputs.folder.appendingPathComponent("specimens/passport.jpg").path
        let script = """
            import json, os, subprocess, sys, time
            def child(pid):
                # The last line's process may not have ended yet, nor the next one's begun.
                for _ in range(1200):
                    tasks = [f"/proc/{pid}/task/{task}/children" for task in os.listdir(f"/proc/{pid}/task")]
                    all = [int(word) for task in tasks for word in open(task).read().split()]
                    if len(all) == 1:
                        return all[0]
                    time.sleep(0.05)
                raise AssertionError(all)
            secret = {**os.environ, "INSPECTD_DATABASE_URL": "postgresql:///secret"}
            open_file = os.open("/etc/hostname", os.O_RDONLY)
            os.set_inheritable(open_file, True)
            command = [sys.argv[1], "inspect", "--usability", "--batch", "-", "--analyzers", "1"]
            with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, close_fds=False,
                    env=secret) as program:
                print(json.dumps({"id": "one", "front": sys.argv[2]}), file=program.stdin, flush=True)
                assert json.loads(program.stdout.readline())["usability"]
                parent = child(program.pid)
                analyzer = child(parent)
                assert os.readlink(f"/proc/{parent}/exe") == os.readlink(f"/proc/{program.pid}/exe")
                # Forked, not started: its arguments are those of the command.
                assert b"--usability\\0--batch" in open(f"/proc/{parent}/cmdline", "rb").read()
                for pid in (parent, analyzer):
                    assert b"secret" not in open(f"/proc/{pid}/environ", "rb").read()
                    files = [os.readlink(f"/proc/{pid}/fd/{number}") for number in os.listdir(f"/proc/{pid}/fd")]
                    assert "/etc/hostname" not in files, files
                status = open(f"/proc/{analyzer}/status").read().split("\\n")
                for line in ("Seccomp:\\t2", "NoNewPrivs:\\t1", "Threads:\\t1"):
                    assert line in status, status
                program.stdin.close()
            sys.exit(program.returncode)
            """
        #expect(try await self.run(script, with: image) == 0)
    }

    /// Runs a Python script with the program and an image as its arguments.
    ///
    /// - Returns: Its exit status, or minus the signal's number.
    private func run(_ script: String, with image: String) async throws -> Int32 {
        let process = try ChildProcess.spawn("/usr/bin/python3", ["-c", script, Program.inspectd, image])
        return try await process.exitStatus()
    }

    @Test(.timeLimit(.minutes(5)))
    func `Bad input is reported, and invalid combinations of options are refused`() async throws {
        let folder = try await TestInputs.folder.appendingPathComponent("specimens").path
        let lines = Data(
            """
            {"id": "gone", "front": "/nonexistent.jpg"}
            nonsense
            {"id": "face", "face": "\(folder)/passport.jpg"}
            {"id": "more", "front": "\(folder)/passport.jpg", "documentTypes": ["ID_CARD"]}
            {"id": "good", "front": "\(folder)/passport.jpg", "back": "\(folder)/licence_back.jpg"}

            """.utf8)
        let done = try await Program.run(["inspect", "--usability", "--batch", "-"], input: lines)
        let answers = try done.output.split(separator: 0x0A).map { try members($0) }
        #expect(
            answers.map { $0.at("error.code") as? String } == [
                "PART_NOT_FOUND", "PAYLOAD_INVALID", "PART_MISSING", "PAYLOAD_INVALID", nil,
            ])
        #expect((answers[3].at("error.message") as? String)?.contains("'documentTypes'") == true)
        #expect((answers.last?["usability"] as? [Any])?.count == 2)
        for arguments in [["--usability"], ["--usability", "--front", "x", "--face", "y"]] {
            #expect(try await Program.run(["inspect"] + arguments).status == 2)
        }
    }
}
