internal import Foundation
internal import HTTPServer
internal import InspectCore

/// The objects that an action on a selection would affect, and the form that begins it.
struct SelectionPage {
    var session: ConsoleSession
    var selection: Selection
    var preview: SelectionPreview

    var response: HTTPResponse {
        let (kind, total) = (self.selection.kind, self.preview.total)
        let narrowed = self.selection.filter.map { "<li>\($0.name): \($0.value)</li>\n" as Markup }
        let rows = self.preview.sample.map { row -> Markup in
            let name: Markup =
                kind == .dead || kind == .jobs ? "<a href='/jobs/\(row.id)'>\(row.id)</a>" : "\(row.id)"
            return "<tr><th scope='row'>\(name)</th><td>\(row.partner)</td><td>\(row.what)</td></tr>\n"
        }
        let hidden =
            ([
                ("kind", kind.rawValue), ("before", String(self.preview.beforeMicroseconds)),
                ("seen", self.preview.seen),
            ]
            + self.selection.filter).map {
                "<input type='hidden' name='\($0.0)' value='\($0.1)'/>\n" as Markup
            }
        let choices = kind.actions.map { name, text -> Markup in
            "<label><input type='radio' name='action' value='\(name)' required='required'/> \(text)</label>\n"
        }
        var content: [Markup] = [
            narrowed.isEmpty
                ? "<p>Everything that belongs to the partners for which you are an operator.</p>\n"
                : "<ul>\n\(narrowed)</ul>\n"
        ]
        let isMore = kind == .jobs && total > SelectionPreview.mostJobs
        if isMore || total == SelectionPreview.most {
            content.append(
                """
                <p>\(isMore ? "Only the first \(SelectionPreview.mostJobs) are counted." : "There are more.") \
                A task takes \(String(SelectionPreview.most)) at most; begin another one for the rest afterwards.</p>

                """)
        }
        if total > 0 {
            content.append(
                """
                <p>Anything that joins the selection, moves or changes before you begin is left alone.</p>
                <form method='post' action='/tasks' class='decide'>\(ConsolePage.token(self.session))
                \(hidden)<fieldset><legend>Action</legend>
                \(choices)</fieldset>
                <label>Reason for the record <input name='reason' maxlength='200' required='required' autocomplete='off'/></label>
                <button type='submit'>Begin</button> <a href='/tasks'>Do nothing</a></form>

                """)
        }
        content.append(
            ConsolePage.table(
                rows.count < total ? "The first \(rows.count)" : total == 1 ? "What it is" : "All of them",
                ["Which", "Partner", "What"], rows,
                empty: "The selection is empty."))
        let one =
            switch kind {
            case .dead: "dead letter"
            case .jobs: "job"
            case .callbacks: "callback"
            case .endpoints: "endpoint"
            }
        let count = isMore ? "more than \(SelectionPreview.mostJobs)" : "\(total)"
        return ConsolePage(
            title: "Act on \(count) \(one)\(total == 1 ? "" : "s")", session: self.session, content: content
        ).response()
    }
}

/// Actions on selections, with their progress.
struct TasksPage {
    var session: ConsoleSession
    var rows: [TaskRow]
    /// The stamp of what the page shows, or of what was before.
    var known: String?

    private var mayAct: Bool { self.session.roles.contains(.operator) }

    var response: HTTPResponse {
        let rows = self.rows.map { row -> Markup in
            let most = String(max(1, row.total))
            return """
                <tr><th scope='row'>\(String(row.id))</th><td>\(Self.what(row))</td>\
                <td>\(row.partner ?? "every partner")\(row.filter.map { ", \($0)" } ?? "")</td><td>\(row.reason ?? "removed when a person's data was erased")</td>\
                <td>\(row.who)</td><td>\(ConsolePage.time(row.began))</td>\
                <td><progress max='\(most)' value='\(String(min(row.done + row.refused, max(1, row.total))))' \
                aria-label='Task \(String(row.id))'></progress> \(String(row.done)) of \(String(row.total))\
                \(row.refused > 0 ? "<br/>\(Self.sentences(row.refused, row.refusals))" : "" as Markup)</td>\
                <td>\(self.state(row))</td></tr>

                """
        }
        var content: [Markup] = [
            "<div id='live'>\n",
            ConsolePage.table(
                "Actions on selections, newest first",
                ["Task", "Action", "Of what", "Reason", "Who", "Began", "Progress", "State"], rows,
                empty: "No task has been started."), "</div>\n",
        ]
        if self.mayAct { content.append("<h2>Begin a task</h2>\n\(SelectionKind.allCases.map(self.form))") }
        return ConsolePage(
            title: "Tasks", session: self.session, stream: "/live/tasks", known: self.known, content: content
        ).response()
    }

