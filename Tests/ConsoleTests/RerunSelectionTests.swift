import Console
import TestSupport
import Testing

/// Dead letters of several partners and lanes that run again in one batch; more about them is in ``DeadLetterTests``.
@Suite struct RerunSelectionTests {
    /// Dead letters with these members, one for each consent.
    private func letters(
        _ site: ConsoleSite, _ partner: String, _ members: String, consents: [String]
    ) async throws {
        for consent in consents {
            let request = #"{"partner":"\#(partner)","workflow":"id","consent":\#(consent)\#(members)}"#
            _ = try await site.admin.query("SELECT insp.enqueue($1, front => 'x')", [.text(request)])
        }
        try await site.admin.execute(
            """
            SELECT insp.cancel(j.public_id) FROM insp.job j WHERE j.status = 1;
            INSERT INTO insp.dead (job_id, partner_id, code, attempts, crashes)
            SELECT j.id, j.partner_id, 'TIMED_OUT', 1, 0 FROM insp.job j ON CONFLICT DO NOTHING;
            DELETE FROM insp.ready
            """)
    }

    private func consent(_ time: String, _ obtained: String = "yes", version: String = "1") -> String {
        #"{"obtained":"\#(obtained)","obtainedAt":"\#(time)","policyVersion":"\#(version)"}"#
    }

    private func begin(_ site: ConsoleSite, _ browser: Browser) async throws {
        let page = try await browser.get("/tasks/new?kind=dead")
        let fields = ["action": "rerun", "reason": "the server is back"].merging(page.edge) { $1 }
        #expect(try await browser.post("/tasks", fields).status == 303)
    }

