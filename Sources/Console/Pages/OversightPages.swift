internal import Foundation
internal import HTTPServer
internal import InspectCore

/// Changes that wait for a second person, and the outcomes of earlier ones.
struct ApprovalsPage {
    var session: ConsoleSession
    var rows: [ProposalRow]

    var response: HTTPResponse {
        let rows = self.rows.map { row -> Markup in
            """
            <tr><th scope='row'>\(String(row.id))</th><td>\(row.action)</td><td><code>\(row.arguments)</code></td>\
            <td>\(row.proposedBy)</td><td>\(ConsolePage.time(row.proposed))</td><td>\(self.state(row))</td></tr>

            """
        }
        return ConsolePage(
            title: "Approvals", session: self.session,
            content: [
                """
                <p>A change that needs two people is proposed in psql (<code>insp.propose</code>). The person who proposed it cannot \
                approve it.</p>

                """,
                ConsolePage.table(
                    "Proposals, open ones first", ["Proposal", "Action", "Arguments", "Proposed by", "When", "State"],
                    rows, empty: "Nothing has been proposed."),
            ]
        ).response()
    }

    private func state(_ row: ProposalRow) -> Markup {
        guard row.state == "open" else {
            let when: Markup = row.decided.map { " \(ConsolePage.time($0))" } ?? ""
            return "\(row.state)\(row.decidedBy.map { " by \($0)" } ?? "")\(when)"
        }
        let until: Markup = "open until \(ConsolePage.time(row.expires))"
        guard self.session.isForAll(as: [.operator]) else { return until }
        var buttons: [Markup] = []
        if row.isOwn {
            buttons.append("<p>Another person must approve it.</p>\n")
        } else if row.returnsSecret {
            buttons.append("<p>It returns a secret: approve it in psql.</p>\n")
        } else {
            buttons.append(self.button(row, "approve", "Approve"))
        }
        buttons.append(self.button(row, "reject", row.isOwn ? "Withdraw" : "Reject"))
        return "\(until)\n\(buttons)"
    }

    private func button(_ row: ProposalRow, _ action: String, _ text: String) -> Markup {
        """
        <form method='post' action='/approvals/\(String(row.id))/\(action)'>\(ConsolePage.token(self.session))
        <button type='submit'>\(text) proposal \(String(row.id))</button></form>

        """
    }
}

/// The record, searched.
struct RecordPage {
    var session: ConsoleSession
    var search: RecordSearch
    /// The times as they were entered.
    var times: (from: String?, to: String?)
    /// `nil`: nothing was searched yet.
    var found: (rows: [RecordRow], next: Int64?)?

    static let chains = ["operator", "access", "session", "endpoint"]

    var response: HTTPResponse {
        let chains = Self.chains.map { name -> Markup in
            let isChosen: Markup = name == self.search.chain ? " selected='selected'" : ""
            return "<option value='\(name)'\(isChosen)>\(name)</option>\n"
        }
        let fields = [
            ("from", "From (UTC)", self.times.from), ("to", "Until", self.times.to),
            ("actor", "Who", self.search.actor), ("action", "Action", self.search.action),
            ("object", "Object, in full", self.search.object),
        ].map { name, label, value -> Markup in
            let hint: Markup = name == "from" || name == "to" ? " placeholder='2026-01-31T12:00'" : ""
            return "<label>\(label) <input name='\(name)' value='\(value ?? "")' maxlength='200'\(hint)/></label>\n"
        }
        var content: [Markup] = [
            """
            <form method='get' action='/record' class='filter'>
            <label>Chain <select name='chain'>
            \(chains)</select></label>
            \(fields)<button type='submit'>Search</button></form>
            <p class='soft'>Each search is itself recorded. An object is a job's id or, for example, partner NAME, endpoint 3 or task 7.</p>

            """
        ]
        if let found = self.found { content += self.table(found.rows, found.next) }
        return ConsolePage(title: "Record", session: self.session, content: content).response()
    }

