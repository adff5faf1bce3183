import Console
import Foundation
import TestSupport
import Testing

@Suite struct ConsoleSignInTests {
    @Test func `A link signs one person in once, and reading it uses nothing up`() async throws {
        let link = SignInLink(name: "local", grants: ["reviewer:bank"])
        let site = try await ConsoleSite(link: link)
        let token = try #require(link.path.components(separatedBy: "token=").last)
        // What an attacker planted before the sign-in is not the session afterwards.
        let planted = ConsoleSecret()
        let browser = Browser(port: site.server.port, secret: planted)
        for _ in 0..<2 { #expect(try await browser.get(link.path).status == 200) }
        #expect(try await browser.get("/cases").status == 401)
        #expect(try await browser.post("/sign-in/link", ["token": ConsoleSecret().text]).status == 403)
        let foreign = ["Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"]
        #expect(try await browser.post("/sign-in/link", ["token": token], headers: foreign).status == 403)
        let done = try await browser.post("/sign-in/link", ["token": token])
        #expect(done.status == 200)
        let cookie = try #require(done.cookie("inspectd-console"))
        #expect(cookie.hasSuffix("; Path=/; HttpOnly; SameSite=Strict"))
        let value = try #require(cookie.dropFirst("inspectd-console=".count).split(separator: ";").first)
        #expect(value != planted.text)
        #expect(try await browser.get("/cases").status == 401)
        var signedIn = browser
        signedIn.secret = ConsoleSecret(String(value))
        #expect(try await signedIn.get("/cases").status == 200)
        #expect(try await browser.post("/sign-in/link", ["token": token]).status == 403)
        // The database has the digest alone.
        #expect(try await site.count("insp.console_session s WHERE s::text LIKE '%\(value)%'") == 0)
        #expect(
            try await site.count("insp.v_operator_events WHERE who = 'console:local' AND action = 'console_sign_in'")
                == 1)

        #expect(try await signedIn.post("/sign-out").status == 303)
        #expect(try await signedIn.get("/cases").status == 401)
        try await site.close()
    }

    @Test func `A link is over after its time`() async throws {
        let link = SignInLink(name: "local", grants: ["reviewer:bank"], lifetime: .zero)
        let site = try await ConsoleSite(link: link)
        let token = try #require(link.path.components(separatedBy: "token=").last)
        #expect(try await Browser(port: site.server.port).post("/sign-in/link", ["token": token]).status == 403)
        try await site.close()
    }

    @Test func `A session ends when nobody has used it for half an hour, and after ten hours whatever happens`()
        async throws
    {
        let site = try await ConsoleSite()
        let idle = try await site.person("idle", "auditor:*")
        let old = try await site.person("old", "auditor:*")
        try await site.admin.execute(
            """
            UPDATE insp.console_session SET seen_at = now() - interval '31 minutes' WHERE actor = 'console:idle';
            UPDATE insp.console_session SET expires_at = now() WHERE actor = 'console:old'
            """)
        for browser in [idle, old] { #expect(try await browser.get("/queue").status == 401) }
        // Each look counts as use.
        let busy = try await site.person("busy", "auditor:*")
        try await site.admin.execute(
            "UPDATE insp.console_session SET seen_at = now() - interval '20 minutes' WHERE actor = 'console:busy'")
        #expect(try await busy.get("/queue").status == 200)
        #expect(
            try await site.count(
                "insp.console_session WHERE actor = 'console:busy' AND seen_at > now() - interval '1 minute'") == 1)
        try await site.close()
    }

    @Test func `Who is not signed in sends no body, or a short one`() async throws {
        let site = try await ConsoleSite(link: SignInLink(name: "local", grants: ["reviewer:bank"]))
        var browser = Browser(port: site.server.port)
        let long = [
            "Origin": site.origin, "Content-Type": "application/x-www-form-urlencoded", "Content-Length": "2000000",
        ]
        // Of the body there is nothing: who waits for it does not answer.
        #expect(try await browser.send("POST", "/sign-in/link", nil, long).status == 413)
        for path in ["/tasks", "/cases/next", "/sign-out"] {
            browser.secret = nil
            #expect(try await browser.send("POST", path, nil, long).status == 401, "\(path)")
            browser.secret = ConsoleSecret()
            #expect(try await browser.send("POST", path, nil, long).status == 401, "\(path)")
        }
        try await site.close()
    }

    @Test func `A person without a role here is not signed in`() async throws {
        let link = SignInLink(name: "guest", grants: ["reviewer:nobody", "owner:*", "reviewer"])
        let site = try await ConsoleSite(link: link)
        let token = try #require(link.path.components(separatedBy: "token=").last)
        let refused = try await Browser(port: site.server.port).post("/sign-in/link", ["token": token])
        #expect(refused.status == 403 && refused.headers["set-cookie"] == nil)
        #expect(try await site.count("insp.console_session") == 0)
        try await site.close()
    }

    @Test func `A page runs and loads nothing foreign, is in no frame, and is not kept`() async throws {
        let site = try await ConsoleSite()
        let browser = try await site.person("ann", "reviewer:bank")
        for (path, status) in [("/cases", 200), ("/sign-in", 200), ("/nowhere", 404), ("/queue", 403)] {
            let answer = try await browser.get(path)
            #expect(answer.status == status)
            let policy = try #require(answer.headers["content-security-policy"])
            #expect(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"), "\(path)")
            #expect(!policy.contains("unsafe") && policy.contains("script-src 'self'"))
            #expect(answer.headers["x-frame-options"] == "DENY" && answer.headers["cache-control"] == "no-store")
            #expect(!answer.text.contains(" style=") && !answer.text.contains("<style"), "\(path)")
            let scripts = answer.text.matches(of: /<script[^>]*>/).map { String($0.0) }
            #expect(scripts == ["<script src='/assets/console.js' defer='defer'>"], "\(path)")
            #expect(!answer.text.contains(" onclick") && !answer.text.contains("http://"))
        }
        for (path, type) in [("/assets/console.css", "text/css"), ("/assets/console.js", "text/javascript")] {
            let asset = try await browser.get(path)
            #expect(asset.status == 200 && asset.headers["content-type"] == "\(type); charset=utf-8")
            #expect(asset.headers["x-content-type-options"] == "nosniff", "\(path)")
            // A rule of reports and one of the console's own pages.
            if type == "text/css" { #expect(asset.text.contains(".mrz {") && asset.text.contains(".skip {")) }
        }
        // A name that somebody else points at this address is no origin of the console.
        var rebound = browser
        rebound.host = "evil.example"
        #expect(try await rebound.get("/cases").status == 404)
        try await site.close()
    }
}
