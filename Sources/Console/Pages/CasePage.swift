internal import HTTPServer
internal import InspectCore

/// One case: what the decision rests on, and the decision's form for the person who has taken it.
struct CasePage {
    var session: ConsoleSession
    var material: CaseMaterial
    /// Whether this console can show images at all.
    var isShown: Bool

    var response: HTTPResponse {
        let material = self.material
        var content: [Markup] = [self.bar]
        if material.isMine || !material.isWaiting {
            content +=
                InspectionReport(
                    document: material.document, facts: material.facts, paths: self.paths,
                    today: CalendarDate(material.decidedAt),
                    origin: ReportOrigin(job: material.id, partner: material.partner, decidedAt: material.decidedAt),
                    isDesk: true
                ).content
        } else {
            content.append(self.summary)
        }
        if material.isMine && material.isWaiting { content.append(self.form) }
        content += [self.notes, self.runs, self.keyboard]
        return ConsolePage(
            title: "Case \(material.id.suffix(12))", session: self.session, hasHeading: false,
            stream: material.isWaiting ? "/live/cases/\(material.id)" : nil, content: content
        ).response()
    }

    /// Where the images are, by part name. As for the worker, the first frame stands for a face that was not given.
    private var paths: [String: String] {
        guard self.material.isMine, self.material.isWaiting, self.isShown else { return [:] }
        var names = Set(self.material.images)
        if names.contains(.frames) { names.insert(.face) }
        return Dictionary(
            uniqueKeysWithValues: names.map { ($0.rawValue, "/cases/\(self.material.id)/images/\($0.rawValue)") })
    }

    private func button(_ action: String, _ text: String, key: String) -> Markup {
        """
        <form method='post' action='/cases/\(self.material.id)/\(action)'>\(ConsolePage.token(self.session))
        <button type='submit' accesskey='\(key)'>\(text)</button></form>

        """
    }

    /// Who has the case, and what can be done about that.
    private var bar: Markup {
        let material = self.material
        var content: [Markup] = []
        if !material.isWaiting {
            content.append("<p>This case is decided.</p>\n")
        } else if material.isMine {
            let until: Markup =
                material.until.map { " until \(ConsolePage.time($0)); opening it again extends that" } ?? ""
            content += ["<p>You have this case\(until).</p>\n", self.button("release", "Release it", key: "r")]
            if !self.isShown { content.append("<p>This console has no analyzer, so it shows no images.</p>\n") }
        } else if let holder = material.holder {
            content.append("<p>\(holder) has this case.</p>\n")
        } else if let first = material.first, first.isMine, material.needsSecond {
            content.append(
                "<p>You decided \(first.decision) with the label \(first.label). Another person must confirm that.</p>\n"
            )
        } else {
            content += [
                "<p>Nobody has this case. Images and fields are shown to the person who takes it.</p>\n",
                self.button("take", "Take it", key: "t"),
            ]
        }
        if let first = material.first, !first.isMine, material.isWaiting, material.needsSecond {
            content.append(
                """
                <p>\(first.by) decided \(first.decision) with the label \(first.label). If you decide the same, the case is finished. \
                If you decide otherwise, another person must confirm your decision.</p>

                """)
        } else if material.needsSecond, material.isMine, material.isWaiting {
            content.append(
                "<p>Two people decide each of this partner's cases: another person must confirm your decision.</p>\n")
        }
        return """
            <section class='bar' aria-label='Who has the case'>
            \(content)</section>

            """
    }

    /// What every reviewer sees.
    private var summary: Markup {
        let decision = self.material.document.decision
        let reasons = self.material.document.rejectReasons.map { "<li>\($0.message)</li>\n" as Markup }
        return """
            <h1>Case \(String(self.material.id.suffix(12)))</h1>
            <p>Proposed: \(decision.type.rawValue), \(decision.details.label). Partner \(self.material.partner), workflow \
            \(self.material.facts.request.workflow.rawValue).</p>
            \(reasons.isEmpty ? "" : "<ul>\n\(reasons)</ul>\n" as Markup)
            """
    }

