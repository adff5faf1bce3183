internal import Foundation
package import InspectCore
internal import Postgres

extension KeyStore {
    /// Partners' keys that are rewrapped in one statement: each may be a request to a KMS, and a killed process repeats them.
    private static let page = 50

    /// The outcome of a rotation.
    package struct Rotation: Sendable {
        /// Keys that were rewrapped.
        package var rewrapped = 0
        /// Keys that the former wrapping key does not open; they stay as they are.
        package var unreadable = 0
        /// The state in the database after this step.
        package var state: CustodyState
        /// Whether no key needs another wrapping key any longer.
        package var isDone: Bool { self.state.formerKey == nil }
    }

    /// Gives a new key store its first wrapping key and its main database. One that has them keeps them.
    ///
    /// - Parameters:
    ///   - database: The main database's own id, a UUID.
    ///   - former: The id of the main database that it replaces; `nil`: none.
    /// - Throws: ``InspectError`` with ``ErrorCode/keyMismatch`` if the key store serves another database, or if the process does not
    ///   have the wrapping key, or another one of that name.
    package func begin(
        _ wrappingKey: String, for database: String, inPlaceOf former: String? = nil
    ) async throws(InspectError) -> CustodyState {
        let proof = try await self.proof(wrappingKey)
        let state = try await self.changed(
            "begin_custody($1, $2, $3, $4)",
            [.text(wrappingKey), .bytes(proof), .text(database), .optional(former)])
        try state.check(database)
        return try await self.checkWrappingKeys()
    }

    /// Lets another wrapping key wrap new keys from now on. The next step is ``rewrap(all:)``, by this process or another one.
    ///
    /// - Parameter restores: Allowed even if a rotation is under way, since it can never end if its wrapping key is lost.
    /// - Throws: ``InspectError`` with ``ErrorCode/keyMismatch`` if a rotation to a third one is under way.
    package func beginRotation(
        to wrappingKey: String, restores: Bool = false
    ) async throws(InspectError) -> CustodyState {
        // Before anything changes, this shows that the key is here and works.
        let proof = try await self.proof(wrappingKey)
        let state = try await self.changed(
            "begin_rotation($1, $2, $3)", [.text(wrappingKey), .bytes(proof), .bool(restores)])
        guard state.wrappingKey == wrappingKey else {
            throw InspectError(
                .keyMismatch, "a rotation to \(state.wrappingKey) is under way", hint: "Run inspectd keys rewrap.")
        }
        return state
    }

    /// Wraps partners' keys with the current wrapping key: those that another one has wrapped, or all. Safe to end at any moment,
    /// to run again and to run twice at once: each key is replaced if it is still as it was read, and both wrapping keys open
    /// until no key needs the former one.
    ///
    /// - Parameters:
    ///   - all: Also those that it has wrapped already, after its KMS has a new version of it.
    ///   - report: Called after each page, with the counts so far.
    package func rewrap(all: Bool = false, report: @Sendable (Rotation) -> Void = { _ in }) async throws(InspectError)
        -> Rotation
    {
        guard let state = try await self.state() else {
            throw InspectError(.keyMissing, "the key store has no wrapping key")
        }
        let present = try self.wrappingKeys.key(state.wrappingKey)
        var outcome = Rotation(state: state)
        var last: KeyID?
        while true {
            let rows = try await self.page(after: last)
            guard let end = rows.last else { break }
            last = end.id
            var fresh: [(row: StoredKey, wrapped: [UInt8])] = []
            for row in rows where all || row.wrappingKey != present.id {
                do throws(InspectError) {
                    fresh.append((row, try await self.rewrap(row, under: present)))
                } catch {
                    // Damaged, or wrapped by a version that the KMS does not have. The others continue.
                    guard [.sealBroken, .keyUnknown].contains(error.code) else { throw error }
                    outcome.unreadable += 1
                }
            }
            guard !fresh.isEmpty else { continue }
            outcome.rewrapped += try await self.count(
                "SELECT insp.rewrap_keys($1, $2::uuid[], $3, $4)",
                [
                    .text(present.id), .textArray(fresh.map(\.row.id.text)),
                    .byteas(fresh.map { Data($0.row.wrapped) }),
                    .byteas(fresh.map { Data($0.wrapped) }),
                ])
            report(outcome)
        }
        outcome.state = try await self.endRotation()
        return outcome
    }

    /// Forgets the former wrapping key unless a key still needs it.
    func endRotation() async throws(InspectError) -> CustodyState { try await self.changed("end_rotation()", []) }

    private func rewrap(_ row: StoredKey, under present: any WrappingKey) async throws(InspectError) -> [UInt8] {
        let associated = row.associated(present.id)
        if row.wrappingKey == present.id { return try await present.rewrap(row.wrapped, associated) }
        return try await present.wrap(try await self.secret(row), associated)
    }

    /// An unused key, wrapped.
    private func proof(_ wrappingKey: String) async throws(InspectError) -> Data {
        Data(
            try await self.wrappingKeys.key(wrappingKey).wrap(.random(), CustodyState.proofName(wrappingKey)))
    }

    private func changed(_ call: String, _ parameters: [PostgresValue]) async throws(InspectError) -> CustodyState {
        let state = try await self.run { connection in
            try await connection.query("SELECT * FROM insp.\(call)", parameters).first.map { try CustodyState($0) }
        }
        guard let state else {
            throw InspectError(.keyMissing, "the key store has no wrapping key", hint: "Run inspectd keys init.")
        }
        return state
    }

    func page(after last: KeyID?) async throws(InspectError) -> [StoredKey] {
        try await self.rows(
            "SELECT * FROM insp.all_partner_keys($1, $2)", [.optional(last?.text), .int(Int64(Self.page))])
    }

