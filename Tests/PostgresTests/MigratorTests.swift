import Foundation
import Postgres
import TestSupport
import Testing

@Suite struct MigratorTests {
    @Test func `Twenty migrators at once apply every script exactly once`() async throws {
        let database = try await ScratchDatabase.empty()
        let migrator = Migrator(directory: ScratchDatabase.migrations)
        let applied = try await withThrowingTaskGroup(of: [String].self) { group in
            for _ in 0..<20 {
                group.addTask {
                    let connection = try await database.connect()
                    let applied = try await migrator.run(on: connection)
                    await connection.close()
                    return applied
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        let scripts = try FileManager.default.contentsOfDirectory(atPath: ScratchDatabase.migrations)
            .filter { $0.hasSuffix(".sql") }.map { String($0.dropLast(4)) }
        #expect(applied.sorted() == scripts.sorted())
        let connection = try await database.connect()
        #expect(try await migrator.pending(on: connection).isEmpty)
        #expect(try await migrator.run(on: connection).isEmpty)
    }

    @Test func `A script that changed after it was applied is refused`() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let script = folder.appendingPathComponent("0001_first.sql")
        try Data("CREATE TABLE public.t (n int)".utf8).write(to: script)
        let connection = try await ScratchDatabase.empty().connect()
        let migrator = Migrator(directory: folder.path)
        #expect(try await migrator.run(on: connection) == ["0001_first"])
        try Data("CREATE TABLE public.t (n bigint)".utf8).write(to: script)
        let error = await #expect(throws: PostgresError.self) { try await migrator.run(on: connection) }
        #expect(error?.code == .migration)
    }

    @Test func `A script that fails is rolled back whole, and named`() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try Data("CREATE TABLE public.half (n int); SELECT 1/0".utf8)
            .write(to: folder.appendingPathComponent("0001_broken.sql"))
        let connection = try await ScratchDatabase.empty().connect()
        let error = await #expect(throws: PostgresError.self) {
            try await Migrator(directory: folder.path).run(on: connection)
        }
        #expect(error?.message.hasPrefix("0001_broken: ") == true)
        #expect(
            try await connection.query("SELECT to_regclass('public.half') IS NULL AS gone")[0].bool("gone"))
    }
}
