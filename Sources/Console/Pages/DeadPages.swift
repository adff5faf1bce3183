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
            <td>\(ConsolePage.time(Date(timeIntervalSince1970: Double(row.diedMicroseconds) / 1_000_000)))</td></tr>

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
                <p><a class='button' href='/tasks/new\(ConsolePage.query([("kind", "dead")] + filter))'>Act on all of this selection</a></p>

                """)
        }
        content.append(
            ConsolePage.table(
                "Unresolved dead letters, newest first",
                ["Job", "Partner", "Workflow", "Code", "What was wrong", "Attempts", "When"], rows,
                empty: "There are no unresolved dead letters."))
        if let next = self.next {
            let query = ConsolePage.query(filter + [("died", String(next.sinceMicroseconds)), ("after", next.id)])
            content.append("<nav aria-label='Pages'><a href='/dead\(query)' rel='next'>Older ones</a></nav>\n")
        }
        return ConsolePage(title: "Dead letters", session: self.session, content: content).response()
    }
}