    /// How many partners' keys a rotation must still wrap, by the name of the wrapping key that they need. Needs the role
    /// `keys_locksmith`.
    package func left() async throws(InspectError) -> [String: Int] {
        guard let present = try await self.state()?.wrappingKey else { return [:] }
        var left: [String: Int] = [:]
        var last: KeyID?
        while true {
            let rows = try await self.page(after: last)
            guard let end = rows.last else { return left }
            last = end.id
            for row in rows { if let name = row.wrappingKey, name != present { left[name, default: 0] += 1 } }
        }
    }

    /// How many partners' keys each wrapping key wraps, by its name.
    package func wrappedPartners() async throws(InspectError) -> [(wrappingKey: String, partners: Int64)] {
        try await self.run { connection in
            try await connection.query("SELECT wrapping_key, partners FROM insp.wrapped_partners()", []).map {
                (try $0.string(0), try $0.int(1))
            }
        }
    }

    // MARK: Lost keys

    /// The keys below a partner's key.
    package struct Below: Sendable {
        /// Number of the partner (`insp.partner.id`).
        package var partner: Int64
        /// Keys of persons.
        package var persons: Int
        /// Keys of jobs.
        package var jobs: Int
        /// Keys of face templates.
        package var templates: Int
    }

    /// The keys that are lost with a wrapping key, or with a partner's key. Needs the role `keys_sweeper`, and reads all keys.
    package func below(_ wrappingKey: String?, _ partner: Int64?) async throws(InspectError) -> [Below] {
        try await self.run { connection in
            try await connection.query(
                "SELECT * FROM insp.count_below($1, $2)", [.optional(wrappingKey), .optional(partner)],
                timeout: .seconds(600)
            ).map { row in
                Below(
                    partner: try row.int("partner_id"), persons: Int(try row.int("persons")),
                    jobs: Int(try row.int("jobs")), templates: Int(try row.int("templates")))
            }
        }
    }

    /// Destroys the keys that a lost wrapping key has wrapped. Needs the role `keys_sweeper`.
    ///
    /// - Parameter wrappingKey: Wraps new keys from now on; needed if that was the lost one.
    package func abandon(_ lost: String, to wrappingKey: String?) async throws(InspectError) -> CustodyState {
        var proof: Data?
        // Before anything is destroyed, this shows that the key is here and works.
        if let wrappingKey { proof = try await self.proof(wrappingKey) }
        _ = try await self.count(
            "SELECT insp.abandon_keys($1, $2, $3)", [.text(lost), .optional(wrappingKey), .optional(proof)])
        return try await self.checkWrappingKeys()
    }

    // MARK: Existing keys

    /// Partners that have a key, by number, and whether no key is below. Needs the role `keys_locksmith`.
    ///
    /// - Parameter last: The page begins after it; `nil`: with the first.
    package func partnerKeyUses(
        after last: Int64?, limit: Int
    ) async throws(InspectError) -> [(partner: Int64, isIdle: Bool)] {
        try await self.run { connection in
            try await connection.query(
                "SELECT * FROM insp.partner_key_uses($1, $2)", [.optional(last), .int(Int64(limit))]
            ).map { (try $0.int("partner_id"), try $0.bool("is_idle")) }
        }
    }

    /// Keys of one kind.
    package struct Tally: Sendable, Encodable {
        /// The level in the tree, as ``KeyKind`` names it.
        package var kind: String
        /// Of partners' keys, the wrapping key that wraps them.
        package var wrappingKey: String?
        /// How many there are.
        package var keys: Int
        /// When the oldest one was created, as ISO 8601.
        package var oldest: String
    }

    /// How many keys there are. Reads all of them.
    package func tallies() async throws(InspectError) -> [Tally] {
        try await self.run { connection in
            try await connection.query("SELECT * FROM insp.count_keys()", timeout: .seconds(600)).map { row in
                Tally(
                    kind: try row.string("kind"), wrappingKey: try row.optionalString("wrapping_key"),
                    keys: Int(try row.int("keys")), oldest: try row.date("oldest").formatted(.iso8601))
            }
        }
    }

    /// The findings of ``verify(report:)``.
    package struct Verification: Sendable, Encodable {
        /// Keys that were opened.
        package var opened = 0
        /// Keys that do not open although all above them do: damaged, or moved from another row.
        package var unreadable = 0
        /// Keys below destroyed ones, which the sweep will delete.
        package var destroyed = 0
        /// Ids of the first unreadable ones.
        package var examples: [String] = []
    }

    /// Opens every key.
    ///
    /// - Throws: ``InspectError`` with ``ErrorCode/keysUnavailable`` or ``ErrorCode/keyMismatch`` if it cannot be known.
    package func verify(report: @Sendable (Verification) -> Void = { _ in }) async throws(InspectError) -> Verification
    {
        var found = Verification()
        var last: KeyID?
        while true {
            let after = last?.text
            let ids = try await self.run { connection in
                try await connection.query("SELECT insp.all_keys($1, 1000)::text", [.optional(after)])
                    .compactMap { KeyID(try $0.string(0)) }
            }
            guard let end = ids.last else { return found }
            last = end
            for (id, result) in try await self.examine(ids).sorted(by: { $0.key.text < $1.key.text }) {
                do throws(KeyFault) {
                    _ = try result.get()
                    found.opened += 1
                } catch {
                    switch error {
                    case .absent, .destroyed: found.destroyed += 1
                    // A key that its KMS does not know is not destroyed, and neither is a damaged one.
                    case .failure(let error) where ![.sealBroken, .keyUnknown].contains(error.code): throw error
                    case .damaged, .foreign, .failure:
                        found.unreadable += 1
                        if found.examples.count < 20 { found.examples.append(id.text) }
                    }
                }
            }
            report(found)
        }
    }
}
