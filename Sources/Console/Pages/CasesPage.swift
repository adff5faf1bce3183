internal import HTTPServer
internal import InspectCore

/// The list of cases.
struct CasesPage {
    var session: ConsoleSession
    var filter: CaseList.Filter
    var list: CaseList
    var isFirst: Bool
    /// Whether the person asked for a free case and there was none.
    var isNoneFree = false
    /// The stamp of what the page shows, or of what was before.
    var known: String?

    var response: HTTPResponse {
        let rows = self.list.rows.map { row -> Markup in
            let holder: Markup =
                row.isMine
                ? "<strong>you</strong>"
                : row.holder.map { "\($0)" }
                    ?? (row.mayTake
                        ? "<span class='soft'>nobody</span>"
                        : "<span class='soft'>nobody; another person must confirm</span>")
            return """
                <tr><th scope='row'><a href='/cases/\(row.id)'>\(String(row.id.suffix(12)))</a></th><td>\(row.partner)</td>\
                <td>\(row.workflow)</td><td>\(row.decision ?? "damaged: an operator must cancel it")\
                \(row.firstBy.map { "; first decided by \($0)" as Markup } ?? "")</td>\
                <td>\(row.because.joined(separator: ", "))</td><td>\(ConsolePage.words(row.waitSeconds))</td>\
                <td>\(ConsolePage.words(row.remainingSeconds))</td><td>\(holder)</td></tr>

                """
        }
        let pages: [(String, String?)] = [
            ("partner", self.filter.partner), ("reason", self.filter.reason),
            ("minutes", self.filter.minutes == 0 ? nil : String(self.filter.minutes)),
        ]
        var links: [Markup] = []
        if !self.isFirst { links.append("<li><a href='/cases\(ConsolePage.query(pages))'>First page</a></li>\n") }
        if let next = self.list.next {
            let query = ConsolePage.query(pages + [("since", String(next.sinceMicroseconds)), ("after", next.id)])
            links.append("<li><a href='/cases\(query)' rel='next'>Next page</a></li>\n")
        }
        return ConsolePage(
            title: "Cases", session: self.session, stream: "/live/cases", known: self.known,
            content: [
                """
                <form method='get' action='/cases' class='filter'>
                \(ConsolePage.partners(self.session, chosen: self.filter.partner))
                <label>Reason <input name='reason' value='\(self.filter.reason ?? "")' maxlength='64'/></label>
                <label>Waiting for at least (minutes) <input name='minutes' inputmode='numeric' pattern='[0-9]*' \
                value='\(self.filter.minutes)'/></label>
                <button type='submit'>Show</button></form>
                <form method='post' action='/cases/next'>\(ConsolePage.token(self.session))
                <input type='hidden' name='partner' value='\(self.filter.partner ?? "")'/>
                <input type='hidden' name='reason' value='\(self.filter.reason ?? "")'/>
                <input type='hidden' name='minutes' value='\(self.filter.minutes)'/>
                <button type='submit' accesskey='n'>Take the next free case</button></form>

                """, self.isNoneFree ? "<p><strong>No free case was found here.</strong></p>\n" : "",
                "<div id='live' data-news='The list changed'>\n",
                ConsolePage.table(
                    "Cases, oldest first",
                    ["Case", "Partner", "Workflow", "Proposed", "Reasons", "Waiting for", "Expires in", "Held by"],
                    rows,
                    empty: self.list.next == nil
                        ? "No case is waiting here."
                        : "None of the oldest cases match; the next page searches further."),
                links.isEmpty ? "" : "<nav aria-label='Pages'><ul>\n\(links)</ul></nav>\n", "</div>\n",
            ]
        ).response()
    }
}
