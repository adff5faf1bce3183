internal import Foundation
internal import HTTPServer
internal import InspectCore

extension ConsoleRoute {
    /// Sign-in, sign-out, and the files that pages load.
    static let signIns: [ConsoleRoute] = [
        ConsoleRoute("GET", "/", .roles(Set(ConsoleRole.allCases))) { call, _ in
            ConsoleCall.redirect(try call.signedIn().roles.contains(.reviewer) ? "/cases" : "/queue")
        },
        ConsoleRoute("GET", "/sign-in", .everyone) { call, _ in
            SignInPage(service: call.service, isCrossSite: false, path: "/").response(status: 200)
        },
        ConsoleRoute("GET", "/sign-in/link", .everyone) { call, _ in
            // A form, not the sign-in itself: programs that fetch links in advance must not use this one up.
            LinkPage(token: call.parameter("token") ?? "").response(status: 200)
        },
        ConsoleRoute("POST", "/sign-in/link", .everyone) { call, form in
            guard let link = call.service.link, link.take(form["token"] ?? "") else {
                return LinkPage(token: nil).response(status: 403)
            }
            return try await call.begin { try await call.store.signIn($0, name: link.name, grants: link.grants) }
        },
        ConsoleRoute("GET", "/sign-in/provider", .everyone) { call, _ in
            guard let provider = call.service.provider else { throw InspectError(.pathUnknown) }
            let secret = ConsoleSecret()
            do throws(OpenIDProvider.Failure) {
                let url = try await provider.authorizationURL(secret, redirect: call.redirectURL)
                return ConsoleCall.redirect(url, [ConsoleCookie.signIn.header(secret, isSecure: call.isSecure)])
            } catch {
                return call.failed(error)
            }
        },
        ConsoleRoute("GET", "/sign-in/callback", .everyone) { call, _ in
            guard let provider = call.service.provider else { throw InspectError(.pathUnknown) }
            let query = call.request.query
            // Only the browser that began may end it, with the answer to its own question.
            guard let secret = ConsoleCookie.signIn.value(in: call.request.headers["cookie"], isSecure: call.isSecure),
                call.request.repeatedParameter == nil, let state = query["state"],
                ConsoleSecret.areEqual(state, secret.derived("state"))
            else { return call.failed(.init(reason: "the answer does not belong to a sign-in of this browser")) }
            guard let code = query["code"], !code.isEmpty else {
                return call.failed(.init(reason: "the provider did not let the person in"))
            }
            do {
                let person = try await provider.person(code: code, secret, redirect: call.redirectURL)
                return try await call.begin { try await call.store.signIn($0, person) }
            } catch let failure as OpenIDProvider.Failure {
                return call.failed(failure)
            } catch let error as InspectError where error.code == .parameterInvalid {
                // The provider's claims are not valid for a session. The refusal contains no value.
                return call.failed(
                    error.field == "name"
                        ? provider.unusableName : .init(reason: "\(error.text). \(error.hint ?? "")"))
            }
        },
        ConsoleRoute("POST", "/sign-out", .roles(Set(ConsoleRole.allCases))) { call, _ in
            try await call.store.signOut(try call.signedIn())
            // The next person who signs in at this browser must not be led to the case.
            return ConsoleCall.redirect(
                "/sign-in",
                [
                    ConsoleCookie.session.header(nil, isSecure: call.isSecure),
                    ConsoleCookie.way.header(text: nil, isSecure: call.isSecure),
                ])
        },
        // The script sends this while a person types: a request sent as a form keeps the session alive.
        ConsoleRoute("POST", "/session/keep", .roles(Set(ConsoleRole.allCases))) { call, form in
            let session = try call.signedIn()
            if session.roles.contains(.reviewer), let id = form["case"].flatMap({ UUID(uuidString: $0) }) {
                try await call.store.keep(session, id.uuidString.lowercased())
            }
            return HTTPResponse(status: 204)
        },
        // The style sheet of reports, with what the console's own pages need.
        ConsoleRoute("GET", "/assets/console.css", .everyone) { _, _ in
            HTTPResponse(
                status: 200, headers: [("Content-Type", "text/css; charset=utf-8")],
                body: Data(ReportPage.style.html.utf8) + Data(PackageResources.console_css))
        },
        ConsoleRoute("GET", "/assets/console.js", .everyone) { _, _ in
            HTTPResponse(
                status: 200, headers: [("Content-Type", "text/javascript; charset=utf-8")],
                body: Data(PackageResources.console_js))
        },
        ConsoleRoute("GET", "/favicon.ico", .everyone) { _, _ in HTTPResponse(status: 204) },
    ]
}

extension ConsoleCall {
    fileprivate var isSecure: Bool { self.service.configuration.isSecure }

    /// Where the provider sends the browser back to.
    fileprivate var redirectURL: String { (self.service.configuration.origins.first ?? "") + "/sign-in/callback" }

    /// A new session with a new cookie, whatever the browser had before: nobody can have planted it.
    fileprivate func begin(_ signIn: (ConsoleSecret) async throws -> Void) async throws -> HTTPResponse {
        let secret = ConsoleSecret()
        try await signIn(secret)
        // No redirect: behind one from the provider's site, browsers withhold the strict cookie.
        let way = ConsoleCookie.way.text(in: self.request.headers["cookie"], isSecure: self.isSecure)
            .flatMap { UUID(uuidString: $0)?.uuidString.lowercased() }
        var path = "/"
        if let way, try await self.store.session(secret).roles.contains(.reviewer) { path = "/cases/\(way)" }
        var response = WelcomePage(path: path).response(status: 200)
        response.headers += [
            ConsoleCookie.session.header(secret, isSecure: self.isSecure),
            ConsoleCookie.signIn.header(nil, isSecure: self.isSecure),
            ConsoleCookie.way.header(text: nil, isSecure: self.isSecure),
        ]
        return response
    }

    fileprivate func failed(_ failure: OpenIDProvider.Failure) -> HTTPResponse {
        self.service.providerFailed(failure.reason)
        var response = ConsolePage(
            title: "Not signed in", session: nil,
            content: [
                "<p>The sign-in at your organisation's provider did not succeed.</p>\n",
                failure.told.map { "<p>\($0)</p>\n" } ?? "",
                "<p><a href='/sign-in/provider'>Try again</a></p>\n",
            ]
        ).response(status: 403)
        response.headers.append(ConsoleCookie.signIn.header(nil, isSecure: self.isSecure))
        response.code = .unauthenticated
        return response
    }
}
