import Custody
import Foundation
import Postgres
import TestSupport
import Testing

/// The log of the key store's server, which outlives the keys.
@Suite struct KeyLogTests {
    private static func finding(_ setting: KeySetting) async throws -> [String: Any] {
        let done = try await Program.run(["doctor"], environment: setting.environment)
        let line = try #require(
            done.output.split(separator: 0x0A).first { String(decoding: $0, as: UTF8.self).contains("keyStoreLog") })
        return try members(Data(line))
    }

    @Test func `A server that logs every statement with its parameters logs no key`() async throws {
        let server = try ScratchDatabase.ownServer(
            settings: "log_statement = all\nlog_parameter_max_length = -1\nlog_parameter_max_length_on_error = -1")
        let setting = try await KeySetting(store: server)
        _ = try await (try setting.client()).jobKeys([KeyOwner(partner: 1, .user("x"))])
        let rows = try await setting.admin.query("SELECT encode(wrapped, 'hex') FROM insp.key")
        let file = try await setting.admin.query("SELECT current_setting('data_directory')")[0].string(0)
        let path = URL(fileURLWithPath: file).deletingLastPathComponent().appendingPathComponent("log")
        let log = String(decoding: try Data(contentsOf: path), as: UTF8.self)
        #expect(rows.count == 3 && log.contains("add_job_keys"))
        for row in rows { #expect(!log.contains(try row.string(0))) }
    }

    @Test func `The doctor warns where parameters may be logged, and a further init ends it`() async throws {
        let setting = try await KeySetting()
        #expect(try await Self.finding(setting)["outcome"] as? String == "pass")
        try await setting.admin.execute(
            "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I RESET ALL', current_database()); END $$")
        let warning = try await Self.finding(setting)
        #expect(warning["outcome"] as? String == "warning")
        #expect((warning["detail"] as? String)?.contains("log_parameter_max_length = -1") == true, "\(warning)")
        #expect(try await setting.run("init").status == 0)
        #expect(try await Self.finding(setting)["outcome"] as? String == "pass")
    }

    @Test func `The doctor warns of modules that log parameters by settings of their own, in both databases`()
        async throws
    {
        let setting = try await KeySetting()
        let main = try await setting.main.connect()
        func warnings() async throws -> [String] {
            let done = try await Program.run(["doctor"], environment: setting.environment)
            return try done.output.split(separator: 0x0A).map { try members(Data($0)) }
                .filter { $0["outcome"] as? String == "warning" }
                .compactMap { $0["check"] as? String }.filter { $0.hasSuffix("Log") }.sorted()
        }
        func alter(_ words: String) async throws {
            for connection in [main, setting.admin] {
                try await connection.execute(
                    "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I \(words)', current_database()); END $$")
            }
        }
        #expect(try await warnings() == [])
        // Settings of a module that no session has.
        try await alter("SET auto_explain.log_min_duration = 0")
        #expect(try await warnings() == [])
        try await alter("SET session_preload_libraries = auto_explain")
        #expect(try await warnings() == ["databaseLog", "keyStoreLog"])
        try await alter("SET auto_explain.log_min_duration = -1")
        #expect(try await warnings() == [])
        // Of a role that is not the doctor's.
        let name = "r_" + UUID().uuidString.lowercased().replacing("-", with: "")
        try await main.execute(
            "CREATE ROLE \(name); ALTER ROLE \(name) SET auto_explain.log_min_duration = 0")
        #expect(try await warnings() == ["databaseLog", "keyStoreLog"])
        try await main.execute("DROP ROLE \(name)")
    }

    @Test func `The doctor warns of another role whose statements are logged with parameters, in both databases`()
        async throws
    {
        let setting = try await KeySetting()
        let main = try await setting.main.connect()
        let name = "r_" + UUID().uuidString.lowercased().replacing("-", with: "")
        try await main.execute("CREATE ROLE \(name)")
        func warnings() async throws -> [String] {
            let done = try await Program.run(["doctor"], environment: setting.environment)
            return try done.output.split(separator: 0x0A).map { try members(Data($0)) }
                .filter { $0["outcome"] as? String == "warning" }
                .filter { ($0["detail"] as? String)?.contains("of role \(name)") == true }
                .compactMap { $0["check"] as? String }.sorted()
        }
        // In these databases alone: others of the cluster are other tests'.
        func alter(_ words: String) async throws {
            for connection in [main, setting.admin] {
                try await connection.execute(
                    "DO $$ BEGIN EXECUTE format('ALTER ROLE \(name) IN DATABASE %I \(words)', current_database()); END $$"
                )
            }
        }
        for (words, found) in [
            // The key store's sessions list no parameters of statements that are logged.
            ("SET log_statement = ''all''", ["databaseLog"]), ("SET log_min_duration_statement = 0", ["databaseLog"]),
            ("SET log_min_duration_statement = -1", []), ("SET log_statement = ''ddl''", []),
            ("SET log_parameter_max_length = -1", ["databaseLog", "keyStoreLog"]),
            ("SET log_parameter_max_length_on_error = 64", ["databaseLog", "keyStoreLog"]),
            ("SET log_parameter_max_length = 0", []), ("SET log_parameter_max_length_on_error = ''0B''", []),
        ] {
            try await alter(words)
            #expect(try await warnings() == found, "\(words)")
            try await alter("RESET ALL")
        }
        try await main.execute("DROP ROLE \(name)")
    }

    @Test func `An owner who may not set what is logged goes on without`() async throws {
        let setting = try await KeySetting(begins: false)
        let name = "o_" + UUID().uuidString.lowercased().replacing("-", with: "")
        let database = try await setting.admin.query("SELECT current_database()::text")[0].string(0)
        #expect(try await setting.run("init", "--roles").status == 0)
        try await setting.admin.execute("CREATE ROLE \(name) LOGIN; ALTER DATABASE \(database) OWNER TO \(name)")
        let url = setting.store.database(database, role: name).url
        let environment = setting.environment.merging(["INSPECTD_KEYS_URL": url]) { $1 }
        let done = try await Program.run(["keys", "init", "--to", "one"], environment: environment)
        #expect(done.status == 0, "\(done.errors)")
        let finding = try await Self.finding(setting)
        #expect(finding["outcome"] as? String == "warning", "\(finding)")
    }
}
