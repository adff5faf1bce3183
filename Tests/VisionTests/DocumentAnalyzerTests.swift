import Foundation
import TestSupport
import Testing

@testable import InspectCore
@testable import Vision

@Suite struct DocumentAnalyzerTests {
    private func decode(_ drawing: TestImage) throws -> DecodedImage {
        try drawing.png().withUnsafeBytes { try DecodedImage.decode($0) }
    }

    private func facts(_ drawing: TestImage) throws -> DocumentFacts {
        let image = try self.decode(drawing)
        let outline = try DocumentAnalyzer.outline(image)
        return DocumentFacts(
            image: image.facts, outline: outline, quality: try DocumentAnalyzer.quality(image, outline: outline),
            mrz: nil, barcodes: [], faces: [])
    }

    private func label(_ drawing: TestImage) throws -> String {
        UsabilityRules.decide(try self.facts(drawing), reading: .unproven, part: "FRONT").label
    }

    @Test(arguments: [0.0, 8, -17, 30])
    func `The outline is found at any angle`(degrees: Double) throws {
        let card = DocumentImage.card()
        let photo = DocumentImage.photo(of: card, degrees: degrees)
        let outline = try #require(try DocumentAnalyzer.outline(try self.decode(photo)))
        #expect(abs(outline.aspectRatio - 1.586) < 0.04)
        #expect(outline.cornersOutside == 0)
        #expect(outline.support > 0.8)
        let (sine, cosine) = (sin(degrees * .pi / 180), cos(degrees * .pi / 180))
        let (x, y) = (-Double(card.width) / 2, -Double(card.height) / 2)
        let corner = outline.quad.topLeft
        #expect(abs(corner.x - (450 + x * cosine - y * sine)) < 5)
        #expect(abs(corner.y - (340 + x * sine + y * cosine)) < 5)
    }

    @Test func `A crop has no outline`() throws {
        #expect(try DocumentAnalyzer.outline(try self.decode(DocumentImage.card())) == nil)
    }

    @Test func `An empty table has no outline and is no document`() throws {
        let facts = try self.facts(TestImage(width: 600, height: 400, DocumentImage.table))
        #expect(facts.outline == nil)
        #expect(UsabilityRules.decide(facts, reading: .none, part: "FRONT").label == "NOT_A_DOCUMENT")
    }

    @Test func `Tiny images are measured without failing`() throws {
        for (width, height) in [(1, 1), (1, 400), (400, 1), (7, 5), (33, 33)] {
            let facts = try self.facts(TestImage(width: width, height: height))
            #expect(facts.outline == nil)
            #expect(facts.quality.brightness == 255)
        }
    }

