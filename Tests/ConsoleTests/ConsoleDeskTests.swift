import Foundation
import InspectCore
import Postgres
import TestSupport
import Testing

@testable import Console

/// The information next to a case, and the pages about queue and workers.
@Suite struct ConsoleDeskTests {
    private let quad = Quad(
        topLeft: Point(x: 0, y: 0), topRight: Point(x: 1, y: 0), bottomRight: Point(x: 1, y: 1),
        bottomLeft: Point(x: 0, y: 1))

    @Test func `Earlier results of a job and of its person stand side by side, for the one who has the case alone`()
        async throws
    {
        let site = try await ConsoleSite()
        _ = try await site.admin.query(
            "SELECT count(insp.enqueue('{\"partner\":\"bank\",\"workflow\":\"id\",\"userReference\":\"zq-person\"}', front => 'x'))"
        )
        _ = try await site.admin.query(
            "SELECT count(insp.enqueue('{\"partner\":\"shop\",\"workflow\":\"id\",\"userReference\":\"zq-person\"}', front => 'x'))"
        )
        // Holds all that waits.
        let id = try await site.cases("bank")[0]
        let named = try await site.admin.query(
            "SELECT j.public_id::text FROM insp.job j JOIN insp.partner p ON p.id = j.partner_id JOIN insp.job_reference r ON r.job_id = j.id ORDER BY p.name"
        ).map { try $0.string(0) }
        let (one, foreign) = (named[0], named[1])
        let (ann, bob) = (try await site.person("ann", "reviewer:bank"), try await site.person("bob", "reviewer:bank"))
        #expect(try await ann.post("/cases/\(one)/take").status == 303)
        #expect(try await ann.post("/cases/\(one)/decide", ["decision": "PASSED", "label": "zqfirst"]).status == 303)
        let rerun = try await site.admin.query("SELECT insp.rerun($1)::text", [.text(one)])[0].string(0)
        _ = try await site.admin.query(
            "SELECT count(insp.enqueue('{\"partner\":\"bank\",\"workflow\":\"id\",\"userReference\":\"zq-person\"}', front => 'x'))"
        )
        _ = try await site.cases("bank")

        let path = "/cases/\(rerun)/history"
        #expect(try await ann.get(path).status == 409)
        #expect(try await ann.post("/cases/\(rerun)/take").status == 303)
        let page = try await ann.get(path)
        #expect(page.status == 200 && page.headers["cache-control"] == "no-store")
        #expect(page.text.contains("ZQFIRST") && page.text.contains(String(one.suffix(12))))
        #expect(page.text.contains("same person") && page.text.contains("BLURRY"))
        #expect(!page.text.contains(String(foreign.suffix(12))) && !page.text.contains(String(id.suffix(12))))
        #expect(page.text.contains("&lt;script&gt;alert") && !page.text.contains("<script>"))
        let refused = try await bob.get(path)
        #expect(refused.status == 409 && !refused.text.contains("ZQFIRST"))
        let seen =
            "insp.record WHERE chain = 'access' AND actor = 'console:ann' AND subject = '\(one)' AND purpose = 'review'"
        // Its own page, and this one.
        #expect(try await site.count(seen) >= 1)
        #expect(try await site.count("insp.record WHERE chain = 'access' AND subject = '\(foreign)'") == 0)
        #expect(try await ann.get("/cases/\(rerun)").text.contains(path))
        // Nobody holds a decided case, so the person's other results stay closed.
        let looks = "insp.record WHERE chain = 'access' AND subject = '\(one)'"
        #expect(try await ann.post("/cases/\(rerun)/decide", ["decision": "PASSED"]).status == 303)
        let before = try await site.count(looks)
        for browser in [ann, bob] {
            let late = try await browser.get(path)
            #expect(late.status == 409 && late.text.contains("REVIEW_NOT_DUE") && !late.text.contains("ZQFIRST"))
            #expect(try await !browser.get("/cases/\(rerun)").text.contains(path))
        }
        // Nor by a lease that a decision in psql left behind.
        try await site.admin.execute(
            """
            INSERT INTO insp.case_lease (job_id, actor, until)
            SELECT id, 'console:ann', now() + interval '10 minutes' FROM insp.job WHERE public_id = '\(rerun)'
            """)
        #expect(try await ann.get(path).status == 409)
        #expect(try await site.count(looks) == before)
        try await site.close()
    }

