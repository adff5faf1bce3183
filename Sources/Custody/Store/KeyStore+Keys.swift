package import Foundation
package import InspectCore
internal import Postgres

/// The person or face that a person key belongs to.
package struct KeySubject: Hashable, Sendable {
    let use: String
    let value: String

    /// A person, by the partner's `userReference`.
    package static func user(_ reference: String) -> KeySubject { KeySubject(use: "user", value: reference) }
    /// A face that no `userReference` belongs to.
    package static func face(_ id: String) -> KeySubject { KeySubject(use: "face", value: id) }
}

/// A person, or a face, of a partner.
package struct KeyOwner: Hashable, Sendable {
    /// Number of the partner (`insp.partner.id`).
    package let partner: Int64
    /// `nil`: nobody; the key belongs directly to the partner.
    package let subject: KeySubject?

    /// - Parameter subject: `nil`: the job specifies nobody, and its key belongs directly to the partner.
    package init(partner: Int64, _ subject: KeySubject? = nil) {
        self.partner = partner
        self.subject = subject
    }
}

extension KeyStore {
    /// The key that a partner has now; the first call creates it.
    ///
    /// Asks the key store each time: under a key that was replaced, a blind index finds nobody, and an erasure would report that nothing
    /// is left.
    package func partnerKey(_ partner: Int64) async throws(InspectError) -> CustodyKey {
        if let row = try await self.rows("SELECT * FROM insp.partner_keys($1::integer[])", [.intArray([partner])]).first
        {
            return try await self.openPartner(row).mapError(\.error).get()
        }
        // A rotation may begin between the question and the answer; two tries are enough, since the next rotation waits for the end of this one.
        for _ in 0..<3 {
            guard let state = try await self.state() else {
                throw InspectError(.keyMissing, "the key store has no wrapping key", hint: "Run inspectd keys init.")
            }
            let (id, secret) = (KeyID.new(), SecretKey.random())
            let wrapped = try await self.wrappingKeys.key(state.wrappingKey).wrap(
                secret, KeyWrap.associated(id, .partner, partner: partner, parent: state.wrappingKey))
            let row = try await self.rows(
                "SELECT * FROM insp.add_partner_key($1, $2, $3, $4)",
                [.int(partner), .text(id.text), .text(state.wrappingKey), .bytes(Data(wrapped))]
            ).first
            guard let row else { continue }
            guard row.id == id else { return try await self.openPartner(row).mapError(\.error).get() }
            let key = CustodyKey(id: id, kind: .partner, partner: partner, parent: nil, secret: secret)
            self.cache.keep(key)
            return key
        }
        throw InspectError(.keysUnavailable, "the wrapping key is being rotated")
    }

    /// A partner's key as this process last saw it. For callers that notice if it was replaced.
    func knownPartnerKey(_ partner: Int64) async throws(InspectError) -> CustodyKey {
        if let key = self.cache.key(of: partner) { return key }
        return try await self.partnerKey(partner)
    }

    /// The keys of these persons or faces, and of their partners; missing ones are created.
    ///
    /// - Throws: ``InspectError`` with ``ErrorCode/keyUnknown`` if the partner's key was destroyed meanwhile.
    func keys(
        of owners: [KeyOwner]
    ) async throws(InspectError) -> (persons: [KeyOwner: CustodyKey], partners: [Int64: CustodyKey]) {
        try await self.renewing(owners.map(\.partner)) { () throws(InspectError) in
            let partners = try await self.partnerKeys(owners.map(\.partner))
            return (try await self.personKeys(Set(owners), partners), partners)
        }
    }

    /// New keys of jobs, one for each owner in the list, under the owner's key.
    ///
    /// - Throws: ``InspectError`` with ``ErrorCode/keyUnknown`` if a key above was destroyed meanwhile.
    package func jobKeys(_ owners: [KeyOwner]) async throws(InspectError) -> [CustodyKey] {
        try await self.newJobKeys(owners).jobs
    }

    /// New keys of jobs, and the keys of their partners above them.
    func newJobKeys(
        _ owners: [KeyOwner]
    ) async throws(InspectError) -> (jobs: [CustodyKey], partners: [Int64: CustodyKey]) {
        guard !owners.isEmpty else { return ([], [:]) }
        return try await self.renewing(owners.map(\.partner)) { () throws(InspectError) in
            let partners = try await self.partnerKeys(owners.map(\.partner))
            let persons = try await self.personKeys(Set(owners), partners)
            let jobs = try await self.add(
                owners.compactMap { (persons[$0] ?? partners[$0.partner])?.child(.job) }, kind: .job)
            return (jobs, partners)
        }
    }

    /// A new key for a template, under a person's or a face's.
    ///
    /// - Throws: ``InspectError`` with ``ErrorCode/keyUnknown`` if that was destroyed.
    package func templateKey(under parent: CustodyKey) async throws(InspectError) -> CustodyKey {
        try await self.add([parent.child(.template)], kind: .template)[0]
    }

