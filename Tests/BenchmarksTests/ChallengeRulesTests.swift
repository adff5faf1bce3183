import Benchmarks
import Foundation
import TestSupport
import Testing

@testable import InspectCore

@Suite struct ChallengeRulesTests {
    private static let seed = TestRandom.seed

    /// The limits for 10,000 runs are those of `inspectd bench liveness`; fewer runs leave room for chance.
    @Test func `Simulated people pass colour flashes, and attackers do not`() async {
        let result = await onOwnThread { LivenessSimulation.colourFlash(runs: 300, seed: Self.seed) }
        #expect(result[.live].passRate >= 0.92, "seed \(Self.seed)")
        for subject in SimulatedSubject.allCases where subject != .live {
            #expect(result[subject].passed <= 12, "\(subject), seed \(Self.seed)")
        }
    }

    @Test func `Simulated people pass motions, and attackers do not`() async {
        // In halves, for two processors.
        async let first = onOwnThread { LivenessSimulation.motion(runs: 150, seed: Self.seed) }
        async let second = onOwnThread { LivenessSimulation.motion(runs: 150, seed: ~Self.seed) }
        let halves = await [first, second]
        func passed(_ subject: SimulatedSubject) -> Int { halves.map { $0[subject].passed }.reduce(0, +) }
        #expect(passed(.live) >= 276, "of 300, seed \(Self.seed)")
        for subject in SimulatedSubject.allCases where subject != .live {
            #expect(passed(subject) <= 18, "\(subject), seed \(Self.seed)")
        }
    }

