internal import Foundation
package import InspectCore

/// Simulates the track of a face whose owner is asked for motions.
///
/// Landmarks and measures have the noise that the tracker shows on captures of people at rest; people react after a moment,
/// with motions of different strength, and blink spontaneously. It does not model faces that the detector loses, or masks.
package struct MotionSimulation: Sendable {
    /// Motions of a challenge.
    package var steps = 3
    /// The motions that are drawn from.
    package var motions = LivenessChallenge.Step.allCases

    package init() {}

    /// Draws a challenge; its frames follow with the capture.
    package func challenge(_ random: inout SplitMix64) -> LivenessChallenge {
        LivenessChallenge(steps: random.sequence(of: self.motions, count: self.steps), stepTimeoutMs: 7000)
    }

    /// The frames of a subject before a challenge, with their times.
    package func capture(
        _ subject: SimulatedSubject, _ challenge: inout LivenessChallenge, _ random: inout SplitMix64
    ) -> CaptureFacts {
        var made = challenge.steps
        if [.replay, .wrongSequence, .guess].contains(subject) {
            repeat {
                made = random.sequence(of: self.motions, count: made.count)
            } while made == challenge.steps && subject != .guess
        }
        if subject == .plane { made = [] }
        // Motions one after another, each after the time needed to read the instruction and begin.
        var acts: [Act] = []
        var timeMs = challenge.stepsBeginMs
        for step in made {
            timeMs += subject == .late ? random.uniform(7500...9000) : random.uniform(350...1200)
            let act = Act(step, at: timeMs, &random)
            acts.append(act)
            timeMs = act.endMs + random.uniform(250...600)
        }
        let end = max(timeMs, subject == .plane ? 9000 : 0) + 300
        var blink = random.uniform(500...6000)
        while blink < end {
            // People also blink during other motions, but not while they are asked to blink.
            let act = Act(.blink, at: blink, &random)
            if !acts.contains(where: {
                $0.step == .blink && $0.startMs < act.endMs + 400 && act.startMs < $0.endMs + 400
            }) {
                acts.append(act)
            }
            blink += random.logarithmic(1500...8000)
        }
        var face = SimulatedFace(subject, &random)
        let rate = random.uniform(13...30)
        var timesMs: [Double] = []
        var frames: [CaptureFacts.Frame] = []
        var nowMs = -700.0
        while nowMs < end {
            timesMs.append(nowMs)
            frames.append(CaptureFacts.Frame(face: face.next(at: nowMs, acts, &random), scene: 0.97))
            nowMs += 1000 / rate + random.uniform(-4...4)
        }
        challenge.frameTimesMs = timesMs
        return CaptureFacts(
            width: 640, height: 480, frames: frames,
            keyFrames: (0..<4).map { .init(index: $0, distance: 0.25, distanceToFace: nil) })
    }
}

/// One motion with its time and strength.
private struct Act {
    var step: LivenessChallenge.Step
    var startMs: Double
    var endMs: Double
    var strength: Double

    init(_ step: LivenessChallenge.Step, at startMs: Double, _ random: inout SplitMix64) {
        self.step = step
        self.startMs = startMs
        switch step {
        case .blink:
            // Remaining share of the opening.
            self.strength = random.uniform(0.3...0.5)
            self.endMs = startMs + random.uniform(170...400)
        case .smile:
            self.strength = random.uniform(1.18...1.4)
            self.endMs = startMs + random.uniform(700...1600)
        case .mouthOpen:
            self.strength = random.uniform(0.18...0.4)
            self.endMs = startMs + random.uniform(600...1400)
        case .shake:
            self.strength = random.uniform(20...38)
            self.endMs = startMs + random.uniform(1000...1900)
        case .nod:
            self.strength = random.uniform(0.035...0.08)
            self.endMs = startMs + random.uniform(700...1400)
        }
    }

    /// 0 to 1 and back, with a flat top.
    func level(at timeMs: Double) -> Double {
        guard timeMs > self.startMs, timeMs < self.endMs else { return 0 }
        let phase = (timeMs - self.startMs) / (self.endMs - self.startMs)
        return min(1, 1.6 * sin(.pi * phase))
    }

    /// To one side, to the other and back: −1 to 1.
    func swing(at timeMs: Double) -> Double {
        guard timeMs > self.startMs, timeMs < self.endMs else { return 0 }
        let phase = (timeMs - self.startMs) / (self.endMs - self.startMs)
        return min(1, max(-1, 1.25 * sin(2 * .pi * phase)))
    }
}

