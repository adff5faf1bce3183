package import Custody
internal import Foundation
internal import HTTPClient
internal import InspectCore
package import Postgres

/// An event as a partner pulls it: the headers and the body that a callback would have.
package struct PulledEvent: Sendable, Encodable {
    /// Those of Standard Webhooks, without the signature's key.
    package struct Headers: Sendable, Encodable {
        var id: String
        var timestamp: String
        var signature: String

        private enum CodingKeys: String, CodingKey {
            case id = "webhook-id"
            case timestamp = "webhook-timestamp"
            case signature = "webhook-signature"
        }
    }

    /// With them the partner verifies the signature, as it does for a callback.
    package var headers: Headers
    /// The signed bytes, which are UTF-8.
    package var body: String
}

/// A page of events, in their order.
package struct EventPage: Sendable {
    /// Where a page begins.
    package struct Place: Hashable, Sendable {
        /// `insp.endpoint.id`.
        package var endpoint: Int64
        /// The history of the database in which the position was given.
        package var epoch: Int64
        /// The position of the last event that the partner has, in the one order of all events.
        package var position: Int64
    }

    /// Oldest first; empty: nothing came while the partner waited.
    package var events: [PulledEvent] = []
    /// The cursor for the next page.
    package var next: String
    /// Where this page began.
    package var start: Place
}

/// Opens, composes and signs events that are pulled, as the dispatcher does with callbacks.
package final class EventReader: Sendable {
    private let keys: PatientKeys?
    /// Endpoints of earlier pages.
    private let endpoints = CallbackEndpoints()

    /// - Parameter keys: Opens what is sealed of jobs and endpoints; `nil`: there is no key store.
    package init(_ keys: KeyStore?) { self.keys = keys.map(PatientKeys.init) }

    /// - Parameter rows: Those of `insp.gateway_events`.
    /// - Throws: ``InspectError`` if a key is missing: no event is passed over, so the page must wait. An event whose seal is broken
    ///   is given without its sealed data, as after an erasure: it would block all later ones.
    package func page(_ rows: [PostgresRow]) async throws -> EventPage {
        guard let head = rows.first else { throw PostgresError(.decoding, "a page returned no row") }
        let own = try head.records(
            "endpoints", "endpoint_id", "floor_microseconds", "claim_floor", "at_once", "secrets", "allow_http",
            "allow_private",
            "options")
        guard let own = own.first else { throw PostgresError(.decoding, "a page returned no endpoint") }
        let given = GivenEndpoint(
            id: try own.int("endpoint_id"), keys: try own.textArray("secrets"),
            allowsHTTP: try own.bool("allow_http"), allowsPrivate: try own.bool("allow_private"),
            options: try own.optionalString("options"))
        var page = EventPage(
            next: try head.string("next"),
            start: EventPage.Place(
                endpoint: given.id, epoch: try head.int("start_epoch"), position: try head.int("start_position")))
        guard rows.count > 1 else { return page }
        var ids = try CallbackStore.keys(of: rows)
        let known = self.endpoints.known(of: [given])[given.id]
        if known == nil { ids.formUnion(given.sealingKeys) }
        let opened = await self.keys?.keys(ids) ?? PatientKeys.all(ids, InspectError(.keyMissing))
        let endpoint = known ?? self.endpoints.add(given, opening: opened)
        guard let keys = endpoint.keys else { throw endpoint.fault ?? InspectError(.keyMissing, "a signing secret") }
        let column = try ClaimedCallback.Columns(head)
        let now = Int(Date().timeIntervalSince1970)
        page.events.reserveCapacity(rows.count - 1)
        for row in rows.dropFirst() {
            let event = try Self.event(row, column, endpoint, opened)
            let signature = try WebhookSignature(
                id: event.name, timestamp: now, body: event.body, secrets: keys.secrets, signingKeys: keys.signingKeys)
            page.events.append(
                PulledEvent(
                    headers: PulledEvent.Headers(
                        id: signature.id, timestamp: String(signature.timestamp), signature: signature.signature),
                    body: String(decoding: event.body, as: UTF8.self)))
        }
        return page
    }

    private static func event(
        _ row: PostgresRow, _ column: ClaimedCallback.Columns, _ endpoint: CallbackEndpoint, _ opened: OpenedKeys
    ) throws -> (name: String, body: [UInt8]) {
        var content = try OpenedCallback.open(row, column, opened)
        var isBroken = false
        if case .failure(let error) = content {
            guard error.code == .sealBroken else { throw error }
            isBroken = true
            content = .success(OpenedCallback(withholdsResult: true))
        }
        let event = try ClaimedCallback(row, column, endpoint, content)
        guard let body = event.body else { throw InspectError(.internalError, event.fault ?? "an event has no body") }
        guard isBroken, try !row.bool(column.isReduced) else { return (event.webhookID, body) }
        return (CallbackBody.name(event.webhookID, ofReduced: body), body)
    }
}
