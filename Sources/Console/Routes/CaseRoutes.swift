internal import Foundation
internal import HTTPServer
internal import InspectCore

extension ConsoleRoute {
    /// Reviewers' pages and actions.
    static let cases: [ConsoleRoute] = [
        ConsoleRoute("GET", "/cases", .roles([.reviewer])) { call, _ in
            let session = try call.signedIn()
            let filter = CaseList.Filter(
                partner: call.parameter("partner"), reason: call.parameter("reason")?.uppercased(),
                minutes: Int(min(try call.number("minutes") ?? 0, 1_000_000)))
            var place: CaseList.Place?
            if let since = try call.number("since"), let after = UUID(uuidString: call.parameter("after") ?? "") {
                place = CaseList.Place(sinceMicroseconds: since, id: after.uuidString.lowercased())
            }
            let known = try await call.stamp(of: .cases, session)
            let list = try await call.store.cases(session, filter, after: place)
            return CasesPage(
                session: session, filter: filter, list: list, isFirst: place == nil,
                isNoneFree: call.parameter("free") == "none", known: known
            ).response
        },
        ConsoleRoute("POST", "/cases/next", .roles([.reviewer])) { call, form in
            let session = try call.signedIn()
            let minutes = form["minutes"].flatMap { Int($0) } ?? 0
            let filter = CaseList.Filter(
                partner: form["partner"], reason: form["reason"]?.uppercased(),
                minutes: max(0, min(minutes, 1_000_000)))
            if let id = try await call.store.takeNext(session, filter) {
                return ConsoleCall.redirect("/cases/\(id)")
            }
            let query = ConsolePage.query([
                ("partner", filter.partner), ("reason", filter.reason),
                ("minutes", filter.minutes > 0 ? String(filter.minutes) : nil), ("free", "none"),
            ])
            return ConsoleCall.redirect("/cases\(query)")
        },
        ConsoleRoute("GET", "/cases/{id}", .roles([.reviewer])) { call, _ in
            try await call.casePage(try call.signedIn(), try call.jobID()).response()
        },
        ConsoleRoute("GET", "/cases/{id}/images/{part}", .roles([.reviewer])) { call, _ in
            try await call.image()
        },
        ConsoleRoute("POST", "/cases/{id}/take", .roles([.reviewer]), keepsTyped: true) { call, form in
            let session = try call.signedIn()
            let id = try call.jobID()
            let typed = TypedDecision(form)
            do {
                try await call.store.take(session, id)
            } catch let error as InspectError where !typed.isEmpty && TypedDecision.refusals.contains(error.code) {
                return try await call.refused(error, session, id, typed)
            }
            guard !typed.isEmpty else { return ConsoleCall.redirect("/cases/\(id)") }
            // No redirect, which would lose it.
            return try await call.casePage(session, id, typed).response()
        },
        ConsoleRoute("POST", "/cases/{id}/release", .roles([.reviewer])) { call, _ in
            try await call.store.release(try call.signedIn(), try call.jobID())
            return ConsoleCall.redirect("/cases")
        },
        ConsoleRoute("POST", "/cases/{id}/decide", .roles([.reviewer]), keepsTyped: true) { call, form in
            let session = try call.signedIn()
            let id = try call.jobID()
            let typed = TypedDecision(form)
            do {
                guard let decision = typed.decision else {
                    throw InspectError(.reviewInvalid, "no decision was chosen", field: "decision")
                }
                guard typed.note?.utf8.count ?? 0 <= 4000 else {
                    throw InspectError(.parameterInvalid, "the note has more than 4000 bytes", field: "note")
                }
                try await call.store.decide(
                    session, id, as: decision, label: typed.label?.uppercased(), note: typed.note)
            } catch let error as InspectError where TypedDecision.refusals.contains(error.code) {
                return try await call.refused(error, session, id, typed)
            }
            // The page says what was decided, and offers the next case.
            return ConsoleCall.redirect("/cases/\(id)")
        },
    ]
}

extension ConsoleCall {
    /// The page of a case: for the person who has it, everything on which the decision rests; for others, its progress.
    fileprivate func casePage(
        _ session: ConsoleSession, _ id: String, _ typed: TypedDecision = TypedDecision()
    ) async throws -> CasePage {
        let known = try await self.stamp(of: .job(id), session)
        let state = try await self.store.state(session, id)
        var page = CasePage(
            session: session, state: state, isShown: self.service.show != nil, typed: typed, known: known)
        if state.isMine {
            page.material = try await self.store.material(session, id)
        }
        return page
    }

    /// The same page if a decision was not recorded: with what was typed, and why.
    fileprivate func refused(
        _ error: InspectError, _ session: ConsoleSession, _ id: String, _ typed: TypedDecision
    ) async throws -> HTTPResponse {
        var page = try await self.casePage(session, id, typed)
        page.refusal = error
        return page.response()
    }

    /// A preview of one image of a case, only for the person who has taken it. A page that contained all images would wait for all of them.
    fileprivate func image() async throws -> HTTPResponse {
        let id = try self.jobID()
        guard let kind = self.values["part"].flatMap(PartKind.init), let show = self.service.show else {
            throw InspectError(.pathUnknown)
        }
        let session = try self.signedIn()
        // An access is recorded, and bytes are fetched, only for a person who gets the image.
        let previews = try await show {
            do {
                return [(kind.rawValue, try await self.store.part(session, id, kind))]
            } catch let error as InspectError where error.code == .partAbsent && kind == .face {
                // As the worker did: the first frame stands for a face that was not given.
                return [(kind.rawValue, try await self.store.part(session, id, .frames))]
            }
        }
        guard let preview = previews[kind.rawValue] else { throw InspectError(.corruptImage) }
        return HTTPResponse(status: 200, headers: [("Content-Type", "image/jpeg")], body: preview.jpeg)
    }
}
