internal import Callbacks
package import Custody
package import Foundation
internal import HTTPServer
package import InspectCore
package import ObjectStore
package import Postgres
internal import Synchronization

/// The gateway's calls to the database, over a few shared connections. Every call passes the digest of the credential's
/// secret, which the database checks again.
package final class GatewayStore: Sendable {
    /// Requests that may wait for a connection; more are refused at once.
    private static let queueLimit = 512
    private let pool: ConnectionPool
    /// What seals requests and opens results, once it is known.
    private enum Sealing: Sendable {
        /// Nothing is stored or read: it would be plain, and the database may be sealed.
        case unknown(ErrorCode)
        /// `nil`: nothing is sealed; parts go to the database.
        case known(KeyStore?, ObjectStore?)
    }
    private let sealing: Mutex<Sealing>
    /// Waiting clients have their own connection, so that uploads of large parts do not delay them.
    let looker: ConnectionPool
    /// Reads events; made once it is known what opens them.
    private let reader = Mutex<EventReader?>(nil)
    /// Where notifications are received; `nil`: nowhere.
    let listenURL: String?
    private let report: @Sendable (StatementFault) -> Void

    /// - Parameters:
    ///   - databaseURL: A libpq connection string or URL. Never logged.
    ///   - keys: Seals requests and opens results; `nil`: nothing is sealed, or it is not known yet.
    ///   - isKnown: Whether it is. Until ``begin(_:)``, every call is refused.
    ///   - objects: Gets the sealed parts; `nil`: they go to the database.
    ///   - connections: Concurrent requests to the database.
    ///   - listenURL: The server itself: a pooler forwards no notifications. Without it, events are polled for.
    ///   - report: Called with the reason why a request will be answered with 500 or 503.
    package init(
        databaseURL: String, keys: KeyStore? = nil, objects: ObjectStore? = nil, isKnown: Bool = true,
        connections: Int, listenURL: String? = nil,
        report: @escaping @Sendable (StatementFault) -> Void = { _ in }
    ) {
        func pool(_ name: String, _ size: Int, _ queueLimit: Int) -> ConnectionPool {
            // Time for a part of 20 MB, while the client waits.
            var options = ConnectionOptions(name: "inspectd \(name)")
            options.timeout = .seconds(30)
            options.connectTimeout = .seconds(5)
            return ConnectionPool(databaseURL, options: options, size: size, queueLimit: queueLimit)
        }
        self.pool = pool("gateway", connections, Self.queueLimit)
        self.looker = pool("gateway waits", 1, 2)
        self.listenURL = listenURL
        self.report = report
        self.sealing = Mutex(isKnown ? .known(keys, objects) : .unknown(.databaseUnavailable))
    }

    /// Serves from now on.
    package func begin(_ keys: KeyStore?, _ objects: ObjectStore? = nil) {
        self.sealing.withLock { $0 = .known(keys, objects) }
    }

    /// Why it does not serve yet.
    package func wait(_ code: ErrorCode) {
        self.sealing.withLock { if case .unknown = $0 { $0 = .unknown(code) } }
    }

    /// `nil`: nothing is sealed.
    var keys: KeyStore? {
        get throws(InspectError) {
            switch self.sealing.withLock({ $0 }) {
            case .unknown(let code): throw InspectError(code)
            case .known(let keys, _): return keys
            }
        }
    }

    func eventReader() throws(InspectError) -> EventReader {
        let keys = try self.keys
        return self.reader.withLock { reader in
            if let reader { return reader }
            let made = EventReader(keys)
            reader = made
            return made
        }
    }

    var objects: ObjectStore? {
        if case .known(_, let objects) = self.sealing.withLock({ $0 }) { objects } else { nil }
    }

    /// Why no call can succeed; `nil`: the last statement reached the database.
    package var obstacle: ErrorCode? {
        if case .unknown(let code) = self.sealing.withLock({ $0 }) { return code }
        return self.pool.isConnected ? nil : .databaseUnavailable
    }

    /// The credential, if it is valid now and its secret has this SHA-256.
    ///
    /// - Throws: ``InspectError``, like every call here; any other error is an INTERNAL_ERROR.
    package func credential(keyID: String, secretSHA256: Data) async throws -> GatewayCredential? {
        try await self.ask(
            "SELECT * FROM insp.gateway_credential($1, $2)", [.text(keyID), .bytes(secretSHA256)]
        ).first.map { row in
            GatewayCredential(
                id: try row.int("id"), partner: try row.string("partner"), partnerID: try row.int("partner_id"),
                secretSHA256: secretSHA256,
                scopes: Set(try row.textArray("scopes")), isToken: keyID.hasPrefix("it_"),
                ratePerSecond: try row.optionalDouble("rate_per_second"),
                rateBurst: try row.optionalInt("rate_burst").map(Int.init),
                origins: Set(try row.textArray("origins")), isTest: try row.bool("is_test"))
        }
    }

    /// Accepts a job.
    ///
    /// - Parameters:
    ///   - payload: A JSON object as `insp.enqueue` takes it, without partner and lane.
    ///   - scansDocument: Whether a document is scanned in a session once liveness is proven.
    func create(
        _ credential: GatewayCredential, _ scope: GatewayCredential.Scope, payload: Data, parts: [PartKind: [Data]],
        traceparent: String?, scansDocument: Bool = false
    ) async throws -> CreatedJob {
        var (payload, parts) = (payload, parts)
        let request = try await self.sealed(payload, parts, credential, scope)
        if let request { (payload, parts) = (request.payload, request.parts) }
        let start: [PostgresValue] = [
            .int(credential.id), .bytes(credential.secretSHA256), .text(scope.rawValue),
            .text(try PostgresValue.json(payload)), .optional(traceparent),
        ]
        let row = try await PlacedParts.place(parts, of: request, in: self.objects) { parts in
            try await self.ask(
                "SELECT id, job, status, repeated FROM insp.gateway_create($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
                start + parts.contents + [.optional(request?.sealed), .optional(request?.hmac)] + parts.places
                    + [.bool(scansDocument)]
            ).single()
        }
        return CreatedJob(
            id: try row.string("id"), number: try row.optionalInt("job"), status: Int(try row.int("status")),
            isRepeated: try row.bool("repeated"))
    }

    /// The whole document.
    ///
    /// - Throws: ``InspectError`` with ``ErrorCode/keyUnknown`` as well: erased jobs have nothing sealed any longer, so
    ///   the key store is older than the data, and half of a result would look like a whole one.
    func opened(_ result: SealedResult) async throws(InspectError) -> Data {
        try await result.document(opening: self.keys)
    }

    private func sealed(
        _ payload: Data, _ parts: [PartKind: [Data]], _ credential: GatewayCredential, _ scope: GatewayCredential.Scope
    ) async throws -> SealedRequest? {
        guard let keys = try self.keys else { return nil }
        let sealer = RequestSealer(keys)
        let draft = try await sealer.draft(payload: payload, parts: parts, partner: credential.partnerID)
        // Refused before it has a key, which would stay.
        _ = try await self.ask(
            "SELECT insp.gateway_try($1, $2, $3, $4, $5)",
            [
                .int(credential.id), .bytes(credential.secretSHA256), .text(scope.rawValue),
                .text(try PostgresValue.json(draft.payload)), .texts(draft.kinds.map(\.rawValue)),
            ])
        return try await sealer.seal(draft)
    }

    /// A job's status, with its result once it is finished, if the credential's partner owns it.
    func result(
        _ credential: GatewayCredential, _ scope: GatewayCredential.Scope, id: String
    ) async throws -> JobAnswer {
        let row = try await self.ask(
            "SELECT job, finished, document, sealed, body, partner_id, encryption FROM insp.gateway_result($1, $2, $3, $4)",
            [.int(credential.id), .bytes(credential.secretSHA256), .text(scope.rawValue), .text(id)]
        ).single()
        return JobAnswer(
            number: try row.int("job"), isFinished: try row.bool("finished"),
            document: try await self.opened(try SealedResult(row)), key: try row.optionalData("encryption"))
    }

    /// Which of these jobs are finished, or no longer exist.
    package func finished(_ numbers: [Int64]) async throws -> [Int64] {
        try await self.ask("SELECT insp.gateway_finished($1)", [.intArray(numbers)], on: self.looker)
            .map { try $0.int(0) }
    }

    /// Closes all connections.
    package func close() async {
        await self.pool.close()
        await self.looker.close()
    }

    func ask(
        _ sql: String, _ parameters: [PostgresValue], on pool: ConnectionPool? = nil
    ) async throws -> [PostgresRow] {
        // Refused until it is known whether the database is sealed.
        _ = try self.keys
        do {
            return try await (pool ?? self.pool).run { try await $0.query(sql, parameters) }
        } catch {
            if let fault = StatementFault(error) { self.report(fault) }
            throw error
        }
    }
}

