import Foundation
import Postgres

extension SimulatedDatabase {
    /// A rule broken on purpose, to see that the simulation notices.
    struct Fault: Sendable, CustomStringConvertible {
        /// A seed whose run in a new world comes upon it.
        var foundBy: UInt64
        /// What is then found wrong: what the rule is for.
        var noticed: String
        var function: String
        var rule: String
        var replacement: String
        /// In place of a rule in a function's text: what to do to the schema.
        var statement: String?
        /// What lies around a worker's machine, not a rule of the database.
        var worker: SimulatedWorker.Fault?

        func isNoticed(by violation: String) -> Bool { violation.contains(self.noticed) }

        var description: String { "\(self.function) without \(self.rule)" }

        func commit(on connection: PostgresConnection) async throws {
            if let statement { return try await connection.execute(statement) }
            if self.worker != nil { return }
            let text = try await connection.query(
                """
                SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'insp'::regnamespace AND proname = $1
                ORDER BY strpos(prosrc, $2) > 0 DESC, oid DESC LIMIT 1
                """,
                [.text(self.function), .text(self.rule)])[0].string(0)
            let broken = text.replacing(self.rule, with: self.replacement)
            guard broken != text else { throw Missing(fault: self) }
            try await connection.execute(broken)
        }

        /// What lies around a worker's machine is broken.
        static func around(_ fault: SimulatedWorker.Fault, foundBy: UInt64, noticed: String) -> Fault {
            Fault(
                foundBy: foundBy, noticed: noticed, function: "the worker", rule: fault.rawValue, replacement: "",
                worker: fault)
        }

        struct Missing: Error { var fault: Fault }
    }
}
