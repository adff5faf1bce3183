internal import HTTPServer
internal import InspectCore

/// Partners' limits and pauses, and lanes' pauses.
struct LimitsPage {
    var session: ConsoleSession
    var rows: [LimitsRow]
    /// Empty for persons who may not see every partner.
    var lanes: [LaneRow]

    /// Partners on a page.
    static let pageSize = 100

    var response: HTTPResponse {
        var content: [Markup] = []
        // A lane is paused in every region.
        let lanes = self.lanes.filter { lane in self.lanes.first { $0.lane == lane.lane }?.region == lane.region }
        if !lanes.isEmpty, self.session.roles.contains(.operator) {
            content.append("<h2>Lanes</h2>\n\(lanes.map { self.pause("lane", $0.lane, isPaused: $0.isPaused) })")
            content.append("<h2>Partners</h2>\n")
        }
        let rows = self.rows.map { row -> Markup in
            let name: Markup =
                row.mayChange
                ? "<a href='/limits/change\(ConsolePage.query([("partner", row.partner)]))'>\(row.partner)</a>"
                : "\(row.partner)"
            let rate: Markup =
                row.ratePerSecond.map { "\(String($0)) a second, bursts of \(String(row.rateBurst ?? 1))" } ?? "–"
            let state: Markup =
                row.isPaused
                ? "paused\(row.pauseReason.map { ": \($0)" } ?? "")" : row.isEnabled ? "" : "disabled"
            return """
                <tr><th scope='row'>\(name)</th><td>\(state)</td><td class='number'>\(Self.used(row.running, row.maxRunning))</td>\
                <td>\(rate)</td><td class='number'>\(Self.used(row.waiting, row.maxWaiting))</td>\
                <td class='number'>\(Self.used(row.bytes, row.maxBytes))</td></tr>

                """
        }
        content.append(
            ConsolePage.table(
                "Partners' limits, and what of them is used",
                ["Partner", "State", "Running", "Rate", "Waiting", "Bytes of parts"], rows,
                empty: "There is no partner."))
        if self.rows.count == Self.pageSize, let last = self.rows.last {
            let query = ConsolePage.query([("after", last.partner)])
            content.append("<nav aria-label='Pages'><a href='/limits\(query)' rel='next'>Next page</a></nav>\n")
        }
        return ConsolePage(title: "Limits", session: self.session, content: content).response()
    }

    private static func used(_ used: Int64?, _ most: Int64?) -> String {
        guard let most else { return used.map { String($0) } ?? "–" }
        return "\(used ?? 0) of \(most)"
    }

    private func pause(_ what: String, _ name: String, isPaused: Bool) -> Markup {
        Self.pause(self.session, what, name, isPaused: isPaused)
    }

    /// Pauses a partner or lane, or ends that.
    static func pause(_ session: ConsoleSession, _ what: String, _ name: String, isPaused: Bool) -> Markup {
        """
        <form method='post' action='/limits/\(isPaused ? "resume" : "pause")' class='filter' \
        aria-label='\(what) \(name)'>\(ConsolePage.token(session))
        <input type='hidden' name='\(what)' value='\(name)'/>
        \(isPaused ? "" : "<label>Reason, for the record <input name='reason' maxlength='200' required='required'/></label>\n" as Markup)\
        <button type='submit'>\(isPaused ? "Resume" : "Pause") \(what) \(name)</button></form>

        """
    }
}

/// The form for one partner's limits.
struct LimitsForm {
    var session: ConsoleSession
    var row: LimitsRow

    var response: HTTPResponse {
        let row = self.row
        let fields: [(String, String, String?)] = [
            ("running", "Jobs that run at once", row.maxRunning.map { String($0) }),
            ("rate", "Jobs that start in a second", row.ratePerSecond.map { String($0) }),
            ("burst", "Jobs that start at once, with a rate", row.rateBurst.map { String($0) }),
            ("waiting", "Jobs that wait", row.maxWaiting.map { String($0) }),
            ("bytes", "Bytes of parts; a change counts them anew", row.maxBytes.map { String($0) }),
        ]
        let inputs = fields.map { name, label, value -> Markup in
            """
            <label>\(label) <input name='\(name)' value='\(value ?? "")' inputmode='decimal' pattern='[0-9]*\
            \(name == "rate" ? "[.]?[0-9]*" : "")' maxlength='18'/></label>

            """
        }
        return ConsolePage(
            title: "Limits of \(row.partner)", session: self.session,
            content: [
                LimitsPage.pause(self.session, "partner", row.partner, isPaused: row.isPaused),
                """
                <form method='post' action='/limits' class='decide'>\(ConsolePage.token(self.session))
                <input type='hidden' name='partner' value='\(row.partner)'/>
                <fieldset><legend>At most; empty: no limit</legend>
                \(inputs)</fieldset>
                <label>Reason, for the record <input name='reason' maxlength='200' required='required'/></label>
                <button type='submit'>Set all</button> <a href='/limits'>Change nothing</a></form>

                """,
            ]
        ).response()
    }
}