    @Test func `A result that was removed, one that nobody can read here, and none at all are told apart`() async throws
    {
        let site = try await ConsoleSite()
        let enqueue =
            "SELECT insp.enqueue('{\"partner\":\"bank\",\"workflow\":\"id\",\"userReference\":\"zq-person\"}', front => 'x')::text"
        var ids: [String] = []
        for _ in 0..<4 { ids.append(try await site.admin.query(enqueue)[0].string(0)) }
        // Holds all that waits.
        _ = try await site.cases("bank")
        let ann = try await site.person("ann", "reviewer:bank")
        for id in ids.dropLast() {
            _ = try await site.admin.query("SELECT insp.review($1, 'PASSED')", [.text(id)])
        }
        let (removed, sealed, cancelled, own) = (ids[0], ids[1], ids[2], ids[3])
        try await site.admin.execute(
            """
            UPDATE insp.step SET summary = '{"purgedAt":"2026-01-01T00:00:00.000Z"}', body = NULL
            WHERE job_id = (SELECT id FROM insp.job WHERE public_id = '\(removed)') AND status = 128;
            UPDATE insp.step SET seal = 1, body = '\\x01'
            WHERE job_id = (SELECT id FROM insp.job WHERE public_id = '\(sealed)') AND status = 128;
            UPDATE insp.step SET summary = '{"error":{"code":"CANCELLED"}}', body = NULL
            WHERE job_id = (SELECT id FROM insp.job WHERE public_id = '\(cancelled)') AND status = 128;
            """)
        #expect(try await ann.post("/cases/\(own)/take").status == 303)
        let page = try await ann.get("/cases/\(own)/history")
        #expect(page.status == 200)
        for (id, sentence) in [
            (removed, "Its result was removed."), (sealed, "Its result cannot be read here."),
            (cancelled, "It ended without a result."),
        ] {
            let head = try #require(page.text.components(separatedBy: "<th ").first { $0.contains(id.suffix(12)) })
            #expect(head.contains(sentence), "\(sentence)")
        }
        // What is not known differs from nothing.
        #expect(!page.text.contains("class='differs'>–"))
        try await site.close()
    }

