import Foundation
import Testing

@testable import InspectCore

@Suite struct ShadowTests {
    private let today = CalendarDate(year: 2026, month: 6, day: 1)

    /// A passport whose check digits hold.
    private func facts(
        brightness: Double = 150, moire: Double = 1.5, workflow: Workflow = .id, parts: [PartKind] = [.front]
    ) -> InspectionFacts {
        let quad = Quad(
            topLeft: Point(x: 100, y: 100), topRight: Point(x: 1350, y: 100), bottomRight: Point(x: 1350, y: 980),
            bottomLeft: Point(x: 100, y: 980))
        let lines = ["P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<", "L898902C36UTO7408122F3404159ZE184226B<<<<<16"]
        let side = DocumentFacts(
            image: ImageFacts(format: .jpeg, width: 1500, height: 1100, orientation: 1),
            outline: OutlineFacts(quad: quad, aspectRatio: 1.42, cornersOutside: 0, support: 0.9),
            quality: QualityFacts(
                laplacianVariance: 300, edgeWidth: 2.5, brightness: brightness, contrast: brightness < 50 ? 10 : 50,
                glareShare: 0, chroma: 60, backgroundChroma: 40, documentWidth: 1250, printShare: 0.05,
                midtoneShare: 0.8, moire: moire),
            mrz: MRZReading(lines: lines, confidences: [], quad: quad, pitch: 20, corrections: 0), barcodes: [],
            faces: [])
        var facts = InspectionFacts(request: InspectionRequest(workflow: workflow), parts: parts)
        facts.documents = DocumentStageFacts(sides: ["FRONT": side])
        return facts
    }

    private func changes(_ numbers: [String: [Double]]) throws -> LimitChanges {
        var changes = LimitChanges()
        for (name, numbers) in numbers { try changes.set(name, to: numbers) }
        return changes
    }

    /// Also expects that the inspection's own result is the same before and after.
    private func compare(_ facts: InspectionFacts, _ numbers: [String: [Double]]) throws -> ShadowComparison {
        let decider = InspectionDecider(facts: facts, today: self.today)
        let document = decider.decide()
        let shadow = ShadowComparison(
            of: document, facts: facts, today: self.today, isGated: true, changes: try self.changes(numbers))
        #expect(ResultEnvelope.json(decider.decide()) == ResultEnvelope.json(document))
        #expect(shadow.decision == document.decision.type && shadow.workflow == facts.request.workflow)
        return shadow
    }

    private func label(_ capability: Capability, _ label: DecisionLabel) -> ShadowComparison.Label {
        ShadowComparison.Label(capability: capability.rawValue, label: label.rawValue)
    }

    @Test func `A stricter limit rejects in the shadow alone`() throws {
        let shadow = try self.compare(self.facts(), ["hopelessBlur": [2]])
        #expect(shadow.outcome == .stricter && shadow.documentType == "PASSPORT")
        #expect(shadow.decision == .passed && shadow.shadowDecision == .rejected)
        #expect(shadow.added == [self.label(.usability, .blurred)] && shadow.removed.isEmpty)
    }

    @Test func `A looser limit removes the label that today's gives`() throws {
        let shadow = try self.compare(self.facts(moire: 6), ["moire": [7]])
        #expect(shadow.outcome == .milder && shadow.decision == .rejected && shadow.shadowDecision == .passed)
        #expect(shadow.removed == [self.label(.imageChecks, .digitalCopy)] && shadow.added.isEmpty)
    }

    @Test func `A limit that decides nothing here changes nothing`() throws {
        let shadow = try self.compare(self.facts(), ["moire": [5], "roll": [-20, 20]])
        #expect(shadow.outcome == .same && shadow.added.isEmpty && shadow.removed.isEmpty)
    }

    @Test func `Other labels of the same decision are a difference`() throws {
        let shadow = try self.compare(self.facts(brightness: 30), ["hopelessBlur": [2], "brightness": [20]])
        #expect(shadow.outcome == .relabelled && shadow.shadowDecision == .rejected)
        #expect(shadow.added == [self.label(.usability, .blurred)])
        #expect(shadow.removed == [self.label(.usability, .badQualityImage)])
    }

    @Test func `What was not measured since today's limits rejected the image is not guessed`() throws {
        let facts = self.facts(brightness: 30, workflow: .idIdentity, parts: [.front, .face])
        let shadow = try self.compare(facts, ["brightness": [20]])
        #expect(shadow.outcome == .incomplete && shadow.documentType == "PASSPORT")
        // Not the labels of a similarity and a liveness without a face.
        #expect(shadow.removed == [self.label(.usability, .badQualityImage)] && shadow.added.isEmpty)
        // Nor is the VIZ of such an image read.
        #expect(try self.compare(self.facts(brightness: 30), ["brightness": [20]]).outcome == .incomplete)
    }

