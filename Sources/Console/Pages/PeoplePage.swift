internal import Foundation
internal import HTTPServer
internal import InspectCore

/// Who is signed in, with a button that ends their sessions.
struct PeoplePage {
    var session: ConsoleSession
    var rows: [PersonRow]

    var response: HTTPResponse {
        let mayEnd = self.session.isForAll(as: [.operator])
        let rows = self.rows.prefix(200).map { row -> Markup in
            let button: Markup =
                mayEnd
                ? """
                <td><form method='post' action='/people/\(String(row.id))/end'>\(ConsolePage.token(self.session))
                <label>Reason for the record <input name='reason' maxlength='200' required='required' autocomplete='off'/></label>
                <button type='submit'>End sessions of \(row.name)</button></form></td>
                """ : ""
            return """
                <tr><th scope='row'>\(row.name)</th><td>\(row.issuer)<br/>\(row.subject)</td><td>\(row.roles)</td>\
                <td>\(ConsolePage.time(row.since))</td><td>\(ConsolePage.time(row.seen))</td>\
                <td class='number'>\(String(row.sessions))</td><td class='number'>\(String(row.cases))</td>\(button)</tr>

                """
        }
        return ConsolePage(
            title: "People", session: self.session,
            content: [
                """
                <p>To keep someone out, first disable them at the provider. Ending a person's sessions also releases their cases and \
                stops their tasks.</p>

                """,
                ConsolePage.table(
                    "Who is signed in",
                    ["Name", "Provider and subject", "Roles", "Since", "Last seen", "Sessions", "Cases"]
                        + (mayEnd ? ["Action"] : []), rows, empty: "Nobody is signed in."),
                self.rows.count > rows.count ? "<p>More are not shown.</p>\n" : "",
            ]
        ).response()
    }
}
