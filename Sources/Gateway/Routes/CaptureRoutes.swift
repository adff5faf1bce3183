internal import Foundation
internal import HTTPServer
internal import InspectCore

extension GatewayRoute {
    /// Capture links: one call of the partner's server, and those of the page that a person opens.
    static let capture = [
        GatewayRoute(
            "POST", "/capture/sessions", .shortJSON,
            Operation(
                id: "createCaptureLink",
                summary: "Makes a link with which a person captures one job's parts on a phone",
                detail:
                    "A person can begin until expiresAt, once, in one browser, and then has sessionSeconds. The same request under the same idempotency key is the same link, with another url in place of the earlier one, until a person opens it.",
                parameters: [.idempotencyKey], request: "CaptureRequest",
                answers: [
                    .json("Made before, under the same idempotency key; its earlier url has ended", "CaptureLink"),
                    .json(201, "The link", "CaptureLink"),
                ], refusals: [409]),
            .scope(.capture) { (call) throws(InspectError) in
                let key = try call.idempotencyKey()
                return { body in
                    let made = try await call.store.makeLink(call.credential, try CaptureRequest(body), key: key)
                    return GatewayAnswer(
                        response: try .json(
                            MadeLink(
                                id: made.id, url: "/capture/\(made.token)", expiresAt: made.expiresAt,
                                test: call.credential.isTest ? true : nil), status: made.isRepeated ? 200 : 201))
                }
            }),
        GatewayRoute(
            "GET", "/capture/{token}", .none,
            Operation(
                id: "openCapturePage", summary: "The page of a link", detail: "Loading it uses nothing up.",
                answers: [
                    .init(description: "The page", type: "text/html"),
                    .init(status: 404, description: "No such link", type: "text/html"),
                    .init(status: 410, description: "The link has ended", type: "text/html"),
                ], refusals: [503]),
            .everyone { service, request, _ in
                do {
                    return CapturePage.answer(try await service.link(request, service.address(of: request)))
                } catch let error as InspectError where [.linkUnknown, .linkEnded].contains(error.code) {
                    return CapturePage.answer(nil, status: error.code.httpStatus)
                }
            }),
        GatewayRoute(
            "GET", "/capture/{token}/state", .none,
            Operation(
                id: "getCaptureState", summary: "What a link's page must know",
                answers: [.json("The state", "CaptureState")]),
            .link { (call) throws(InspectError) in
                { _ in GatewayAnswer(response: try await call.state()) }
            }),
        GatewayRoute(
            "POST", "/capture/{token}/open", .shortJSON,
            Operation(
                id: "openCapture", summary: "The person consents and begins: the link serves this browser from now on",
                request: "CaptureOpening", answers: [.json("The state, with a cookie for this link", "CaptureState")]),
            .link { (call) throws(InspectError) in
                { body in GatewayAnswer(response: try await call.open(body)) }
            }),
        GatewayRoute(
            "POST", "/capture/{token}/check", .image,
            Operation(
                id: "checkCapture",
                summary: "Says at once whether an image of the document, or the selfie, can be used",
                detail:
                    "Three images of each part; after that, and without analyzers, triesLeft is 0 and nothing is judged. The same image again is the same try.",
                parameters: [
                    .query(
                        "language", #"{ "type": "string", "pattern": "^[A-Za-z]{2}(-[A-Za-z0-9]{1,8})?$" }"#,
                        "Of the advice, where the link has none")
                ], form: "CaptureCheckForm", answers: [.json("The verdict", "CaptureVerdict")]),
            .link { (call) throws(InspectError) in
                try call.checkBrowser()
                guard call.link.state == .open else { throw InspectError(.linkEnded) }
                let parse = try call.parsing()
                return { body in GatewayAnswer(response: try await call.check(try await parse(body))) }
            }),
        GatewayRoute(
            "POST", "/capture/{token}/challenge", .none,
            Operation(
                id: "challengeCapture", summary: "Issues a liveness challenge to a link's page, five times at most",
                detail: "It ends the previous one, and only the link's job can use it.",
                answers: [.json(201, "The challenge", "Challenge")]),
            .link { (call) throws(InspectError) in
                { _ in GatewayAnswer(response: .json(try await call.store.challenge(call.link), status: 201)) }
            }),
        GatewayRoute(
            "POST", "/capture/{token}/submit", .recording,
            Operation(
                id: "submitCapture", summary: "Accepts what was captured as one job",
                detail: "If the same browser sends anything again, it gets the same job.", form: "CaptureForm",
                answers: [
                    .json("Accepted before", "CaptureState"), .json(201, "Accepted", "CaptureState"),
                ]),
            .link { (call) throws(InspectError) in
                try call.checkBrowser()
                let parse = try call.parsing()
                return { body in try await call.submit(try await parse(body)) }
            }),
        GatewayRoute(
            "GET", "/capture/assets/\(CaptureAsset.version)/{asset}", .none,
            Operation(
                id: "getCaptureAsset", summary: "A file of the page; capture.js embeds it in a partner's page",
                answers: [
                    .init(description: "A script, a style sheet or texts", type: "*/*", headers: [.entityTag]),
                    .init(status: 304, description: "The file is unchanged", headers: [.entityTag]),
                ], refusals: [404]),
            .everyone { _, request, _ in
                guard let asset = CaptureAsset.all.first(where: { $0.name == request.segments.last }) else {
                    throw InspectError(.pathUnknown)
                }
                return asset.answer(to: request)
            }),
    ]
}