    @Test func `Another analysis is compared by its decision, its labels and the fields that it reads`() throws {
        let facts = self.facts()
        var other = self.facts(moire: 6)
        let lines = ["P<UTOERIKSSON<<BRITTA<<<<<<<<<<<<<<<<<<<<<<", "L898902C36UTO7408122F3404159ZE184226B<<<<<16"]
        var side = try #require(other.documents?.sides["FRONT"])
        side.mrz = MRZReading(
            lines: [lines[0].padding(toLength: 44, withPad: "<", startingAt: 0), lines[1]], confidences: [],
            quad: try #require(side.mrz).quad, pitch: 20, corrections: 0)
        other.documents?.sides["FRONT"] = side
        func decided(_ facts: InspectionFacts) -> ResultDocument {
            InspectionDecider(facts: facts, today: self.today).decide()
        }
        let shadow = ShadowComparison(
            of: decided(facts), facts: facts, today: self.today, with: decided(other), facts: other,
            changes: LimitChanges())
        #expect(shadow.outcome == .stricter && shadow.documentType == "PASSPORT")
        #expect(shadow.added == [self.label(.imageChecks, .digitalCopy)])
        #expect(Set(shadow.fields.map(\.name)) == ["firstName", "mrzLine1"])
        #expect(shadow.fields.allSatisfy { $0.change == .changed })

        other.documents?.sides["FRONT"]?.mrz = nil
        let unread = ShadowComparison(
            of: decided(facts), facts: facts, today: self.today, with: decided(other), facts: other,
            changes: LimitChanges())
        #expect(unread.fields.contains(ShadowComparison.Field(name: "documentNumber", change: .removed)))
        let same = ShadowComparison(
            of: decided(facts), facts: facts, today: self.today, with: decided(facts), facts: facts,
            changes: LimitChanges())
        #expect(same.outcome == .same && same.fields.isEmpty)
    }

    @Test func `Changed limits stay in force while something is waited for`() async throws {
        let limit = Limits.moire
        let changes = try self.changes(["moire": [1]])
        let inForce = await changes.whileInForce {
            await Task.yield()
            return limit.allows(3)
        }
        #expect(!inForce && limit.allows(3))
    }

    @Test func `A job without a document is counted as such`() throws {
        var facts = self.facts(workflow: .liveness, parts: [.face])
        facts.documents = nil
        #expect(try self.compare(facts, ["sharpness": [20]]).documentType == "NONE")
    }

    @Test func `Unknown names and wrong counts of numbers are refused`() throws {
        #expect(throws: LimitChanges.Refusal.unknown) { try self.changes(["blurr": [1]]) }
        // A plain number that directs the reading.
        #expect(throws: LimitChanges.Refusal.unknown) { try self.changes(["sureVIZText": [0.9]]) }
        for numbers in [[], [1, 2]] as [[Double]] {
            #expect(throws: LimitChanges.Refusal.takes(numbers: 1)) { try self.changes(["blur": numbers]) }
        }
        for numbers in [[], [0.5], [0.7, 0.3], [0.1, 0.2, 0.3]] as [[Double]] {
            #expect(throws: LimitChanges.Refusal.takes(numbers: 2)) { try self.changes(["centreX": numbers]) }
        }
    }

    @Test func `Every limit has a name, and a change is in force for it alone and only as long as asked`() throws {
        for (name, limit) in Limits.byName {
            let (good, numbers): (Double, [Double]) =
                switch limit.bound {
                case .atMost(let number): (number, [number - 1])
                case .atLeast(let number): (number, [number + 1])
                case .below(let number): (number - 0.5, [number - 1])
                case .above(let number): (number + 0.5, [number + 1])
                case .within(let range): (range.lowerBound, [range.upperBound + 1, range.upperBound + 2])
                }
            #expect(limit.allows(good), "\(name)")
            try self.changes([name: numbers]).inForce {
                #expect(!limit.allows(good), "\(name)")
                for (other, value) in Limits.byName where other != name {
                    #expect(LimitChanges.bound(of: value) == value.bound, "\(name) changes \(other)")
                }
            }
            #expect(limit.allows(good), "\(name)")
        }
    }

    /// Reads the source: a limit that is missing in the table cannot be changed.
    @Test func `The table of names has every limit`() throws {
        let folder = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Sources/InspectCore/Rules")
        var names: Set<String> = []
        for file in try FileManager.default.contentsOfDirectory(atPath: folder.path) where file.hasPrefix("Limits") {
            let text = try String(contentsOf: folder.appendingPathComponent(file), encoding: .utf8)
            names.formUnion(text.matches(of: /static let (\w+) = Limit\(/).map { String($0.1) })
        }
        #expect(names.count > 60)
        #expect(names == Set(LimitChanges.names))
    }
}