    /// The action and its objects, in words.
    private static func what(_ row: TaskRow) -> String {
        guard let kind = SelectionKind(rawValue: row.kind) else { return "\(row.action) \(row.kind)" }
        let action = kind.actions.first { $0.name == row.action }?.text ?? row.action
        return "\(kind.title): \(action.prefix(1).lowercased())\(action.dropFirst())"
    }

    /// The objects that were refused, and why, in sentences.
    static func sentences(_ refused: Int64, _ refusals: String?) -> String {
        let counts = (refusals ?? "").split(separator: ",").compactMap { pair -> (code: String, count: Int64)? in
            let words = pair.split(separator: " ")
            guard words.count == 2, let count = Int64(words[1]) else { return nil }
            return (String(words[0]), count)
        }
        func were(_ count: Int64) -> String { count == 1 ? "1 was" : "\(count) were" }
        let already = counts.filter { $0.code == "already" }.reduce(0) { $0 + $1.count }
        var sentences: [String] = []
        if already > 0 { sentences.append("\(were(already)) done already.") }
        let changed = counts.filter { $0.code == "changed" }.reduce(0) { $0 + $1.count }
        if changed > 0 { sentences.append("\(were(changed)) changed after the preview, and left alone.") }
        if refused > already + changed {
            let codes = counts.filter { !["already", "changed"].contains($0.code) }.map {
                "\($0.count) with \($0.code)"
            }
            sentences.append(
                "\(were(refused - already - changed)) refused\(codes.isEmpty ? "" : ": " + codes.joined(separator: ", "))."
            )
        }
        return sentences.joined(separator: " ")
    }

    private func state(_ row: TaskRow) -> Markup {
        if let ended = row.ended {
            return
                "ended \(ConsolePage.time(ended))\(row.endedBy.map { " by \($0)" } ?? "")\(row.failure.map { ": failed with \($0)" } ?? "")"
        }
        let waits: Markup = row.failure.map { "failed with \($0); it will be tried again" } ?? ""
        guard row.mayStop else { return row.failure == nil ? "under way" : waits }
        return """
            \(waits)<form method='post' action='/tasks/\(String(row.id))/stop'>\(ConsolePage.token(self.session))
            <button type='submit'>Stop task \(String(row.id))</button></form>
            """
    }

    /// Leads to the preview of a selection.
    private func form(_ kind: SelectionKind) -> Markup {
        let filters = kind.filters.map { name -> Markup in
            let choices: [String] =
                switch (kind, name) {
                case (_, "lane"): ["urgent", "normal", "bulk"]
                case (.jobs, "state"): ["waiting", "delayed", "running"]
                case (_, "state"): ["open", "paused", "disabled"]
                default: []
                }
            let label: Markup = name == "code" ? "Error code" : name == "endpoint" ? "Endpoint" : "\(name.capitalized)"
            guard !choices.isEmpty else { return "<label>\(label) <input name='\(name)' maxlength='64'/></label>\n" }
            let options = choices.map { "<option>\($0)</option>\n" as Markup }
            let any: Markup = kind == .jobs && name == "state" ? "not begun yet" : "any"
            return """
                <label>\(label) <select name='\(name)'><option value=''>\(any)</option>
                \(options)</select></label>

                """
        }
        return """
            <form method='get' action='/tasks/new' class='filter' aria-label='\(kind.title)'>
            <input type='hidden' name='kind' value='\(kind.rawValue)'/>
            \(ConsolePage.partners(self.session, chosen: nil))
            \(filters)<button type='submit'>Select \(kind.title.lowercased())</button></form>

            """
    }
}
