import Foundation
import InspectCore
import TestSupport
import Testing

@testable import Console

@Suite struct ConsoleAccessTests {
    /// Every route that needs a role, with a job of a partner in its path.
    private func routes(_ id: String) -> [(method: String, path: String, roles: Set<ConsoleRole>)] {
        ConsoleRoute.all.compactMap { route in
            guard case .roles(let roles) = route.access else { return nil }
            let path = route.path.replacing("{id}", with: id).replacing("{number}", with: "999")
                .replacing("{name}", with: "bank")
            return (route.method, path, roles)
        }
    }

    private static let fields = [
        "decision": "PASSED", "action": "rerun", "reason": "zqmark", "before": "1", "seen": "1:", "partner": "bank",
        "kind": "dead",
    ]

    @Test func `Each route serves its roles and no other, and nobody who is not signed in`() async throws {
        let site = try await ConsoleSite()
        let id = try await site.cases("bank")[0]
        var count = 0
        for role in ConsoleRole.allCases {
            for route in self.routes(id) where route.path != "/sign-out" {
                // Anew each time: what an earlier route took, released or decided must not matter.
                let browser = try await site.person("ann-\(role.rawValue)", "\(role.rawValue):*")
                let answer =
                    route.method == "GET"
                    ? try await browser.get(route.path) : try await browser.post(route.path, Self.fields)
                let isRefused = answer.status == 403 && answer.text.contains("SCOPE_MISSING")
                #expect(
                    isRefused == !route.roles.contains(role), "\(role) \(route.method) \(route.path): \(answer.status)")
                #expect(answer.status < 500, "\(role) \(route.method) \(route.path): \(answer.status)")
                count += 1
            }
        }
        #expect(count >= 45)
        let nobody = Browser(port: site.server.port)
        for route in self.routes(id) {
            var answers = [
                route.method == "GET"
                    ? try await nobody.get(route.path) : try await nobody.post(route.path, Self.fields)
            ]
            var guessing = nobody
            guessing.secret = ConsoleSecret()
            answers.append(
                route.method == "GET"
                    ? try await guessing.get(route.path) : try await guessing.post(route.path, Self.fields))
            for answer in answers {
                #expect(answer.status == 401 && !answer.text.contains("bank"), "\(route.method) \(route.path)")
            }
        }
        try await site.close()
    }

    @Test func `Whose roles are for one partner sees and changes nothing of another`() async throws {
        let site = try await ConsoleSite()
        let id = try await site.cases("bank")[0]
        let dead = try await site.admin.query(
            "SELECT insp.enqueue('{\"partner\":\"bank\",\"workflow\":\"id\"}', front => 'x')")[0].string(0)
        _ = try await site.admin.query("SELECT insp.cancel($1)", [.text(dead)])
        try await site.admin.execute(
            """
            INSERT INTO insp.dead (job_id, partner_id, code, attempts, crashes)
            SELECT id, partner_id, 'CANCELLED', 1, 0 FROM insp.job WHERE public_id = '\(dead)'
            """
        )
        let stranger = try await site.person("sam", "reviewer:shop", "operator:shop", "auditor:shop")
        let owner = try await site.person("ann", "reviewer:bank", "operator:bank")
        // The pages do show it to those who may see it.
        for path in ["/cases", "/dead", "/endpoints"] {
            #expect(try await owner.get(path).text.contains("bank"), "\(path)")
        }
        for route in self.routes(id) where route.path != "/sign-out" {
            let answer =
                route.method == "GET"
                ? try await stranger.get(route.path) : try await stranger.post(route.path, Self.fields)
            #expect(!answer.text.contains("bank"), "\(route.method) \(route.path)")
            #expect(
                !answer.text.contains(String(id.suffix(12))) || answer.status == 404, "\(route.method) \(route.path)")
            if route.path.contains(id) { #expect(answer.status == 404, "\(route.method) \(route.path)") }
        }
        let job = try await stranger.get("/jobs/\(dead)")
        #expect(job.status == 404)
        let task = try await stranger.post("/tasks", Self.fields)
        #expect(task.status == 400 && task.text.contains("PARTNER_UNKNOWN"))
        // All of one's own are none of the other's.
        var fields = Self.fields
        fields["partner"] = ""
        fields.merge(try await stranger.get("/tasks/new?kind=dead").edge) { $1 }
        #expect(try await stranger.post("/tasks", fields).status == 303)
        try await site.finishTasks()
        #expect(try await site.count("insp.dead WHERE resolved_at IS NOT NULL") == 0)
        #expect(try await site.count("insp.case_lease") == 0)
        #expect(
            try await site.count("insp.record WHERE actor = 'console:sam' AND subject IN ('\(id)', '\(dead)')") == 0)
        // Nor does the owner see the stranger's task.
        #expect(try await !owner.get("/tasks").text.contains("zqmark"))
        try await site.close()
    }

    @Test func `A form that another site or another session made changes nothing`() async throws {
        let site = try await ConsoleSite()
        let id = try await site.cases("bank")[0]
        let ann = try await site.person("ann", "reviewer:bank")
        let bob = try await site.person("bob", "reviewer:bank")
        let path = "/cases/\(id)/take"
        let foreign: [[String: String]] = [
            ["Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"],
            ["Origin": "null", "Sec-Fetch-Site": "cross-site"], ["Sec-Fetch-Site": "same-site"],
            ["Origin": "http://127.0.0.1:1"], ["Origin": "https://evil.example", "Sec-Fetch-Site": ""],
            ["Origin": "", "Sec-Fetch-Site": ""],
        ]
        for headers in foreign { #expect(try await ann.post(path, headers: headers).status == 403, "\(headers)") }
        for token in ["", "x", bob.secret?.formToken ?? "", ann.secret?.text ?? ""] {
            #expect(try await ann.post(path, token: token).status == 403)
        }
        for type in ["text/plain", "application/json", ""] {
            #expect(try await ann.post(path, headers: ["Content-Type": type]).status == 415)
        }
        #expect(try await ann.get(path).status == 405)
        #expect(try await site.count("insp.case_lease") == 0)
        #expect(try await ann.post(path).status == 303)
        try await site.close()
    }

    @Test(arguments: ["/cases?reason=%00", "/cases?reason=%FF", "/jobs/%0", "/cases/%00"])
    func `What the server refuses by itself is a page as well`(path: String) async throws {
        let site = try await ConsoleSite()
        let browser = try await site.person("ann", "reviewer:bank", "operator:bank")
        let malformed = try await browser.get(path)
        let large = try await browser.post("/tasks", ["reason": String(repeating: "x", count: 70_000)])
        for (answer, status, code) in [(malformed, 400, "PARAMETER_INVALID"), (large, 413, "REQUEST_TOO_LARGE")] {
            #expect(answer.status == status && answer.text.contains(code), "\(answer.status) \(answer.text)")
            #expect(answer.headers["content-type"] == "text/html; charset=utf-8" && answer.text.contains("<h1>"))
            // Each header once: lines of one name are joined by a line feed.
            let policy = answer.headers["content-security-policy"] ?? ""
            #expect(policy.hasPrefix("default-src 'none';") && !policy.contains("\n"), "\(answer.headers)")
        }
        try await site.close()
    }

    @Test func `A session's rights end with it, in the database too`() async throws {
        let site = try await ConsoleSite()
        let id = try await site.cases("bank")[0]
        let browser = try await site.person("ann", "reviewer:bank", "operator:bank")
        #expect(try await browser.post("/cases/\(id)/take").status == 303)
        try await site.admin.execute("DELETE FROM insp.console_session")
        for route in self.routes(id) {
            let answer =
                route.method == "GET"
                ? try await browser.get(route.path) : try await browser.post(route.path, Self.fields)
            #expect(answer.status == 401, "\(route.method) \(route.path)")
        }
        try await site.close()
    }
}
