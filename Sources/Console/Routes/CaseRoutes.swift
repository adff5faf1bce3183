internal import Foundation
internal import HTTPServer
internal import InspectCore

extension ConsoleRoute {
    /// What reviewers do.
    static let cases: [ConsoleRoute] = [
        ConsoleRoute("GET", "/cases", .roles([.reviewer])) { call, _ in
            let session = try call.signedIn()
            let filter = CaseList.Filter(
                partner: call.parameter("partner"), reason: call.parameter("reason"),
                minutes: Int(min(try call.number("minutes") ?? 0, 1_000_000)))
            var place: CaseList.Place?
            if let since = try call.number("since"), let after = UUID(uuidString: call.parameter("after") ?? "") {
                place = CaseList.Place(since: since, id: after.uuidString.lowercased())
            }
            let list = try await call.store.cases(session, filter, after: place)
            return CasesPage(session: session, filter: filter, list: list, isFirst: place == nil).response
        },
        ConsoleRoute("POST", "/cases/next", .roles([.reviewer])) { call, form in
            let session = try call.signedIn()
            let filter = CaseList.Filter(partner: form["partner"], reason: form["reason"])
            var place: CaseList.Place?
            // As many pages as answer at once; where others have all of these, nobody waits for this person.
            for _ in 0..<10 {
                let list = try await call.store.cases(session, filter, after: place)
                // Somebody may take the same one at this moment.
                for row in list.rows where row.decision != nil && row.mayTake {
                    do {
                        try await call.store.take(session, row.id)
                        return ConsoleCall.redirect("/cases/\(row.id)")
                    } catch let error as InspectError where [.caseTaken, .reviewNotDue].contains(error.code) {
                        continue
                    }
                }
                guard let next = list.next else { break }
                place = next
            }
            return ConsoleCall.redirect("/cases")
        },
        ConsoleRoute("GET", "/cases/{id}", .roles([.reviewer])) { call, _ in
            let session = try call.signedIn()
            let material = try await call.store.material(session, try call.jobID())
            return CasePage(session: session, material: material, isShown: call.service.show != nil).response
        },
        ConsoleRoute("GET", "/cases/{id}/images/{part}", .roles([.reviewer])) { call, _ in
            try await call.image()
        },
        ConsoleRoute("POST", "/cases/{id}/take", .roles([.reviewer])) { call, _ in
            let id = try call.jobID()
            try await call.store.take(try call.signedIn(), id)
            return ConsoleCall.redirect("/cases/\(id)")
        },
        ConsoleRoute("POST", "/cases/{id}/release", .roles([.reviewer])) { call, _ in
            try await call.store.release(try call.signedIn(), try call.jobID())
            return ConsoleCall.redirect("/cases")
        },
        ConsoleRoute("POST", "/cases/{id}/decide", .roles([.reviewer])) { call, form in
            guard let decision = form["decision"] else {
                throw InspectError(.reviewInvalid, "no decision was chosen", field: "decision")
            }
            let note = form["note"]
            guard note?.utf8.count ?? 0 <= 4000 else {
                throw InspectError(.parameterInvalid, "the note has more than 4000 bytes", field: "note")
            }
            let id = try call.jobID()
            let isConfirmed = try await call.store.decide(
                try call.signedIn(), id, as: decision, label: form["label"]?.uppercased(), note: note)
            return ConsoleCall.redirect(isConfirmed ? "/cases" : "/cases/\(id)")
        },
    ]
}

extension ConsoleCall {
    /// A preview of one image of a case, for the person who has taken it alone. A page that carried them would wait for all.
    fileprivate func image() async throws -> HTTPResponse {
        let id = try self.jobID()
        guard let kind = self.values["part"].flatMap(PartKind.init), let show = self.service.show else {
            throw InspectError(.pathUnknown)
        }
        let session = try self.signedIn()
        let bytes: Data
        do {
            bytes = try await self.store.part(session, id, kind)
        } catch let error as InspectError where error.code == .partAbsent && kind == .face {
            // As the worker did: the first frame stands for a face that was not given.
            bytes = try await self.store.part(session, id, .frames)
        }
        guard let preview = try await show([(kind.rawValue, bytes)])[kind.rawValue] else {
            throw InspectError(.corruptImage)
        }
        return HTTPResponse(status: 200, headers: [("Content-Type", "image/jpeg")], body: preview.jpeg)
    }
}
