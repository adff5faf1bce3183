internal import Foundation

/// The files of a folder of migrations, in the order in which they are applied.
///
/// ```
/// NNNN_topic.sql        tables and data; each is applied once and never changes afterwards
/// functions/topic.sql   functions, triggers and views; applied again whenever the file has changed
/// roles.sql             roles, which belong to the whole cluster and not to the database
/// ```
struct MigrationFolder: Sendable {
    /// One file that a database remembers.
    struct Script: Sendable {
        /// The name in `public.insp_migration`: `0001_types`, `functions/claim`.
        let name: String
        let sql: String
        /// The functions files that must be applied before this one.
        let after: Set<String>
        /// The tables, functions, views and triggers that it creates, named as ``Migrator`` finds them in the catalogue; a
        /// function's name occurs once for each of its signatures. Statements begin at the start of a line, and nothing in a body does.
        let objects: [String]
        var isNumbered: Bool { !self.name.hasPrefix(MigrationFolder.functions) }

        /// Runs the file; an error names it.
        func apply(on connection: isolated PostgresConnection) throws {
            do {
                try connection.execute(self.sql, timeout: .seconds(3600))
            } catch let error as PostgresError {
                throw PostgresError(
                    error.code, sqlState: error.sqlState, "\(self.name): \(error.message)",
                    // Another result of a function, other columns of a view.
                    hint: self.isNumbered || !["42P13", "42P16"].contains(error.sqlState)
                        ? nil
                        : "CREATE OR REPLACE changes neither a function's result and parameter names nor a view's columns: begin \(self.name).sql with DROP FUNCTION IF EXISTS or DROP VIEW IF EXISTS, and name \(self.name.dropFirst(MigrationFolder.functions.count)) in the line -- After: of each file that uses it"
                )
            }
        }

        init(_ name: String, sql: String) {
            self.name = name
            self.sql = sql
            self.objects = MigrationFolder.lines(of: sql, that: "CREATE ", Self.object).compactMap(\.self)
            self.after = name.hasPrefix(MigrationFolder.functions) ? MigrationFolder.after(sql) : []
        }

        /// The object that a statement creates, if it is a table, function, view or trigger. The table of a trigger may be on a later line.
        private static func object(_ statement: UnsafePointer<CChar>) -> String? {
            var rest = statement
            /// Up to the statement's end.
            func next() -> String? {
                rest += strspn(rest, " (\n")
                let length = strcspn(rest, " (\n;")
                defer { rest += length }
                return length == 0
                    ? nil : String(decoding: UnsafeRawBufferPointer(start: rest, count: length), as: UTF8.self)
            }
            for _ in 0..<5 {
                guard let word = next() else { return nil }
                guard ["TABLE", "FUNCTION", "VIEW", "TRIGGER"].contains(word) else { continue }
                guard let name = next() else { return nil }
                let object = "\(word.lowercased()) \(name)"
                guard word == "TRIGGER" else { return object }
                while let word = next(), word != "ON" {}
                return next().map { "\(object) on \($0)" }
            }
            return nil
        }
    }

    static let functions = "functions/"
    private static let header = "-- After:"

    /// Numbered scripts by number, then functions files, each after those that it names.
    var scripts: [Script]
    /// `roles.sql`, if it exists.
    var rolesScript: String?

    /// The roles that `roles.sql` creates: every literal in it that is a role's name, `keys_…` in the key store's file.
    var roles: [String] {
        (self.rolesScript ?? "").matches(of: /'((?:insp|keys)_[a-z]+)'/).map { String($0.output.1) }
    }

    init(_ path: String) throws {
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: path) else {
            throw PostgresError(.migration, "the folder of migrations cannot be read")
        }
        var numbered: [Script] = []
        for name in names.filter({ $0.hasSuffix(".sql") }).sorted() {
            let sql = try Self.read("\(path)/\(name)")
            if name == "roles.sql" {
                self.rolesScript = sql
            } else if name.prefixMatch(of: /[0-9]{4}_/) != nil {
                numbered.append(Script(String(name.dropLast(4)), sql: sql))
            } else {
                throw PostgresError(.migration, "\(name) is neither a numbered script nor roles.sql")
            }
        }
        guard !numbered.isEmpty || self.rolesScript != nil else {
            throw PostgresError(.migration, "the folder of migrations holds no script")
        }
        let topics = (try? FileManager.default.contentsOfDirectory(atPath: path + "/" + Self.functions)) ?? []
        let functions = try topics.filter { $0.hasSuffix(".sql") }.map { name in
            Script(Self.functions + name.dropLast(4), sql: try Self.read("\(path)/\(Self.functions)\(name)"))
        }
        self.scripts = numbered + (try Self.ordered(functions))
    }

    /// `roles.sql` without the scripts, which take much longer to read and order.
    init(rolesOf path: String) throws {
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: path) else {
            throw PostgresError(.migration, "the folder of migrations cannot be read")
        }
        self.scripts = []
        self.rolesScript = try names.contains("roles.sql") ? Self.read("\(path)/roles.sql") : nil
    }

    private static func read(_ path: String) throws -> String {
        guard let bytes = FileManager.default.contents(atPath: path), let sql = String(data: bytes, encoding: .utf8)
        else { throw PostgresError(.migration, "\(path) cannot be read") }
        return sql
    }

    /// Lines that begin so. Found by the C library: Swift's own views take ten times as long if nothing is optimised.
    private static func lines<Line>(of sql: String, that start: String, _ read: (UnsafePointer<CChar>) -> Line)
        -> [Line]
    {
        ("\n" + sql).withCString { text in
            var lines: [Line] = []
            var rest = text
            while let line = strstr(rest, "\n" + start) {
                lines.append(read(line + 1))
                rest = UnsafePointer(line + 1)
            }
            return lines
        }
    }

    /// The names in lines like `-- After: claim, errors`, which belong in a file's head but count anywhere.
    private static func after(_ sql: String) -> Set<String> {
        let lines = Self.lines(of: sql, that: Self.header) { line in
            String(decoding: UnsafeRawBufferPointer(start: line, count: strcspn(line, "\n")), as: UTF8.self)
        }
        return Set(
            lines.flatMap { $0.dropFirst(Self.header.count).split(separator: ",") }
                .map { Self.functions + $0.trimmingCharacters(in: .whitespaces) })
    }

    /// Each file after those that it names, otherwise by name.
    private static func ordered(_ files: [Script]) throws -> [Script] {
        let names = Set(files.map(\.name))
        for file in files {
            guard let unknown = file.after.subtracting(names).min() else { continue }
            throw PostgresError(.migration, "\(file.name) comes after \(unknown), which is not a file of the folder")
        }
        var waiting = files.sorted { $0.name < $1.name }
        var ordered: [Script] = []
        var done: Set<String> = []
        while let next = waiting.firstIndex(where: { $0.after.isSubset(of: done) }) {
            let file = waiting.remove(at: next)
            done.insert(file.name)
            ordered.append(file)
        }
        guard waiting.isEmpty else {
            // The files of the cycle, without those that only depend on it.
            var circle = Set(waiting.map(\.name))
            while let outside = circle.first(where: { name in
                !waiting.contains { circle.contains($0.name) && $0.after.contains(name) }
            }) {
                circle.remove(outside)
            }
            throw PostgresError(
                .migration, "each of these comes after another of them: \(circle.sorted().joined(separator: ", "))")
        }
        return ordered
    }
}
