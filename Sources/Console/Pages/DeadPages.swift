internal import Foundation
internal import HTTPServer
internal import InspectCore

/// Dead letters that nobody has resolved.
struct DeadPage {
    var session: ConsoleSession
    var partner: String?
    var code: String?
    var rows: [DeadRow]
    /// After which to continue, by when it died.
    var next: CaseList.Place?

    var response: HTTPResponse {
        let rows = self.rows.map { row -> Markup in
            """
            <tr><th scope='row'><a href='/jobs/\(row.id)'>\(String(row.id.suffix(12)))</a></th><td>\(row.partner)</td>\
            <td>\(row.workflow)</td><td>\(row.code)</td><td>\(row.detail ?? "")</td><td class='number'>\(String(row.attempts))</td>\
            <td>\(ConsolePage.time(Date(timeIntervalSince1970: Double(row.died) / 1_000_000)))</td></tr>

            """
        }
        let filter: [(String, String?)] = [("partner", self.partner), ("code", self.code)]
        var content: [Markup] = [
            """
            <form method='get' action='/dead' class='filter'>
            \(ConsolePage.partners(self.session, chosen: self.partner))
            <label>Error code <input name='code' value='\(self.code ?? "")' maxlength='64'/></label>
            <button type='submit'>Show</button></form>

            """
        ]
        if self.session.roles.contains(.operator) {
            content.append(
                """
                <p><a class='button' href='/dead/preview\(ConsolePage.query(filter))'>Act on all of this selection</a></p>

                """)
        }
        content.append(
            ConsolePage.table(
                "Unresolved dead letters, newest first",
                ["Job", "Partner", "Workflow", "Code", "What was wrong", "Attempts", "When"], rows,
                empty: self.next == nil
                    ? "No dead letter waits here." : "None among the newest; the next page looks further."))
        if let next = self.next {
            let query = ConsolePage.query(filter + [("died", String(next.since)), ("after", next.id)])
            content.append("<nav aria-label='Pages'><a href='/dead\(query)' rel='next'>Older ones</a></nav>\n")
        }
        return ConsolePage(title: "Dead letters", session: self.session, content: content).response()
    }
}

/// What an action on a selection would touch.
struct DeadPreviewPage {
    var session: ConsoleSession
    var partner: String?
    var code: String?
    var letters: Int64
    /// Up to when it counted; later ones are left alone.
    var before: Int64

    var response: HTTPResponse {
        ConsolePage(
            title: "Act on \(self.letters) dead letters", session: self.session,
            content: [
                """
                <p>Partner: \(self.partner ?? "all for which you are an operator"). Error code: \(self.code ?? "any"). Letters that \
                die from now on are left alone.</p>
                <form method='post' action='/tasks' class='decide'>\(ConsolePage.token(self.session))
                <input type='hidden' name='partner' value='\(self.partner ?? "")'/>
                <input type='hidden' name='code' value='\(self.code ?? "")'/>
                <input type='hidden' name='before' value='\(String(self.before))'/>
                <fieldset><legend>Action</legend>
                <label><input type='radio' name='action' value='rerun' required='required'/> Run the jobs again</label>
                <label><input type='radio' name='action' value='resolve' required='required'/> Mark as resolved</label></fieldset>
                <label>Reason, for the record <input name='reason' maxlength='200' required='required'/></label>
                <button type='submit'>Begin</button> <a href='/dead'>Do nothing</a></form>

                """
            ]
        ).response()
    }
}

/// Actions on many dead letters, with how far they are.
struct TasksPage {
    var session: ConsoleSession
    var rows: [TaskRow]

    var response: HTTPResponse {
        let mayStop = self.session.roles.contains(.operator)
        let rows = self.rows.map { row -> Markup in
            let seen = row.done + row.refused
            let state: Markup =
                if let ended = row.ended {
                    "ended \(ConsolePage.time(ended))\(row.endedBy.map { " by \($0)" } ?? "")"
                } else if mayStop {
                    """
                    <form method='post' action='/tasks/\(String(row.id))/stop'>\(ConsolePage.token(self.session))
                    <button type='submit'>Stop task \(String(row.id))</button></form>
                    """
                } else { "under way" }
            return """
                <tr><th scope='row'>\(String(row.id))</th><td>\(row.action)</td><td>\(row.partner ?? "every partner")</td>\
                <td>\(row.code ?? "any")</td><td>\(row.reason)</td><td>\(row.who)</td><td>\(ConsolePage.time(row.began))</td>\
                <td><progress max='\(String(max(1, row.total)))' value='\(String(min(seen, max(1, row.total))))' \
                aria-label='Task \(String(row.id))'></progress> \(String(row.done)) of \(String(row.total))\
                \(row.refused > 0 ? ", \(String(row.refused)) refused" : "" as Markup)</td><td>\(state)</td></tr>

                """
        }
        return ConsolePage(
            title: "Tasks", session: self.session, isLive: self.rows.contains { $0.ended == nil },
            content: [
                ConsolePage.table(
                    "Actions on many dead letters, newest first",
                    ["Task", "Action", "Partner", "Code", "Reason", "Who", "Began", "Progress", "State"], rows,
                    empty: "No task was begun.")
            ]
        ).response()
    }
}
