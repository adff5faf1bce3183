import Foundation
import FoundationXML
import Testing

@testable import InspectCore

@Suite struct InspectionReportTests {
    private let today = CalendarDate(year: 2026, month: 6, day: 1)
    private let passport = [
        "P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<", "L898902C36UTO7408122F3404159ZE184226B<<<<<16",
    ]
    private let quad = Quad(
        topLeft: Point(x: 100, y: 100), topRight: Point(x: 1350, y: 100), bottomRight: Point(x: 1350, y: 980),
        bottomLeft: Point(x: 100, y: 980))

    private var face: FaceFacts {
        var face = Sample.face()
        face.landmarks = [120.0, 150, 220, 250, 190].map { Point(x: $0, y: 180) }
        return face
    }

    /// An inspection with every kind of fact.
    private func facts(barcode: String = "not a card") -> InspectionFacts {
        let image = ImageFacts(format: .jpeg, width: 1500, height: 1100, orientation: 6)
        let mrz = MRZReading(
            lines: self.passport, confidences: self.passport.map { $0.map { $0 == "L" ? 0.4 : 0.995 } },
            quad: self.quad,
            pitch: 20, corrections: 2, edgeWidths: [0.2, 0.21],
            centres: [800.0, 850].map { Segment(start: Point(x: 120, y: $0), end: Point(x: 1300, y: $0)) })
        let side = DocumentFacts(
            image: image,
            outline: OutlineFacts(quad: self.quad, aspectRatio: 1.42, cornersOutside: 0, support: 0.9),
            quality: QualityFacts(
                laplacianVariance: 312.5, edgeWidth: 2.51, brightness: 153, contrast: 51, glareShare: 0.0042,
                chroma: 61,
                backgroundChroma: 41, documentWidth: 1251, printShare: 0.052, midtoneShare: 0.81, moire: 1.53,
                occlusion: 0.011),
            mrz: mrz, barcodes: [BarcodeFacts(format: "PDF417", text: barcode, bytesHex: "", quad: self.quad)],
            faces: [self.face])
        var facts = InspectionFacts(
            request: InspectionRequest(workflow: .idIdentity), parts: [.front, .face, .sod])
        facts.acquisition = AcquisitionFacts(images: ["FRONT": image, "FACE": image])
        facts.documents = DocumentStageFacts(sides: ["FRONT": side])
        facts.faces = FaceStageFacts(images: ["FACE": FaceStageFacts.Image(image: image, faces: [self.face])])
        facts.liveness = LivenessStageFacts(
            passive: LivenessFacts(
                signals: Dictionary(uniqueKeysWithValues: LivenessFacts.Signal.allCases.map { ($0.rawValue, 0.25) })))
        return facts
    }

    private func report(_ facts: InspectionFacts, jpeg: Data = Data(repeating: 7, count: 300)) -> String {
        var document = InspectionDecider(facts: facts, today: self.today, isGated: false).decide()
        document.engine.timingsMs = ["document": 287.4]
        document.engine.versions = ["inspectd": "1.2.3"]
        let preview = Preview(width: 1200, height: 880, jpeg: jpeg)
        return InspectionReport(
            document: document, facts: facts, previews: ["FRONT": preview, "FACE": preview], today: self.today
        ).html
    }

    /// The names of all elements, or `nil` if the text is not well-formed XML.
    private func elements(_ html: String) -> [String]? {
        final class Names: NSObject, XMLParserDelegate {
            var names: [String] = []

            func parser(
                _ parser: XMLParser, didStartElement element: String, namespaceURI: String?, qualifiedName: String?,
                attributes: [String: String]
            ) { self.names.append(element) }
        }
        let names = Names()
        let parser = XMLParser(data: Data(html.utf8))
        parser.delegate = names
        return parser.parse() ? names.names : nil
    }