/// A job that was accepted.
struct CreatedJob: Sendable {
    /// The public id.
    var id: String
    /// Internal number; never leaves the process. `nil`: retention has removed the job.
    var number: Int64?
    var status: Int
    /// Whether it had been accepted before, under the same idempotency key.
    var isRepeated: Bool
}

/// The current state of a job for its partner.
struct JobAnswer: Sendable {
    var number: Int64
    var isFinished: Bool
    /// The result document, JSON.
    var document: Data
    /// The partner's key, for which the answer is encrypted (a JWK).
    var key: Data?

    /// The job's status, as the document has it.
    var status: Int {
        struct Progress: Decodable { var status: Int }
        return (try? JSONDecoder().decode(Progress.self, from: self.document))?.status ?? Int(JobStatus.queued.rawValue)
    }

    /// An entity tag (RFC 9110, section 8.8.3): equal for equal documents. An encrypted one has different bytes each time, so its tag
    /// is weak, and differs for a different key.
    var tag: String {
        (self.key == nil ? "" : "W/") + "\""
            + SHA256.digest([UInt8](self.document + (self.key ?? Data()))).prefix(12).hexadecimal + "\""
    }

    /// Whether a header If-None-Match names it. RFC 9110, section 13.1.2: the comparison is weak, and * matches whatever there is.
    func isNamed(by header: String?) -> Bool {
        let tag = self.tag.trimmingPrefix("W/")
        return (header ?? "").split(separator: ",").contains {
            let known = $0.trimmingCharacters(in: .whitespaces)
            return known == "*" || known.trimmingPrefix("W/") == tag
        }
    }
}
