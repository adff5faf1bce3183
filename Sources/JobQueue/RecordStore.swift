package import Custody
package import Foundation
internal import InspectCore
internal import Postgres

/// The record as operators and auditors read it: its rows as lines, and its checkpoints.
package actor RecordStore {
    private let connection: ReconnectingConnection

    /// Rows of one page: about two megabytes.
    package static let page = 5000
    /// In seconds: ten rounds of `insp.link_record`.
    private static let longestWaitSeconds = 20.0

    /// - Parameter databaseURL: A libpq connection string or URL. Never logged.
    package init(databaseURL: String) {
        var options = ConnectionOptions(name: "inspectd audit")
        options.timeout = .seconds(60)
        self.connection = ReconnectingConnection(databaseURL, options: options)
    }

    /// Closes the connection; a later call connects again.
    package func close() async { await self.connection.close() }

    /// Both ends of each chain, and the text that a checkpoint signs.
    package func heads() async throws -> (heads: RecordHeads, text: String) {
        let text = try await self.query("SELECT insp.record_heads()::text", [])[0].string(0)
        guard let heads = RecordHeads(json: Data(text.utf8)) else {
            throw InspectError(.internalError, "insp.record_heads returned an unexpected value")
        }
        return (heads, text)
    }

    /// The hash of a row, or of the last that retention removed; `nil`: there is none.
    package func place(_ seq: Int64, in chain: String) async throws -> RecordPlace? {
        if seq == 0 { return .start }
        let row = try await self.query("SELECT insp.record_hash_at($1, $2)", [.text(chain), .int(seq)])[0]
        return try row.optionalString(0).flatMap { RecordPlace(seq: seq, hash: $0) }
    }

    /// The next page of a chain.
    package func rows(of chain: String, after seq: Int64, words: Bool = false) async throws -> [RecordLine] {
        try await self.query(
            "SELECT seq, line FROM insp.record_rows($1, $2, $3, $4)",
            [.text(chain), .int(seq), .int(Int64(Self.page)), .bool(words)]
        ).map { RecordLine(number: try $0.int(0), text: try $0.data(1)) }
    }

    /// Whether rows that were written before a time have no place yet.
    package func hasWaiting(in chain: String, before microseconds: Int64) async throws -> Bool {
        try await self.query(
            "SELECT insp.record_waits($1, timestamptz 'epoch' + $2 * interval '1 microsecond')",
            [.text(chain), .int(microseconds)])[0].bool(0)
    }

    /// The chains with rows that have waited for their position longer than linking takes: meanwhile they can be removed unnoticed.
    package func stalledChains() async throws -> [String] {
        let before = Int64((Date().timeIntervalSince1970 - Self.longestWaitSeconds) * 1_000_000)
        var stalled: [String] = []
        for name in try await self.heads().heads.chains.keys.sorted() {
            if try await self.hasWaiting(in: name, before: before) { stalled.append(name) }
        }
        return stalled
    }

    /// Rows that are not part of a chain: with a position after its end or before its start, or in a chain that does not exist.
    package func strays() async throws -> [(chain: String, seq: Int64?)] {
        try await self.query("SELECT chain, seq FROM insp.record_strays()", []).map {
            (try $0.string(0), try $0.optionalInt(1))
        }
    }

    /// The next page of checkpoints.
    package func checkpoints(after number: Int64) async throws -> [RecordLine] {
        try await self.query(
            "SELECT number, line FROM insp.record_checkpoints($1, $2)", [.int(number), .int(Int64(Self.page))]
        ).map { RecordLine(number: try $0.int(0), text: try $0.data(1)) }
    }

    /// The number of the newest checkpoint; 0: there is none.
    package func lastCheckpoint() async throws -> Int64 {
        try await self.query("SELECT insp.last_checkpoint()", [])[0].int(0)
    }

    /// - Returns: False if another signer was first.
    package func add(_ checkpoint: RecordCheckpoint) async throws -> Bool {
        try await self.query(
            "SELECT insp.add_checkpoint($1, $2, $3, $4, $5)",
            [
                .int(checkpoint.number), .int(checkpoint.atMicroseconds), .text(checkpoint.keyID),
                .text(checkpoint.headsText),
                .bytes(Data(checkpoint.signature)),
            ])[0].bool(0)
    }

    private func query(_ sql: String, _ parameters: [PostgresValue]) async throws -> [PostgresRow] {
        do {
            return try await self.connection.open().query(sql, parameters)
        } catch let error as PostgresError {
            throw error.meaning
        }
    }
}

/// A line of an export: of a row with its place, or of a checkpoint with its number.
package struct RecordLine: Sendable {
    /// The row's place in its chain, or the checkpoint's number.
    package var number: Int64
    /// Without the line's end.
    package var text: Data
}