    @Test func `A tiny image costs no more than a large one`() throws {
        func cost(_ width: Int, _ height: Int) throws -> Duration {
            let begun = ProcessorTime.ofThread()
            _ = try self.facts(TestImage(width: width, height: height))
            return ProcessorTime.ofThread() - begun
        }
        // The first one loads what is used later.
        _ = try cost(1600, 1200)
        let large = try cost(1600, 1200)
        for (width, height) in [(1, 1), (2, 2), (5, 3)] { #expect(try cost(width, height) < large * 2) }
    }

    @Test func `A good photo is usable`() throws {
        let facts = try self.facts(DocumentImage.photo(degrees: 4))
        #expect(UsabilityRules.decide(facts, reading: .none, part: "FRONT") == .passed)
        #expect(ImageCheckRules.decide(facts, part: "FRONT") == .passed)
        #expect(abs(facts.quality.documentWidth - 600) < 10)
    }

    @Test func `Blur is noticed in every direction`() throws {
        let photo = DocumentImage.photo()
        #expect(try self.label(photo.blurred(horizontally: 8, vertically: 8)) == "BLURRED")
        #expect(try self.label(photo.blurred(horizontally: 11, vertically: 0)) == "BLURRED")
        #expect(try self.label(photo.blurred(horizontally: 0, vertically: 11)) == "BLURRED")
        #expect(try self.label(photo.blurred(horizontally: 1, vertically: 1)) == "OK")
    }

    @Test func `Glare is noticed, and white paper is none`() throws {
        func glare(_ drawing: TestImage) -> TestImage {
            var result = drawing
            result.map { x, y, colour in
                let distance = hypot(Double(x) - 480, Double(y) - 360)
                let light = 2.2 * exp(-distance * distance / (2 * 70 * 70))
                func lit(_ value: UInt8) -> UInt8 { UInt8(min(255, Double(value) + light * 255)) }
                return Colour(lit(colour.red), lit(colour.green), lit(colour.blue))
            }
            return result
        }
        #expect(try self.label(glare(DocumentImage.photo())) == "GLARE")
        var white = DocumentImage.card()
        white.map { _, _, colour in colour == DocumentImage.paper ? Colour(255, 255, 255) : colour }
        #expect(try self.facts(DocumentImage.photo(of: white)).quality.glareShare == 0)
    }

    @Test func `Grey copies are noticed`() throws {
        func gray(_ drawing: TestImage) -> TestImage {
            var result = drawing
            result.map { _, _, colour in
                let level = UInt8((Int(colour.red) + Int(colour.green) + Int(colour.blue)) / 3)
                return Colour(level, level, level)
            }
            return result
        }
        #expect(try self.label(DocumentImage.photo(of: gray(DocumentImage.card()))) == "PHOTOCOPY")
        #expect(try self.label(gray(DocumentImage.photo())) == "BLACK_WHITE")
    }

    @Test func `A grey copy under a warm lamp is noticed`() throws {
        func lit(_ drawing: TestImage) -> TestImage {
            var result = drawing
            result.map { _, _, colour in
                let level = (Double(colour.red) + Double(colour.green) + Double(colour.blue)) / 3
                return Colour(UInt8(min(255, level * 1.03)), UInt8(level), UInt8(level * 0.95))
            }
            return result
        }
        let copy = try self.facts(DocumentImage.photo(of: lit(DocumentImage.card())))
        #expect(copy.quality.chroma > 4)
        #expect(UsabilityRules.decide(copy, reading: .unproven, part: "FRONT").label == "PHOTOCOPY")
        #expect(
            UsabilityRules.decide(try self.facts(DocumentImage.photo()), reading: .unproven, part: "FRONT") == .passed
        )
    }

    @Test(arguments: [0.06, 0.12, 0.2])
    func `A corner that was cut off is noticed`(share: Double) throws {
        var card = DocumentImage.card()
        let reach = Int(share * Double(card.width))
        let width = card.width
        card.map { x, y, colour in width - 1 - x + y < reach ? DocumentImage.table : colour }
        let facts = try self.facts(DocumentImage.photo(of: card, degrees: 6))
        let decision = UsabilityRules.decide(facts, reading: .proven, part: "FRONT")
        // What a rounding or the wear of years may take is no damage.
        #expect(decision.label == (share < 0.1 ? "OK" : "DAMAGED_DOCUMENT"), "\(facts.quality.missingCorner ?? -1)")
    }

    /// 2.2, 5 and 7 mm on an ID-1 card.
    @Test(arguments: [0.026, 0.06, 0.08])
    func `A hole that shows the table is noticed, and what is smaller may be print`(share: Double) throws {
        func photo(_ colour: Colour) -> TestImage {
            var card = DocumentImage.card()
            let (x, y, reach) = (0.2 * Double(card.width), 0.6 * Double(card.height), share * Double(card.width) / 2)
            card.map { column, row, old in
                hypot(Double(column) - x, Double(row) - y) < reach ? colour : old
            }
            return DocumentImage.photo(of: card, degrees: 6)
        }
        let hole = try self.facts(photo(DocumentImage.table))
        let value = try #require(hole.quality.punchedHole)
        #expect(Limits.punchedHole.allows(value) == (share < 0.03), "\(value)")
        if share > 0.03 {
            let decision = ImageCheckRules.decide(hole, part: "FRONT")
            #expect(decision.type == .warning && decision.label == "PUNCHED")
        }
        // A seal of another colour, and a whole card.
        let seal = try #require(try self.facts(photo(Colour(190, 30, 40))).quality.punchedHole)
        #expect(Limits.punchedHole.allows(seal), "\(seal)")
        let whole = try #require(try self.facts(DocumentImage.photo(degrees: 6)).quality.punchedHole)
        #expect(Limits.punchedHole.allows(whole), "\(whole)")
    }

