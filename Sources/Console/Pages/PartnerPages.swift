internal import Foundation
internal import HTTPServer
internal import InspectCore

/// A partner's setting: part of its state or policy, or a credential.
struct PartnerRow: Sendable {
    /// `state`, `policy` or `credential`.
    var kind: String
    var name: String
    var value: String?
    /// When a credential was last used.
    var used: Date?
}

/// The partners whose settings a person may see.
struct PartnersPage {
    var session: ConsoleSession
    var names: [String]

    var response: HTTPResponse {
        let items = self.names.prefix(1000).map { "<li><a href='/partners/\($0)'>\($0)</a></li>\n" as Markup }
        return ConsolePage(
            title: "Partners", session: self.session,
            content: [
                items.isEmpty ? "<p>There are no partners.</p>\n" : "<ul>\n\(items)</ul>\n",
                self.names.count > items.count ? "<p>More are not shown.</p>\n" : "",
            ]
        ).response()
    }
}

/// One partner's settings, read-only.
struct PartnerPage {
    var session: ConsoleSession
    var name: String
    var rows: [PartnerRow]

    var response: HTTPResponse {
        let settings = self.rows.filter { $0.kind != "credential" }.map { row -> Markup in
            "<tr><th scope='row'>\(row.name)</th><td>\(row.value ?? "–")</td></tr>\n"
        }
        let credentials = self.rows.filter { $0.kind == "credential" }.map { row -> Markup in
            """
            <tr><th scope='row'>\(row.name)</th><td>\(row.value ?? "")</td>\
            <td>\(row.used.map(ConsolePage.time) ?? "never")</td></tr>

            """
        }
        return ConsolePage(
            title: "Partner \(self.name)", session: self.session,
            content: [
                ConsolePage.table("State and policy", ["Setting", "Value"], settings, empty: "Nothing is set."),
                ConsolePage.table(
                    "Credentials, newest first", ["Credential", "State and scopes", "Last used"], credentials,
                    empty: "There are no credentials."),
            ]
        ).response()
    }
}