    @Test func `The navigation leads a person nowhere that the person may not go`() async throws {
        let site = try await ConsoleSite()
        let people: [[String]] = [
            ["reviewer:bank"], ["operator:bank"], ["auditor:bank"], ["operator:*"], ["auditor:*"],
            ["reviewer:*", "operator:bank"],
            ["operator:bank", "auditor:*"],
        ]
        for (place, grants) in people.enumerated() {
            let secret = ConsoleSecret()
            _ = try await site.admin.query(
                "SELECT insp.console_sign_in($1, $2, 'oidc', $3, 'https://id.example', $2)",
                [.bytes(secret.sha256), .text("p\(place)"), .texts(grants)])
            let browser = Browser(port: site.server.port, secret: secret)
            let start = try #require(try await browser.get("/").headers["location"])
            let text = try await browser.get(start).text
            let nav = try #require(text.firstMatch(of: /(?s)<nav aria-label='Console'>(.*?)<\/nav>/)?.1)
            let paths = nav.matches(of: /href='([^']+)'/).map { String($0.1) }
            #expect(!paths.isEmpty)
            for path in paths {
                let page = try await browser.get(path)
                #expect(page.status == 200, "\(grants) \(path)")
                // The navigation says which of its pages this is.
                let current = page.text.matches(of: /href='([^']+)' aria-current='page'/).map { String($0.1) }
                #expect(current == [path], "\(grants) \(path): \(current)")
            }
            let isForAll = !Set(grants).isDisjoint(with: ["operator:*", "auditor:*"])
            #expect(paths.contains("/record") == isForAll, "\(grants)")
        }
        // An auditor of all who operates one partner may pause no lane and approve nothing, and sees no button for that.
        _ = try await site.admin.query(
            "SELECT insp.propose('set_partner', '{\"partner\":\"bank\",\"enabled\":false}') FROM insp.set_approval('set_partner', true)"
        )
        let mixed = try await site.person("mia", "operator:bank", "auditor:*")
        #expect(try await !mixed.get("/limits").text.contains("Pause lane"))
        let approvals = try await mixed.get("/approvals").text
        #expect(approvals.contains("set_partner") && !approvals.contains("Approve proposal"))
        try await site.close()
    }

    @Test func `A page that renews itself says so in one sentence, and never reads its table out`() async throws {
        let site = try await ConsoleSite()
        let id = try await site.cases("bank")[0]
        _ = try await site.admin.query(
            """
            INSERT INTO insp.console_task (actor, kind, action, filter, reason, before, total, seen_before, seen_also)
            VALUES ('console:x', 'dead', 'resolve', '{}', 'x', now(), 1, 1, '{}')
            """)
        let ann = try await site.person("ann", "reviewer:*", "operator:*")
        for path in ["/cases", "/queue", "/plots", "/workers", "/endpoints", "/tasks", "/cases/\(id)"] {
            let text = try await ann.get(path).text
            let regions = text.matches(of: /(?s)<p id='news' role='status'>(.*?)<\/p>/)
            #expect(regions.count == 1 && regions.first?.1.isEmpty == true, "\(path)")
            #expect(!text.contains("aria-live"), "\(path)")
            // Without JavaScript it stays as it is until somebody asks.
            #expect(text.contains("<a href=''>Refresh</a>") && !text.contains("http-equiv"), "\(path)")
            // The region is not replaced with what it reports.
            if path.hasPrefix("/cases/") { continue }
            let live = try #require(text.range(of: "id='live'"), "\(path)")
            #expect(text.range(of: "id='news'").map { $0.lowerBound < live.lowerBound } == true, "\(path)")
        }
        let script = try await ann.get("/assets/console.js").text
        #expect(!script.contains("location.reload"))
        try await site.close()
    }

    @Test func `Whatever a document carries is text on the page of its case`() async throws {
        let site = try await ConsoleSite()
        let id = try await site.cases("bank")[0]
        let hostile = "</script><script>zqrun()</script><img src=x onerror='zqrun()'>\u{202E}"
        let image = ImageFacts(format: .jpeg, width: 100, height: 100, orientation: 1)
        let quality = QualityFacts(
            laplacianVariance: 300, edgeWidth: 2, brightness: 150, contrast: 50, glareShare: 0, chroma: 60,
            backgroundChroma: 40, documentWidth: 90, printShare: 0, midtoneShare: 0.8, moire: 1, occlusion: 0)
        let card =
            "@\n\u{1E}\rANSI 636000100002DL00410278ZV03190008DLDAQ\(hostile)\nDCS\(hostile)\nDAC\(hostile)\nDBB08121974\n\r"
        var metadata = ImageMetadata()
        metadata.editor = hostile
        var sides: [String: DocumentFacts] = [:]
        for (part, text) in [("FRONT", hostile), ("BACK", card)] {
            let mrz = MRZReading(
                lines: [hostile, hostile], confidences: [[0.5], [0.5]], quad: self.quad, pitch: 10, corrections: 0)
            var side = DocumentFacts(
                image: image, outline: nil, quality: quality, mrz: mrz,
                barcodes: [BarcodeFacts(format: hostile, text: text, bytesHex: "", quad: self.quad)], faces: [],
                viz: VIZFacts(
                    lines: [
                        VIZLine(
                            text: hostile, confidences: hostile.map { _ in 0.99 }, quad: self.quad,
                            place: Box(x: 0, y: 0, width: 1, height: 1), height: 0.1, isConfirmed: true)
                    ], found: 1, modelSHA256: hostile))
            side.metadata = metadata
            sides[part] = side
        }
        let body = try JSONEncoder().encode(DocumentStageFacts(sides: sides))
        _ = try await site.admin.query(
            """
            INSERT INTO insp.step (job_id, status, fence, seal, body)
            SELECT id, 8, 1, 0, $2 FROM insp.job WHERE public_id = $1
            """, [.text(id), .bytes(body)])
        let browser = try await site.person("ann", "reviewer:bank")
        #expect(try await browser.post("/cases/\(id)/take").status == 303)
        let page = try await browser.get("/cases/\(id)")
        #expect(page.status == 200 && page.headers["cache-control"] == "no-store")
        #expect(page.text.contains("&lt;script&gt;zqrun()&lt;/script&gt;"))
        // The page's own script is the only one, and it is a file.
        #expect(page.text.components(separatedBy: "<script").count == 2)
        #expect(page.text.contains("<script src='/assets/console.js' defer='defer'></script>"))
        #expect(!page.text.contains("<img") && !page.text.contains("\u{202E}"))
        try await site.close()
    }

    @Test func `The page of a case documents its keys, and needs no script for its tools`() async throws {
        let site = try await ConsoleSite()
        let id = try await site.cases("bank")[0]
        let browser = try await site.person("ann", "reviewer:bank")
        #expect(try await browser.get("/cases/\(id)").text.contains("accesskey='t'"))
        #expect(try await browser.post("/cases/\(id)/take").status == 303)
        let text = try await browser.get("/cases/\(id)").text
        for key in ["r", "p", "w", "x", "l", "o", "s", "h"] {
            #expect(text.contains("accesskey='\(key)'"), "\(key)")
            #expect(text.matches(of: /<kbd>([^<]*)<\/kbd>/).contains { $0.1.contains(key) }, "\(key)")
        }
        #expect(text.firstMatch(of: #/ on[a-z]+=/#) == nil)
        #expect(text.firstMatch(of: #/ style=/#) == nil)
        try await site.close()
    }

    @Test func `Plots show lanes to those who may see every partner, and to others the sum of theirs`() async throws {
        let site = try await ConsoleSite()
        _ = try await site.admin.query(
            "SELECT count(insp.enqueue('{\"partner\":\"bank\",\"workflow\":\"id\"}', front => 'x')) FROM generate_series(1, 7)"
        )
        _ = try await site.admin.query("SELECT insp.sample_queue()")
        let waiting = try await site.admin.query(
            "SELECT s.waiting FROM insp.partner_sample s JOIN insp.partner p ON p.id = s.partner_id WHERE p.name = 'bank'"
        )
        #expect(try waiting.map { try $0.int(0) } == [7])
        let all = try await site.person("eve", "auditor:*")
        let page = try await all.get("/plots").text
        for word in ["urgent", "normal", "bulk", "Waiting jobs", "Live workers", "Callbacks to be delivered", "<path"] {
            #expect(page.contains(word), "\(word)")
        }
        #expect(page.contains("aria-label='Waiting jobs: at most 7 jobs'"))
        let own = try await all.get("/plots?partner=bank&hours=24").text
        #expect(own.contains("<h2>Jobs</h2>") && own.contains("at most 7 jobs"))
        let stranger = try await site.person("sam", "operator:shop")
        let sums = try await stranger.get("/plots").text
        #expect(sums.contains("<h2>Jobs</h2>") && sums.contains("at most 0 jobs") && !sums.contains("urgent"))
        let refused = try await stranger.get("/plots?partner=bank")
        #expect(refused.status == 400 && refused.text.contains("PARTNER_UNKNOWN"))
        #expect(try await all.get("/plots?hours=2").status == 400)
        try await site.close()
    }

    @Test func `Where a partner was not sampled, its plot has a gap and no zero`() async throws {
        let site = try await ConsoleSite()
        // The bank is busy all the time; of three minutes, the second has the busiest partners alone.
        try await site.admin.execute(
            """
            INSERT INTO insp.queue_sample (at, regions, lanes, waiting, oldest_seconds, running, delayed, finished, failed, callbacks,
                callbacks_oldest_seconds, workers, partners_cut)
            SELECT date_trunc('minute', now()) - n * interval '1 minute', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', 0, 0, 1, n = 2
            FROM generate_series(1, 3) n;
            INSERT INTO insp.partner_sample (partner_id, at, waiting, oldest_seconds, running, finished, failed, delivered, undelivered)
            SELECT p.id, date_trunc('minute', now()) - n * interval '1 minute', 7, 0, 0, 0, 0, 0, 0
            FROM insp.partner p, generate_series(1, 3) n WHERE p.name = 'bank'
            """)
        let eve = try await site.person("eve", "auditor:bank", "auditor:shop")
        func waiting(_ partner: String?) async throws -> [Double?] {
            try await site.store.samples(
                try await site.store.session(try #require(eve.secret)), partner: partner, hours: 1
            ).map(\.waiting)
        }
        #expect(try await waiting("bank") == [7, 7, 7])
        #expect(try await waiting("shop") == [0, nil, 0])
        #expect(try await waiting(nil) == [7, nil, 7])
        let page = try await eve.get("/plots?hours=1").text
        #expect(page.contains("<td class='number'>not sampled</td>") && page.contains("A gap in a line"))
        #expect(try await !eve.get("/plots?hours=1&partner=bank").text.contains("not sampled"))
        // Without any, there is no plot that says "at most 0".
        try await site.admin.execute("UPDATE insp.queue_sample SET partners_cut = true")
        let none = try await eve.get("/plots?hours=1&partner=shop").text
        #expect(none.contains("Nothing was measured in this period.") && !none.contains("at most 0"))
        try await site.close()
    }

    @Test func `A line is not drawn across a time in which nothing was measured`() throws {
        func path(_ seconds: [Double], _ values: [Double?]) throws -> Substring {
            let plot = Plot(
                title: "x", unit: "jobs", times: seconds.map { Date(timeIntervalSince1970: $0) }, stepSeconds: 60,
                lines: [.init(name: "x", values: values)])
            return try #require(plot.markup.html.firstMatch(of: /class='line l0' d='(M[0-9.]+ [0-9.]+h[^']*)'/)?.1)
        }
        #expect(try path([0, 60, 120], [1, 2, 3]).matches(of: /M/).count == 1)
        #expect(try path([0, 60, 600, 660], [1, 2, 3, 4]).matches(of: /M/).count == 2)
        #expect(try path([0, 60, 120], [1, nil, 3]).matches(of: /M/).count == 2)
    }

    @Test func `Workers' jobs are shown to those who may see their partners`() async throws {
        let site = try await ConsoleSite()
        _ = try await site.admin.query(
            "SELECT count(insp.enqueue(jsonb_build_object('partner', x, 'workflow', 'id'), front => 'x')) FROM unnest('{bank,shop}'::text[]) x"
        )
        let worker = try await site.admin.query(
            """
            WITH worker AS MATERIALIZED (SELECT gen_random_uuid() AS incarnation), registered AS MATERIALIZED (
                SELECT w.incarnation, r.worker_id FROM worker w,
                    LATERAL insp.worker_register(w.incarnation, 'zqhost', 1, 'x', NULL, '{0,1,2}', 64) r)
            SELECT min(r.worker_id) FROM registered r, LATERAL insp.claim(r.worker_id, r.incarnation, '330 s', 64,
                ARRAY(SELECT q.id FROM insp.queue q), ARRAY(SELECT 0::bigint FROM insp.queue q),
                ARRAY(SELECT 64 FROM insp.queue q), 2147483647, 0, 0, false) c
            """)[0].int(0)
        let all = try await site.person("eve", "auditor:*")
        let page = try await all.get("/workers?worker=\(worker)").text
        #expect(page.contains("zqhost") && page.contains("<td>bank</td>") && page.contains("<td>shop</td>"))
        #expect(try await all.get("/workers?worker=\(worker + 1)").text.contains("No job is running."))
        let own = try await site.person("sam", "operator:shop").get("/workers").text
        #expect(!own.contains("zqhost") && !own.contains("bank") && own.contains("<td>shop</td>"))
        try await site.close()
    }

    @Test func `Dead letters of one moment are all listed, and those of one partner found behind many of another`()
        async throws
    {
        let site = try await ConsoleSite()
        try await site.admin.execute(
            """
            SELECT count(insp.enqueue('{"partner":"bank","workflow":"id"}', front => 'x')) FROM generate_series(1, 120);
            SELECT count(insp.enqueue('{"partner":"shop","workflow":"id"}', front => 'x')) FROM generate_series(1, 1100);
            SELECT count(insp.cancel(public_id)) FROM insp.job WHERE status = 1;
            -- All at once.
            INSERT INTO insp.dead (job_id, partner_id, code, attempts, crashes)
            SELECT id, partner_id, 'TIMED_OUT', 1, 0 FROM insp.job WHERE status = 128
            """)
        let browser = try await site.person("ann", "auditor:*")
        for (partner, count) in [("bank", 120), ("shop", 1100)] {
            var seen: [String] = []
            var path: String? = "/dead?partner=\(partner)"
            while let next = path {
                let text = try await browser.get(next).text
                seen += text.matches(of: #/href='\/jobs\/([0-9a-f-]{36})'/#).map { String($0.1) }
                path = text.firstMatch(of: #/href='(\/dead\?[^']+)' rel='next'/#).map {
                    String($0.1).replacing("&amp;", with: "&")
                }
            }
            #expect(seen.count == count && Set(seen).count == count, "\(partner)")
        }
        try await site.close()
    }

    @Test func `The stages of a job are drawn by their times`() {
        let start = Date(timeIntervalSince1970: 1_780_000_000)
        func row(_ kind: String, _ seconds: Double) -> TimelineRow {
            TimelineRow(at: start + seconds, kind: kind, who: nil, detail: nil)
        }
        let svg = Plot.stages([row("accepted", 0), row("claimed", 1), row("stage ACQUIRED", 2), row("finished", 8)])
            .html
        #expect(svg.components(separatedBy: "<rect").count - 1 == 2)
        #expect(svg.contains("2 s") && svg.contains("6 s") && svg.contains("8 s in all"))
        #expect(Plot.stages([row("accepted", 0)]).html.isEmpty)
        #expect(Plot.rounded(0) == 1 && Plot.rounded(7) == 10 && Plot.rounded(120) == 200 && Plot.rounded(0.3) == 0.5)
    }
}
