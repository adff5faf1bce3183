package import Foundation
package import InspectCore
package import Postgres

/// A job's result as the database returns it: the plain document, and the sealed data.
package struct SealedResult: Sendable {
    /// A JSON object.
    package var document: Data
    /// References; `nil`: the job is not sealed, or they were removed.
    package var sealed: Data?
    /// The sealed body of the result; `nil`: there is none.
    package var body: Data?
    /// Number of the job's partner.
    package var partner: Int64

    /// - Parameter row: Has columns `document`, `sealed`, `body` and `partner_id`.
    package init(_ row: PostgresRow) throws(PostgresError) {
        self.document = try row.data("document")
        self.sealed = try row.optionalData("sealed")
        self.body = try row.optionalData("body")
        self.partner = try row.int("partner_id")
    }

    /// Opens the job's sealed data; `nil`: there is none, or it was removed.
    package func seal(opening keys: KeyStore?) async throws(InspectError) -> JobSeal? {
        guard let keys, let any = self.sealed ?? self.body else { return nil }
        return try JobSeal(try await keys.key(try Seal.keyID(of: any)), partner: self.partner)
    }

    /// The whole document.
    ///
    /// - Parameter keys: `nil`: the document is returned without its sealed data.
    /// - Throws: ``InspectError`` with ``ErrorCode/keysUnavailable``, ``ErrorCode/keyUnknown`` or ``ErrorCode/sealBroken``.
    package func document(opening keys: KeyStore?) async throws(InspectError) -> Data {
        guard let seal = try await self.seal(opening: keys) else { return self.document }
        return try seal.document(self.document, sealed: self.sealed, body: self.body)
    }
}