    @Test func `The page is well-formed and refers to nothing outside itself`() throws {
        let html = self.report(self.facts())
        let elements = try #require(self.elements(html))
        for name in ["svg", "image", "polygon", "circle", "table", "style"] { #expect(elements.contains(name)) }
        for name in ["script", "link", "iframe", "a", "object"] { #expect(!elements.contains(name)) }
        for word in ["http://", "https://", "url(", "@import", "src="] { #expect(!html.contains(word), "\(word)") }
        let references = html.components(separatedBy: "href=").dropFirst()
        #expect(references.count { $0.hasPrefix("'data:image/jpeg;base64,") } == 2)
        // The faces side by side are parts of the images above.
        let crops = references.filter { $0.hasPrefix("'#image-") }
        #expect(crops.count == 2 && references.count == 4)
        for part in ["FRONT", "FACE"] { #expect(html.components(separatedBy: "id='image-\(part)'").count == 2) }
    }

    @Test func `The page says what a link's person went on without`() {
        let facts = self.facts()
        var document = InspectionDecider(facts: facts, today: self.today, isGated: false).decide()
        for (declined, words) in [
            (nil, nil), (["FRAMES"], "recording for the liveness challenge"),
            (["FACE", "FRAMES"], "image of the face and no recording for the liveness challenge"),
        ] as [([String]?, String?)] {
            document.declined = declined
            let html = InspectionReport(document: document, facts: facts, today: self.today).html
            #expect(html.contains("the person chose to go on without it") == (words != nil))
            if let words {
                #expect(html.contains("<p>No \(words) was given: the person chose to go on without it.</p>"))
            }
            #expect(self.elements(html) != nil)
        }
    }

    @Test func `The page says where it comes from, and what each label means`() throws {
        let facts = self.facts()
        let document = InspectionDecider(facts: facts, today: self.today, isGated: false).decide()
        let origin = ReportOrigin(
            job: "0196-job", partner: "bank", files: [("FRONT", "pass<port>.jpg")],
            decidedAt: Date(timeIntervalSince1970: 1_780_272_000))
        let html = InspectionReport(
            document: document, facts: facts, previews: [:], today: self.today, origin: origin
        ).html
        for word in ["0196-job", "bank", "file of FRONT", "pass&lt;port&gt;.jpg", "2026-06-01T00:00:00Z"] {
            #expect(html.contains(word), "\(word)")
        }
        #expect(html.contains(document.decision.type.sentence))
        for outcome in document.capabilities.outcomes {
            let sentence = DecisionLabel.sentence(outcome.decision.details.label)
            #expect(sentence.hasSuffix(".") && html.contains(Markup.escaped(sentence)), "\(outcome)")
        }
        #expect(!html.contains("href='#image-"), "no image is shown that a face could be cut from")
    }

    @Test func `A warning names what led to it, also where a capability did not run`() throws {
        var facts = self.facts()
        facts.request.workflow = .id
        facts.parts = [.front]
        facts.documents?.sides["FRONT"]?.barcodes = []
        facts.documents?.sides["FRONT"]?.image.isGrey = true
        let html = self.report(facts)
        #expect(html.contains("image checks of FRONT: PRECONDITION_NOT_FULFILLED"))
        #expect(html.contains("<td>NO_COLOURS</td>") && html.contains(Reason.noColours.row.advice))
        let document = InspectionDecider(facts: facts, today: self.today).decide()
        let desk = InspectionReport(document: document, facts: facts, today: self.today, isDesk: true).html
        #expect(!desk.contains("No capability found anything") && desk.contains("image checks of FRONT"))
    }

    @Test func `A value beyond a limit that does not apply is no pass`() throws {
        let waived = Measurement("blur", 81, Limit(.below(6), "a test"), counts: false, note: "the text was read")
        #expect(waived.outcome == nil && waived.note == "the text was read")
        let row = ReportTables.measurements([waived]).html
        #expect(row.contains("does not apply") && !row.contains("✓"))
        #expect(ReportTables.measurements([Measurement("blur", 5, Limit(.below(6), ""), note: "")]).html.contains("✓"))
        #expect(Measurement("blur", 81, Limit(.below(6), ""), note: "").outcome == .fail)
    }

    @Test func `The VIZ's value stands beside its field, and an AAMVA element beside its name`() throws {
        var facts = self.facts(
            barcode: "@\n\u{1E}\rANSI 636000100002DL00410278ZV03190008DLDAQT64235789\nDCSSAMPLE\nDAYBRO\n\rZVZVA01\r")
        let line = VIZLine(
            text: "ERIKSSON", confidences: Array(repeating: 0.99, count: 8), quad: self.quad,
            place: Box(x: 0.35, y: 0.2, width: 0.2, height: 0.03), height: 0.02, isConfirmed: true)
        facts.documents?.sides["FRONT"]?.viz = VIZFacts(lines: [line], found: 1, modelSHA256: "")
        let html = self.report(facts)
        #expect(html.contains("<b>ERIKSSON</b><br/><span class='pass'>✓ as machine-readable</span>"))
        #expect(html.contains("<td><code>DAY</code></td><td>eye colour</td>"))
        #expect(html.contains("<td><code>ZVA</code></td><td>the issuer&#39;s own element</td>"))
    }

    @Test func `Every measurement appears with its value`() throws {
        let facts = self.facts()
        let html = self.report(facts)
        let side = try #require(facts.documents?.sides["FRONT"])
        func members(_ value: some Encodable) throws -> [String: Double] {
            let object = try JSONSerialization.jsonObject(with: JSONEncoder().encode(value))
            return try #require(object as? [String: Any]).compactMapValues { $0 as? Double }
        }
        let quality = try members(side.quality)
        let face = try members(side.faces[0].quality)
        #expect(quality.count == 12 && face.count == 15)
        for (name, value) in quality.merging(face, uniquingKeysWith: { first, _ in first }) {
            let row = "<td>\(ReportTables.spaced(name))</td><td class='number'>\(Markup.number(value))</td>"
            #expect(html.contains(row), "\(row)")
        }
        for signal in LivenessFacts.Signal.allCases {
            #expect(html.contains("<td>\(ReportTables.spaced(signal.rawValue))</td>"))
        }
        for word in ["287", "1.2.3", FaceEmbedding.currentEngine, "2034-04-15", "L898902C3", "not a card"] {
            #expect(html.contains(word), "\(word)")
        }
    }

    @Test func `Every character of the MRZ has its box and its colour, every check digit its row`() {
        let html = self.report(self.facts())
        #expect(html.components(separatedBy: " cell' points=").count - 1 == 88)
        // The two characters that the reader was not sure of.
        let doubtful = self.passport.joined().filter { $0 == "L" }.count
        #expect(html.components(separatedBy: "class='poor cell'").count - 1 == doubtful)
        #expect(html.components(separatedBy: "class='poor text'").count - 1 >= doubtful)
        for name in ["document number", "birth date", "expiry date", "personal number", "composite"] {
            #expect(html.contains("<tr><td>\(name)</td><td><code>"), "\(name)")
        }
    }

    @Test func `Hostile values are escaped as text`() throws {
        let hostile = "</pre><script>alert('x')</script><img src=x onerror=y>&amp;\"\u{0}\u{1E}\u{202E}\u{FFFF}\u{85}"
        let card = "@\n\u{1E}\rANSI 636000100002DL00410278ZV03190008DLDAQ\(hostile)\nDCS<b>DOE</b>\nDBB08121974\n\r"
        for text in [hostile, card] {
            let html = self.report(self.facts(barcode: text))
            let elements = try #require(self.elements(html))
            #expect(!elements.contains("script") && !elements.contains("img"))
            #expect(html.contains("&lt;/pre&gt;&lt;script&gt;"))
            #expect(html.contains("[U+202E]") && !html.contains("\u{202E}"))
        }
    }

    @Test func `The page adds little to the size of its images`() {
        let bytes = 400_000
        let html = self.report(self.facts(), jpeg: Data(repeating: 7, count: bytes))
        // Base64 takes four characters for three bytes.
        #expect(html.utf8.count < 2 * bytes * 4 / 3 + 120_000)
    }

    @Test func `A failed inspection also has a page`() throws {
        let error = InspectError(.corruptImage, "FRONT")
        let html = InspectionReport(
            document: .notExecuted(error),
            facts: InspectionFacts(request: InspectionRequest(workflow: .id), parts: [.front]), previews: [:],
            today: self.today
        ).html
        #expect(self.elements(html) != nil)
        #expect(html.contains("CORRUPT_IMAGE"))
    }

    @Test func `The comparison of two faces has a page`() throws {
        let image = try #require(self.facts().faces?.images["FACE"])
        let facts = FaceStageFacts(images: ["A": image, "B": image])
        for match in [
            FaceMatch(
                similarity: 0.97, distance: 0.41, match: true, threshold: 0.85, fmrAtThreshold: 0.0033, engine: "e"),
            nil,
        ] {
            let html = ComparisonReport(
                facts: facts, previews: [:], match: match, reason: match == nil ? "NO_FACE_IN_B" : nil, threshold: 0.85,
                engine: EngineRecord()
            ).html
            #expect(self.elements(html) != nil)
            #expect(html.contains(match == nil ? "NO_FACE_IN_B" : "<h1>MATCH</h1>"))
            #expect(html.contains("at least") || html.contains("≥ 0.85"))
        }
    }

    /// An analyzer compromised by an image may return any number: none may crash the worker.
    @Test func `Absurd facts are handled without a crash`() throws {
        for size in [Int.max, Int.min, 0] {
            var facts = self.facts()
            let image = ImageFacts(format: .png, width: size, height: size, orientation: 1)
            var front = try #require(facts.documents?.sides["FRONT"])
            front.image = image
            front.outline = nil
            front.mrz?.confidences = [[]]
            front.mrz?.centres = []
            front.faces[0].box.width = .greatestFiniteMagnitude
            front.quality.documentWidth = -1
            var back = front
            back.mrz = nil
            back.barcodes = []
            facts.documents = DocumentStageFacts(sides: ["FRONT": front, "BACK": back])
            facts.parts.append(.back)
            #expect(self.elements(self.report(facts)) != nil)
        }
    }

    @Test func `Numbers are short and never invented`() {
        #expect(Markup.number(1251.4) == "1251")
        #expect(Markup.number(0.0042) == "0.0042")
        #expect(Markup.number(2.5) == "2.5")
        #expect(Markup.number(0) == "0")
        #expect(Markup.number(.nan) == "nan")
    }
}
