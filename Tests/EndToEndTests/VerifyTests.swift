import Foundation
import TestSupport
import Testing

/// The code with which partners verify callbacks, as printed in the manual and run by its own interpreter.
struct VerifyTests {
    static let interpreters = [
        ("python", "/usr/bin/python3", "py"), ("javascript", "/usr/bin/node", "js"), ("php", "/usr/bin/php", "php"),
    ]

    private struct Callback {
        var id = "msg_p5jXN8AQM9LWM0D4loKWxJek"
        var timestamp = "1614265330"
        var signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
        var body = #"{"test": 2432232314}"#
        var now = "1614265400"
    }

    /// The reference libraries' test vector, and requests that must not pass.
    private static var cases: [(name: String, callback: Callback, isGenuine: Bool)] {
        [
            ("as published", Callback(), true),
            ("beside other versions", Callback(signature: "v1a,AAAA v2,x \(Callback().signature)"), true),
            ("beside letters that are no Base64", Callback(signature: "v1,ä \(Callback().signature)"), true),
            ("another body", Callback(body: #"{"test":2432232314}"#), false),
            ("another id", Callback(id: "msg_x"), false),
            ("too old", Callback(now: "1614265700"), false),
            ("too new", Callback(now: "1614264000"), false),
            ("no time", Callback(timestamp: "soon"), false),
            ("a time in other digits", Callback(timestamp: "²"), false),
            ("another signature", Callback(signature: "v1,AAAA"), false),
        ]
    }

    private static func withSecret<Value>(_ body: (_ folder: URL, _ file: String) throws -> Value) throws -> Value {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("verify-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("secret")
        try Data("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n".utf8).write(to: file)
        return try body(folder, file.path)
    }

    @Test(arguments: Self.interpreters)
    func `The manual's verification code accepts genuine callbacks alone`(
        _ language: String, _ interpreter: String, _ suffix: String
    ) async throws {
        let manual = try String(contentsOfFile: "\(ScratchDatabase.root)/deploy/CALLBACKS.md", encoding: .utf8)
        let start = try #require(manual.range(of: "```\(language)\n")).upperBound
        let end = try #require(manual.range(of: "\n```", range: start..<manual.endIndex)).lowerBound
        try Self.withSecret { folder, secret in
            let file = folder.appendingPathComponent("verify.\(suffix)")
            try Data(manual[start..<end].utf8).write(to: file)
            for test in Self.cases {
                let status = try Self.run(interpreter, [file.path, secret], test.callback, in: folder)
                #expect(status == (test.isGenuine ? 0 : 1), "\(language): \(test.name)")
            }
        }
    }

    @Test func `The verify command accepts genuine callbacks alone`() throws {
        try Self.withSecret { folder, secret in
            for test in Self.cases {
                let callback = test.callback
                let arguments = [
                    "verify", "--id", callback.id, "--timestamp", callback.timestamp, "--signature", callback.signature,
                    "--secret-file", secret, "--now", callback.now,
                ]
                let status = try Self.run(Program.inspectd, arguments, callback, in: folder)
                #expect(status == (test.isGenuine ? 0 : 1), "\(test.name)")
            }
        }
    }

    /// Runs a program with the headers in its environment and the body as its standard input; returns its exit status.
    private static func run(_ path: String, _ arguments: [String], _ callback: Callback, in folder: URL) throws -> Int32
    {
        let body = folder.appendingPathComponent("body")
        try Data(callback.body.utf8).write(to: body)
        let variables = [
            "PATH": "/usr/bin:/bin", "WEBHOOK_ID": callback.id, "WEBHOOK_TIMESTAMP": callback.timestamp,
            "WEBHOOK_SIGNATURE": callback.signature, "NOW": "\(callback.now)",
        ]
        let process = try ChildProcess.spawn(path, arguments, environment: variables) { actions in
            posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, body.path, O_RDONLY, 0)
            posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
        }
        return try process.blockingExitStatus()
    }
}
