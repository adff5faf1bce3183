internal import Callbacks
internal import Foundation
internal import HTTPServer
internal import InspectCore

extension GatewayRoute {
    /// Events to pull, and counts.
    static let events = [
        GatewayRoute(
            "GET", "/events", .none,
            Operation(
                id: "pullEvents", summary: "Events in order, with the headers and bodies of callbacks",
                detail:
                    "For endpoints whose URL is pull:. Begin without after, then send next from the previous page. "
                    + "Store next after you have processed a page: an event may come twice, and none is missed. "
                    + "409 EVENTS_OFF: you have no such endpoint; the operator makes one. Tests have one from the start.",
                parameters: [
                    .query(
                        "after", #"{ "type": "string", "pattern": "^[A-Za-z0-9_-]{107}$" }"#,
                        "next from the previous page; absent: from the oldest event on that is kept"),
                    .limit(100, most: 1000), .wait,
                    .query(
                        "endpoint", #"{ "type": "integer", "minimum": 1, "maximum": 9007199254740991 }"#,
                        "Needed by partners with several endpoints whose events are pulled"),
                ],
                answers: [
                    .json("A page; empty: there was nothing until the wait was over", "EventPage").encrypted
                        .showing(.pulled)
                ],
                refusals: [404, 409, 410]),
            .scope(.events) { (call) throws(InspectError) in
                let (search, wait) = (try EventSearch(call), try call.wait())
                return { _ in
                    var page = try await call.store.events(call.credential, search)
                    if wait > .zero, page.events.isEmpty,
                        case .found = await call.service.eventWaits.wait(
                            for: page.start, within: wait, owner: call.credential.partner)
                    {
                        page = try await call.store.events(call.credential, search)
                    }
                    return GatewayAnswer(
                        response: try await call.sealed(
                            call.answer(EventList(events: page.events, next: page.next)), .events))
                }
            }),
        GatewayRoute(
            "GET", "/usage", .none,
            Operation(
                id: "getUsage", summary: "How many jobs were finished in a month, by workflow and outcome",
                detail: "Months are in UTC. The counts outlive the jobs, and are up to half a minute old.",
                parameters: [
                    .query(
                        "month", #"{ "type": "string", "pattern": "^[12][0-9]{3}-(0[1-9]|1[0-2])$" }"#,
                        "Such as 2026-01; absent: this month")
                ], answers: [.json("The counts", "Usage")]),
            .scope(.read) { (call) throws(InspectError) in
                let month = call.request.query["month"]
                if let month, month.wholeMatch(of: /[12][0-9]{3}-(0[1-9]|1[0-2])/) == nil {
                    throw InspectError(
                        .parameterInvalid, "month", hint: "A month is a year and a month, such as 2026-01.",
                        field: "month")
                }
                return { _ in
                    GatewayAnswer(response: call.answer(try await call.store.usage(call.credential, month: month)))
                }
            }),
    ]
}

private struct EventList: Encodable {
    var events: [PulledEvent]
    var next: String
}

extension EventSearch {
    init(_ call: GatewayCall) throws(InspectError) {
        self.after = call.request.query["after"]
        if let after, after.wholeMatch(of: /[A-Za-z0-9_-]{107}/) == nil {
            throw InspectError(.parameterInvalid, "after", hint: "Send next of the last page.", field: "after")
        }
        self.limit = try call.number("limit", 1...1000) ?? 100
        self.endpoint = try call.number("endpoint", 1...9_007_199_254_740_991)
    }
}