    private func table(_ found: [RecordRow], _ next: Int64?) -> [Markup] {
        let rows = found.map { row -> Markup in
            let object: Markup =
                UUID(uuidString: row.object) != nil && row.object.first != "0"
                ? "<a href='/jobs/\(row.object)'>\(row.object)</a>" : "\(row.object)"
            return """
                <tr><td>\(ConsolePage.time(row.at))</td><td>\(row.who)</td><td>\(row.action)</td><td>\(object)</td>\
                <td>\(row.purpose ?? "")</td><td>\(row.detail ?? "")</td></tr>

                """
        }
        var content = [
            ConsolePage.table(
                "What was done, newest first", ["When", "Who", "Action", "Object", "Purpose", "Details"], rows,
                empty: next == nil
                    ? "Nothing is on record." : "None of the newest rows match; the next page searches further.")
        ]
        if let next {
            let query = ConsolePage.query([
                ("chain", self.search.chain), ("from", self.times.from), ("to", self.times.to),
                ("actor", self.search.actor), ("action", self.search.action), ("object", self.search.object),
                ("before", String(next)),
            ])
            content.append("<nav aria-label='Pages'><a href='/record\(query)' rel='next'>Older ones</a></nav>\n")
        }
        return content
    }
}

/// The state of keys.
struct KeysPage {
    var session: ConsoleSession
    var state: KeysState

    var response: HTTPResponse {
        let state = self.state
        var content: [Markup] = ["<h2>Wrapping keys</h2>\n"]
        if let wrappingKey = state.wrappingKey {
            let changed: Markup = state.changed.map { ", since \(ConsolePage.time($0))" } ?? ""
            content.append(
                """
                <dl>
                <dt>Key store</dt><dd>\(state.keyStore ?? "")</dd>
                <dt>Wraps new keys</dt><dd>\(wrappingKey)\(changed)</dd>
                <dt>Rotation</dt><dd>\(state.formerKey.map { "under way, from \($0)" } ?? "none")</dd>
                </dl>

                """)
        } else {
            content.append("<p>Nothing is sealed: there is no key store.</p>\n")
        }
        if let wrapped = state.wrapped {
            let rows = wrapped.map { row -> Markup in
                """
                <tr><th scope='row'>\(row.wrappingKey)</th><td class='number'>\(String(row.partners))</td>\
                <td>\(row.wrappingKey == state.wrappingKey ? "present" : "to be rewrapped")</td></tr>

                """
            }
            content.append(
                ConsolePage.table(
                    "Partners' keys by wrapping key", ["Wrapping key", "Partners", "State"], rows,
                    empty: "No partner has a key."))
        } else if state.wrappingKey != nil {
            content.append(
                "<p>The progress of a rotation is unknown: the key store does not answer, or this console has none.</p>\n"
            )
        }
        let backlogs: [(String, KeysState.Backlog)] = [
            ("Persons", state.persons), ("Deleted faces", state.faces), ("Keys", state.keys),
            ("Objects in the object store", state.objects),
        ]
        content += [
            "<h2>Waiting for destruction</h2>\n",
            ConsolePage.table(
                "Erased or expired data whose keys or objects are not destroyed yet",
                ["What", "How many", "Oldest waits"],
                backlogs.map { name, backlog -> Markup in
                    """
                    <tr><th scope='row'>\(name)</th><td class='number'>\(backlog.count == 10_000 ? "at least " : "")\
                    \(String(backlog.count))</td><td>\(ConsolePage.words(backlog.oldestSeconds))</td></tr>

                    """
                }, empty: ""), "<h2>Decryption keys of workers</h2>\n",
            ConsolePage.table(
                "Keys for parts that partners encrypt", ["Key", "Workers", "Listed for partners"],
                state.decryptionKeys.map { row -> Markup in
                    """
                    <tr><th scope='row'>\(row.name)</th><td class='number'>\(String(row.workers))</td>\
                    <td>\(row.isListed ? "yes" : "no: workers differ")</td></tr>

                    """
                }, empty: "No worker has one."), "<h2>Signature of the record</h2>\n",
        ]
        if let number = state.checkpoint, let signed = state.signed {
            content.append(
                "<p>Checkpoint \(String(number)), \(ConsolePage.time(signed)), with key \(state.signer ?? "").</p>\n")
        } else {
            content.append("<p>The record has never been signed.</p>\n")
        }
        return ConsolePage(title: "Keys", session: self.session, content: content).response()
    }
}