/// A face with individual proportions and noise of its measurements.
private struct SimulatedFace {
    private let isPlane: Bool
    private let eyeOpening: Double
    private let mouthWidth: Double
    private let mouthOpening: Double
    private let noseDrop: Double
    private let yaw: Double
    private let noise: Double
    private var sway = (x: 0.0, y: 0.0)
    /// How a plane is waved: amplitudes in radians and pixels, periods in milliseconds.
    private let wave: (turn: Double, tilt: Double, shift: Double, periods: [Double], phases: [Double])

    init(_ subject: SimulatedSubject, _ random: inout SplitMix64) {
        self.isPlane = subject == .plane
        self.eyeOpening = random.uniform(0.28...0.55)
        self.mouthWidth = random.uniform(0.75...1.05)
        self.mouthOpening = random.uniform(0...0.03)
        self.noseDrop = random.uniform(0.68...0.82)
        self.yaw = random.uniform(-5...5)
        self.noise = random.logarithmic(0.5...1.4)
        self.wave = (
            random.uniform(0...0.6), random.uniform(0...0.6), random.uniform(0...60),
            (0..<4).map { _ in random.uniform(700...3000) }, (0..<4).map { _ in random.uniform(0...(2 * .pi)) }
        )
    }

    mutating func next(at timeMs: Double, _ acts: [Act], _ random: inout SplitMix64) -> CaptureFacts.Face {
        self.sway = (0.9 * self.sway.x + 0.8 * random.normal(), 0.9 * self.sway.y + 0.8 * random.normal())
        let distance = 80.0
        var eyes = self.eyeOpening
        var width = self.mouthWidth
        var opening = self.mouthOpening
        var yaw = self.yaw
        var drop = self.noseDrop
        var sink = 0.0
        var shrink = 1.0
        for act in acts where !self.isPlane {
            let level = act.level(at: timeMs)
            switch act.step {
            case .blink: eyes *= 1 - level * (1 - act.strength)
            case .smile:
                width *= 1 + level * (act.strength - 1)
                opening += 0.05 * level
            case .mouthOpen:
                opening += level * act.strength
                width *= 1 - 0.06 * level
            case .shake: yaw += act.strength * act.swing(at: timeMs)
            case .nod:
                drop += level * act.strength
                sink += 6 * level * act.strength
                // Lids follow the gaze.
                eyes *= 1 - 0.25 * level
                shrink *= 1 + 0.05 * level
            }
        }
        if self.isPlane {
            func wave(_ index: Int) -> Double {
                sin(2 * .pi * timeMs / self.wave.periods[index] + self.wave.phases[index])
            }
            let (turn, tilt) = (self.wave.turn * wave(0), self.wave.tilt * wave(1))
            // Points of a plane: turning brings the eyes closer together, tilting shortens the part below them.
            shrink = cos(turn)
            drop *= cos(tilt) / cos(turn)
            self.sway.x += self.wave.shift / 10 * wave(2)
            sink = self.wave.shift / distance * wave(3)
        }
        let n = self.noise
        let (x, y) = (320 + self.sway.x, 220 + self.sway.y + sink * distance)
        let ied = distance * shrink * (1 + 0.006 * n * random.normal())
        return CaptureFacts.Face(
            box: Box(x: x - 100, y: y - 70, width: 200, height: 200),
            landmarks: [-0.65, -0.35, 0.65, 0.35].map { Point(x: x + $0 * ied, y: y) }
                + [Point(x: x, y: y + drop * ied)],
            eyeOpening: max(0, eyes * (1 + 0.05 * n * random.normal())),
            mouthOpening: max(0, opening + 0.008 * n * random.normal()),
            mouthWidth: max(0, width * (1 + 0.02 * n * random.normal())), yaw: yaw + 1.2 * n * random.normal(),
            noseDrop: drop + 0.006 * n * random.normal(), eyeDistance: ied,
            forehead: LinearColour(red: 0.3, green: 0.2, blue: 0.15),
            cheeks: LinearColour(red: 0.3, green: 0.2, blue: 0.15),
            nose: LinearColour(red: 0.3, green: 0.2, blue: 0.15),
            background: nil, saturated: 0)
    }
}
