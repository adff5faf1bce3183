import Testing

@testable import InspectCore

/// What the motions of one face look like in the track, from measured frames.
@Suite struct MotionTests {
    /// One frame: heights in pixels, turn in degrees, opening and width as in ``CaptureFacts/Face``.
    private struct Measured {
        var turn = -3.0
        var drop = 0.747
        var distance = 85.2
        var eyes = 217.1
        var nose = 280.8
        var opening = 0.258
        var mouth = 1.38

        var face: CaptureFacts.Face {
            let grey = LinearColour(red: 0.3, green: 0.3, blue: 0.3)
            let eyes = [-0.65, -0.35, 0.65, 0.35].map { Point(x: 320 + $0 * self.distance, y: self.eyes) }
            return CaptureFacts.Face(
                box: Box(x: 220, y: 150, width: 200, height: 200), landmarks: eyes + [Point(x: 318, y: self.nose)],
                eyeOpening: self.opening, mouthOpening: 0, mouthWidth: self.mouth, yaw: self.turn, noseDrop: self.drop,
                eyeDistance: self.distance, forehead: grey, cheeks: grey, nose: grey, background: nil, saturated: 0)
        }
    }

    /// A person at rest for two seconds, 15 frames a second, then these frames, then at rest again.
    private func verdict(
        _ steps: [LivenessChallenge.Step], _ frames: [Measured], rest: [Measured] = [Measured()]
    ) -> LivenessVerdict {
        let still = (0..<30).map { rest[$0 % rest.count] }
        let all = still + frames + still
        let times = all.indices.map { -600 + Double($0) * 1000 / 15 }
        let challenge = LivenessChallenge(steps: steps, frameTimesMs: times)
        let facts = all.map { CaptureFacts.Frame(face: $0.face, scene: 0.97) }
        return MotionRules.decide(
            challenge, CaptureFacts(width: 640, height: 480, frames: facts, keyFrames: []))
    }

    /// The lids hide the eyes, of which two points then lie at the brows in all frames but one.
    private static let blink = [
        Measured(turn: 0.5, drop: 0.7513, distance: 84.89, eyes: 217.38, nose: 281.2, opening: 0.253),
        Measured(turn: 5.8, drop: 0.8052, distance: 91.65, eyes: 206.42, nose: 280.3, opening: 0.103),
        Measured(turn: -5.0, drop: 0.6714, distance: 90.65, eyes: 218.28, nose: 279.2, opening: 0),
        Measured(turn: -0.8, drop: 0.8294, distance: 90.01, eyes: 205.61, nose: 280.3, opening: 0.131),
        Measured(turn: 0.1, drop: 0.8147, distance: 91.66, eyes: 205.61, nose: 280.3, opening: 0.131),
        Measured(turn: -2.1, drop: 0.7485, distance: 84.62, eyes: 216.93, nose: 280.3, opening: 0.263),
    ]

    @Test func `A blink whose eye points jump while the nose stays is a blink and no nod`() {
        let seen = self.verdict([.blink], Self.blink)
        #expect(seen.outcome == .pass, "\(seen)")
        #expect(seen.scores["seen BLINK"] == 1 && seen.scores["seen NOD"] == nil, "\(seen.scores)")
        // Nor does it pass where a nod is asked for.
        #expect(self.verdict([.nod], Self.blink).outcome == .inconclusive)
    }

    @Test func `A head that goes down with its nose nods, and its sinking lids are no blink`() {
        let nod = [0.3, 0.7, 1, 1, 1, 1, 1, 1, 0.7, 0.3].map { level in
            Measured(
                drop: 0.747 + 0.05 * level, eyes: 217.1 + 35 * level, nose: 280.8 + 40 * level,
                opening: 0.258 * (1 - 0.45 * level))
        }
        let seen = self.verdict([.nod], nod)
        #expect(seen.outcome == .pass, "\(seen)")
        #expect(seen.scores["seen BLINK"] == nil, "\(seen.scores)")
        #expect(self.verdict([.shake], nod).reason == .wrongMotion)
    }

    /// Measured on a portrait with thin, closed lips.
    private static let faint = [0.57, 1.13, 0.58, 0.57, 0.58, 0.57, 0.57, 0, 1.12].map { Measured(mouth: $0) }

    @Test func `A line between the lips that is found in part at times is no smile when it is found whole`() {
        let whole = [1.10, 1.08, 1.08, 1.1, 1.08, 1.13, 1.13, 1.15, 1.13].map { Measured(mouth: $0) }
        let still = self.verdict([.smile], whole, rest: Self.faint)
        #expect(still.outcome == .inconclusive && still.scores["seen SMILE"] == nil, "\(still)")
        let lids = Self.blink.map { frame in
            var frame = frame
            frame.mouth = 1.13
            return frame
        }
        let blinked = self.verdict([.blink], whole + lids, rest: Self.faint)
        #expect(blinked.outcome == .pass, "\(blinked)")
        let smile = [1.17, 0.66, 1.29, 1.33, 1.33, 1.33, 1.35, 1.31, 1.36, 1.35, 1.35, 1.31, 1.45, 1.35, 1.31, 1.26]
        let smiling = self.verdict([.smile], smile.map { Measured(mouth: $0) }, rest: Self.faint)
        #expect(smiling.outcome == .pass, "\(smiling)")
    }
}
