internal import HTTPServer
internal import InspectCore

/// How to sign in.
struct SignInPage {
    var service: ConsoleService
    /// Whether another site led here, so that the browser withheld the cookie of a session that may exist.
    var isCrossSite: Bool
    var path: String

    func response(status: Int) -> HTTPResponse {
        var content: [Markup] = []
        if self.isCrossSite {
            content.append("<p><a href='\(self.path)'>Continue</a>, if you are signed in already.</p>\n")
        }
        if self.service.provider != nil {
            content.append(
                "<p><a class='button' href='/sign-in/provider'>Sign in with your organisation</a></p>\n")
        }
        if self.service.link != nil {
            content.append("<p>Open the link that <code>inspectd console --local</code> printed. It works once.</p>\n")
        }
        var response = ConsolePage(title: "Sign in", session: nil, content: content).response(status: status)
        if status == 401 { response.code = .unauthenticated }
        return response
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
    func response(status: Int) -> HTTPResponse {
        ConsolePage(
            title: "Signed in", session: nil, content: ["<p><a class='button' href='/' data-go='go'>Continue</a></p>\n"]
        )
        .response(status: status)
    }
}
