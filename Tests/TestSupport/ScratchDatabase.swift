import Foundation
package import Postgres

/// A database of its own for one test, on a real server: the one of `INSPECTD_TEST_DATABASE_URL`, else a private one
/// that is started for this test run and stopped at its end.
package struct ScratchDatabase: Sendable {
    /// Connection URL of the database.
    package let url: String

    /// The checkout's root.
    package static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path

    /// The folder of the migrations.
    package static let migrations = "\(root)/Migrations"

    /// A new database without a schema.
    package static func empty() async throws -> ScratchDatabase {
        try await self.create(template: nil)
    }

    /// A new database with the schema `insp`, cloned from one that was migrated once.
    package static func migrated() async throws -> ScratchDatabase {
        try await self.create(template: try await Template.shared.name())
    }

    /// Clones have the same id, as copies of one database; this one gets another.
    package func becomeAnother() async throws {
        let connection = try await self.connect()
        try await connection.execute("UPDATE insp.epoch SET database = gen_random_uuid()")
        await connection.close()
    }

    /// The administrator's database of a server of its own, without roles, with these lines in its `postgresql.conf`.
    package static func ownServer(settings: String = "") throws -> ScratchDatabase {
        ScratchDatabase(url: try TestServer.start(settings: settings).url)
    }

    /// The same server's database of this name, for this role.
    package func database(_ name: String, role: String) -> ScratchDatabase {
        var parts = URLComponents(string: self.url)!
        parts.path = "/" + name
        parts.queryItems = parts.queryItems?.map {
            $0.name == "user" ? URLQueryItem(name: "user", value: role) : $0
        }
        return ScratchDatabase(url: parts.string!)
    }

    package func connect(_ options: ConnectionOptions = ConnectionOptions(name: "test")) async throws
        -> PostgresConnection
    {
        try await PostgresConnection.connect(self.url, options: options)
    }

    fileprivate static func create(template: String?) async throws -> ScratchDatabase {
        let server = try TestServer.url()
        let administrator = try await Administrator.shared.connection(to: server)
        do {
            return try await self.create(template, on: server, administrator)
        } catch let error as PostgresError
            where [.connectionFailed, .connectionLost].contains(error.code) || error.sqlState == "57P01"
        {
            let next = try await Administrator.shared.connection(to: server, insteadOf: administrator)
            return try await self.create(template, on: server, next)
        }
    }

    private static func create(
        _ template: String?, on server: String, _ administrator: PostgresConnection
    ) async throws -> ScratchDatabase {
        let name = "test_" + UUID().uuidString.lowercased().replacing("-", with: "_")
        // Through the buffers and the log, as is the default, cloning takes twice the processor time.
        try await administrator.execute(
            "CREATE DATABASE \(name) TEMPLATE \(template ?? "template0") ENCODING 'UTF8' STRATEGY file_copy",
            timeout: .seconds(300))
        return ScratchDatabase(url: self.url(of: name, on: server))
    }

    /// The server's URL with another database.
    static func url(of name: String, on server: String) -> String {
        var parts = URLComponents(string: server)!
        parts.path = "/" + name
        return parts.string!
    }

    /// One connection creates all databases: to connect takes as long as a third of it, and suites that start together take turns,
    /// for cloning needs the template to itself for a moment.
    private actor Administrator {
        static let shared = Administrator()
        private var opened: [String: Task<PostgresConnection, any Error>] = [:]

        /// - Parameter lost: A connection that the server ended; another replaces it.
        func connection(
            to server: String, insteadOf lost: PostgresConnection? = nil
        ) async throws -> PostgresConnection {
            while let task = self.opened[server] {
                let connection = try await task.value
                guard connection === lost else { return connection }
                if self.opened[server] == task { self.opened[server] = nil }
            }
            let task = Task {
                let connection = try await PostgresConnection.connect(server)
                try await Migrator(directory: ScratchDatabase.migrations).createRoles(on: connection)
                return connection
            }
            self.opened[server] = task
            do { return try await task.value } catch {
                if self.opened[server] == task { self.opened[server] = nil }
                throw error
            }
        }
    }

    /// Makes the migrated template once for each test run.
    private actor Template {
        static let shared = Template()
        private var made: Task<String, any Error>?

        func name() async throws -> String {
            if let made { return try await made.value }
            let task = Task {
                let database = try await ScratchDatabase.create(template: nil)
                let connection = try await database.connect()
                try await Migrator(directory: ScratchDatabase.migrations).run(on: connection)
                await connection.close()
                return String(URLComponents(string: database.url)!.path.dropFirst())
            }
            self.made = task
            return try await task.value
        }
    }
}
