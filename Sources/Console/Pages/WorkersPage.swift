internal import HTTPServer
internal import InspectCore

/// Workers, and the jobs that each has.
struct WorkersPage {
    var session: ConsoleSession
    var workers: [WorkerRow]
    /// The worker whose jobs are shown; `nil`: all of them.
    var chosen: Int64?
    var work: [WorkRow]

    var response: HTTPResponse {
        let workers = self.workers.map { row -> Markup in
            """
            <tr><th scope='row'><a href='/workers?worker=\(String(row.id))'>\(String(row.id))</a></th>\
            <td>\(row.host), process \(String(row.process))</td><td>\(row.version)</td><td>\(row.region)</td><td>\(row.state)</td>\
            <td class='number'>\(String(row.busy)) of \(String(row.slots))</td><td class='number'>\(String(row.leases))</td>\
            <td>\(ConsolePage.words(row.silentSeconds))</td></tr>

            """
        }
        let jobs = self.work.map { row -> Markup in
            """
            <tr><th scope='row'><a href='/jobs/\(row.id)'>\(String(row.id.suffix(12)))</a></th><td>\(row.partner)</td>\
            <td>\(row.workflow)</td><td>\(row.stage)</td><td class='number'>\(String(row.attempt))</td>\
            <td>\(ConsolePage.words(row.sinceSeconds))</td><td>\(ConsolePage.words(row.remainingSeconds))</td>\
            <td class='number'>\(String(row.worker))</td></tr>

            """
        }
        var content: [Markup] = ["<div id='live'>\n"]
        // Workers serve every partner, so they are for those who may see every one.
        if self.session.isForAll(as: [.operator, .auditor]) {
            content.append(
                ConsolePage.table(
                    "Workers", ["Worker", "Where", "Version", "Region", "State", "Busy", "Leases", "Silent for"],
                    workers, empty: "No worker is registered."))
        }
        content.append("<h2>Running jobs\(self.chosen.map { " of worker \(String($0))" as Markup } ?? "")</h2>\n")
        if self.chosen != nil { content.append("<p><a href='/workers'>Show the jobs of all workers</a></p>\n") }
        content += [
            ConsolePage.table(
                "Running jobs, first claimed at the top",
                ["Job", "Partner", "Workflow", "Stage", "Attempt", "Running for", "Lease ends in", "Worker"], jobs,
                empty: "No job is running."), "</div>\n",
        ]
        return ConsolePage(title: "Workers", session: self.session, stream: "/live/queue", content: content).response()
    }
}
