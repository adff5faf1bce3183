internal import Foundation
internal import HTTPServer
internal import InspectCore

/// The layout of every page: a link past the navigation, the navigation, one heading, the content.
struct ConsolePage {
    var title: String
    var session: ConsoleSession?
    /// False: the content has its own first-level heading.
    var hasHeading = true
    /// Where the script learns of changes (server-sent events), upon which it renews the element `live`.
    var stream: String?
    /// The stamp from which the stream continues: changes between page and stream are not lost.
    var known: String?
    var content: [Markup]

    /// The seconds after which a browser repeats a request that was answered with 503.
    static let retrySeconds = 5

    func response(status: Int = 200) -> HTTPResponse {
        let page: Markup = """
            <!DOCTYPE html>
            <html lang='en'>
            <head>
            <meta charset='utf-8'/>
            <meta name='viewport' content='width=device-width, initial-scale=1'/>
            <meta name='color-scheme' content='light dark'/>
            <meta name='robots' content='noindex'/>
            <title>\(self.title) – inspectd</title>
            <link rel='stylesheet' href='/assets/console.css'/>
            <script src='/assets/console.js' defer='defer'></script>
            </head>
            <body data-retry='\(Self.retrySeconds)'\(self.live)>
            <a class='skip' href='#main'>Skip to the content</a>
            \(self.header)<main id='main' tabindex='-1'>
            \(self.hasHeading ? "<h1>\(self.title)</h1>\n" : "" as Markup)\(self.refresh)\(self.content)</main>
            </body>
            </html>

            """
        return HTTPResponse(
            status: status, headers: [("Content-Type", "text/html; charset=utf-8")], body: Data(page.html.utf8))
    }

    private var live: Markup {
        let known: Markup = self.known.map { " data-known='\($0)'" } ?? ""
        return self.stream.map { " data-stream='\($0)'\(known)" } ?? ""
    }

    /// For pages that change while they are open. The script announces one sentence, never the content.
    private var refresh: Markup {
        guard self.stream != nil else { return "" }
        return """
            <p id='news' role='status'></p>
            <p class='refresh'><a href=''>Refresh</a></p>

            """
    }

    private var header: Markup {
        guard let session = self.session else { return "<header><p class='brand'>inspectd</p></header>\n" }
        var links: [(path: String, name: String)] = []
        if session.roles.contains(.reviewer) { links.append(("cases", "Cases")) }
        if !session.roles.isDisjoint(with: [.operator, .auditor]) {
            links += [
                ("queue", "Queue"), ("plots", "Plots"), ("workers", "Workers"), ("jobs", "Jobs"),
                ("dead", "Dead letters"), ("tasks", "Tasks"), ("endpoints", "Endpoints"), ("limits", "Limits"),
                ("partners", "Partners"),
            ]
        }
        // These pages show data of every partner.
        if session.isForAll(as: [.operator, .auditor]) {
            links += [("approvals", "Approvals"), ("record", "Record"), ("keys", "Keys"), ("people", "People")]
        }
        let entries = links.map { path, name -> Markup in
            // Each of these pages has the name of its link as its title, and no other page has.
            "<li><a href='/\(path)'\(name == self.title ? " aria-current='page'" : "" as Markup)>\(name)</a></li>\n"
        }
        return """
            <header>
            <p class='brand'>inspectd</p>
            <nav aria-label='Console'><ul>
            \(entries)</ul></nav>
            <form method='post' action='/sign-out' class='who'>\(Self.token(session))<span>\(session.name)</span>
            <button type='submit'>Sign out</button></form>
            </header>

            """
    }

    /// The token in every form of a session.
    static func token(_ session: ConsoleSession) -> Markup {
        "<input type='hidden' name='form' value='\(session.secret.formToken)'/>"
    }

    /// A table that scrolls separately if the screen is narrow; rows are complete `tr` elements.
    static func table(_ caption: String, _ columns: [String], _ rows: [Markup], empty: String) -> Markup {
        guard !rows.isEmpty else { return "<p>\(empty)</p>\n" }
        return """
            <div class='scroll' role='region' aria-label='\(caption)' tabindex='0'>
            <table>
            <caption>\(caption)</caption>
            <thead><tr>\(columns.map { "<th scope='col'>\($0)</th>" as Markup })</tr></thead>
            <tbody>
            \(rows)</tbody>
            </table>
            </div>

            """
    }

    /// A list of partners to choose from.
    static func partners(_ session: ConsoleSession, chosen: String?) -> Markup {
        let options = session.partners.map { name -> Markup in
            "<option value='\(name)'\(name == chosen ? " selected='selected'" : "" as Markup)>\(name)</option>\n"
        }
        return """
            <label>Partner <select name='partner'><option value=''>all of mine</option>
            \(options)</select></label>

            """
    }

    /// A duration in its largest suitable unit, as `insp.in_words` writes it.
    static func words(_ seconds: Double?) -> String {
        guard let seconds, seconds.isFinite else { return "–" }
        let count = max(0, seconds.rounded())
        if count < 120 { return "\(Int(count)) s" }
        if count < 7200 { return "\(Int((count / 60).rounded())) min" }
        return count < 172_800 ? "\(Int((count / 3600).rounded())) h" : "\(Int((min(count, 1e12) / 86400).rounded())) d"
    }

    static func time(_ date: Date) -> Markup {
        let text = date.formatted(.iso8601)
        return "<time datetime='\(text)'>\(text)</time>"
    }

    /// The query of a link.
    static func query(_ parameters: [(String, String?)]) -> String {
        let allowed = CharacterSet(charactersIn: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~")
        let pairs = parameters.compactMap { name, value in
            value.map { "\(name)=\($0.addingPercentEncoding(withAllowedCharacters: allowed) ?? "")" }
        }
        return pairs.isEmpty ? "" : "?" + pairs.joined(separator: "&")
    }
}