    private func add(
        _ made: [(key: CustodyKey, wrapped: [UInt8])], kind: KeyKind
    ) async throws(InspectError) -> [CustodyKey] {
        let stored = try await self.count(
            "SELECT count(*) FROM insp.add_job_keys($1::uuid[], $2::uuid[], $3, $4)",
            [
                .textArray(made.map(\.key.id.text)), .textArray(made.map { $0.key.parent?.text }),
                .byteas(made.map { Data($0.wrapped) }), .text(kind.rawValue),
            ])
        guard stored == made.count else { throw InspectError(.keyUnknown, "a key above it was destroyed") }
        return made.map(\.key)
    }

    /// Tries again without the cached keys of these partners, which may have been replaced.
    private func renewing<Result: Sendable>(
        _ partners: [Int64], _ body: () async throws(InspectError) -> Result
    ) async throws(InspectError) -> Result {
        do {
            return try await body()
        } catch {
            guard error.code == .keyUnknown else { throw error }
            for partner in Set(partners) { self.cache.forget(partner) }
            return try await body()
        }
    }

    private func partnerKeys(_ partners: [Int64]) async throws(InspectError) -> [Int64: CustodyKey] {
        var keys: [Int64: CustodyKey] = [:]
        for partner in Set(partners) { keys[partner] = try await self.knownPartnerKey(partner) }
        return keys
    }

    private func personKeys(
        _ owners: Set<KeyOwner>, _ partners: [Int64: CustodyKey]
    ) async throws(InspectError) -> [KeyOwner: CustodyKey] {
        let indexes = partners.mapValues { BlindIndex($0) }
        var found: [Data: KeyOwner] = [:]
        var new: [(subject: Data, key: CustodyKey, wrapped: [UInt8])] = []
        for owner in owners {
            guard let subject = owner.subject, let parent = partners[owner.partner], let index = indexes[owner.partner]
            else { continue }
            let bytes = Data(index.index(subject.value, use: subject.use))
            let (key, wrapped) = parent.child(.person)
            found[bytes] = owner
            new.append((bytes, key, wrapped))
        }
        guard !new.isEmpty else { return [:] }
        let parameters: [PostgresValue] = [
            .byteas(new.map(\.subject)), .textArray(new.map(\.key.id.text)),
            .textArray(new.map { $0.key.parent?.text }),
            .byteas(new.map { Data($0.wrapped) }),
        ]
        let rows = try await self.run { connection in
            try await connection.query("SELECT * FROM insp.add_person_keys($1, $2::uuid[], $3::uuid[], $4)", parameters)
                .map { (try StoredKey($0), try $0.data("subject")) }
        }
        var keys: [KeyOwner: CustodyKey] = [:]
        for (row, subject) in rows {
            guard let owner = found[subject], let parent = partners[owner.partner] else { continue }
            keys[owner] = try parent.child(.person, id: row.id, wrapped: row.wrapped)
        }
        guard keys.count == new.count else { throw InspectError(.keyUnknown, "the partner's key was destroyed") }
        return keys
    }

    // MARK: Destruction

    /// Destroys keys, and with them what they and the keys below them have sealed. Needs the role `keys_sweeper`.
    ///
    /// - Returns: How many there were.
    @discardableResult
    package func destroy(_ ids: [KeyID]) async throws(InspectError) -> Int {
        try await self.count("SELECT insp.destroy_keys($1::uuid[])", [.textArray(ids.map(\.text))])
    }

    /// Destroys keys of jobs and templates, each if it is the given partner's. Needs the role `keys_eraser`.
    ///
    /// - Parameter partners: One for each key.
    /// - Returns: Whether there was each.
    @discardableResult
    package func destroyJobs(_ ids: [KeyID], of partners: [Int64]) async throws(InspectError) -> [Bool] {
        let names = try await self.run(busy: .rowLocked) { connection in
            try await connection.query(
                "SELECT id::text || ' ' || partner_id FROM insp.destroy_job_keys($1::uuid[], $2::integer[])",
                [.textArray(ids.map(\.text)), .intArray(partners)]
            ).map { try $0.string(0) }
        }
        let gone = Set(names)
        return zip(ids, partners).map { gone.contains("\($0.text) \($1)") }
    }

    /// Destroys the key of a person or a face.
    ///
    /// - Returns: Whether there was one.
    @discardableResult
    package func destroyPerson(_ subject: KeySubject, of partner: Int64) async throws(InspectError) -> Bool {
        guard let index = try await self.index(of: partner) else { return false }
        return try await self.destroyPerson(index.index(subject.value, use: subject.use), of: partner)
    }

    /// Destroys the key of a person or a face that the database names by a pseudonym.
    ///
    /// - Returns: Whether there was one.
    @discardableResult
    package func destroyPerson(pseudonym: String, of partner: Int64) async throws(InspectError) -> Bool {
        guard let index = BlindIndex.bytes(of: pseudonym) else { return false }
        return try await self.destroyPerson(index, of: partner)
    }

