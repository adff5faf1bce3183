internal import Foundation
internal import InspectCore
package import Postgres

/// The key store's identity, and the wrapping keys that it needs.
package struct CustodyState: Sendable, Equatable {
    /// The key store's own name, a UUID.
    package var keyStore: String
    /// The name of the wrapping key that wraps new keys.
    package var wrappingKey: String
    /// The name of the one from which a rotation moves the keys; `nil`: none is under way.
    package var formerKey: String?
    /// The main database's own id, a UUID.
    package var database: String
    /// An unused key that the wrapping key has wrapped; empty in the main database's copy.
    var proof: [UInt8] = []

    /// The main database's copy.
    ///
    /// - Returns: `nil` if nothing is sealed yet.
    package static func noted(on connection: PostgresConnection) async throws -> CustodyState? {
        try await connection.query(
            "SELECT key_store::text, wrapping_key, former_key, database::text FROM insp.v_custody"
        ).first.map {
            CustodyState(
                keyStore: try $0.string(0), wrappingKey: try $0.string(1), formerKey: try $0.optionalString(2),
                database: try $0.string(3))
        }
    }

    /// The main database's own id.
    package static func database(of connection: PostgresConnection) async throws -> String {
        try await connection.query("SELECT insp.database_id()::text").single().string(0)
    }

    /// Databases number their partners alike: a second one would share the keys of the first, and destroy them.
    ///
    /// - Throws: ``InspectError`` with ``ErrorCode/keyMismatch`` if the key store serves another main database.
    func check(_ database: String) throws(InspectError) {
        guard self.database == database else {
            throw InspectError(
                .keyMismatch, "the key store serves the main database \(self.database), and this is \(database)",
                hint: "A second database needs its own key store (deploy/SEALING.md, \"Wrapping keys\").")
        }
    }

    /// Records it in the main database, as an operator.
    ///
    /// - Throws: ``InspectError`` with ``ErrorCode/keyMismatch`` if the database belongs to another key store, or the key store to another database.
    package func note(on connection: PostgresConnection) async throws {
        do {
            _ = try await connection.query(
                "SELECT insp.set_custody($1, $2, $3, $4)",
                [.text(self.keyStore), .text(self.database), .text(self.wrappingKey), .optional(self.formerKey)])
        } catch let error as PostgresError {
            throw error.meaning
        }
    }

    /// From `insp.custody()` of the key store.
    init(_ row: PostgresRow) throws {
        self.keyStore = try row.string("key_store")
        self.wrappingKey = try row.string("wrapping_key")
        self.formerKey = try row.optionalString("former_key")
        self.database = try row.string("main_database")
        self.proof = [UInt8](try row.data("proof"))
    }

    init(keyStore: String, wrappingKey: String, formerKey: String?, database: String) {
        self.keyStore = keyStore
        self.wrappingKey = wrappingKey
        self.formerKey = formerKey
        self.database = database
    }

    /// Identifies the key of the proof: it depends only on the wrapping key, so it can be made before the key store exists.
    static func proofName(_ wrappingKey: String) -> [UInt8] {
        AssociatedData.encode(["inspectd proof 1", wrappingKey])
    }
}
