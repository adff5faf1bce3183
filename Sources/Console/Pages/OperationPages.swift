internal import HTTPServer
internal import InspectCore

/// Lanes, partners' queues and workers.
struct QueuePage {
    var session: ConsoleSession
    var lanes: [LaneRow]
    var queues: [QueueRow]
    var workers: [WorkerRow]

    var response: HTTPResponse {
        var content: [Markup] = []
        if !self.lanes.isEmpty {
            let rows = self.lanes.map { row -> Markup in
                """
                <tr><th scope='row'>\(row.lane)</th><td>\(row.region)</td>\
                <td class='number'>\(row.isEstimate ? "about " : "")\(String(row.waiting))</td>\
                <td>\(ConsolePage.words(row.oldestSeconds))</td><td class='number'>\(String(row.delayed))</td>\
                <td class='number'>\(String(row.running))</td><td>\(row.isPaused ? "paused" : "")</td></tr>

                """
            }
            content.append(
                "<h2>Lanes</h2>\n\(ConsolePage.table("Jobs by lane", ["Lane", "Region", "Waiting", "Oldest", "Delayed", "Running", "State"], rows, empty: ""))"
            )
        }
        let rows = self.queues.map { row -> Markup in
            """
            <tr><th scope='row'>\(row.partner)</th><td>\(row.lane)</td><td>\(row.region)</td>\
            <td class='number'>\(row.isEstimate ? "about " : "")\(String(row.waiting))</td>\
            <td>\(ConsolePage.words(row.oldestSeconds))</td><td>\(row.why ?? "")</td>\
            <td>\(row.remedy ?? "")</td></tr>

            """
        }
        content += [
            "<h2>Waiting</h2>\n",
            ConsolePage.table(
                "Waiting jobs by partner",
                ["Partner", "Lane", "Region", "Waiting", "Oldest", "Why they wait", "What helps"],
                rows, empty: "No job is waiting."),
        ]
        if !self.workers.isEmpty {
            let rows = self.workers.map { row -> Markup in
                """
                <tr><th scope='row'><a href='/workers?worker=\(String(row.id))'>\(String(row.id))</a></th><td>\(row.host), process \(String(row.process))</td><td>\(row.version)</td>\
                <td>\(row.region)</td><td>\(row.state)</td><td class='number'>\(String(row.busy)) of \(String(row.slots))</td>\
                <td class='number'>\(String(row.leases))</td><td>\(ConsolePage.words(row.silentSeconds))</td></tr>

                """
            }
            content += [
                "<h2>Workers</h2>\n",
                ConsolePage.table(
                    "Workers", ["Worker", "Where", "Version", "Region", "State", "Busy", "Leases", "Silent for"], rows,
                    empty: ""),
            ]
        }
        return ConsolePage(
            title: "Queue", session: self.session, stream: "/live/queue",
            content: ["<div id='live'>\n"] + content + ["</div>\n"]
        ).response()
    }
}

/// Callbacks by endpoint.
struct EndpointsPage {
    var session: ConsoleSession
    var rows: [EndpointRow]

    var response: HTTPResponse {
        let rows = self.rows.map { row -> Markup in
            """
            <tr><th scope='row'>\(String(row.id))</th><td>\(row.partner)</td><td>\(row.origin ?? "–")</td><td>\(row.breaker)</td>\
            <td class='number'>\(String(row.pending))</td><td class='number'>\(String(row.inFlight))</td>\
            <td class='number'>\(String(row.held))</td><td class='number'>\(String(row.dead))</td>\
            <td class='number'>\(String(row.delivered))</td><td>\(ConsolePage.words(row.oldestSeconds))</td>\
            <td>\(row.lastCode ?? "")</td><td>\(row.warnings ?? "")</td></tr>

            """
        }
        return ConsolePage(
            title: "Endpoints", session: self.session, stream: "/live/queue",
            content: [
                "<div id='live'>\n",
                ConsolePage.table(
                    "Callbacks by endpoint",
                    [
                        "Endpoint", "Partner", "Origin", "State", "Pending", "Being sent", "Held", "Dead-lettered",
                        "Delivered this hour", "Oldest", "Last failure", "Warnings",
                    ], rows, empty: "There are no endpoints."), "</div>\n",
            ]
        ).response()
    }
}

/// One job: where it is, and what happened to it.
struct JobPage {
    var session: ConsoleSession
    var id: String
    var explanation: [(aspect: String, explanation: String)]
    /// One more than ``most``: there are older entries.
    var timeline: [TimelineRow]

    /// How many entries are shown.
    static let most = 1000

    var response: HTTPResponse {
        let said = self.explanation.map { "<dt>\($0.aspect)</dt><dd>\($0.explanation)</dd>\n" as Markup }
        let isCut = self.timeline.count > Self.most
        let rows = self.timeline.suffix(Self.most).map { row -> Markup in
            "<tr><td>\(ConsolePage.time(row.at))</td><td>\(row.kind)</td><td>\(row.who ?? "")</td><td>\(row.detail ?? "")</td></tr>\n"
        }
        return ConsolePage(
            title: "Job \(self.id)", session: self.session,
            content: [
                "<dl>\n\(said)</dl>\n<h2>Timeline</h2>\n", Plot.stages(self.timeline),
                isCut ? "<p>Only the newest \(String(Self.most)) entries are shown; there are older ones.</p>\n" : "",
                ConsolePage.table(
                    "What happened, oldest first", ["When", "What", "Who", "Details"], rows,
                    empty: "Nothing has happened yet."),
            ]
        ).response()
    }

    static func search(_ session: ConsoleSession) -> HTTPResponse {
        ConsolePage(
            title: "Jobs", session: session,
            content: [
                """
                <form method='get' action='/jobs' class='filter'>
                <label>Job id <input name='id' maxlength='36' autocomplete='off' required='required'/></label>
                <button type='submit'>Show</button></form>

                """
            ]
        ).response()
    }
}
