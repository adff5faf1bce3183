internal import HTTPServer
internal import InspectCore

/// One case: for the person who has taken it, the basis of the decision and the form; for others, its progress.
struct CasePage {
    var session: ConsoleSession
    var state: CaseState
    /// `nil`: another person has the case, or nobody.
    var material: CaseMaterial?
    /// Whether this console can show images at all.
    var isShown: Bool
    /// The form's initial values.
    var typed: TypedDecision
    /// Why the decision was not recorded.
    var refusal: InspectError?
    /// The stamp of what the page shows, or of what was before.
    var known: String?

    func response() -> HTTPResponse {
        let state = self.state
        var content: [Markup] = [self.notice, self.bar]
        if let material {
            content +=
                InspectionReport(
                    document: material.document, facts: material.facts, paths: self.paths(material),
                    today: CalendarDate(material.decidedAt),
                    origin: ReportOrigin(job: state.id, partner: state.partner, decidedAt: material.decidedAt),
                    isDesk: true
                ).content
            content += [self.form(material), self.notes(material), self.runs(material)]
        } else {
            content += [self.summary, self.typing]
        }
        content.append(self.keyboard)
        var response = ConsolePage(
            title: "Case \(state.id.suffix(12))", session: self.session, hasHeading: false,
            // A page that answers a form has no address from which it could be fetched again, and the typed text would be lost.
            stream: state.isWaiting && self.typed.isEmpty && self.refusal == nil ? "/live/cases/\(state.id)" : nil,
            known: self.known,
            content: content
        ).response(status: self.refusal?.code.httpStatus ?? 200)
        response.code = self.refusal?.code
        return response
    }

    /// Where the images are, by part name. As for the worker, the first frame stands for a face that was not given.
    private func paths(_ material: CaseMaterial) -> [String: String] {
        guard self.isShown else { return [:] }
        var names = Set(material.images)
        if names.contains(.frames) { names.insert(.face) }
        return Dictionary(
            uniqueKeysWithValues: names.map { ($0.rawValue, "/cases/\(self.state.id)/images/\($0.rawValue)") })
    }

    private func button(_ action: String, _ text: String, key: String) -> Markup {
        """
        <form method='post' action='/cases/\(action)'>\(ConsolePage.token(self.session))
        <button type='submit' accesskey='\(key)'>\(text)</button></form>

        """
    }

    /// Why the typed decision is not recorded.
    private var notice: Markup {
        let state = self.state
        guard let refusal else {
            guard self.material != nil, !self.typed.isEmpty else { return "" }
            return """
                <section class='bar' aria-label='Not recorded yet'>
                <p>You have the case. Nothing is recorded yet: look at it, check what you typed below, and record the decision.</p>
                </section>

                """
        }
        let why: Markup
        if !state.isWaiting {
            why = "The case was decided in the meantime."
        } else if state.isOwnDecision {
            why = "You decided this case before, and another person must confirm that."
        } else if state.isMine {
            why = "\(ConsoleService.sentence(refusal)) \(refusal.hint ?? "")"
        } else if let holder = state.holder {
            why = "\(holder) has the case now."
        } else {
            why = "You have not taken the case. Take it, look at it, and then record the decision."
        }
        return """
            <section class='bar' aria-label='Not recorded'>
            <p><strong>Your decision is not recorded.</strong> \(why)\(self.typed.isEmpty ? "" : " What you typed is shown below." as Markup)</p>
            <p class='soft'>\(refusal.code.rawValue)</p>
            </section>

            """
    }

    /// Who has the case, and what can be done about that.
    private var bar: Markup {
        let state = self.state
        var content: [Markup] = []
        if let end = state.end {
            let at: Markup = end.at.map { ", \(ConsolePage.time($0))" } ?? ""
            content.append(
                "<p>This case is decided: \(end.decision), \(end.label)\(end.by.map { ", by \($0)" as Markup } ?? "")\(at).</p>\n"
            )
            if let first = end.confirmed { content.append("<p>This confirmed the decision of \(first).</p>\n") }
        } else if !state.isWaiting {
            content.append("<p>This case ended without a review.</p>\n")
        } else if state.isMine {
            let until: Markup =
                state.until.map { " until \(ConsolePage.time($0)); opening it again extends that" } ?? ""
            content += [
                "<p>You have this case\(until).</p>\n", self.button("\(state.id)/release", "Release it", key: "r"),
            ]
            if !self.isShown { content.append("<p>This console has no analyzer, so it shows no images.</p>\n") }
        } else if let holder = state.holder {
            content.append("<p>\(holder) has this case.</p>\n")
        } else if let first = state.first, state.isOwnDecision {
            content.append(
                "<p>You decided \(first.decision) with the label \(first.label). Another person must confirm that.</p>\n"
            )
        } else {
            content.append("<p>Nobody has this case. Images and fields are shown to the person who takes it.</p>\n")
            // Below, a button takes the case with the typed decision.
            if self.typed.isEmpty { content.append(self.button("\(state.id)/take", "Take it", key: "t")) }
        }
        if let first = state.first, !first.isMine, state.isWaiting, state.needsSecond {
            content.append(
                """
                <p>\(first.by) decided \(first.decision) with the label \(first.label). If you decide the same, the case is finished. \
                If you decide otherwise, another person must confirm your decision.</p>

                """)
        } else if state.needsSecond, state.isMine {
            content.append(
                "<p>Two people decide each of this partner's cases: another person must confirm your decision.</p>\n")
        }
        if !state.isMine, !state.isFree {
            content.append(self.button("next", "Take the next free case", key: "n"))
        }
        return """
            <section class='bar' aria-label='Who has the case'>
            \(content)</section>

            """
    }

