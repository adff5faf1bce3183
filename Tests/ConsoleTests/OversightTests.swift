import Console
import Foundation
import TestSupport
import Testing

/// Approvals, the record, keys and limits.
@Suite struct OversightTests {
    @Test func `A partner's page shows its policy and credentials without secrets, to those whose partner it is`()
        async throws
    {
        let site = try await ConsoleSite()
        _ = try await site.admin.query("SELECT insp.set_second_review('bank', true)")
        _ = try await site.admin.query("SELECT insp.pause(partner => 'bank', reason => 'zqpaused')")
        let made = try await site.admin.query("SELECT key_id, secret FROM insp.create_credential('bank')")[0]
        let (key, secret) = (try made.string(0), try made.string(1))
        let ann = try await site.person("ann", "auditor:bank")
        #expect(try await ann.get("/partners").text.contains("<li><a href='/partners/bank'>bank</a></li>"))
        #expect(try await !ann.get("/partners").text.contains("shop"))
        let page = try await ann.get("/partners/bank").text
        let settings = [
            ("second_review", "true"), ("review", "always"), ("lane", "normal"), ("keep_results", "P30D"),
            ("pause_reason", "zqpaused"),
        ]
        for row in settings {
            #expect(page.contains("<th scope='row'>\(row.0)</th><td>\(row.1)</td>"), "\(row.0)")
        }
        #expect(page.contains("<th scope='row'>\(key)</th><td>valid: ") && page.contains("<td>never</td>"))
        #expect(!page.contains(secret) && !page.contains("<form method='post' action='/partners"))
        let refused = try await ann.get("/partners/shop")
        #expect(refused.status == 400 && refused.text.contains("PARTNER_UNKNOWN"))
        #expect(try await site.person("sam", "reviewer:bank").get("/partners/bank").status == 403)
        // Nor is one listed of which the person only reviews cases.
        let both = try await site.person("bea", "operator:bank", "reviewer:shop").get("/partners").text
        #expect(both.contains("<a href='/partners/bank'>") && !both.contains("<a href='/partners/shop'>"))
        try await site.close()
    }

