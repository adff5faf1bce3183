internal import Foundation
internal import HTTPServer
internal import InspectCore

extension ConsoleRoute {
    /// Approvals, the record, keys, people and limits.
    static let oversight: [ConsoleRoute] = [
        ConsoleRoute("GET", "/approvals", Self.seeing) { call, _ in
            let session = try call.signedIn()
            return ApprovalsPage(session: session, rows: try await call.store.proposals(session)).response
        },
        ConsoleRoute("POST", "/approvals/{number}/approve", .roles([.operator])) { call, _ in
            try await call.store.approve(try call.signedIn(), try call.rowNumber())
            return ConsoleCall.redirect("/approvals")
        },
        ConsoleRoute("POST", "/approvals/{number}/reject", .roles([.operator])) { call, _ in
            try await call.store.reject(try call.signedIn(), try call.rowNumber())
            return ConsoleCall.redirect("/approvals")
        },
        ConsoleRoute("GET", "/record", Self.seeing) { call, _ in
            let session = try call.signedIn()
            let times = (from: call.parameter("from"), to: call.parameter("to"))
            let search = RecordSearch(
                chain: call.parameter("chain") ?? "operator", fromSeconds: try call.time("from"),
                toSeconds: try call.time("to"), actor: call.parameter("actor"), action: call.parameter("action"),
                object: call.parameter("object"))
            // Opening the page is not a search.
            let isAsked = call.parameter("chain") != nil
            return RecordPage(
                session: session, search: search, times: times,
                found: isAsked ? try await call.store.record(session, search, from: try call.number("before")) : nil
            ).response
        },
        ConsoleRoute("GET", "/keys", Self.seeing) { call, _ in
            let session = try call.signedIn()
            return KeysPage(session: session, state: try await call.store.keysState(session)).response
        },
        ConsoleRoute("GET", "/people", Self.seeing) { call, _ in
            let session = try call.signedIn()
            return PeoplePage(session: session, rows: try await call.store.people(session)).response
        },
        ConsoleRoute("POST", "/people/{number}/end", .roles([.operator])) { call, form in
            try await call.store.endSessions(
                try call.signedIn(), of: try call.rowNumber(), reason: form["reason"] ?? "")
            return ConsoleCall.redirect("/people")
        },
        ConsoleRoute("GET", "/partners", Self.seeing) { call, _ in
            let session = try call.signedIn()
            return PartnersPage(session: session, names: try await call.store.partnerNames(session)).response
        },
        ConsoleRoute("GET", "/partners/{name}", Self.seeing) { call, _ in
            let (session, name) = (try call.signedIn(), call.values["name"] ?? "")
            return PartnerPage(session: session, name: name, rows: try await call.store.partner(session, name)).response
        },
        ConsoleRoute("GET", "/limits", Self.seeing) { call, _ in
            let session = try call.signedIn()
            return LimitsPage(
                session: session, rows: try await call.store.limits(session, after: call.parameter("after")),
                lanes: try await call.store.queue(session).lanes
            ).response
        },
        ConsoleRoute("GET", "/limits/change", .roles([.operator])) { call, _ in
            let session = try call.signedIn()
            return LimitsForm(session: session, row: try await call.limits(call.parameter("partner"))).response
        },
        ConsoleRoute("POST", "/limits", .roles([.operator])) { call, form in
            let session = try call.signedIn()
            let (entered, was) = (try form.limits(), try form.limits("was-"))
            let isSet = try await call.store.setLimits(
                session, form["partner"] ?? "", entered, was: was, reason: form["reason"] ?? "")
            if isSet { return ConsoleCall.redirect("/limits") }
            return LimitsForm(
                session: session, row: try await call.limits(form["partner"]),
                collision: .init(was: was, entered: entered, reason: form["reason"] ?? "")
            ).response
        },
        ConsoleRoute("POST", "/limits/pause", .roles([.operator])) { call, form in
            try await call.store.pause(
                try call.signedIn(), partner: form["partner"], lane: form["lane"], pauses: true, reason: form["reason"])
            return ConsoleCall.redirect("/limits")
        },
        ConsoleRoute("POST", "/limits/resume", .roles([.operator])) { call, form in
            try await call.store.pause(
                try call.signedIn(), partner: form["partner"], lane: form["lane"], pauses: false, reason: nil)
            return ConsoleCall.redirect("/limits")
        },
    ]
}

extension ConsoleCall {
    /// A time in UTC, such as `2026-01-31T12:00`, in seconds since 1970; `nil`: it is missing.
    fileprivate func time(_ name: String) throws(InspectError) -> Int64? {
        guard let text = self.parameter(name) else { return nil }
        let full = text + String("0000-01-01T00:00:00Z".dropFirst(text.count))
        guard let date = try? Date(full, strategy: .iso8601) else {
            throw InspectError(
                .parameterInvalid, "\(name) must be a time such as 2026-01-31T12:00, or a day", field: name)
        }
        return Int64(date.timeIntervalSince1970)
    }

    /// A partner that the person may change.
    fileprivate func limits(_ partner: String?) async throws -> LimitsRow {
        let session = try self.signedIn()
        guard let partner, let row = try await self.store.limits(session, partner: partner).first, row.mayChange else {
            throw InspectError(.partnerUnknown)
        }
        return row
    }
}

extension FormBody {
    /// - Parameter prefix: What the names of the fields begin with.
    fileprivate func limits(_ prefix: String = "") throws(InspectError) -> LimitsRow.Limits {
        let rate = self[prefix + "rate"].map { Double($0) ?? .nan }
        guard rate?.isFinite ?? true else {
            throw InspectError(.parameterInvalid, "\(prefix)rate is not a number", field: prefix + "rate")
        }
        return LimitsRow.Limits(
            running: try self.limit(prefix + "running", most: 2_147_483_647), rate: rate,
            burst: try self.limit(prefix + "burst", most: 2_147_483_647), waiting: try self.limit(prefix + "waiting"),
            bytes: try self.limit(prefix + "bytes"))
    }

    /// A whole number; `nil`: the field is empty.
    fileprivate func limit(_ name: String, most: Int64 = .max) throws(InspectError) -> Int64? {
        guard let text = self[name] else { return nil }
        guard let number = Int64(text), (0...most).contains(number) else {
            throw InspectError(.parameterInvalid, "\(name) is not a whole number", field: name)
        }
        return number
    }
}
