internal import Callbacks
internal import Foundation
internal import InspectCore
internal import Postgres

/// The query of `GET /events`.
struct EventSearch: Sendable {
    /// The cursor; `nil`: from the oldest event on.
    var after: String?
    var limit: Int
    /// `nil`: the partner's only one whose events are pulled.
    var endpoint: Int?
}

/// Calls about events that are pulled, and about counts.
extension GatewayStore {
    /// A page of events. Those that were committed before are numbered first.
    func events(_ credential: GatewayCredential, _ search: EventSearch) async throws -> EventPage {
        // In a separate transaction: no client sees a place before it is committed.
        _ = try await self.ask("SELECT insp.gateway_number_pulls()", [])
        let rows = try await self.ask(
            "SELECT * FROM insp.gateway_events($1, $2, $3, $4, $5)",
            [
                .int(credential.id), .bytes(credential.secretSHA256), .optional(search.after),
                .int(Int64(search.limit)), .optional(search.endpoint.map(Int64.init)),
            ])
        return try await self.eventReader().page(rows)
    }

    /// The places that have an event after them.
    func pulls(_ places: [EventPage.Place]) async throws -> [EventPage.Place] {
        _ = try await self.ask("SELECT insp.gateway_number_pulls()", [], on: self.looker)
        let found = try await self.ask(
            "SELECT insp.gateway_pulls($1, $2, $3)",
            [
                .bigints(places.map(\.endpoint)), .bigints(places.map(\.epoch)), .bigints(places.map(\.position)),
            ], on: self.looker
        ).map { Int(try $0.int(0)) }
        return found.filter(places.indices.contains).map { places[$0] }
    }

    /// The partner's finished jobs in a month, a JSON object.
    ///
    /// - Parameter month: `nil`: this month.
    func usage(_ credential: GatewayCredential, month: String?) async throws -> Data {
        try await self.ask(
            "SELECT insp.gateway_usage($1, $2, $3)",
            [.int(credential.id), .bytes(credential.secretSHA256), .optional(month)]
        ).single().data(0)
    }
}
