internal import Foundation

/// Applies the numbered scripts of a folder in the order of their names, all that are missing in one transaction: a fleet at
/// work never meets the half of an upgrade.
///
/// Safe when many processes run it at once: one works, the others wait on an advisory lock and find nothing left to do.
/// A script that was applied must not change afterwards; its digest is kept and compared.
public struct Migrator: Sendable {
    private let directory: String

    /// - Parameter directory: The folder that holds `NNNN_name.sql`.
    public init(directory: String) {
        self.directory = directory
    }

    /// One script.
    private struct Script {
        var name: String
        var sql: String
    }

    /// Key of the advisory lock: `insp` in ASCII, then a number for migrations.
    private static let lock: Int64 = 0x696e_7370_0000_0001

    /// Applies what is missing.
    ///
    /// - Returns: The names of the scripts that were applied.
    /// - Throws: ``PostgresError`` with ``PostgresError/Code/migration`` if an applied script has changed or the database
    ///   is ahead of the folder; the server's error, with the script's name, if one fails.
    @discardableResult
    public func run(on connection: PostgresConnection, waitingUpTo wait: Duration = .seconds(300)) async throws
        -> [String]
    {
        let scripts = try self.scripts()
        for attempt in 1... {
            do {
                return try await connection.transaction { connection in
                    try Self.apply(scripts, on: connection, waitingUpTo: wait)
                }
            } catch let error as PostgresError where error.sqlState == "40P01" && attempt < 5 {
                // A deadlock with the work of a running fleet: nothing was changed.
                try await Task.sleep(for: .milliseconds(200 * attempt))
            }
        }
        return []
    }

    private static func apply(
        _ scripts: [Script], on connection: isolated PostgresConnection, waitingUpTo wait: Duration
    ) throws -> [String] {
        // Held to the end of the transaction: works through a pooler, and ends with a killed process.
        _ = try connection.query("SELECT pg_advisory_xact_lock($1)", [.int(Self.lock)], timeout: wait)
        try connection.execute(
            """
            CREATE TABLE IF NOT EXISTS public.insp_migration (
                name text PRIMARY KEY,
                sha256 text NOT NULL,
                applied_at timestamptz NOT NULL DEFAULT now()
            );
            COMMENT ON TABLE public.insp_migration IS 'inspectd: scripts of Migrations/ that were applied'
            """)
        var applied: [String] = []
        for script in scripts {
            let rows = try connection.query(
                """
                SELECT m.sha256, encode(sha256(convert_to($2, 'UTF8')), 'hex') AS now
                FROM (SELECT 1) one LEFT JOIN public.insp_migration m ON m.name = $1
                """, [.text(script.name), .text(script.sql)])
            if let known = try rows[0].optionalString("sha256") {
                guard try rows[0].string("now") == known else {
                    throw PostgresError(.migration, "\(script.name) was changed after it was applied")
                }
                continue
            }
            _ = try connection.query(
                "INSERT INTO public.insp_migration (name, sha256) VALUES ($1, $2)",
                [.text(script.name), .text(try rows[0].string("now"))])
            do {
                try connection.execute(script.sql, timeout: .seconds(3600))
            } catch let error as PostgresError {
                throw PostgresError(error.code, sqlState: error.sqlState, "\(script.name): \(error.message)")
            }
            applied.append(script.name)
        }
        return applied
    }

    /// The scripts that are not applied yet.
    public func pending(on connection: PostgresConnection) async throws -> [String] {
        let names = try self.scripts().map(\.name)
        let exists = try await connection.query("SELECT to_regclass('public.insp_migration') IS NOT NULL AS exists")
        guard try exists[0].bool("exists") else { return names }
        let rows = try await connection.query("SELECT name FROM public.insp_migration")
        let applied = Set(try rows.map { try $0.string("name") })
        return names.filter { !applied.contains($0) }
    }

    private func scripts() throws -> [Script] {
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: self.directory)
        } catch {
            throw PostgresError(.migration, "the folder of migrations cannot be read")
        }
        let scripts = try names.filter { $0.hasSuffix(".sql") }.sorted().map { name in
            guard let bytes = FileManager.default.contents(atPath: "\(self.directory)/\(name)"),
                let sql = String(data: bytes, encoding: .utf8)
            else { throw PostgresError(.migration, "\(name) cannot be read") }
            return Script(name: String(name.dropLast(4)), sql: sql)
        }
        guard !scripts.isEmpty else { throw PostgresError(.migration, "the folder of migrations holds no script") }
        return scripts
    }
}
