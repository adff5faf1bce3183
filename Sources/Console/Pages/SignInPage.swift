internal import HTTPServer
internal import InspectCore

/// How to sign in.
struct SignInPage {
    var service: ConsoleService
    /// Whether another site led here, so that the browser withheld the cookie of a session that may exist.
    var isCrossSite: Bool
    var path: String
    /// The text that was sent after the session's end, and is recorded nowhere.
    var typed = TypedDecision()

    func response(status: Int) -> HTTPResponse {
        var content: [Markup] = [self.kept]
        if self.isCrossSite {
            content.append("<p><a href='\(self.path)'>Continue</a>, if you are signed in already.</p>\n")
        }
        if self.service.provider != nil {
            content.append(
                // In another tab, so that this one keeps the typed text.
                self.typed.isEmpty
                    ? "<p><a class='button' href='/sign-in/provider'>Sign in with your organisation</a></p>\n"
                    : "<p><a class='button' href='/sign-in/provider' target='_blank' rel='noopener'>Sign in with your organisation (opens another tab)</a></p>\n"
            )
        }
        if self.service.link != nil {
            content.append("<p>Open the link that <code>inspectd console --local</code> printed. It works once.</p>\n")
        }
        var response = ConsolePage(title: "Sign in", session: nil, content: content).response(status: status)
        if status == 401 { response.code = .unauthenticated }
        return response
    }

    private var kept: Markup {
        guard !self.typed.isEmpty else { return "" }
        return """
            <section class='bar' aria-label='Not recorded'>
            <p><strong>Your session has ended, so nothing is recorded.</strong> Copy what you typed before you close this page. Once you are \
            signed in, you are led back to the case.</p>
            </section>
            <section class='decide'>
            <h2>What you typed</h2>
            \(self.typed.fields)</section>

            """
    }
}

/// The page of a one-time link.
struct LinkPage {
    /// `nil`: the link was used or is no link.
    var token: String?

    func response(status: Int) -> HTTPResponse {
        guard let token else {
            var response = ConsolePage(
                title: "Not signed in", session: nil,
                content: [
                    "<p>This link has been used or has expired. Start the console again to get another one.</p>\n"
                ]
            ).response(status: status)
            response.code = .unauthenticated
            return response
        }
        return ConsolePage(
            title: "Sign in", session: nil,
            content: [
                """
                <form method='post' action='/sign-in/link'><input type='hidden' name='token' value='\(token)'/>
                <button type='submit'>Sign in</button></form>

                """
            ]
        ).response(status: status)
    }
}

/// The first page of a session.
struct WelcomePage {
    /// Where it leads.
    var path: String

    func response(status: Int) -> HTTPResponse {
        ConsolePage(
            title: "Signed in", session: nil,
            content: ["<p><a class='button' href='\(self.path)' data-go='go'>Continue</a></p>\n"]
        )
        .response(status: status)
    }
}
