internal import Foundation
internal import HTTPServer
internal import InspectCore

/// The page behind a link. Its modules do everything; it holds nothing of the person, and a program that opens a link before it
/// is shown to somebody, as messengers do, does not use it up.
enum CapturePage {
    /// - Parameter link: The page's link; `nil`: it no longer exists.
    static func answer(_ link: CaptureLink?, status: Int = 200) -> HTTPResponse {
        let language = link?.locale?.lowercased().hasPrefix("de") == true ? "de" : "en"
        let body =
            link == nil
            ? """
            <main class="card"><h1>This link is no longer valid</h1><p>It has expired or was used. Ask for another one.</p>
            <h1 lang="de">Dieser Link gilt nicht mehr</h1><p lang="de">Er ist abgelaufen oder wurde schon benutzt. Bitten Sie um einen neuen.</p></main>
            """
            : """
            <main class="card" id="capture" aria-live="off"></main><div id="status" role="status" aria-live="polite"></div>
            <div id="alert" role="alert"></div><noscript>This page needs JavaScript and a camera. <span lang="de">Diese Seite braucht JavaScript und eine Kamera.</span></noscript>
            <script type="module" src="assets/\(CaptureAsset.version)/page.js"></script>
            """
        let page = """
            <!DOCTYPE html>
            <html lang="\(language)"><head><meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1"><meta name="referrer" content="no-referrer">
            <meta name="robots" content="noindex"><title>Identity check</title>
            <link rel="stylesheet" href="assets/\(CaptureAsset.version)/page.css"></head>
            <body>\(body)</body></html>
            """
        let policy = [
            "default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "img-src 'self' blob:",
            "media-src 'self' blob:", "base-uri 'none'", "form-action 'none'",
            "frame-ancestors \(link?.embedOrigin ?? "'none'")", "require-trusted-types-for 'script'",
        ].joined(separator: "; ")
        var response = HTTPResponse(
            status: status,
            headers: [
                ("Content-Type", "text/html; charset=utf-8"), ("Content-Security-Policy", policy),
                (
                    "Permissions-Policy",
                    "camera=(self), microphone=(), geolocation=(), payment=(), usb=(), display-capture=()"
                ), ("Referrer-Policy", "no-referrer"), ("Cross-Origin-Opener-Policy", "same-origin"),
                ("Cross-Origin-Resource-Policy", "same-origin"),
            ], body: Data(page.utf8))
        if link == nil { response.code = status == 410 ? .linkEnded : .linkUnknown }
        return response
    }
}

/// What a page knows of its link.
struct CaptureAnswer: Encodable {
    var state: CaptureLink.State
    var partner: String
    var parts: [String]
    var documentFormat: String?
    var challenge: String
    var fallback: String
    var locale: String?
    var expiresIn: Int
    /// How long it works from when the person begins.
    var sessionSeconds: Int
    var policyUrl: String?
    var policyVersion: String?
    var purposes: [String]
    /// Whether pages of one other origin may embed it; that origin learns how the session ended.
    var embedOrigin: String?
    var showsResult: Bool
    /// How many images of each part were judged.
    var tries: [String: Int]
    var mostTries = CaptureLink.mostTries
    var isFinished: Bool?
    var decision: String?
    var returnUrl: String?

    init(_ link: CaptureLink, decision: String?, returnURL: String?) {
        struct Request: Decodable { var documentFormat: String? }
        self.state = link.state
        self.partner = link.partner
        self.parts = link.parts.map(\.rawValue)
        self.documentFormat = link.request.flatMap { try? JSONDecoder().decode(Request.self, from: $0) }?.documentFormat
        self.challenge = link.challenge
        self.fallback = link.fallback
        self.locale = link.locale
        self.expiresIn = link.expiresInSeconds
        self.sessionSeconds = link.sessionSeconds
        self.policyUrl = link.policyURL
        self.policyVersion = link.policyVersion
        self.purposes = link.purposes
        self.embedOrigin = link.embedOrigin
        self.showsResult = link.showsResult
        self.tries = link.tries.flatMap { try? JSONDecoder().decode([String: Int].self, from: $0) } ?? [:]
        self.isFinished = link.state == .submitted ? link.jobStatus == 128 : nil
        self.decision = decision
        self.returnUrl = returnURL
    }
}
