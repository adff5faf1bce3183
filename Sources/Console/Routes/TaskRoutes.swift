internal import HTTPServer
internal import InspectCore

extension ConsoleRoute {
    /// Actions on a whole selection: a preview, the beginning, the progress, the end.
    static let tasks: [ConsoleRoute] = [
        ConsoleRoute("GET", "/tasks/new", .roles([.operator])) { call, _ in
            let session = try call.signedIn()
            let selection = try Selection { call.parameter($0) }
            return SelectionPage(
                session: session, selection: selection, preview: try await call.store.preview(session, selection)
            ).response
        },
        ConsoleRoute("POST", "/tasks", .roles([.operator])) { call, form in
            guard let before = form["before"].flatMap({ Int64($0) }), let seen = form["seen"],
                let action = form["action"], let reason = form["reason"]
            else { throw InspectError(.parameterInvalid, "an action and a reason are required", field: "reason") }
            try await call.store.beginTask(
                try call.signedIn(), action, try Selection { form[$0] }, beforeMicroseconds: before,
                seen: seen,
                reason: reason)
            return ConsoleCall.redirect("/tasks")
        },
        ConsoleRoute("GET", "/tasks", Self.seeing) { call, _ in
            let session = try call.signedIn()
            // A task may end before the page has opened its stream.
            let known = try await call.stamp(of: .tasks, session)
            return TasksPage(session: session, rows: try await call.store.tasks(session), known: known).response
        },
        ConsoleRoute("POST", "/tasks/{number}/stop", .roles([.operator])) { call, _ in
            try await call.store.stopTask(try call.signedIn(), try call.rowNumber())
            return ConsoleCall.redirect("/tasks")
        },
    ]
}

extension ConsoleCall {
    /// The number that the path has.
    func rowNumber() throws(InspectError) -> Int64 {
        guard let number = Int64(self.values["number"] ?? ""), number > 0 else { throw InspectError(.pathUnknown) }
        return number
    }
}
