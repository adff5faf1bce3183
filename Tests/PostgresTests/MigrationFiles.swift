import Foundation
import Postgres

/// A folder of migrations of a test's own, which goes with it.
final class MigrationFiles: Sendable {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("migrations-\(UUID().uuidString)").path
    var migrator: Migrator { Migrator(directory: self.path) }

    init(_ files: [String: String]) throws {
        try FileManager.default.createDirectory(atPath: self.path + "/functions", withIntermediateDirectories: true)
        for (name, sql) in files { try self.write(name, sql) }
    }

    deinit { try? FileManager.default.removeItem(atPath: self.path) }

    func write(_ name: String, _ sql: String) throws {
        try Data(sql.utf8).write(to: URL(fileURLWithPath: "\(self.path)/\(name).sql"))
    }

    func remove(_ name: String) throws { try FileManager.default.removeItem(atPath: "\(self.path)/\(name).sql") }
}
