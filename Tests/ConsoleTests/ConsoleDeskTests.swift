import Foundation
import InspectCore
import Postgres
import TestSupport
import Testing

@testable import Console

/// What stands beside a case, and the pages about queue and workers.
@Suite struct ConsoleDeskTests {
    private let quad = Quad(
        topLeft: Point(x: 0, y: 0), topRight: Point(x: 1, y: 0), bottomRight: Point(x: 1, y: 1),
        bottomLeft: Point(x: 0, y: 1))

    @Test func `Earlier results of a job and of its person stand side by side, for who has the case alone`()
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

    @Test func `Plots show lanes to who may see every partner, and to others the sum of theirs`() async throws {
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

    @Test func `Workers' jobs are shown to who may see their partners`() async throws {
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
        #expect(try await all.get("/workers?worker=\(worker + 1)").text.contains("No job is in work."))
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
        func row(_ kind: String, _ after: Double) -> TimelineRow {
            TimelineRow(at: start + after, kind: kind, who: nil, detail: nil)
        }
        let svg = Plot.stages([row("accepted", 0), row("claimed", 1), row("stage ACQUIRED", 2), row("finished", 8)])
            .html
        #expect(svg.components(separatedBy: "<rect").count - 1 == 2)
        #expect(svg.contains("2 s") && svg.contains("6 s") && svg.contains("8 s in all"))
        #expect(Plot.stages([row("accepted", 0)]).html.isEmpty)
        #expect(Plot.rounded(0) == 1 && Plot.rounded(7) == 10 && Plot.rounded(120) == 200 && Plot.rounded(0.3) == 0.5)
    }
}
