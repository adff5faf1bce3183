import Foundation
import Testing

@testable import InspectCore

/// What a partner's decision policy changes of a decision, and how the risk follows from the findings.
@Suite struct DecisionPolicyTests {
    /// ICAO Doc 9303-4's specimen: born on 12 August 1974, valid until 15 April 2034.
    private let passport = [
        "P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<", "L898902C36UTO7408122F3404159ZE184226B<<<<<16",
    ]

    private func side(_ lines: [String]?) -> DocumentFacts {
        let quad = Quad(
            topLeft: Point(x: 100, y: 100), topRight: Point(x: 1350, y: 100), bottomRight: Point(x: 1350, y: 980),
            bottomLeft: Point(x: 100, y: 980))
        return DocumentFacts(
            image: ImageFacts(format: .jpeg, width: 1500, height: 1100, orientation: 1),
            outline: OutlineFacts(quad: quad, aspectRatio: 1.42, cornersOutside: 0, support: 0.9),
            quality: QualityFacts(
                laplacianVariance: 300, edgeWidth: 2.5, brightness: 150, contrast: 50, glareShare: 0, chroma: 60,
                backgroundChroma: 40, documentWidth: 1250, printShare: 0.05, midtoneShare: 0.8, moire: 1.5),
            mrz: lines.map { MRZReading(lines: $0, confidences: [], quad: quad, pitch: 20, corrections: 0) },
            barcodes: [], faces: [])
    }

    private func decide(
        _ lines: [String]? = nil, on day: (Int, Int, Int), _ change: (inout DecisionPolicy) -> Void
    ) -> ResultDocument {
        var policy = DecisionPolicy(version: 4)
        change(&policy)
        var request = InspectionRequest(workflow: .id)
        request.decisionPolicy = policy
        var facts = InspectionFacts(request: request, parts: [.front])
        facts.documents = DocumentStageFacts(sides: ["FRONT": self.side(lines ?? self.passport)])
        let today = CalendarDate(year: day.0, month: day.1, day: day.2)
        return InspectionDecider(facts: facts, today: today).decide()
    }

    private func checks(_ result: ResultDocument) -> DataCheckData.Outcome? {
        result.capabilities.dataChecks?.first?.data?.checks.first { $0.name == "minimumAge" }?.outcome
    }

    @Test func `The result names the policy's version, and none without a policy`() {
        #expect(self.decide(on: (2026, 6, 1)) { _ in }.policyVersion == 4)
        var facts = InspectionFacts(request: InspectionRequest(workflow: .id), parts: [.front])
        facts.documents = DocumentStageFacts(sides: ["FRONT": self.side(self.passport)])
        let today = CalendarDate(year: 2026, month: 6, day: 1)
        let plain = InspectionDecider(facts: facts, today: today).decide()
        #expect(plain.policyVersion == nil && plain.decision == Decision(.passed, "PASSED", risk: 0))
        #expect(String(decoding: ResultEnvelope.json(plain.summary), as: UTF8.self).contains("policyVersion") == false)
    }