    @Test func `In a batch of many partners and lanes each rerun is what its own letter asks for`() async throws {
        let site = try await ConsoleSite()
        let times = (1...6).map { "2026-01-0\($0)T00:00:00Z" }
        for partner in ["bank", "shop"] {
            for lane in ["bulk", "urgent", "normal"] {
                try await self.letters(
                    site, partner, #","lane":"\#(lane)","userReference":"\#(lane)""#,
                    consents: times.map { self.consent($0) })
            }
        }
        // Some in the midst of others are refused, every second job has no person yet, and the bank's quota has room for a part.
        try await site.admin.execute(
            """
            SELECT insp.set_partner('shop', consent_required => true);
            UPDATE insp.job SET personal = insp.personal_bytes(insp.personal(personal) || '{"consent": {"obtained": "no"}}')
            WHERE id % 6 = 3;
            UPDATE insp.job SET person_id = CASE WHEN id % 2 = 0 THEN id END;
            DELETE FROM insp.purge_later;
            SELECT insp.set_quota('bank', 10)
            """)
        let listener = try await site.database.connect()
        let heard = try await listener.listen("insp_ready")
        try await self.begin(site, site.person("ann", "operator:*"))
        // A lane is announced at most once in 50 ms.
        try await site.admin.execute("SELECT pg_sleep(0.1)")
        #expect(try await site.store.step())
        #expect(
            try await site.count(
                """
                insp.console_task WHERE done = 25 AND refused = 11
                    AND refusals = '{"CONSENT_MISSING": 6, "WAITING_QUOTA_REACHED": 5}'
                """) == 1)
        let reruns = """
            insp.job n JOIN insp.job o ON o.public_id = n.rerun_of JOIN insp.rerun r ON r.job_id = n.id AND r.first_id = o.id
            JOIN insp.ready w ON w.job_id = n.id
            JOIN insp.queue q ON (q.id, q.partner_id, q.lane, q.region) = (w.queue, n.partner_id, n.lane, n.region)
            JOIN insp.record c ON c.subject = o.public_id::text AND c.action = 'rerun' AND c.actor = 'console:ann'
                AND c.detail = jsonb_build_object('as', n.public_id)
            JOIN insp.part p ON p.job_id = n.id AND p.content_id = o.id
            JOIN insp.job_reference k ON k.job_id = n.id AND k.kind = 'user' AND k.partner_id = o.partner_id
                AND k.index = insp.reference_index(insp.personal(o.personal) ->> 'userReference')
            JOIN insp.dead d ON d.job_id = o.id AND d.resolved_by = 'console:ann'
            WHERE (n.partner_id, n.lane, n.person_id, n.personal) IS NOT DISTINCT FROM (o.partner_id, o.lane, o.person_id, o.personal)
            """
        #expect(try await site.count("(SELECT DISTINCT n.id, o.id FROM \(reruns)) x") == 25)
        #expect(try await site.count("insp.job WHERE rerun_of IS NOT NULL") == 25)
        #expect(try await site.count("insp.ready") == 25)
        #expect(try await site.count("insp.record WHERE action = 'rerun'") == 25)
        #expect(try await site.count("insp.dead WHERE job_id % 6 = 3 AND resolved_at IS NULL") == 6)
        #expect(try await site.count("insp.dead WHERE resolved_at IS NULL") == 11)
        // Jobs whose person is not known are linked later, and no others.
        #expect(try await site.count("insp.job n WHERE n.rerun_of IS NOT NULL AND n.person_id IS NULL") > 0)
        #expect(
            try await site.count(
                """
                (SELECT n.id FROM insp.job n WHERE n.rerun_of IS NOT NULL AND n.person_id IS NULL
                EXCEPT SELECT l.job_id FROM insp.purge_later l WHERE l.what = 'links') x
                """) == 0)
        #expect(
            try await site.count(
                "insp.purge_later l JOIN insp.job n ON n.id = l.job_id WHERE l.what = 'links' AND n.person_id IS NOT NULL"
            )
                == 0)
        // Workers of each lane are notified.
        try await site.admin.execute("NOTIFY insp_ready, 'the last'")
        let lanes = Task {
            var lanes: Set<String> = []
            for await message in heard {
                if message.payload == "the last" { break }
                lanes.insert(message.payload)
            }
            return lanes
        }
        #expect(try await lanes.value(within: .hangDeadline) == ["0", "1", "2"])
        await listener.close()
        try await site.close()
    }

    @Test func `Of consents that differ in more than their time each is judged by the policy of today`() async throws {
        let site = try await ConsoleSite()
        let time = "2026-01-01T00:00:00Z"
        try await self.letters(
            site, "bank", "",
            consents: [
                self.consent(time, version: "1"), self.consent("2026-01-02T00:00:00Z", version: "2"),
                self.consent("2026-01-03T00:00:00+01:00", version: "2"), self.consent(time, "na", version: "2"),
                #"{"obtained":"yes","policyVersion":"2"}"#, self.consent("2026-01-04T00:00:00Z", version: "2"),
                self.consent(time, version: "3"),
            ])
        try await site.admin.execute(
            "UPDATE insp.partner SET consent_required = true, consent_policy_version = '2' WHERE name = 'bank'")
        try await self.begin(site, site.person("ann", "operator:*"))
        #expect(try await site.store.step())
        #expect(
            try await site.count(
                "insp.console_task WHERE done = 3 AND refused = 4 AND refusals = '{\"CONSENT_MISSING\": 4}'") == 1)
        #expect(
            try await site.count(
                """
                insp.dead d JOIN insp.job j ON j.id = d.job_id, LATERAL (SELECT insp.personal(j.personal) -> 'consent' AS consent) c
                WHERE d.resolved_at IS NOT NULL AND c.consent ->> 'policyVersion' = '2' AND c.consent ->> 'obtained' = 'yes'
                    AND c.consent ? 'obtainedAt'
                """) == 3)
        try await site.close()
    }

    /// A row changed since: of the future, no time, no text, and a version that is another text of the same number.
    @Test(arguments: [
        (#"{"obtainedAt": "2999-01-01T00:00:00Z"}"#, "PAYLOAD_INVALID"),
        (#"{"obtainedAt": "2026-99-01T00:00:00Z"}"#, "PAYLOAD_INVALID"), (#"{"obtainedAt": 7}"#, "PAYLOAD_INVALID"),
        (#"{"policyVersion": 1.0}"#, "CONSENT_MISSING"),
    ])
    func `Among like consents, one that is refused alone is refused`(change: String, code: String) async throws {
        let site = try await ConsoleSite()
        let times = (1...6).map { "2026-01-0\($0)T00:00:00Z" }
        try await self.letters(site, "bank", "", consents: times.map { self.consent($0) })
        _ = try await site.admin.query(
            """
            UPDATE insp.job SET personal = insp.personal_bytes(jsonb_set(p, '{consent}',
                p -> 'consent' || '{"policyVersion": 1}' || CASE WHEN n = 4 THEN $1::jsonb ELSE '{}' END))
            FROM (SELECT j.id, row_number() OVER (ORDER BY j.id) AS n, insp.personal(j.personal) AS p FROM insp.job j) x
            WHERE x.id = insp.job.id
            """, [.text(change)])
        try await site.admin.execute(
            "UPDATE insp.partner SET consent_required = true, consent_policy_version = '1' WHERE name = 'bank'")
        try await self.begin(site, site.person("ann", "operator:*"))
        #expect(try await site.store.step())
        #expect(
            try await site.count(
                "insp.console_task WHERE done = 5 AND refused = 1 AND refusals = '{\"\(code)\": 1}'") == 1)
        #expect(
            try await site.count(
                """
                insp.dead d JOIN insp.job j ON j.id = d.job_id WHERE d.resolved_at IS NULL
                    AND insp.personal(j.personal) -> 'consent' ->> 'obtainedAt' <> ALL ('{\(times.joined(separator: ","))}')
                    OR d.resolved_at IS NULL AND insp.personal(j.personal) -> 'consent' ->> 'policyVersion' = '1.0'
                """) == 1)
        try await site.close()
    }
}