    @Test func `A second person approves or rejects a change, once, and both are on record`() async throws {
        let site = try await ConsoleSite()
        let login = try await site.admin.query("SELECT session_user::text")[0].string(0)
        let numbers = try await site.admin.query(
            """
            SELECT insp.propose('set_partner', '{"partner":"bank","enabled":false}'),
                insp.propose('set_partner', '{"partner":"shop","enabled":false}'), insp.propose('create_partner', '{"p_name":"new"}')
            FROM insp.set_approval('set_partner', true)
            """)[0]
        let (first, second, third) = (try numbers.int(0), try numbers.int(1), try numbers.int(2))
        let ann = try await site.person("ann", "operator:*")
        // The person whose login proposed them, under the name and under an address.
        for (subject, name) in [login, "\(login.uppercased())@example.com", login].enumerated() {
            let same = try await site.person(name, "operator:*", subject: "\(subject)")
            #expect(try await same.post("/approvals/\(first)/approve").text.contains("APPROVAL_REFUSED"))
            #expect(try await !same.get("/approvals").text.contains("Approve proposal"))
        }
        let auditor = try await site.person("eve", "auditor:*")
        let page = try await auditor.get("/approvals")
        #expect(page.text.contains("set_partner") && !page.text.contains("<button type='submit'>Approve"))
        #expect(try await auditor.post("/approvals/\(first)/approve").status == 403)
        let ofOne = try await site.person("sam", "operator:bank", "auditor:bank")
        #expect(try await ofOne.get("/approvals").status == 403)
        #expect(try await ofOne.post("/approvals/\(first)/approve").status == 403)
        #expect(try await site.count("insp.partner WHERE NOT enabled") == 0)
        #expect(try await ann.get("/approvals").text.contains("Approve proposal \(first)"))
        #expect(try await ann.post("/approvals/\(first)/approve").status == 303)
        #expect(try await site.count("insp.partner WHERE name = 'bank' AND NOT enabled") == 1)
        #expect(try await ann.post("/approvals/\(first)/approve").text.contains("APPROVAL_REFUSED"))
        #expect(try await ann.post("/approvals/\(second)/reject").status == 303)
        #expect(try await site.count("insp.partner WHERE name = 'shop' AND NOT enabled") == 0)
        // Its secret would be shown by no page.
        #expect(try await ann.post("/approvals/\(third)/approve").text.contains("psql"))
        #expect(try await site.count("insp.partner WHERE name = 'new'") == 0)
        for (action, actor) in [
            ("propose", login), ("approve", "console:ann"), ("set_partner", "console:ann"),
            ("reject_proposal", "console:ann"),
        ] {
            #expect(
                try await site.count("insp.record WHERE action = '\(action)' AND actor = '\(actor)'") > 0, "\(action)")
        }
        #expect(try await site.count("insp.proposal WHERE decided_by = 'console:ann'") == 2)
        #expect(try await auditor.get("/approvals").text.contains("approved by console:ann"))
        try await site.close()
    }

    @Test func `The record is searched by time, person, action and object, page by page, and each search is on record`()
        async throws
    {
        let site = try await ConsoleSite()
        let id = try await site.cases("bank")[0]
        try await site.admin.execute(
            """
            SELECT insp.pause(partner => 'bank', reason => 'because <b>') FROM generate_series(1, 60);
            SELECT insp.review('\(id)', 'PASSED', NULL, 'zqwords of a person')
            """)
        let eve = try await site.person("eve", "auditor:*")
        let plain = try await eve.get("/record")
        #expect(plain.status == 200 && !plain.text.contains("<td>pause</td>"))
        #expect(try await site.count("insp.record WHERE action = 'search_record'") == 0)
        let first = try await eve.get("/record?chain=operator&action=pause&object=partner%20bank")
        #expect(first.text.matches(of: /<td>pause<\/td>/).count == 50)
        #expect(first.text.contains("because &lt;b&gt;"))
        let next = try #require(first.text.firstMatch(of: /href='(\/record\?[^']*before=[0-9]+)'/)?.1)
        let second = try await eve.get(String(next).replacing("&amp;", with: "&"))
        #expect(second.text.matches(of: /<td>pause<\/td>/).count == 10 && !second.text.contains("rel='next'"))
        // A further page is a search of its own.
        #expect(
            try await site.count(
                "insp.record WHERE action = 'search_record' AND actor = 'console:eve' AND detail ->> 'object' = 'partner bank'"
            )
                == 2)
        #expect(try await eve.get("/record?chain=operator&actor=eve").text.contains("console_sign_in"))
        #expect(try await eve.get("/record?chain=operator&actor=nobody").text.contains("Nothing is on record"))
        #expect(try await eve.get("/record?chain=operator&object=zqmiller").status == 200)
        #expect(try await eve.get("/record?chain=operator&actor=zqmiller&action=zqmiller").status == 200)
        #expect(try await site.count("insp.record r WHERE r::text LIKE '%zqmiller%'") == 0)
        #expect(try await eve.get("/record?chain=operator&to=2020-01-01").text.contains("Nothing is on record"))
        #expect(try await eve.get("/record?chain=operator&from=2020-01-01T12:00").text.contains("<td>pause</td>"))
        // What a reviewer wrote about a person is not shown.
        let review = try await eve.get("/record?chain=operator&object=\(id)")
        #expect(review.text.contains("<td>review</td>") && !review.text.contains("zqwords"))
        for wrong in ["chain=x", "chain=operator&from=yesterday", "chain=operator&before=x"] {
            #expect(try await eve.get("/record?\(wrong)").status == 400, "\(wrong)")
        }
        let ofOne = try await site.person("sam", "operator:bank", "auditor:bank")
        #expect(try await ofOne.get("/record?chain=operator").status == 403)
        #expect(try await site.person("ann", "operator:*").get("/record?chain=operator").status == 200)
        try await site.close()
    }

    @Test func `A search finds a row of long ago behind rows that do not match, and reads a bounded number at once`()
        async throws
    {
        let site = try await ConsoleSite()
        try await site.admin.execute(
            """
            INSERT INTO insp.record (chain, action, subject, at) VALUES ('session', 'zqold', 'x', now() - interval '300 days');
            INSERT INTO insp.record (chain, action, subject, at)
            SELECT 'session', 'zqnew', 'y', now() - interval '1 day' FROM generate_series(1, 45000)
            """)
        let eve = try await site.person("eve", "auditor:*")
        var path = "/record?chain=session&action=zqold"
        var pages = 0
        while true {
            let page = try await eve.get(path)
            pages += 1
            if page.text.contains("<td>zqold</td>") { break }
            let next = try #require(page.text.firstMatch(of: /href='(\/record\?[^']*before=[0-9]+)'/)?.1)
            path = String(next).replacing("&amp;", with: "&")
        }
        #expect(pages == 3)
        // By its time it is found at once.
        let day = Date.now.addingTimeInterval(-299 * 86_400).formatted(.iso8601.year().month().day())
        #expect(try await eve.get("/record?chain=session&to=\(day)").text.contains("<td>zqold</td>"))
        try await site.close()
    }

    @Test func `The state of keys names wrapping keys and what waits for destruction`() async throws {
        let site = try await ConsoleSite()
        let eve = try await site.person("eve", "auditor:*")
        #expect(try await eve.get("/keys").text.contains("Nothing is sealed"))
        try await site.admin.execute(
            """
            INSERT INTO insp.custody (key_store, wrapping_key, former_key) VALUES (gen_random_uuid(), 'zq2027', 'zq2026');
            INSERT INTO insp.key_gone (key_id, partner_id) SELECT gen_random_uuid(), 1 FROM generate_series(1, 3);
            INSERT INTO insp.person_gone (partner_id, index, due_at, since)
            VALUES (1, sha256('zqperson'), now(), now() - interval '3 hours')
            """)
        let page = try await eve.get("/keys")
        #expect(page.text.contains("zq2027") && page.text.contains("under way, from zq2026"))
        #expect(page.text.contains("<th scope='row'>Keys</th><td class='number'>3</td>"))
        #expect(page.text.contains("<th scope='row'>Persons</th><td class='number'>1</td><td>3 h</td>"))
        let ofOne = try await site.person("sam", "operator:bank", "auditor:bank")
        #expect(try await ofOne.get("/keys").status == 403)
        try await site.close()
    }

    @Test func `An operator changes limits and pauses of own partners, with a reason; a lane only of every partner`()
        async throws
    {
        let site = try await ConsoleSite()
        let sam = try await site.person("sam", "operator:bank", "auditor:shop")
        let page = try await sam.get("/limits")
        #expect(page.text.contains("/limits/change?partner=bank") && !page.text.contains("/limits/change?partner=shop"))
        #expect(page.text.contains("shop"))
        #expect(try await sam.get("/limits/change?partner=bank").status == 200)
        #expect(try await sam.get("/limits/change?partner=shop").status == 400)
        var fields = ["partner": "bank", "running": "4", "rate": "2.5", "waiting": "100", "reason": "they asked"]
        #expect(try await sam.post("/limits", fields).status == 303)
        #expect(
            try await site.count(
                "insp.partner WHERE name = 'bank' AND max_running = 4 AND rate_per_second = 2.5 AND max_waiting = 100 AND max_bytes IS NULL"
            )
                == 1)
        #expect(
            try await site.count(
                "insp.v_operator_events WHERE who = 'console:sam' AND action = 'console_set_limits' AND detail ->> 'reason' = 'they asked'"
            )
                == 1)
        // What the form showed goes with it.
        let shown = try await sam.get("/limits/change?partner=bank").text
        for field in shown.matches(of: /name='(was-[a-z]+)' value='([^']*)'/) {
            fields[String(field.1)] = String(field.2)
        }
        for (name, value) in [
            ("running", "0"), ("running", "3000000000"), ("running", "x"), ("rate", "x"), ("rate", "-1"),
            ("rate", "nan"),
            ("burst", "0"), ("bytes", "-1"), ("reason", ""), ("partner", "shop"), ("partner", ""),
        ] {
            let answer = try await sam.post("/limits", fields.merging([name: value]) { $1 })
            #expect(answer.status == 400, "\(name) \(value)")
        }
        fields["rate"] = ""
        #expect(try await sam.post("/limits", fields).status == 303)
        #expect(try await site.count("insp.partner WHERE name = 'bank' AND rate_per_second IS NULL") == 1)
        #expect(try await sam.post("/limits/pause", ["partner": "bank"]).status == 400)
        #expect(try await sam.post("/limits/pause", ["partner": "bank", "reason": "fire"]).status == 303)
        #expect(try await sam.get("/limits").text.contains("paused: fire"))
        #expect(try await sam.post("/limits/pause", ["partner": "shop", "reason": "fire"]).status == 400)
        #expect(try await sam.post("/limits/pause", ["lane": "bulk", "reason": "fire"]).status == 403)
        #expect(try await sam.post("/limits/resume", ["partner": "bank"]).status == 303)
        #expect(try await site.count("insp.partner WHERE paused") == 0)
        let ann = try await site.person("ann", "operator:*")
        #expect(try await ann.post("/limits/pause", ["lane": "bulk", "reason": "fire"]).status == 303)
        #expect(try await site.count("insp.control WHERE paused AND changed_by = 'console:ann'") == 1)
        #expect(try await ann.get("/limits").text.contains("Resume lane bulk"))
        #expect(try await ann.post("/limits/resume", ["lane": "bulk"]).status == 303)
        #expect(try await site.count("insp.control WHERE paused") == 0)
        try await site.close()
    }

    @Test func `A change of limits that a colleague made meanwhile is shown beside one's own, and not overwritten`()
        async throws
    {
        let site = try await ConsoleSite()
        _ = try await site.admin.query("SELECT insp.limit_partner('bank', 4, 2.5, 5)")
        let (ann, bob) = (try await site.person("ann", "operator:bank"), try await site.person("bob", "operator:*"))
        /// The form as the browser sends it back, with some changes.
        func form(_ text: String, _ changes: [String: String]) -> [String: String] {
            var fields = ["partner": "bank", "reason": "they asked"]
            // The form before it pauses the partner.
            let own = text[(text.range(of: "action='/limits' ")?.upperBound ?? text.startIndex)...]
            for field in own.matches(of: /name='([a-z-]+)' value='([^']*)'/)
            where field.1 != "form" && (field.1 != "reason" || !field.2.isEmpty) {
                fields[String(field.1)] = String(field.2)
            }
            return fields.merging(changes) { $1 }
        }
        func limits() async throws -> String {
            try await site.admin.query(
                "SELECT concat_ws(' ', max_running, rate_per_second, rate_burst, max_waiting) FROM insp.partner WHERE name = 'bank'"
            )[0].string(0)
        }
        let opened = try await ann.get("/limits/change?partner=bank").text
        let other = try await bob.get("/limits/change?partner=bank").text
        #expect(try await bob.post("/limits", form(other, ["running": "9"])).status == 303)
        let late = try await ann.post("/limits", form(opened, ["waiting": "100"]))
        #expect(late.status == 409 && late.text.contains("Somebody else changed these limits"))
        #expect(try await limits() == "9 2.5 5")
        #expect(try await site.count("insp.record WHERE action = 'console_set_limits' AND actor = 'console:ann'") == 0)
        // What ann saw, what is so now, what she entered.
        #expect(
            late.text.contains(
                "<th scope='row'>Jobs that run at once</th><td class='number'>4</td><td class='number'>9</td><td class='number'>4</td>"
            ))
        #expect(
            late.text.contains(
                "<th scope='row'>Jobs that wait</th><td class='number'>no limit</td><td class='number'>no limit</td><td class='number'>100</td>"
            ))
        // Her change stands in the form of what is so now, and can be set.
        let again = form(late.text, [:])
        #expect(again["running"] == "9" && again["waiting"] == "100" && again["reason"] == "they asked")
        #expect(try await ann.post("/limits", again).status == 303)
        #expect(try await limits() == "9 2.5 5 100")
        // A form that says nothing of what it showed changes nothing.
        #expect(try await ann.post("/limits", ["partner": "bank", "reason": "x"]).status == 409)
        #expect(try await limits() == "9 2.5 5 100")
        try await site.close()
    }
}