    /// What every reviewer sees.
    private var summary: Markup {
        let state = self.state
        let reasons = state.because.map { "<li>\($0)</li>\n" as Markup }
        let age: Markup =
            state.isWaiting
            ? "<p>Waiting for \(ConsolePage.words(state.waitSeconds)); expires in \(ConsolePage.words(state.remainingSeconds)).</p>\n"
            : ""
        return """
            <h1>Case \(String(state.id.suffix(12)))</h1>
            <p>Proposed: \(state.decision), \(state.label). Partner \(state.partner), workflow \(state.workflow).</p>
            \(age)\(reasons.isEmpty ? "" : "<ul>\n\(reasons)</ul>\n" as Markup)
            """
    }

    /// The decision that the person typed without having the case, and how to continue with it.
    private var typing: Markup {
        let (state, typed) = (self.state, self.typed)
        guard !typed.isEmpty else { return "" }
        let fields = typed.fields
        guard state.isWaiting, !state.isOwnDecision else {
            return "<section class='decide'>\n<h2>What you typed</h2>\n\(fields)</section>\n"
        }
        return """
            <section class='decide'>
            <h2 id='typed'>What you typed</h2>
            <form method='post' action='/cases/\(state.id)/take' aria-labelledby='typed'>
            \(ConsolePage.token(self.session))
            <input type='hidden' name='decision' value='\(typed.decision ?? "")'/>
            \(fields)<button type='submit' accesskey='t'>Take it with what you typed</button>
            </form>
            </section>

            """
    }

    private func form(_ material: CaseMaterial) -> Markup {
        let (state, typed) = (self.state, self.typed)
        let first = state.needsSecond && state.first?.isMine == false ? state.first : nil
        let choices = [("PASSED", "p"), ("WARNING", "w"), ("REJECTED", "x")].map { name, key -> Markup in
            """
            <label><input type='radio' name='decision' value='\(name)' required='required' accesskey='\(key)'\
            \(name == typed.decision ? " checked='checked'" : "" as Markup)/> \(name)</label>

            """
        }
        let labels = Set(
            material.document.rejectReasons.map(\.message) + [material.document.decision.details.label]
        ).sorted().map { "<option value='\($0)'></option>\n" as Markup }
        // After the button that Enter presses: nobody confirms by accident.
        let confirm: Markup =
            first.map {
                """
                <button type='submit' name='confirm' value='\($0.decision) \($0.label)' formnovalidate='formnovalidate' \
                accesskey='c'>Confirm: \($0.decision), \($0.label)</button>

                """
            } ?? ""
        return """
            <section class='decide'>
            <h2 id='decide'>Decide</h2>
            <form method='post' action='/cases/\(state.id)/decide' aria-labelledby='decide'>
            \(ConsolePage.token(self.session))
            <fieldset><legend>Decision\(first.map { ", to be confirmed: \($0.decision), \($0.label)" as Markup } ?? "")</legend>
            \(choices)</fieldset>
            <label>Label for the partner (if empty: OK for PASSED, otherwise the decision) <input name='label' value='\(typed.label ?? "")' list='labels' accesskey='l' maxlength='64' \
            pattern='[A-Za-z][A-Za-z0-9_]*' autocomplete='off'/></label>
            <datalist id='labels'>
            \(labels)</datalist>
            <label>Note for the record; the partner does not see it <textarea name='note' rows='3' autocomplete='off' spellcheck='false' accesskey='o' maxlength='2000'>\(typed.note ?? "")</textarea></label>
            <button type='submit' accesskey='s'>\(first == nil ? "Record the decision" : "Decide otherwise" as Markup)</button>
            \(confirm)</form>
            </section>

            """
    }

    /// All keyboard shortcuts, for people who do not use a mouse.
    private var keyboard: Markup {
        let keys: [(String, String)] = [
            ("t, r", "take the case, release it"), ("m", "switch the overlays on all images on or off"),
            ("1 to 9", "go to the tools of that image: Tab moves on, Space switches, arrow keys turn"),
            ("p, w, x", "choose PASSED, WARNING, REJECTED"), ("l, o", "go to the label, to the note"),
            ("s, c", "record the decision, confirm another person's"), ("n", "take the next free case"),
            ("h", "show earlier results side by side"),
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

    private func notes(_ material: CaseMaterial) -> Markup {
        guard !material.notes.isEmpty else { return "" }
        let rows = material.notes.map { note -> Markup in
            "<tr><td>\(note.at)</td><td>\(note.who)</td><td>\(note.action)</td><td>\(note.note)</td></tr>\n"
        }
        return
            "<section><h2>Notes</h2>\n\(ConsolePage.table("Notes", ["When", "Who", "What", "Note"], rows, empty: ""))</section>\n"
    }

    private func runs(_ material: CaseMaterial) -> Markup {
        let link: Markup =
            "<p><a href='/cases/\(self.state.id)/history' accesskey='h'>Earlier results side by side</a></p>\n"
        guard material.runs.count > 1 else { return link }
        let rows = material.runs.map { run -> Markup in
            """
            <tr><td>\(run.id == self.state.id ? "<strong>this one</strong>" : "\(run.id)" as Markup)</td><td>\(run.at)</td>\
            <td>\(run.status)</td><td>\(run.decision ?? "–")</td><td>\(run.label ?? "–")</td></tr>

            """
        }
        let table = ConsolePage.table(
            "Runs of this job", ["Job", "Accepted", "Status", "Decision", "Label"], rows, empty: "")
        return "<section><h2>Runs</h2>\n\(table)\(link)</section>\n"
    }
}