    /// 1.5, 5 and 10 mm deep on an ID-1 card, at each side.
    @Test(arguments: [0.018, 0.06, 0.12], 0..<4)
    func `A piece torn out of an edge is noticed, and what is smaller may be wear`(depth: Double, side: Int) throws {
        func photo(_ colour: Colour) -> TestImage {
            var card = DocumentImage.card()
            let (width, height) = (Double(card.width), Double(card.height))
            card.map { column, row, old in
                let (x, y) = (Double(column), Double(row))
                let inward = [y, width - x, height - y, x][side]
                let along = side % 2 == 0 ? x - 0.6 * width : y - 0.5 * height
                return abs(along) < 0.5 * (depth * width - inward) ? colour : old
            }
            return DocumentImage.photo(of: card, degrees: 6)
        }
        let torn = try self.facts(photo(DocumentImage.table))
        let value = try #require(torn.quality.tornEdge)
        #expect(Limits.tornEdge.allows(value) == (depth < 0.03), "\(value)")
        if depth > 0.03 {
            #expect(abs(value - depth) < 0.02, "\(value)")
            let decision = ImageCheckRules.decide(torn, part: "FRONT")
            #expect(decision.type == .warning && decision.label == "DAMAGED_DOCUMENT")
        }
        // A triangle of another colour is print, and a whole card has none.
        let printed = try #require(try self.facts(photo(Colour(190, 30, 40))).quality.tornEdge)
        #expect(Limits.tornEdge.allows(printed), "\(printed)")
        let whole = try #require(try self.facts(DocumentImage.photo(degrees: 6)).quality.tornEdge)
        #expect(whole == 0)
    }

    @Test func `Without a table around it, nothing is said about holes and tears`() throws {
        let facts = try self.facts(DocumentImage.card())
        #expect(facts.quality.tornEdge == nil)
        #expect(facts.quality.punchedHole == nil)
        #expect(ImageCheckRules.notAssessed(facts).contains("PUNCHED"))
        // On a table that looks like the card, a hole would show nothing.
        let alike = try self.facts(DocumentImage.photo(table: DocumentImage.paper))
        #expect(alike.quality.punchedHole == nil)
    }

    @Test func `Darkness is noticed`() throws {
        var photo = DocumentImage.photo()
        photo.map { _, _, colour in Colour(colour.red / 6, colour.green / 6, colour.blue / 6) }
        #expect(try self.label(photo) == "BAD_QUALITY_IMAGE")
    }

    @Test func `A document that leaves the frame is noticed`() throws {
        var cut = TestImage(width: 600, height: 680, DocumentImage.table)
        let photo = DocumentImage.photo()
        cut.map { x, y, _ in photo[x, y] }
        let facts = try self.facts(cut)
        #expect(facts.outline?.cornersOutside == 2)
        #expect(UsabilityRules.decide(facts, reading: .unproven, part: "FRONT").label == "PART_OF_DOCUMENT_MISSING")
    }

    @Test func `A thumb over the document is noticed`() throws {
        var photo = DocumentImage.photo(table: Colour(60, 70, 80))
        photo.map { x, y, colour in
            let (dx, dy) = ((Double(x) - 170) / 115, (Double(y) - 450) / 70)
            return dx * dx + dy * dy < 1 ? Colour(205, 145, 115) : colour
        }
        #expect(try self.label(photo) == "PART_OF_DOCUMENT_HIDDEN")
    }

    @Test func `A screen is noticed by its pixel grid`() throws {
        var screen = DocumentImage.photo(degrees: 3)
        screen.map { x, y, colour in
            // Sub-pixels of a display, 3.3 px apart, seen at a small angle.
            let phase = (Double(x) + 0.05 * Double(y)) * 2 * .pi / 3.3
            let down = (Double(y) - 0.05 * Double(x)) * 2 * .pi / 3.3
            let gain = 0.85 + 0.12 * sin(phase) + 0.12 * sin(down)
            func dimmed(_ value: UInt8) -> UInt8 { UInt8(min(255, Double(value) * gain)) }
            return Colour(dimmed(colour.red), dimmed(colour.green), dimmed(colour.blue))
        }
        #expect(ImageCheckRules.decide(try self.facts(screen), part: "FRONT").label == "DIGITAL_COPY")
    }
}
