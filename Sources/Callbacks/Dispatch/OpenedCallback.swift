internal import Custody
internal import Foundation
internal import InspectCore
internal import Postgres

/// The sealed data of a callback, opened; all `nil` for a job that is not sealed.
struct OpenedCallback: Sendable {
    /// The user's reference as JSON.
    var userReference: String?
    /// The job's own URL.
    var url: String?
    /// The whole result as JSON.
    var result: String?
    /// Whether the body is sent without a result, since a part of it does not open: half of a result would look like a whole one.
    var withholdsResult = false

    /// The URL to send to: the database has only the origin of a sealed job's own one.
    ///
    /// - Returns: `nil`: the database's.
    func url(inPlaceOf url: String) -> String? {
        guard let own = self.url, let origin = SealedURL.origin(own), origin == SealedURL.origin(url) else {
            return nil
        }
        return own
    }

    /// - Parameter keys: Those of ``CallbackStore/keys(of:)``.
    /// - Returns: A failure if something is sealed and does not open.
    static func open(
        _ row: PostgresRow, _ column: ClaimedCallback.Columns, _ keys: OpenedKeys
    ) throws(PostgresError) -> Result<OpenedCallback, InspectError> {
        let sealed = try row.optionalData(column.sealed)
        let body = try row.optionalData(column.sealedBody)
        guard let any = sealed ?? body else { return .success(OpenedCallback()) }
        let result = try row.optionalString(column.result)
        let partner = try row.int(column.partner)
        return Result { () throws(InspectError) in
            guard let key = keys[try Seal.keyID(of: any)] else { throw InspectError(.keyUnknown) }
            let seal = try JobSeal(try key.get(), partner: partner)
            let values = try sealed.map { sealed throws(InspectError) in try seal.values(sealed) }
            let whole = try result.map { text throws(InspectError) in
                try seal.document(Data(text.utf8), sealed: sealed, body: body)
            }
            return OpenedCallback(
                userReference: values?.userReferenceJSON, url: values?.callbackUrl,
                result: whole.map { String(decoding: $0, as: UTF8.self) })
        }
    }
}

extension CallbackStore {
    /// The keys that sealed something of a claim's callbacks.
    static func keys(of rows: [PostgresRow]) throws(PostgresError) -> Set<KeyID> {
        guard rows.count > 1 else { return [] }
        let column = try ClaimedCallback.Columns(rows[1])
        var ids: Set<KeyID> = []
        for row in rows.dropFirst() {
            let sealed = try row.optionalData(column.sealed)
            let body = try row.optionalData(column.sealedBody)
            guard let any = sealed ?? body, let id = try? Seal.keyID(of: any) else { continue }
            ids.insert(id)
        }
        return ids
    }

    /// Fetches and opens keys. Callbacks whose keys do not open wait, and the rest are sent.
    func open(_ ids: Set<KeyID>) async -> OpenedKeys {
        guard let keys else { return PatientKeys.all(ids, InspectError(.keyMissing)) }
        return await keys.keys(ids)
    }
}
