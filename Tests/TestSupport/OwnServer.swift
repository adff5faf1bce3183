import Foundation

/// A PostgreSQL server of a test's own, which the test may stop.
package struct OwnServer: Sendable {
    /// The administrator's database.
    package let database: ScratchDatabase
    private let folder: String

    package init() throws {
        let started = try TestServer.start(settings: "")
        self.database = ScratchDatabase(url: started.url)
        self.folder = started.folder
    }

    /// Stops it at once, as a crash does: statements and connections break off.
    package func stop() async throws {
        let home = URLComponents(string: self.database.url)?.queryItems?.first { $0.name == "host" }?.value ?? ""
        let text = try String(contentsOfFile: home + "/data/postmaster.pid", encoding: .utf8)
        guard let pid = text.split(separator: "\n").first.flatMap({ pid_t($0) }) else {
            throw WaitTimedOut(what: "the server's process", limit: .zero)
        }
        kill(pid, SIGQUIT)
        try await waitUntil("the server has stopped") { kill(pid, 0) != 0 }
    }

    /// Starts it again, with what it has stored.
    package func start() throws { try TestServer.start(again: self.folder) }
}