private struct MadeLink: Encodable {
    var id: String
    /// Relative to the gateway's own address, which it does not know behind a proxy.
    var url: String
    var expiresAt: String
    /// Present and true if it is a test.
    var test: Bool?
}

/// The answer to an image that was judged, or is no longer judged.
private struct CaptureVerdict: Encodable {
    /// `nil`: it was not judged.
    var verdict: UsabilityAnswer?
    var triesLeft: Int
}

extension CaptureCall {
    /// `GET /capture/{token}/state`.
    ///
    /// - Parameter fresh: The cookie that the browser is to get, and for how many seconds.
    fileprivate func state(
        status: Int = 200, fresh: (secret: Substring, seconds: Int)? = nil
    ) async throws -> HTTPResponse {
        guard self.link.isMine || self.link.state == .new else { throw InspectError(.linkTaken) }
        let isOver = self.link.isMine && self.link.state == .submitted
        var headers: [(name: String, value: String)] = []
        if isOver, let secret = fresh?.secret ?? CaptureKey.secret(self.request) {
            // The outcome is shown again when the person comes back from the partner's site, and soon forgotten.
            headers = [self.cookie(secret, seconds: 600)]
        } else if let fresh {
            headers = [self.cookie(fresh.secret, seconds: fresh.seconds)]
        }
        return try .json(
            CaptureAnswer(
                self.link, decision: isOver ? try await self.store.outcome(self.link) : nil,
                returnURL: isOver ? try await self.store.returnURL(self.link) : nil),
            status: status, headers: headers)
    }

    private func cookie(_ secret: Substring, seconds: Int) -> (name: String, value: String) {
        // Inside another site's page the cookie belongs to that page; elsewhere, a link in a message must be able to send it.
        let site = self.link.embedOrigin == nil ? "SameSite=Lax" : "SameSite=None; Partitioned"
        return ("Set-Cookie", "\(CaptureKey.cookie)=\(secret); Max-Age=\(seconds); Secure; HttpOnly; \(site)")
    }

    /// The same call after something happened to the link.
    private func renewed(browser: Data?) async throws -> CaptureCall {
        var key = self.link.key
        key.browser = browser
        var call = self
        call.link = try await self.store.link(key)
        return call
    }

    fileprivate func open(_ body: Data) async throws -> HTTPResponse {
        let (object, _) = try JSONBody.object(body)
        func text(_ name: String) throws(InspectError) -> String? {
            guard let value = object[name], !(value is NSNull) else { return nil }
            guard let text = value as? String else {
                throw InspectError(.payloadInvalid, "\(name) is not a string", field: name)
            }
            return text
        }
        // The browser draws it, so that it can repeat the request if an answer was lost.
        guard let secret = try text("browser"), let browser = CaptureKey.digest(secret[...]) else {
            throw InspectError(
                .payloadInvalid, "browser", hint: "It is 32 random bytes in Base64 for URLs.", field: "browser")
        }
        let purposes = object["purposes"].flatMap { $0 is NSNull ? nil : $0 }
        guard purposes == nil || purposes is [String] else {
            throw InspectError(.payloadInvalid, "purposes is not an array of strings", field: "purposes")
        }
        let seconds = try await self.store.open(
            self.link, browser: browser, policyVersion: try text("policyVersion"), text: try text("text"),
            purposes: purposes as? [String])
        // Phones end browsers in the background, so the cookie outlives the browser until everything was sent.
        return try await self.renewed(browser: browser).state(fresh: (secret[...], seconds + 3600))
    }

    fileprivate func check(_ request: CreateRequest) async throws -> HTTPResponse {
        let images = try GatewayRoute.images(request, or: [.face])
        guard images.count == 1, let (kind, image) = images.first else {
            throw InspectError(
                .partUnexpected, images.map(\.kind.rawValue).joined(separator: " and "), hint: "Send one of them.",
                field: images.last?.kind.rawValue)
        }
        let (attempt, advice) = try await self.store.judge(self.link, kind, image, self.link.language(self.request))
        // After three attempts, or if the gateway cannot judge, the person may continue: the job judges the image anyway.
        guard let attempt, let desk = self.service.usability else {
            return try .json(CaptureVerdict(triesLeft: 0))
        }
        do {
            let verdict = try await desk.look(at: images)
            return try .json(
                CaptureVerdict(
                    verdict: UsabilityAnswer(verdict, advice), triesLeft: max(0, CaptureLink.mostTries - attempt)))
        } catch let error as InspectError where error.code == .modelUnavailable {
            // Gateways without face models judge only documents.
            return try .json(CaptureVerdict(triesLeft: 0))
        }
    }

    fileprivate func submit(_ request: CreateRequest) async throws -> GatewayAnswer {
        let done = try await self.store.submit(self.link, try CaptureSubmission(request))
        let response = try await self.renewed(browser: self.link.key.browser)
            .state(status: done.isRepeated ? 200 : 201)
        return GatewayAnswer(response: response, job: done.job)
    }
}
