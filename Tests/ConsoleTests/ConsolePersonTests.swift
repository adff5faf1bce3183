import Console
import Foundation
import Postgres
import TestSupport
import Testing

/// Who a person is: the provider's issuer and subject, and never a name.
@Suite struct ConsolePersonTests {
    @Test func `A name in the record is one person's, whoever else has that name at a provider`() async throws {
        let site = try await ConsoleSite()
        let signIns: [(name: String, subject: String, issuer: String)] = [
            ("ann", "1", ConsoleSite.issuer), ("Ann", "2", ConsoleSite.issuer), ("ann", "1", "https://other.example"),
            // As the second one is called here.
            ("Ann~2", "4", ConsoleSite.issuer), ("bob", "1", ConsoleSite.issuer),
        ]
        for person in signIns {
            _ = try await site.person(person.name, "auditor:*", subject: person.subject, issuer: person.issuer)
        }
        let actors = try await site.admin.query("SELECT actor FROM insp.console_session ORDER BY id")
        #expect(
            try actors.map { try $0.string(0) } == [
                "console:ann", "console:Ann~2", "console:ann~3", "console:Ann~2~4", "console:ann",
            ])
        let local = "SELECT insp.console_sign_in(sha256('l'), 'ann', 'link', '{auditor:*}')"
        _ = try await site.admin.query(local)
        #expect(try await site.count("insp.console_session WHERE actor = 'console:ann~5' AND method = 'link'") == 1)
        for missing in ["NULL, '1'", "'https://id.example', NULL", "'', '1'", "'https://id.example', ''"] {
            let refused = await #expect(throws: PostgresError.self) {
                try await site.admin.query(
                    "SELECT insp.console_sign_in(sha256('m'), 'eve', 'oidc', '{auditor:*}', \(missing))")
            }
            #expect(refused?.message.contains("PARAMETER_INVALID") == true, "\(missing)")
        }
        try await site.close()
    }

    @Test func `Of many first sign-ins at once, each person is one, and no two have a name`() async throws {
        let site = try await ConsoleSite()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<12 {
                group.addTask {
                    let login = try await site.database.connect()
                    _ = try await login.query(
                        "SELECT insp.console_sign_in(sha256($1::bytea), 'ann', 'oidc', '{auditor:*}', 'https://id.example', $2)",
                        [.text("\(number)"), .text("\(number % 4)")])
                    await login.close()
                }
            }
            try await group.waitForAll()
        }
        #expect(try await site.count("insp.console_session") == 12)
        #expect(try await site.count("insp.console_person") == 4)
        #expect(try await site.count("insp.console_person WHERE actor = 'console:ann'") == 1)
        try await site.close()
    }

    @Test func `A case stays the person's under another name, and is nobody's who takes the name`() async throws {
        let site = try await ConsoleSite()
        let id = try await site.cases("bank")[0]
        let ann = try await site.person("ann", "reviewer:bank", subject: "1")
        #expect(try await ann.post("/cases/\(id)/take").status == 303)
        let other = try await site.person("ann", "reviewer:bank", subject: "2")
        #expect(try await other.post("/cases/\(id)/decide", ["decision": "PASSED"]).text.contains("CASE_TAKEN"))
        let renamed = try await site.person("eve", "reviewer:bank", subject: "1")
        #expect(try await renamed.get("/cases").text.contains("<span>ann</span>"))
        #expect(try await renamed.post("/cases/\(id)/decide", ["decision": "PASSED"]).status == 303)
        #expect(try await site.count("insp.v_operator_events WHERE action = 'review' AND who = 'console:ann'") == 1)
        try await site.close()
    }

    @Test func `A person whose name begins like those in the record is ended by that name, and nobody else is`()
        async throws
    {
        let site = try await ConsoleSite()
        let ann = try await site.person("ann", "reviewer:bank")
        let other = try await site.person("console:ann", "reviewer:bank")
        let ended = try await site.admin.query("SELECT insp.console_end_sessions('console:console:ann')")
        #expect(try ended[0].int(0) == 1)
        #expect(try await other.get("/cases").status == 401)
        #expect(try await ann.get("/cases").status == 200)
        let again = try await site.admin.query("SELECT insp.console_end_sessions('console:ann')")
        #expect(try again[0].int(0) == 1)
        #expect(try await ann.get("/cases").status == 401)
        try await site.close()
    }

    @Test func `Of more than 200 persons and 1000 partners the pages say that more are not shown`() async throws {
        let site = try await ConsoleSite()
        let eve = try await site.person("eve", "auditor:*")
        for page in ["/people", "/partners"] { #expect(try await !eve.get(page).text.contains("More are not shown")) }
        _ = try await site.admin.query("SELECT count(insp.create_partner('p' || n)) FROM generate_series(1, 999) n")
        _ = try await site.admin.query(
            """
            SELECT count(insp.console_sign_in(sha256(n::text::bytea), 'p' || n, 'oidc', '{auditor:bank}', 'https://id.example', n::text))
            FROM generate_series(1, 200) n
            """)
        let (people, partners) = (try await eve.get("/people").text, try await eve.get("/partners").text)
        #expect(people.contains("<p>More are not shown.</p>"))
        #expect(people.components(separatedBy: "<th scope='row'>").count == 201)
        #expect(partners.contains("<p>More are not shown.</p>"))
        #expect(partners.components(separatedBy: "<li><a href='/partners/").count == 1001)
        try await site.close()
    }

    @Test func `An operator ends all sessions of a person, whose cases are free then, on record`() async throws {
        let site = try await ConsoleSite()
        let id = try await site.cases("bank")[0]
        let (desk, home) = (
            try await site.person("ann", "reviewer:bank"), try await site.person("ann", "reviewer:bank")
        )
        let bob = try await site.person("bob", "reviewer:bank")
        #expect(try await desk.post("/cases/\(id)/take").status == 303)
        try await site.admin.execute("SET SESSION AUTHORIZATION insp_operator")
        for unknown in ["NULL", "'an'", "'ann%'", "''"] {
            let refused = await #expect(throws: PostgresError.self) {
                try await site.admin.query("SELECT insp.console_end_sessions(\(unknown))")
            }
            #expect(refused?.message.contains("PARAMETER_INVALID") == true, "\(unknown)")
        }
        let ended = try await site.admin.query("SELECT insp.console_end_sessions('Ann')")
        #expect(try ended[0].int(0) == 2)
        // As the record has the name; nothing is left to be ended.
        let again = try await site.admin.query("SELECT insp.console_end_sessions('console:ann')")
        #expect(try again[0].int(0) == 0)
        try await site.admin.execute("RESET SESSION AUTHORIZATION")
        for browser in [desk, home] { #expect(try await browser.get("/cases").status == 401) }
        #expect(try await bob.post("/cases/\(id)/take").status == 303)
        // And at the console, where an auditor sees who is there.
        let (eve, operate) = (
            try await site.person("eve", "auditor:*"), try await site.person("olga", "operator:*")
        )
        let page = try await eve.get("/people").text
        #expect(page.contains("<th scope='row'>bob</th><td>\(ConsoleSite.issuer)<br/>bob</td><td>reviewer:bank</td>"))
        #expect(!page.contains("<th scope='row'>ann</th>") && !page.contains("End sessions"))
        let number = try await site.admin.query("SELECT id FROM insp.console_person WHERE subject = 'bob'")[0].int(0)
        #expect(try await operate.get("/people").text.contains("<button type='submit'>End sessions of bob</button>"))
        #expect(try await eve.post("/people/\(number)/end").status == 403)
        let ofOne = try await site.person("sam", "operator:bank")
        #expect(try await ofOne.get("/people").status == 403)
        #expect(try await ofOne.post("/people/\(number)/end").status == 403)
        #expect(try await bob.get("/cases").status == 200)
        #expect(try await operate.post("/people/\(number)/end", ["reason": "left"]).status == 303)
        #expect(try await bob.get("/cases").status == 401)
        #expect(try await site.count("insp.case_lease") == 0)
        #expect(
            try await site.count(
                "insp.v_operator_events WHERE action = 'console_end_sessions' AND who = 'console:olga'") == 1)
        #expect(
            try await site.count(
                """
                insp.v_operator_events WHERE action = 'console_end_sessions' AND who = 'insp_operator'
                    AND detail = '{"person": "ann", "sessions": 2, "cases": 1, "tasks": 0}'
                """) == 1)
        try await site.close()
    }
}
