import Foundation
import FoundationXML
import Testing

@testable import InspectCore

@Suite struct DeskReportTests {
    private let quad = Quad(
        topLeft: Point(x: 100, y: 100), topRight: Point(x: 1350, y: 100), bottomRight: Point(x: 1350, y: 980),
        bottomLeft: Point(x: 100, y: 980))

    /// A front with an MRZ, and a back with a barcode of somebody else.
    private func facts(barcodeName: String = "SAMPLE") -> InspectionFacts {
        let image = ImageFacts(format: .jpeg, width: 1500, height: 1100, orientation: 6)
        let lines = [
            "P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<", "L898902C36UTO7408122F3404159ZE184226B<<<<<16",
        ]
        let mrz = MRZReading(
            lines: lines, confidences: lines.map { $0.map { _ in 0.995 } }, quad: self.quad, pitch: 20, corrections: 0,
            edgeWidths: [0.2, 0.21],
            centres: [800.0, 850].map { Segment(start: Point(x: 120, y: $0), end: Point(x: 1300, y: $0)) })
        let quality = QualityFacts(
            laplacianVariance: 312.5, edgeWidth: 2.51, brightness: 153, contrast: 51, glareShare: 0.0042, chroma: 61,
            backgroundChroma: 41, documentWidth: 1251, printShare: 0.052, midtoneShare: 0.81, moire: 1.53,
            occlusion: 0.011)
        let outline = OutlineFacts(quad: self.quad, aspectRatio: 1.42, cornersOutside: 0, support: 0.9)
        var face = Sample.face()
        face.landmarks = [120.0, 150, 220, 250, 190].map { Point(x: $0, y: 180) }
        let card = "@\n\u{1E}\rANSI 636000100002DL00410278ZV03190008DLDAQT64235789\nDCS\(barcodeName)\nDBB08121974\n\r"
        var facts = InspectionFacts(
            request: InspectionRequest(workflow: .idIdentity), parts: [.front, .back, .face])
        facts.acquisition = AcquisitionFacts(images: ["FRONT": image, "BACK": image, "FACE": image])
        facts.documents = DocumentStageFacts(sides: [
            "FRONT": DocumentFacts(
                image: image, outline: outline, quality: quality, mrz: mrz, barcodes: [], faces: [face]),
            "BACK": DocumentFacts(
                image: image, outline: outline, quality: quality, mrz: nil,
                barcodes: [BarcodeFacts(format: "PDF417", text: card, bytesHex: "", quad: self.quad)],
                faces: []),
        ])
        facts.faces = FaceStageFacts(images: ["FACE": FaceStageFacts.Image(image: image, faces: [face])])
        return facts
    }

    private func desk(_ facts: InspectionFacts) -> String {
        let today = CalendarDate(year: 2026, month: 6, day: 1)
        let document = InspectionDecider(facts: facts, today: today, isGated: false).decide()
        let paths = Dictionary(uniqueKeysWithValues: ["FRONT", "BACK", "FACE"].map { ($0, "/images/\($0)") })
        return Markup(
            InspectionReport(
                document: document, facts: facts, paths: paths, today: today, isDesk: true
            ).content
        ).html
    }

    private func isWellFormed(_ html: String) -> Bool { XMLParser(data: Data("<main>\(html)</main>".utf8)).parse() }

    @Test func `On a desk, each image has switches for its overlays and its direction, without a script`() {
        let html = self.desk(self.facts())
        #expect(self.isWellFormed(html))
        #expect(html.components(separatedBy: "<fieldset class='tools'>").count - 1 == 3)
        for style in ["show-o", "show-z", "show-c", "show-b", "show-f"] {
            #expect(html.contains("class='\(style)'"), "\(style)")
        }
        // Four directions of each image, of which the first is chosen and has the image's key.
        #expect(html.components(separatedBy: "type='radio'").count - 1 == 12)
        for place in 1...3 {
            #expect(html.components(separatedBy: "name='turn-\(place)'").count - 1 == 4)
            #expect(html.contains("checked='checked' accesskey='\(place)'"))
        }
        #expect(html.contains("id='overlays'") && !html.contains("<script"))
    }

    @Test func `A report for a file has no tools, and a row for each source`() {
        let facts = self.facts()
        let today = CalendarDate(year: 2026, month: 6, day: 1)
        let document = InspectionDecider(facts: facts, today: today, isGated: false).decide()
        let html = InspectionReport(document: document, facts: facts, previews: [:], today: today).html
        #expect(!html.contains("<input") && !html.contains("<fieldset") && html.contains("<th>other sources</th>"))
    }

    @Test func `On a desk, the page fetches each image from one place, with words where one does not come`() {
        let html = self.desk(self.facts())
        for part in ["FRONT", "BACK", "FACE"] {
            #expect(html.components(separatedBy: "href='/images/\(part)'/>").count == 2)
            // And a link to it, which needs no script.
            #expect(html.components(separatedBy: "<a href='/images/\(part)' target='_blank'>").count == 2)
        }
        #expect(html.components(separatedBy: ">the image is not shown</text>\n<image id='image-").count == 4)
        #expect(!html.contains("data:"))
    }

    @Test func `On a desk, faces stand side by side once`() {
        let html = self.desk(self.facts())
        #expect(html.components(separatedBy: "Faces side by side").count == 2)
        #expect(html.components(separatedBy: "href='#image-").count - 1 == 2)
    }

    @Test func `On a desk, a field has one row with a column for each source, and says where they differ`() throws {
        let html = self.desk(self.facts())
        #expect(html.contains("<th>MRZ (FRONT)</th><th>barcode (BACK)</th>"))
        let rows = html.components(separatedBy: "<tr").filter { $0.contains("<th scope='row'>last name</th>") }
        let row = try #require(rows.first)
        #expect(rows.count == 1 && row.hasPrefix(" class='differs'"))
        for word in ["<b>ERIKSSON</b>", "<b>SAMPLE</b>", "sources differ"] { #expect(row.contains(word), "\(word)") }
        let number = try #require(
            html.components(separatedBy: "<tr").first { $0.contains("<th scope='row'>nationality</th>") })
        #expect(number.contains("only source") && number.contains("<td>—</td>"))
    }

    @Test func `On a desk, what speaks against the job comes first, in sentences`() throws {
        let facts = self.facts()
        let html = self.desk(facts)
        let findings = try #require(html.components(separatedBy: "<h2>").first { $0.hasPrefix("Findings") })
        let document = InspectionDecider(
            facts: facts, today: CalendarDate(year: 2026, month: 6, day: 1), isGated: false
        ).decide()
        let failed = document.capabilities.outcomes.filter { ![.passed, .notExecuted].contains($0.decision.type) }
        #expect(!failed.isEmpty)
        for outcome in failed {
            #expect(findings.contains(Markup.escaped(DecisionLabel.sentence(outcome.decision.details.label))))
        }
        let images = try #require(html.range(of: "<h2>Images</h2>"))
        #expect(try #require(html.range(of: "<h2>Findings</h2>")).lowerBound < images.lowerBound)
    }

    @Test func `On a desk, hostile fields are text in their row`() {
        let html = self.desk(self.facts(barcodeName: "<script>alert(1)</script>'\"\u{202E}"))
        #expect(self.isWellFormed(html))
        #expect(!html.lowercased().contains("<script") && !html.contains("\u{202E}"))
        #expect(html.lowercased().contains("&lt;script&gt;alert(1)"))
    }
}