    /// Destroys the key of a person or a face whom the main database has erased, unless data was sealed for the same one since: then it destroys only
    /// the older keys below. Needs the role `keys_eraser`.
    ///
    /// - Parameters:
    ///   - storedIndex: As ``BlindIndex/ofStored(_:)`` makes it of the pseudonym.
    ///   - microseconds: How long ago that was.
    /// - Returns: Whether the person's key was destroyed.
    package func destroyErasedPerson(
        _ storedIndex: Data, of partner: Int64, since microseconds: Int64
    ) async throws(InspectError) -> Bool {
        try await self.run(busy: .rowLocked) { connection in
            try await connection.query(
                "SELECT insp.destroy_erased_person($1, $2, $3::interval)",
                [.int(partner), .bytes(storedIndex), .text("\(microseconds) microseconds")]
            ).single().bool(0)
        }
    }

    /// Destroys the key of a face that the main database has deleted, unless keys are below it: results of the face's jobs still open
    /// with them. Needs the role `keys_eraser`.
    ///
    /// - Parameter storedIndex: As ``BlindIndex/ofStored(_:)`` makes it of the pseudonym.
    /// - Returns: Whether there was one; `nil`: there is one, and others below it.
    package func destroyDeletedFace(_ storedIndex: Data, of partner: Int64) async throws(InspectError) -> Bool? {
        try await self.run(busy: .rowLocked) { connection in
            try await connection.query(
                "SELECT insp.destroy_deleted_face($1, $2)", [.int(partner), .bytes(storedIndex)]
            ).single().optionalBool(0)
        }
    }

    private func destroyPerson(_ index: [UInt8], of partner: Int64) async throws(InspectError) -> Bool {
        try await self.count("SELECT insp.destroy_person_key($1, $2)", [.int(partner), .bytes(Data(index))]) > 0
    }

    /// The partner's index; `nil`: the partner has no key, and so no person has.
    private func index(of partner: Int64) async throws(InspectError) -> BlindIndex? {
        let rows = try await self.rows("SELECT * FROM insp.partner_keys($1::integer[])", [.intArray([partner])])
        guard let row = rows.first else { return nil }
        return BlindIndex(try await self.openPartner(row).mapError(\.error).get())
    }

    /// Destroys the key of a partner, and with it all of the partner's sealed data.
    ///
    /// - Returns: Whether there was one.
    @discardableResult
    package func destroyPartner(_ partner: Int64) async throws(InspectError) -> Bool {
        self.cache.forget(partner)
        return try await self.count("SELECT insp.destroy_partner_key($1)", [.int(partner)]) > 0
    }

    /// Keys of jobs and templates that are older than an hour, by id: a request sealed so long ago was accepted or never will be.
    ///
    /// - Parameter last: The page begins after it; `nil`: with the first.
    package func oldJobKeys(after last: KeyID?, limit: Int) async throws(InspectError) -> [KeyID] {
        let after = last?.text
        return try await self.run { connection in
            try await connection.query(
                "SELECT insp.old_job_keys($1, interval '1 hour', $2)::text", [.optional(after), .int(Int64(limit))]
            ).compactMap { KeyID(try $0.string(0)) }
        }
    }

    /// Keys of persons and faces that are older than an hour, by id, and whether no key is below.
    ///
    /// - Parameter last: The page begins after it; `nil`: with the first.
    package func personKeys(after last: KeyID?, limit: Int) async throws(InspectError) -> [(id: KeyID, isIdle: Bool)] {
        let after = last?.text
        return try await self.run { connection in
            try await connection.query(
                "SELECT id::text, is_idle FROM insp.idle_person_keys($1, interval '1 hour', $2)",
                [.optional(after), .int(Int64(limit))]
            ).compactMap { row in
                let isIdle = try row.bool(1)
                return KeyID(try row.string(0)).map { ($0, isIdle) }
            }
        }
    }

    /// Numbers of partners whose key is older than an hour, in order.
    ///
    /// - Parameters:
    ///   - last: The page begins after it; `nil`: with the first.
    ///   - isNow: Also those of younger keys.
    package func partnersWithKeys(
        after last: Int64?, limit: Int, isNow: Bool = false
    ) async throws(InspectError) -> [Int64] {
        try await self.run { connection in
            try await connection.query(
                "SELECT insp.partners_with_keys($1, $2::interval, $3)",
                [.optional(last), .text(isNow ? "-1 hour" : "1 hour"), .int(Int64(limit))]
            ).map { try $0.int(0) }
        }
    }

    /// Deletes those of these keys of persons and faces that have no key below.
    ///
    /// - Returns: How many.
    package func dropIdlePersons(_ ids: [KeyID]) async throws(InspectError) -> Int {
        try await self.count("SELECT insp.drop_idle_persons($1::uuid[])", [.textArray(ids.map(\.text))])
    }

    /// Deletes rows below destroyed keys.
    ///
    /// - Returns: How many; 0: none is left.
    @discardableResult
    package func sweep(limit: Int = 1_000) async throws(InspectError) -> Int {
        try await self.count("SELECT insp.sweep_keys($1)", [.int(Int64(limit))])
    }
}
