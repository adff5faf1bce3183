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
        if !lanes.isEmpty, self.session.isForAll(as: [.operator]) {
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
                "Partners' limits and their use",
                ["Partner", "State", "Running", "Rate", "Waiting", "Bytes of parts"], rows,
                empty: "There are no partners."))
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

    /// Pauses or resumes a partner or lane.
    static func pause(_ session: ConsoleSession, _ what: String, _ name: String, isPaused: Bool) -> Markup {
        """
        <form method='post' action='/limits/\(isPaused ? "resume" : "pause")' class='filter' \
        aria-label='\(what) \(name)'>\(ConsolePage.token(session))
        <input type='hidden' name='\(what)' value='\(name)'/>
        \(isPaused ? "" : "<label>Reason for the record <input name='reason' maxlength='200' required='required' autocomplete='off'/></label>\n" as Markup)\
        <button type='submit'>\(isPaused ? "Resume" : "Pause") \(what) \(name)</button></form>

        """
    }
}

/// The form for one partner's limits.
struct LimitsForm {
    var session: ConsoleSession
    var row: LimitsRow
    /// `nil`: the form is new.
    var collision: Collision?

    /// A change that came too late: somebody else had changed the limits since its form was opened.
    struct Collision {
        var was: LimitsRow.Limits
        var entered: LimitsRow.Limits
        var reason: String
    }

    private struct Field {
        var name: String
        var label: String
        var value: @Sendable (LimitsRow.Limits) -> String?
    }

    private static let fields = [
        Field(name: "running", label: "Jobs that run at once") { $0.running.map(String.init) },
        Field(name: "rate", label: "Jobs that start in a second") { $0.rate.map { String($0) } },
        Field(name: "burst", label: "Jobs that start at once, with a rate") { $0.burst.map(String.init) },
        Field(name: "waiting", label: "Jobs that wait") { $0.waiting.map(String.init) },
        Field(name: "bytes", label: "Bytes of parts") { $0.bytes.map(String.init) },
    ]

    var response: HTTPResponse {
        let row = self.row
        let inputs = Self.fields.map { field -> Markup in
            let now = field.value(row.limits) ?? ""
            var value = now
            // Fields that the person did not change have the current values.
            if let collision, field.value(collision.entered) != field.value(collision.was) {
                value = field.value(collision.entered) ?? ""
            }
            return """
                <label>\(field.label) <input name='\(field.name)' value='\(value)' inputmode='decimal' pattern='[0-9]*\
                \(field.name == "rate" ? "[.]?[0-9]*" : "")' maxlength='18'/></label>
                <input type='hidden' name='was-\(field.name)' value='\(now)'/>

                """
        }
        return ConsolePage(
            title: "Limits of \(row.partner)", session: self.session,
            content: [
                self.collision.map(self.comparison) ?? "",
                LimitsPage.pause(self.session, "partner", row.partner, isPaused: row.isPaused),
                """
                <form method='post' action='/limits' class='decide'>\(ConsolePage.token(self.session))
                <input type='hidden' name='partner' value='\(row.partner)'/>
                <fieldset><legend>At most (an empty field means no limit)</legend>
                \(inputs)</fieldset>
                <p class='soft'>If you change one of the last two, jobs and bytes are counted again, which may take a while.</p>
                <label>Reason for the record <input name='reason' value='\(self.collision?.reason ?? "")' maxlength='200' autocomplete='off' \
                required='required'/></label>
                <button type='submit'>Set all limits</button> <a href='/limits'>Change nothing</a></form>

                """,
            ]
        ).response(status: self.collision == nil ? 200 : 409)
    }

    private func comparison(_ collision: Collision) -> Markup {
        let rows = Self.fields.map { field -> Markup in
            let cells = [collision.was, self.row.limits, collision.entered].map { limits -> Markup in
                "<td class='number'>\(field.value(limits) ?? "no limit")</td>"
            }
            return "<tr><th scope='row'>\(field.label)</th>\(cells)</tr>\n"
        }
        return """
            <p role='alert'>Somebody else changed these limits after you opened the form. Nothing was set. The fields below hold the \
            limits as they are now, with your changes. To set them, press the button again.</p>
            \(ConsolePage.table("What you saw, what it is now, what you entered",
                ["Limit", "You saw", "Now", "You entered"], rows, empty: ""))
            """
    }
}
