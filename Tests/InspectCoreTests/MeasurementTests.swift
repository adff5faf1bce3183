import Testing

@testable import InspectCore

/// Reports' tables agree with the rules' decisions for all measurements.
@Suite struct MeasurementTests {
    /// A seeded generator, so that a failure can be reproduced.
    private struct Dice: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            // Knuth's linear congruential generator (MMIX); its upper bits are the good ones.
            self.state = self.state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return self.state >> 32 | self.state << 32
        }

        mutating func chance(_ probability: Double) -> Bool { Double.random(in: 0..<1, using: &self) < probability }
        mutating func number(_ range: ClosedRange<Double>) -> Double { Double.random(in: range, using: &self) }
    }

    /// Measurements of all sizes, many of them beyond a limit.
    private func side(_ dice: inout Dice, withText: Bool) -> DocumentFacts {
        let width = Int.random(in: 100...4000, using: &dice)
        let height = Int.random(in: 100...4000, using: &dice)
        let quad = Quad(
            topLeft: Point(x: dice.number(-200...100), y: dice.number(-200...100)),
            topRight: Point(x: Double(width), y: 0), bottomRight: Point(x: Double(width), y: Double(height)),
            bottomLeft: Point(x: 0, y: Double(height)))
        let outline = OutlineFacts(
            quad: quad, aspectRatio: dice.number(1...2.2), cornersOutside: Int.random(in: 0...4, using: &dice),
            support: dice.number(0.5...1))
        let hasOutline = dice.chance(0.6)
        var facts = DocumentFacts(
            image: ImageFacts(format: .jpeg, width: width, height: height, orientation: 1),
            outline: hasOutline ? outline : nil,
            quality: QualityFacts(
                laplacianVariance: dice.chance(0.3) ? dice.number(1...40) : dice.number(40...500),
                edgeWidth: dice.number(1...8),
                brightness: dice.chance(0.3) ? dice.number(10...60) : dice.number(60...220),
                contrast: dice.chance(0.3) ? dice.number(2...26) : dice.number(26...80),
                glareShare: dice.chance(0.7) ? 0 : dice.number(0...0.2),
                chroma: dice.chance(0.3) ? dice.number(0...5) : dice.number(5...80),
                backgroundChroma: hasOutline && dice.chance(0.8) ? dice.number(0...40) : nil,
                documentWidth: dice.number(200...2000), printShare: dice.chance(0.9) ? dice.number(0...0.05) : nil,
                midtoneShare: dice.chance(0.9) ? dice.number(0...1) : nil, moire: dice.number(0...8),
                occlusion: hasOutline ? max(0, dice.number(-0.06...0.06)) : nil,
                balancedChroma: dice.chance(0.9) ? dice.number(0...30) : nil,
                missingCorner: hasOutline && dice.chance(0.8) ? dice.number(0...1) : nil,
                punchedHole: hasOutline && dice.chance(0.8) ? dice.number(0...1) : nil,
                tornEdge: hasOutline && dice.chance(0.8) ? max(0, dice.number(-0.1...0.1)) : nil,
                halftone: dice.chance(0.7) ? dice.number(0...1) : nil,
                coherence: dice.chance(0.9) ? dice.number(0...1) : nil),
            mrz: nil, barcodes: [], faces: [])
        guard withText else { return facts }
        if dice.chance(0.4) {
            facts.mrz = MRZReading(
                lines: dice.chance(0.5) ? ["A", "B"] : Array(repeating: String(repeating: "<", count: 44), count: 2),
                confidences: [], quad: quad, pitch: dice.number(4...20), corrections: 0,
                centres: [0.0, 60].map { down in
                    let start = Point(x: dice.number(0...400), y: dice.number(0...2000) + down)
                    return Segment(start: start, end: Point(x: start.x + dice.number(200...1500), y: start.y))
                })
        }
        if dice.chance(0.3) { facts.barcodes = [BarcodeFacts(format: "PDF417", text: "", bytesHex: "", quad: quad)] }
        if dice.chance(0.4) { facts.faces = [Sample.face()] }
        return facts
    }

    @Test func `Without a face, its share does not apply`() {
        var dice = Dice(state: 3)
        var facts = self.side(&dice, withText: false)
        facts.faces = []
        let row = UsabilityRules.measurements(facts, reading: .none).first { $0.name == "faceShare" }
        #expect(row?.limit != nil && row?.value == nil && row?.outcome == nil && row?.note == "no face was found")
        let html = ReportTables.measurements([row].compactMap { $0 }).html
        #expect(html.contains("does not apply") && !html.contains("✓"))
    }

    @Test func `A side is rejected exactly when the table of its measurements shows a failure`() {
        var dice = Dice(state: 1)
        var rejected = 0
        for _ in 0..<5000 {
            let facts = self.side(&dice, withText: true)
            for reading in [ReadingEvidence.none, .unproven, .proven] {
                let decision = UsabilityRules.decide(facts, reading: reading, part: "FRONT")
                let failures = UsabilityRules.measurements(facts, reading: reading).filter { $0.outcome == .fail }
                // An image that shows no document is not judged any further, so the table may hold more.
                #expect((decision.type == .rejected) == !failures.isEmpty, "\(decision.label) \(failures.map(\.name))")
                rejected += decision.type == .rejected ? 1 : 0
            }
        }
        // Both kinds must have been tried.
        #expect((1000...14_000).contains(rejected))
    }

    @Test func `A rejection before reading is final, and a pass needs no text`() {
        var dice = Dice(state: 2)
        var seen: Set<DecisionType> = []
        for _ in 0..<5000 {
            let facts = self.side(&dice, withText: false)
            let early = UsabilityRules.decideBeforeReading(facts, part: "FRONT")
            seen.insert(early.type)
            if early.type == .passed {
                #expect(UsabilityRules.decide(facts, reading: .none, part: "FRONT") == .passed)
            }
            guard early.type == .rejected else { continue }
            let extended = self.side(&dice, withText: true)
            var full = facts
            (full.mrz, full.barcodes, full.faces) = (extended.mrz, extended.barcodes, extended.faces)
            for reading in [ReadingEvidence.none, .unproven, .proven] {
                #expect(UsabilityRules.decide(full, reading: reading, part: "FRONT").type == .rejected)
            }
        }
        #expect(seen == [.passed, .warning, .rejected])
    }

    @Test func `A face has the faults that its measurements show`() {
        var dice = Dice(state: 3)
        for _ in 0..<2000 {
            let face = Sample.face { quality in
                quality.interEyeDistance = dice.number(20...200)
                quality.roll = dice.number(-40...40)
                quality.yawOffset = dice.number(-0.5...0.5)
                quality.luminanceMean = dice.number(0...1)
                quality.dynamicRange = dice.number(2...8)
                quality.visible = dice.number(0.4...1)
                quality.sharpness = dice.number(1...100)
            }
            let failures = FaceConformity.measurements(face.quality, isJudged: true).contains { $0.outcome == .fail }
            #expect(FaceConformity(faces: [face]).isConform == !failures)
        }
    }

    @Test func `Every limit has a source and separates the values on its two sides`() {
        let limit = Limit(.within(1...2), "a standard")
        #expect(limit.allows(1) && limit.allows(2) && !limit.allows(0.99) && !limit.allows(2.01))
        #expect(Limit(.atMost(1), "").allows(1) && !Limit(.below(1), "").allows(1))
        #expect(Limit(.atLeast(1), "").allows(1) && !Limit(.above(1), "").allows(1))
        let missing = Measurement("occlusion", nil, Limits.occlusion, note: "no outline")
        #expect(missing.outcome == .inconclusive && missing.note == "no outline")
        #expect(Measurement("edgeWidth", 2).outcome == nil)
    }
}
