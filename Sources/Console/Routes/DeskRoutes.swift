internal import Foundation
internal import HTTPServer
internal import InspectCore

extension ConsoleRoute {
    /// History next to a case, plots, workers, and what keeps open pages up to date.
    static let desk: [ConsoleRoute] = [
        ConsoleRoute("GET", "/cases/{id}/history", .roles([.reviewer])) { call, _ in
            let session = try call.signedIn()
            let id = try call.jobID()
            // First the call that may refuse: nothing is shown of a case that somebody else has.
            let others = try await call.store.history(session, id)
            return HistoryPage(
                session: session, id: id, document: try await call.store.material(session, id).document, others: others
            ).response
        },
        ConsoleRoute("GET", "/plots", Self.seeing) { call, _ in
            let session = try call.signedIn()
            let hours = Int(try call.number("hours") ?? 6)
            guard PlotsPage.periods.contains(where: { $0.hours == hours }) else {
                throw InspectError(.parameterInvalid, "hours is not one of the choices", field: "hours")
            }
            let known = try await call.stamp(of: .plots, session)
            let partner = call.parameter("partner")
            return PlotsPage(
                session: session, partner: partner, hours: hours,
                samples: try await call.store.samples(session, partner: partner, hours: hours), known: known
            ).response
        },
        ConsoleRoute("GET", "/workers", Self.seeing) { call, _ in
            let session = try call.signedIn()
            let chosen = try call.number("worker")
            return WorkersPage(
                session: session, workers: try await call.store.workers(session), chosen: chosen,
                work: try await call.store.work(session, of: chosen)
            ).response
        },
        ConsoleRoute("GET", "/live/cases", .roles([.reviewer])) { call, _ in
            try await call.event(of: .cases, try call.signedIn())
        },
        ConsoleRoute("GET", "/live/queue", Self.seeing) { call, _ in
            try await call.event(of: .queue, try call.signedIn())
        },
        ConsoleRoute("GET", "/live/plots", Self.seeing) { call, _ in
            try await call.event(of: .plots, try call.signedIn())
        },
        ConsoleRoute("GET", "/live/tasks", Self.seeing) { call, _ in
            try await call.event(of: .tasks, try call.signedIn())
        },
        ConsoleRoute("GET", "/live/cases/{id}", .roles([.reviewer])) { call, _ in
            let session = try call.signedIn()
            let id = try call.jobID()
            try await call.store.check(session, id)
            return try await call.event(of: .job(id), session)
        },
    ]
}

extension ConsoleCall {
    /// The stamp for a page that is about to be made: requested first, so that its stream reports any changes meanwhile.
    func stamp(of subject: LiveSubject, _ session: ConsoleSession) async throws -> String? {
        let page = LivePage(session: session.secret.sha256, subject: subject)
        return try await self.store.pulse([page])[page]
    }

    /// Whether a page asks automatically, which keeps no session alive.
    var isUse: Bool { !self.request.path.hasPrefix("/live/") && self.request.headers["x-live"] == nil }

    /// A server-sent event (HTML, section 9.2). Each answer has one and then ends, and the browser asks again with the event's
    /// id: so a proxy that buffers holds nothing back, and every event is for a person who is still signed in. A page that closed
    /// its stream while nobody saw it says in the query what it knows.
    fileprivate func event(of subject: LiveSubject, _ session: ConsoleSession) async throws -> HTTPResponse {
        let known = self.request.headers["last-event-id"] ?? self.parameter("since")
        let outcome = await self.service.live.wait(
            for: LivePage(session: session.secret.sha256, subject: subject), since: known, person: session.name,
            within: .seconds(25))
        let text: String
        switch outcome {
        case .full: throw InspectError(.gatewayOverloaded, "too many pages are open")
        case .found(nil): throw InspectError(.unauthenticated)
        case .over: text = "retry: 2000\n\n"
        // The page closes its stream. A client that does not know this event asks again in an hour.
        case .yielded: text = "retry: 3600000\nevent: end\ndata: \n\n"
        // A page without a stamp only gets the current one.
        case .found(let stamp?):
            text = "retry: 500\nid: \(stamp)\nevent: \(known == nil ? "begin" : "change")\ndata: \n\n"
        }
        return HTTPResponse(
            status: 200, headers: [("Content-Type", "text/event-stream; charset=utf-8")], body: Data(text.utf8))
    }
}
