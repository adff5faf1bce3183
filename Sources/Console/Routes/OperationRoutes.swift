internal import Foundation
internal import HTTPServer
internal import InspectCore

extension ConsoleRoute {
    static let seeing: Access = .roles([.operator, .auditor])

    /// What operators and auditors see.
    static let operations: [ConsoleRoute] = [
        ConsoleRoute("GET", "/queue", Self.seeing) { call, _ in
            let session = try call.signedIn()
            let (lanes, queues) = try await call.store.queue(session)
            return QueuePage(
                session: session, lanes: lanes, queues: queues, workers: try await call.store.workers(session)
            ).response
        },
        ConsoleRoute("GET", "/endpoints", Self.seeing) { call, _ in
            let session = try call.signedIn()
            return EndpointsPage(session: session, rows: try await call.store.endpoints(session)).response
        },
        ConsoleRoute("GET", "/jobs", Self.seeing) { call, _ in
            let session = try call.signedIn()
            guard let text = call.parameter("id") else { return JobPage.search(session) }
            guard let id = UUID(uuidString: text) else {
                throw InspectError(.jobUnknown, hint: "An id must be a UUID.")
            }
            return ConsoleCall.redirect("/jobs/\(id.uuidString.lowercased())")
        },
        ConsoleRoute("GET", "/jobs/{id}", Self.seeing) { call, _ in
            let session = try call.signedIn()
            let id = try call.jobID()
            return JobPage(
                session: session, id: id, explanation: try await call.store.explanation(session, id),
                timeline: try await call.store.timeline(session, id)
            ).response
        },
        ConsoleRoute("GET", "/dead", Self.seeing) { call, _ in
            let session = try call.signedIn()
            let (partner, code) = (call.parameter("partner"), call.parameter("code"))
            var place: CaseList.Place?
            if let died = try call.number("died"), let after = UUID(uuidString: call.parameter("after") ?? "") {
                place = CaseList.Place(sinceMicroseconds: died, id: after.uuidString.lowercased())
            }
            let (rows, next) = try await call.store.dead(session, partner: partner, code: code, after: place)
            return DeadPage(session: session, partner: partner, code: code, rows: rows, next: next).response
        },
    ]
}