    private var form: Markup {
        let first = self.material.needsSecond ? self.material.first : nil
        let choices = [("PASSED", "p"), ("WARNING", "w"), ("REJECTED", "x")].map { name, key -> Markup in
            """
            <label><input type='radio' name='decision' value='\(name)' required='required' accesskey='\(key)'/> \(name)</label>

            """
        }
        let labels = Set(
            self.material.document.rejectReasons.map(\.message) + [self.material.document.decision.details.label]
        ).sorted().map { "<option value='\($0)'></option>\n" as Markup }
        return """
            <section class='decide'>
            <h2 id='decide'>Decide</h2>
            <form method='post' action='/cases/\(self.material.id)/decide' aria-labelledby='decide'>
            \(ConsolePage.token(self.session))
            <fieldset><legend>Decision\(first.map { ", to be confirmed: \($0.decision), \($0.label)" as Markup } ?? "")</legend>
            \(choices)</fieldset>
            <label>Label for the partner (if empty: OK for PASSED, otherwise the decision) <input name='label' list='labels' accesskey='l' maxlength='64' \
            pattern='[A-Za-z][A-Za-z0-9_]*' autocomplete='off'/></label>
            <datalist id='labels'>
            \(labels)</datalist>
            <label>Note for the record; the partner does not see it <textarea name='note' rows='3' autocomplete='off' spellcheck='false' accesskey='o' maxlength='2000'></textarea></label>
            <button type='submit' accesskey='s'>Record the decision</button>
            </form>
            </section>

            """
    }

    /// Every key, for a person who uses no mouse.
    private var keyboard: Markup {
        let keys: [(String, String)] = [
            ("t, r", "take the case, release it"), ("m", "switch the overlays on all images on or off"),
            ("1 to 9", "go to the tools of that image: Tab moves on, Space switches, arrow keys turn"),
            ("p, w, x", "choose PASSED, WARNING, REJECTED"), ("l, o", "go to the label, to the note"),
            ("s", "record the decision"), ("h", "show earlier results side by side"),
        ]
        let rows = keys.map { key, what -> Markup in "<dt><kbd>\(key)</kbd></dt><dd>\(what)</dd>\n" }
        return """
            <section><h2>Keys</h2>
            <p>Press these with your browser's modifier: Alt in Chromium, Alt and Shift in Firefox. While an enlarged image has the focus, + and - \
            zoom, 0 fits it, and arrow keys move it.</p>
            <dl class='keys'>
            \(rows)</dl>
            </section>

            """
    }

    private var notes: Markup {
        guard !self.material.notes.isEmpty else { return "" }
        let rows = self.material.notes.map { note -> Markup in
            "<tr><td>\(note.at)</td><td>\(note.who)</td><td>\(note.action)</td><td>\(note.note)</td></tr>\n"
        }
        return
            "<section><h2>Notes</h2>\n\(ConsolePage.table("Notes", ["When", "Who", "What", "Note"], rows, empty: ""))</section>\n"
    }

    private var runs: Markup {
        // Other results of a person are for the one who has the case.
        let link: Markup =
            self.material.isMine && self.material.isWaiting
            ? "<p><a href='/cases/\(self.material.id)/history' accesskey='h'>Earlier results side by side</a></p>\n"
            : ""
        guard self.material.runs.count > 1 else { return link }
        let rows = self.material.runs.map { run -> Markup in
            """
            <tr><td>\(run.id == self.material.id ? "<strong>this one</strong>" : "\(run.id)" as Markup)</td><td>\(run.at)</td>\
            <td>\(run.status)</td><td>\(run.decision ?? "–")</td><td>\(run.label ?? "–")</td></tr>

            """
        }
        let table = ConsolePage.table(
            "Runs of this job", ["Job", "Accepted", "Status", "Decision", "Label"], rows, empty: "")
        return "<section><h2>Runs</h2>\n\(table)\(link)</section>\n"
    }
}
