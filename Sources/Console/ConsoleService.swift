package import Foundation
package import HTTPServer
package import InspectCore

/// Answers browsers of reviewers, operators and auditors: pages that work without scripts.
package final class ConsoleService: Sendable {
    /// Makes previews of images, by their names, in a confined process. They are loaded once there is room for them.
    package typealias Show =
        @Sendable (_ load: @Sendable () async throws -> [(name: String, bytes: Data)]) async throws -> [String: Preview]

    let store: ConsoleStore
    let configuration: ConsoleConfiguration
    /// `nil`: nobody signs in by a link.
    let link: SignInLink?
    /// `nil`: nobody signs in by OpenID Connect.
    let provider: OpenIDProvider?
    /// `nil`: images are not shown.
    let show: Show?
    /// Keeps open pages up to date.
    let live: LiveSignal
    private let observe: @Sendable (HTTPAccess) -> Void
    /// Called with the reason why a provider signed nobody in.
    let providerFailed: @Sendable (String) -> Void

    package init(
        _ store: ConsoleStore, _ configuration: ConsoleConfiguration, link: SignInLink? = nil,
        provider: OpenIDProvider? = nil,
        show: Show? = nil,
        observe: @escaping @Sendable (HTTPAccess) -> Void = { _ in },
        providerFailed: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.store = store
        self.configuration = configuration
        self.link = link
        self.provider = provider
        self.show = show
        self.live = LiveSignal { try await store.pulse($0) }
        self.observe = observe
        self.providerFailed = providerFailed
    }

    /// Open pages that wait for a change.
    package var waiting: Int { self.live.count }

    /// Ends the waits of open pages: the server, which finishes requests in work, can then stop.
    package func close() { self.live.close() }

    /// What a browser sees of a request that the server itself refuses, such as one with malformed escapes.
    package func refusal(_ error: InspectError, status: Int) -> HTTPResponse {
        var response = Self.page(error, status: status)
        response.headers += self.headers
        return response
    }

    /// Decides about a request by its head.
    package func admit(_ request: HTTPRequest) async -> HTTPAdmission {
        let start = ContinuousClock.now
        var access = HTTPAccess()
        func refuse(_ response: HTTPResponse) -> HTTPAdmission {
            .refuse(self.note(&access, response, start))
        }
        guard self.configuration.serves(request) else {
            return refuse(Self.page(InspectError(.pathUnknown, "the console has another address")))
        }
        let (routes, values) = ConsoleRoute.find(request.segments)
        guard let path = routes.first?.path else { return refuse(Self.page(InspectError(.pathUnknown))) }
        access.route = path
        let method = request.method == "HEAD" ? "GET" : request.method
        guard let route = routes.first(where: { $0.method == method }) else {
            var response = Self.page(InspectError(.methodNotAllowed))
            response.headers.append(("Allow", routes.map(\.method).joined(separator: ", ")))
            return refuse(response)
        }
        var call = ConsoleCall(service: self, request: request, values: values, session: nil)
        do {
            if method == "POST" {
                guard self.configuration.isOwn(request) else { throw ForeignForm() }
                let type = request.headers["content-type"]?.split(separator: ";").first?.lowercased()
                guard type == "application/x-www-form-urlencoded" else { throw InspectError(.mediaTypeUnsupported) }
            } else if request.hasBody {
                throw InspectError(.parameterInvalid, "\(request.method) takes no body here")
            }
            if case .roles(let roles) = route.access {
                let secret = ConsoleCookie.session.value(
                    in: request.headers["cookie"], isSecure: self.configuration.isSecure)
                do {
                    guard let secret else { throw InspectError(.unauthenticated) }
                    let session = try await self.store.session(secret, isUse: call.isUse)
                    call.session = session
                    guard !session.roles.isDisjoint(with: roles) else {
                        throw InspectError(.scopeMissing, roles.map(\.rawValue).sorted().joined(separator: " or "))
                    }
                } catch {
                    guard route.keepsTyped else { throw error }
                    return self.keep(error, secret, call, access, start)
                }
            }
            let (admitted, known) = (access, call)
            // The session is known by now: a client without one sends no body but the token of a link.
            let limit = method != "POST" ? 0 : call.session == nil ? 1024 : 65_536
            return .accept(limit: limit, headers: self.headers) { body in
                var access = admitted
                var response: HTTPResponse
                var typed = TypedDecision()
                do {
                    let form = try FormBody(body)
                    if route.keepsTyped { typed = TypedDecision(form) }
                    if method == "POST", let session = known.session {
                        guard ConsoleSecret.areEqual(form["form"] ?? "", session.secret.formToken) else {
                            throw ForeignForm()
                        }
                    }
                    response = try await route.work(known, form)
                } catch {
                    response = self.answer(error, known, typed)
                }
                return self.note(&access, response, start)
            }
        } catch {
            return refuse(self.answer(error, call))
        }
    }

    /// A form from one of the console's pages that cannot be admitted, because its session has ended or is not known: nothing is done, and the
    /// typed text is shown, so that it can be copied.
    private func keep(
        _ error: any Error, _ secret: ConsoleSecret?, _ call: ConsoleCall, _ access: HTTPAccess,
        _ start: ContinuousClock.Instant
    ) -> HTTPAdmission {
        .accept(limit: 65_536, headers: self.headers) { body in
            var access = access
            var typed = TypedDecision()
            // The token follows from the cookie alone: it identifies the console's own page after the session's end as well.
            // Without a cookie, the browser's statement that the page is the console's own must suffice.
            if let form = try? FormBody(body),
                secret.map({ ConsoleSecret.areEqual(form["form"] ?? "", $0.formToken) }) ?? true
            {
                typed = TypedDecision(form)
            }
            return self.note(&access, self.answer(error, call, typed), start)
        }
    }

    private func signIn(_ call: ConsoleCall, _ typed: TypedDecision = TypedDecision()) -> HTTPResponse {
        var response = SignInPage(
            service: self, isCrossSite: call.isCrossSite, path: call.ownPath, typed: typed
        ).response(status: 401)
        if let id = try? call.jobID(), call.request.segments.starts(with: ["", "cases"]) {
            response.headers.append(ConsoleCookie.way.header(text: id, isSecure: self.configuration.isSecure))
        }
        return response
    }

    /// The form was sent by another site, or by a page of an earlier session.
    private struct ForeignForm: Error {}

    /// - Parameter typed: By one of the console's own pages.
    private func answer(
        _ error: any Error, _ call: ConsoleCall, _ typed: TypedDecision = TypedDecision()
    ) -> HTTPResponse {
        switch error {
        case is ForeignForm:
            return Self.page(
                InspectError(.scopeMissing), status: 403,
                text:
                    "This form was not sent from a page of your current session. Nothing was changed. Go back, reload the page and try again.",
                call.session, typed)
        case let error as InspectError where error.code == .unauthenticated:
            return self.signIn(call, typed)
        case let error as InspectError where error.code == .scopeMissing && call.session == nil:
            return Self.page(
                error,
                text:
                    "You are signed in at your organisation, but have no role in this console, so nothing is shown to you. Ask the people "
                    + "who manage your organisation's accounts to give you a role here (reviewer, operator or auditor, of one partner or "
                    + "of all), then sign in again.", nil, typed)
        // The database's message may contain a part of the request.
        case let error as InspectError where error.code.httpStatus >= 500:
            return Self.page(InspectError(error.code), call.session, typed)
        case let error as InspectError: return Self.page(error, call.session, typed)
        default: return Self.page(InspectError(.internalError), call.session, typed)
        }
    }

    static func page(
        _ error: InspectError, status: Int? = nil, text: String? = nil, _ session: ConsoleSession? = nil,
        _ typed: TypedDecision = TypedDecision()
    ) -> HTTPResponse {
        let status = status ?? error.code.httpStatus
        var response = ConsolePage(
            title: status == 404 ? "Not found" : status >= 500 ? "Not available" : "Not done", session: session,
            content: [
                "<p>\(text ?? Self.sentence(error))</p>\n",
                error.hint.map { text == nil ? "<p>\($0)</p>\n" : "" } ?? "",
                typed.isEmpty ? "" : "<section class='decide'>\n<h2>What you typed</h2>\n\(typed.fields)</section>\n",
                "<p class='soft'>\(error.code.rawValue)</p>\n", "<p><a href='/'>Go to the start page</a></p>\n",
            ]
        ).response(status: status)
        response.code = error.code
        if status == 503 { response.headers.append(("Retry-After", String(ConsolePage.retrySeconds))) }
        return response
    }

    /// The error, as a sentence for a person.
    static func sentence(_ error: InspectError) -> String {
        // The table's words are for programs, whose credentials have scopes.
        if error.code == .scopeMissing {
            return "This needs another role\(error.detail.isEmpty ? "" : " (\(error.detail))")."
        }
        return error.text.prefix(1).uppercased() + error.text.dropFirst() + "."
    }

    private func note(
        _ access: inout HTTPAccess, _ response: HTTPResponse, _ start: ContinuousClock.Instant
    ) -> HTTPResponse {
        var response = response
        response.headers += self.headers
        access.status = response.status
        access.code = response.code?.rawValue
        access.duration = ContinuousClock.now - start
        self.observe(access)
        return response
    }

    /// What every answer says: the pages run and load nothing but the console's own files, cannot be framed, and do not send their addresses
    /// to others. The server adds `Cache-Control: no-store`.
    private var headers: [(name: String, value: String)] {
        var headers = [
            (
                name: "Content-Security-Policy",
                value:
                    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; "
                    + "base-uri 'none'; frame-ancestors 'none'"
            ), ("X-Frame-Options", "DENY"), ("Referrer-Policy", "same-origin"),
            ("Cross-Origin-Opener-Policy", "same-origin"), ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Permissions-Policy", "camera=(), microphone=(), geolocation=()"),
        ]
        if self.configuration.isSecure { headers.append(("Strict-Transport-Security", "max-age=31536000")) }
        return headers
    }
}