    @Test func `An expired document passes within the days of grace, and after them warns or is rejected`() throws {
        // The last day of validity, and those after it.
        #expect(self.decide(on: (2034, 4, 15)) { _ in }.decision == Decision(.passed, "PASSED", risk: 0))
        let warned = self.decide(on: (2034, 4, 16)) { _ in }
        #expect(warned.decision.type == .warning && warned.decision.risk?.score == 43)
        let granted = self.decide(on: (2034, 5, 15)) { $0.expiryGraceDays = 30 }
        #expect(granted.decision.type == .passed)
        #expect(
            granted.decision.risk
                == Decision.Risk(score: 9, findings: [.init(name: "dataChecks.EXPIRED_WITHIN_GRACE", weight: 30)]))
        #expect(self.decide(on: (2034, 5, 16)) { $0.expiryGraceDays = 30 }.decision.type == .warning)
        let rejected = self.decide(on: (2034, 5, 16)) {
            $0.expiryGraceDays = 30
            $0.rejectExpired = true
        }
        #expect(rejected.decision.type == .rejected && rejected.decision.risk?.score == 80)
        #expect(
            rejected.capabilities.dataChecks?.first?.decision.details.label
                == "DOCUMENT_EXPIRY_WITHIN_CONFIGURED_LIMIT")
        #expect(rejected.reasons.map(\.code) == [.documentExpired])
    }

    @Test func `Who is below the minimum age is rejected, and an unknown age never passes`() {
        // 51 years old, 52 in two months.
        #expect(self.decide(on: (2026, 6, 1)) { $0.minimumAge = 51 }.decision.type == .passed)
        #expect(self.decide(on: (2026, 8, 12)) { $0.minimumAge = 52 }.decision.type == .passed)
        let young = self.decide(on: (2026, 8, 11)) { $0.minimumAge = 52 }
        #expect(young.decision.type == .rejected && young.decision.risk?.score == 86)
        #expect(young.reasons.map(\.code) == [.underage] && self.checks(young) == .fail)
        // A date of birth of fillers only, with the check digits that belong to it.
        let unknown = [
            "P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<", "L898902C36UTO<<<<<<0F3404159ZE184226B<<<<<16",
        ]
        let result = self.decide(unknown, on: (2026, 6, 1)) { $0.minimumAge = 18 }
        #expect(self.checks(result) == .inconclusive && result.decision.type != .passed)
        #expect(self.checks(self.decide(on: (2026, 6, 1)) { _ in }) == nil)
    }

    @Test func `A day of birth that the year lacks is the day after`() {
        let birth = CalendarDate(year: 2008, month: 2, day: 29)
        #expect(CalendarDate(year: birth.year + 18, month: 2, day: 29) > CalendarDate(year: 2026, month: 2, day: 28))
        #expect(CalendarDate(year: birth.year + 18, month: 2, day: 29) < CalendarDate(year: 2026, month: 3, day: 1))
        let later = CalendarDate(year: 2024, month: 2, day: 28).adding(days: 2)
        #expect(later == CalendarDate(year: 2024, month: 3, day: 1))
    }

    /// An enrolment or a liveness check by passive signals that found nothing.
    private func person(_ workflow: Workflow, _ change: (inout DecisionPolicy) -> Void) -> ResultDocument {
        var policy = DecisionPolicy(version: 1)
        change(&policy)
        var request = InspectionRequest(workflow: workflow)
        request.passiveSignalsSuffice = true
        request.decisionPolicy = policy
        var facts = InspectionFacts(request: request, parts: [.face])
        facts.faces = FaceStageFacts(
            images: [
                "FACE": FaceStageFacts.Image(
                    image: ImageFacts(format: .jpeg, width: 640, height: 480, orientation: 1), faces: [Sample.face()])
            ])
        let signals = LivenessFacts.Signal.allCases.map { ($0.rawValue, 0.1) }
        facts.liveness = LivenessStageFacts(
            passive: LivenessFacts(signals: Dictionary(uniqueKeysWithValues: signals), metadata: ImageMetadata()))
        facts.enrolled = EnrolledFace(generation: 0, templates: [])
        return InspectionDecider(facts: facts, today: CalendarDate(year: 2026, month: 6, day: 1)).decide()
    }

    @Test func `Liveness passes only with the assurance that the policy needs`() throws {
        let passed = self.person(.liveness) { $0.livenessAssurance = .evidence }
        #expect(passed.decision.type == .passed && passed.faceSdk?.outcome == .success)
        #expect(passed.decision.risk?.findings?.map(\.name) == ["liveness.EVIDENCE_ONLY"])
        #expect(passed.decision.risk?.score == 15)
        for least in [Assurance.challenge, .certifiedVendor] {
            let result = self.person(.liveness) { $0.livenessAssurance = least }
            #expect(result.decision.type == .warning && result.faceSdk?.outcome == .livenessFailed)
            let record = try #require(result.capabilities.liveness?.first)
            #expect(record.decision.details.label == "LIVENESS_UNDETERMINED")
            #expect(record.data?.reason == "the partner's policy needs \(least.rawValue)")
        }
    }

    @Test func `An enrolment can need proof of life`() {
        func enrolled(_ change: (inout DecisionPolicy) -> Void) -> CapabilityRecord<EnrollmentData>? {
            self.person(.enrollment, change).capabilities.enrollment?.first
        }
        #expect(enrolled { _ in }?.decision.type == .passed)
        #expect(enrolled { $0.enrollmentAssurance = .evidence }?.decision.type == .passed)
        let refused = enrolled { $0.enrollmentAssurance = .challenge }
        #expect(refused?.decision.details.label == "NOT_ENROLLED")
        #expect(refused?.data?.reasons == ["LIVENESS_UNDETERMINED"])
        #expect(self.person(.enrollment) { $0.enrollmentAssurance = .challenge }.faceSdk?.outcome != .success)
    }

    @Test func `Decisions wait for a review by label or by risk, and what was not decided never does`() {
        func waits(_ day: (Int, Int, Int), _ change: (inout DecisionPolicy) -> Void) -> Bool {
            var policy = DecisionPolicy(version: 4)
            change(&policy)
            return policy.asksForReview(of: self.decide(on: day, change))
        }
        let (valid, expired) = ((2026, 6, 1), (2034, 4, 16))
        #expect(!waits(valid) { _ in } && !waits(expired) { _ in })
        #expect(waits(expired) { $0.reviewLabels = ["DOCUMENT_EXPIRY_WITHIN_CONFIGURED_LIMIT"] })
        #expect(!waits(valid) { $0.reviewLabels = ["DOCUMENT_EXPIRY_WITHIN_CONFIGURED_LIMIT"] })
        #expect(waits(expired) { $0.reviewRisk = 43 } && !waits(expired) { $0.reviewRisk = 44 })
        #expect(waits(valid) { $0.reviewRisk = 0 })
        var policy = DecisionPolicy(version: 1)
        policy.reviewRisk = 0
        policy.reviewLabels = ["TECHNICAL_ERROR"]
        #expect(!policy.asksForReview(of: .notExecuted(InspectError(.corruptImage))))
    }

    @Test func `The risk stays in the decision's band, and another finding never lowers it`() {
        func risk(_ type: DecisionType, _ labels: [DecisionLabel]) -> Decision.Risk {
            var capabilities = Capabilities()
            capabilities.imageChecks = labels.map {
                CapabilityRecord(parts: ["FRONT"], decision: Decision(type, $0.rawValue), data: nil)
            }
            return RiskRules.risk(of: type, capabilities)
        }
        let all = DecisionLabel.allCases
        for type in [DecisionType.warning, .rejected] {
            for (n, label) in all.enumerated() {
                let one = risk(type, [label])
                #expect(type.riskBand.contains(one.score), "\(label)")
                #expect(risk(type, [label, all[(n + 7) % all.count]]).score >= one.score, "\(label)")
                #expect(one.findings?.map(\.weight) == (label.risk == 0 ? nil : [label.risk]))
            }
            #expect(risk(type, []).score == type.riskBand.lowerBound)
            #expect(risk(type, all).score == type.riskBand.upperBound)
        }
        #expect(risk(.rejected, [.mrzChecksum]).score == 94 && risk(.warning, [.glare]).score == 35)
        // Twice the same finding is one.
        #expect(risk(.rejected, [.glare, .glare]) == risk(.rejected, [.glare]))
        #expect(risk(.notExecuted, [.technicalError]) == Decision.Risk(score: -1))
    }

    @Test func `A policy is read as the database writes it`() throws {
        let text = """
            {"workflow":"id","decisionPolicy":{"version":3,"minimumAge":18,"expiryGraceDays":7,"rejectExpired":true,
            "livenessAssurance":"certified-vendor","enrollmentAssurance":"challenge","reviewLabels":["GLARE"],"reviewRisk":50}}
            """
        let policy = try #require(
            JSONDecoder().decode(InspectionRequest.self, from: Data(text.utf8)).decisionPolicy)
        #expect(policy.version == 3 && policy.minimumAge == 18 && policy.expiryGraceDays == 7)
        #expect(policy.rejectExpired == true && policy.reviewLabels == ["GLARE"] && policy.reviewRisk == 50)
        #expect(policy.livenessAssurance == .certifiedVendor && policy.enrollmentAssurance == .challenge)
    }
}