    @Test func `The same seed gives the same runs`() {
        #expect(
            LivenessSimulation.motion(runs: 20, seed: 7).subjects
                == LivenessSimulation.motion(runs: 20, seed: 7).subjects)
    }

    @Test func `Guessing is counted over all sequences`() {
        #expect(LivenessChallenge(colours: [.red, .green, .red, .green, .red, .green]).guessRate() == 1.0 / 18_750)
        let eight: [LivenessChallenge.Colour] = [.red, .green, .red, .green, .red, .green, .red, .green]
        #expect(LivenessChallenge(colours: eight).guessRate() == 1.0 / 468_750)
        // Without blinks, each sequence is one of 4·3·3; a requested blink may occur by chance.
        #expect(abs(MotionRules.guessRate(steps: 3, motions: [.nod, .shake, .smile, .mouthOpen]) - 1.0 / 36) < 1e-12)
        #expect(MotionRules.guessRate(steps: 3, motions: LivenessChallenge.Step.allCases) > 1.0 / 80)
    }

    @Test func `Two shakes with another motion between are two`() {
        let simulation = MotionSimulation()
        var random = SplitMix64(seed: Self.seed)
        var passed = 0
        for between in [LivenessChallenge.Step.blink, .nod, .smile, .mouthOpen] {
            for _ in 0..<10 {
                var challenge = LivenessChallenge(steps: [.shake, between, .shake])
                let capture = simulation.capture(.live, &challenge, &random)
                if MotionRules.decide(challenge, capture).outcome == .pass { passed += 1 }
            }
        }
        #expect(passed >= 36, "of 40, seed \(Self.seed)")
    }

    /// Living faces in front of a screen that differs from the challenge in one colour.
    @Test func `A sequence that differs in one colour is another`() {
        let simulation = ColourFlashSimulation()
        var random = SplitMix64(seed: Self.seed)
        var passed = 0
        for _ in 0..<200 {
            let shown = simulation.challenge(&random)
            let capture = simulation.capture(.live, shown, &random)
            var asked = shown
            let index = Int.random(in: asked.colours.indices, using: &random)
            let around = [index - 1, index, index + 1].filter(shown.colours.indices.contains).map { shown.colours[$0] }
            let others = LivenessChallenge.Colour.allCases.filter { !around.contains($0) }
            asked.colours[index] = others[Int.random(in: others.indices, using: &random)]
            if ColourFlashRules.decide(asked, capture).outcome == .pass { passed += 1 }
        }
        // 283 of 80,000 passed (0.35 %): more than 6 of 200 come by chance once in 100,000 runs.
        #expect(passed <= 6, "of 200, seed \(Self.seed)")
    }

    @Test func `Burnt-out skin excuses a missing answer, and is no fault where the answer comes through`() {
        let simulation = ColourFlashSimulation()
        var random = SplitMix64(seed: 11)
        func verdict(_ subject: SimulatedSubject) -> LivenessVerdict {
            let challenge = simulation.challenge(&random)
            var capture = simulation.capture(subject, challenge, &random)
            for index in capture.frames.indices { capture.frames[index].face?.saturated = 0.6 }
            return ColourFlashRules.decide(challenge, capture)
        }
        let live = (0..<20).map { _ in verdict(.live) }
        #expect(live.count { $0.outcome == .pass } >= 17)
        let others = (0..<20).map { _ in verdict(.wrongSequence) }
        #expect(others.allSatisfy { $0.outcome != .pass })
        #expect(others.count { $0.reason == .tooBright } >= 15)
    }

    private static func still(_ count: Int) -> CaptureFacts {
        var random = SplitMix64(seed: 3)
        var challenge = LivenessChallenge(steps: [.nod])
        let simulation = MotionSimulation()
        var capture = simulation.capture(.plane, &challenge, &random)
        capture.frames = Array(capture.frames.prefix(count))
        return capture
    }

    @Test func `A capture of two people, with a cut, or of one image is rejected for every challenge`() {
        let challenge = LivenessChallenge(steps: [.nod], frameTimesMs: (0..<40).map { Double($0) * 66 - 660 })
        let good = Self.still(40)
        func reason(_ change: (inout CaptureFacts) -> Void) -> LivenessVerdict.Reason? {
            var capture = good
            change(&capture)
            return ChallengeRules.decide(challenge, capture).reason
        }
        #expect(reason { $0.keyFrames[2].distance = 0.8 } == .severalPeople)
        #expect(reason { $0.keyFrames[1].distanceToFace = 0.7 } == .severalPeople)
        #expect(reason { $0.frames[20].scene = 0.3 } == .cut)
        #expect(
            reason { capture in for index in capture.frames.indices { capture.frames[index].isRepeated = true } }
                == .repeatedFrames)
        #expect(reason { $0.frames[20].face?.box.x += 300 } == .faceLost)
        #expect(reason { $0.frames.removeLast() } == .invalidChallenge)
        #expect(ChallengeRules.decide(challenge, nil).decision.type == .warning)
    }

    private static let face = FaceFacts(
        box: Box(x: 100, y: 100, width: 250, height: 250), landmarks: [], detectionScore: 1.5,
        quality: FaceQuality(
            interEyeDistance: 100, roll: 0, yawOffset: 0, luminanceMean: 0.3, luminanceVariance: 0.02, overExposed: 0,
            underExposed: 0.05, illuminationUniformity: 0.7, dynamicRange: 7, chroma: 25, sharpness: 200, centreX: 0.5,
            eyeLineY: 0.6, headWidth: 0.5, visible: 1), embedding: nil)

    @Test func `A challenge that is met outweighs text around the face, which stays a finding`() throws {
        let simulation = ColourFlashSimulation()
        var random = SplitMix64(seed: 5)
        var met = 0
        for _ in 0..<20 {
            let challenge = simulation.challenge(&random)
            let capture = simulation.capture(.live, challenge, &random)
            guard ChallengeRules.decide(challenge, capture).decision.type == .passed else { continue }
            met += 1
            var request = InspectionRequest(workflow: .liveness)
            request.challenge = challenge
            var facts = InspectionFacts(request: request, parts: [.face, .frames])
            let image = ImageFacts(format: .jpeg, width: 640, height: 480, orientation: 1)
            let text = TextAroundFace(lines: 12, documentLines: 5)
            facts.faces = FaceStageFacts(
                images: ["FACE": FaceStageFacts.Image(image: image, faces: [Self.face], text: text)])
            facts.liveness = LivenessStageFacts(passive: nil, capture: capture)
            let result = InspectionDecider(facts: facts, today: CalendarDate(year: 2026, month: 11, day: 27)).decide()
            let record = try #require(result.capabilities.liveness?.first)
            #expect(record.decision.type == .passed && record.data?.reason == nil)
            #expect(record.data?.findings == ["document: text stands around the face"])
            #expect(record.data?.failedMeasurements?.map(\.name) == ["textLines", "documentLines"])
        }
        #expect(met > 0)
    }

    @Test func `Impossible times make a challenge invalid`() {
        func fault(_ change: (inout LivenessChallenge) -> Void) -> String? {
            var challenge = LivenessChallenge(colours: [.red, .green, .blue], ageMs: 5000, frameTimesMs: [-1, 0, 1])
            change(&challenge)
            return challenge.fault(frames: 3)
        }
        #expect(fault { _ in } == nil)
        #expect(fault { $0.frameTimesMs = [0, 0, 1] } != nil)
        #expect(fault { $0.frameTimesMs = [0, 1] } != nil)
        #expect(fault { $0.frameTimesMs = [0, 1, .infinity] } != nil)
        #expect(fault { $0.frameTimesMs = [0, 1, 6500] } != nil)
        #expect(fault { $0.colourMs = 200 } != nil)
        #expect(fault { $0.colours = [.red, .red] } != nil)
        #expect(fault { $0.colours = [] } != nil)
    }

    @Test func `One-frame blinks count, long closures and the end of a capture do not`() {
        let times = (0..<150).map { Double($0) * 40 }
        func blinks(_ closed: Range<Int>) -> Int {
            var openings = [Double?](repeating: 0.3, count: 150)
            for index in closed { openings[index] = 0.1 }
            return BlinkDetector.blinks(timesMs: times, openings: openings).count
        }
        #expect(blinks(70..<71) == 1)
        #expect(blinks(70..<75) == 1)
        #expect(blinks(70..<130) == 0)
        #expect(blinks(145..<150) == 0)
        #expect(blinks(0..<0) == 0)
        let unseen = [Double?](repeating: nil, count: 150)
        #expect(BlinkDetector.blinks(timesMs: times, openings: unseen).isEmpty)
    }

    @Test func `Result codes are those of the face SDK`() {
        #expect(LivenessVerdict(outcome: .pass).resultCode == 1)
        #expect(LivenessVerdict(outcome: .inconclusive, reason: .tooBright).resultCode == 53)
        #expect(LivenessVerdict(outcome: .inconclusive, reason: .timeout).resultCode == 60)
        #expect(LivenessVerdict(outcome: .fail, reason: .wrongColours).resultCode == nil)
    }
}