/// A request that a route answers.
struct ConsoleCall: Sendable {
    var service: ConsoleService
    var request: HTTPRequest
    /// Values of the names in the route's path.
    var values: [String: String]
    /// Who is signed in; `nil`: the route is for everyone.
    var session: ConsoleSession?

    var store: ConsoleStore { self.service.store }

    /// - Throws: ``InspectError``; never for routes with roles.
    func signedIn() throws(InspectError) -> ConsoleSession {
        guard let session else { throw InspectError(.unauthenticated) }
        return session
    }

    /// The job that the path names.
    func jobID() throws(InspectError) -> String {
        guard let id = UUID(uuidString: self.values["id"] ?? "") else { throw InspectError(.jobUnknown) }
        return id.uuidString.lowercased()
    }

    /// A parameter of the query; `nil`: it is missing or empty.
    func parameter(_ name: String) -> String? {
        let text = (self.request.query[name] ?? "").trimmingCharacters(in: .whitespaces)
        return text.isEmpty ? nil : text
    }

    func number(_ name: String) throws(InspectError) -> Int64? {
        guard let text = self.parameter(name) else { return nil }
        guard let number = Int64(text), number >= 0 else {
            throw InspectError(.parameterInvalid, "\(name) is not a whole number", field: name)
        }
        return number
    }

    /// Whether another site sent the browser here: then it withholds the session's cookie.
    var isCrossSite: Bool {
        let site = self.request.headers["sec-fetch-site"]
        return self.request.method == "GET" && (site == "cross-site" || site == "same-site")
    }

    /// The path, if it is one that a link may lead to.
    var ownPath: String {
        let path = self.request.path
        return path.hasPrefix("/") && !path.hasPrefix("//") && path.utf8.allSatisfy({ (0x21...0x7e).contains($0) })
            && !path.contains("\\") ? path : "/"
    }

    /// Another page of the console.
    static func redirect(_ path: String, _ headers: [(name: String, value: String)] = []) -> HTTPResponse {
        HTTPResponse(status: 303, headers: [("Location", path)] + headers)
    }
}
