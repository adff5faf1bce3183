internal import Foundation
package import InspectCore

/// Simulates the light that a camera measures on a face in front of a screen that shows colours.
///
/// Each region's light is its albedo times the ambient light plus the screen's, times exposure and white balance, which follow the
/// mean with a delay; then come noise, clipping and rounding to eight bits. Light is from 30 to 500 lux indoors and a phone at arm's
/// length. It does not model mixed light that moves, make-up that glows, or a face that leaves its place.
package struct ColourFlashSimulation: Sendable {
    /// Colours of a challenge.
    package var colours = 7
    /// How long each colour is shown.
    package var colourMs = 400.0

    package init() {}

    /// Draws a challenge, with the times of its frames.
    package func challenge(_ random: inout SplitMix64) -> LivenessChallenge {
        let rate = random.uniform(15...30)
        let total = Double(self.colours) * self.colourMs + 450
        var timesMs: [Double] = []
        var timeMs = -700.0
        while timeMs < total {
            timesMs.append(timeMs)
            // Cameras drop and delay frames.
            timeMs += 1000 / rate * (random.uniform(0...1) < 0.03 ? 2 : 1) + random.uniform(-4...4)
        }
        return LivenessChallenge(
            colours: random.sequence(of: LivenessChallenge.Colour.allCases, count: self.colours),
            colourMs: self.colourMs, frameTimesMs: timesMs)
    }

    /// The frames of a subject before a challenge.
    package func capture(
        _ subject: SimulatedSubject, _ challenge: LivenessChallenge, _ random: inout SplitMix64
    ) -> CaptureFacts {
        var shown = challenge.colours
        if [.replay, .wrongSequence, .guess].contains(subject) {
            let asked = shown
            repeat {
                shown = random.sequence(of: LivenessChallenge.Colour.allCases, count: shown.count)
            } while shown == asked && subject != .guess
        }
        let room = Room(subject, &random)
        var camera = Camera(&random)
        var previousMs: Double?
        let frames = challenge.frameTimesMs.map { timeMs -> CaptureFacts.Frame in
            let elapsedMs = timeMs - (previousMs ?? timeMs)
            previousMs = timeMs
            let answer = Self.screen(shown, challenge.colourMs, at: timeMs - room.lagMs)
            let flash = Self.screen(challenge.colours, challenge.colourMs, at: timeMs - room.flashLagMs)
            return CaptureFacts.Frame(
                face: room.face(answer: answer, flash: flash, camera: &camera, elapsedMs: elapsedMs, random: &random),
                scene: 0.99)
        }
        return CaptureFacts(
            width: 640, height: 480, frames: frames,
            keyFrames: (0..<4).map { .init(index: $0, distance: 0.2, distanceToFace: nil) })
    }

    /// The screen's light over an exposure of 30 ms: grey before and after the colours.
    private static func screen(
        _ colours: [LivenessChallenge.Colour], _ colourMs: Double, at timeMs: Double
    ) -> LinearColour {
        func light(_ timeMs: Double) -> LinearColour {
            let index = Int((timeMs / colourMs).rounded(.down))
            guard colours.indices.contains(index) else { return LinearColour(red: 0.2, green: 0.2, blue: 0.2) }
            return colours[index].light
        }
        let samples = [-30.0, -20, -10, 0].map { light(timeMs + $0) }
        func mean(_ channel: KeyPath<LinearColour, Double>) -> Double {
            samples.map { $0[keyPath: channel] }.reduce(0, +) / Double(samples.count)
        }
        return LinearColour(red: mean(\.red), green: mean(\.green), blue: mean(\.blue))
    }
}

/// Light, surfaces and positions.
private struct Room {
    /// From the screen's change to the frame that shows it.
    var lagMs: Double
    /// The same for the light that falls on an attacker's plane.
    var flashLagMs: Double
    private let ambient: LinearColour
    /// The screen's strength over the ambient light's, at the face.
    private let strength: Double
    private let skin: LinearColour
    private let wall: LinearColour
    /// Gains of forehead, cheeks, nose and background over the face's mean.
    private let answerGains: Gains
    private let flashGains: Gains
    private let hasBackground: Bool

    struct Gains {
        var forehead: Double
        var cheeks: Double
        var nose: Double
        var background: Double

        /// A head: the nose is nearer and faces the screen, the cheeks turn away, the wall is far.
        static func relief(_ random: inout SplitMix64) -> Gains {
            Gains(
                forehead: random.uniform(0.85...1.15), cheeks: 1, nose: random.uniform(1.15...1.6),
                background: random.uniform(0.02...0.25))
        }

        static let none = Gains(forehead: 0, cheeks: 0, nose: 0, background: 0)
    }

    init(_ subject: SimulatedSubject, _ random: inout SplitMix64) {
        let warmth = random.uniform(-0.35...0.35)
        self.ambient = LinearColour(red: 1 + warmth, green: 1, blue: 1 - warmth)
        self.strength = random.logarithmic(0.05...0.6)
        let tone = random.logarithmic(0.08...0.5)
        self.skin = LinearColour(
            red: tone, green: tone * random.uniform(0.55...0.75), blue: tone * random.uniform(0.4...0.6))
        let wall = random.logarithmic(0.05...0.8)
        self.wall = LinearColour(
            red: wall, green: wall * random.uniform(0.8...1.1), blue: wall * random.uniform(0.7...1.2))
        self.lagMs = subject == .late ? random.uniform(650...1500) : random.uniform(40...300)
        self.flashLagMs = random.uniform(40...300)
        self.hasBackground = random.uniform(0...1) < 0.9
        switch subject {
        case .live, .wrongSequence, .late, .guess:
            self.answerGains = .relief(&random)
            self.flashGains = .none
        case .replay:
            // The recording answers as it was recorded; the screen that shows it is lit as a plane on top of that.
            self.answerGains = .relief(&random)
            let gain = random.uniform(0.02...0.3)
            self.flashGains = Gains(forehead: gain, cheeks: gain, nose: gain, background: gain)
        case .plane:
            self.answerGains = .none
            // Half of the prints are cut out along the face, in front of their own background.
            let isCutOut = random.uniform(0...1) < 0.5
            let tilt = random.uniform(-0.02...0.02)
            self.flashGains = Gains(
                forehead: 1 + tilt, cheeks: 1, nose: 1 - tilt / 2,
                background: isCutOut ? random.uniform(0.02...0.25) : 1)
        }
    }

    func face(
        answer: LinearColour, flash: LinearColour, camera: inout Camera, elapsedMs: Double,
        random: inout SplitMix64
    ) -> CaptureFacts.Face {
        func light(_ albedo: LinearColour, _ answerGain: Double, _ flashGain: Double) -> LinearColour {
            func channel(_ path: KeyPath<LinearColour, Double>) -> Double {
                // A screen's primaries leak into the other channels.
                let leak = { (colour: LinearColour) in 0.86 * colour[keyPath: path] + 0.14 * colour.luminance }
                return albedo[keyPath: path]
                    * (self.ambient[keyPath: path]
                        + self.strength * (answerGain * leak(answer) + flashGain * leak(flash)))
            }
            return LinearColour(red: channel(\.red), green: channel(\.green), blue: channel(\.blue))
        }
        let (a, f) = (self.answerGains, self.flashGains)
        let scene = [
            light(self.skin, a.forehead, f.forehead), light(self.skin, a.cheeks, f.cheeks),
            light(self.skin, a.nose, f.nose), light(self.wall, a.background, f.background),
        ]
        let seen = camera.expose(scene, elapsedMs: elapsedMs, random: &random)
        return CaptureFacts.Face(
            box: Box(x: 220, y: 140, width: 200, height: 200),
            landmarks: [280, 305, 360, 335].map { Point(x: $0, y: 200) } + [Point(x: 320, y: 250)], eyeOpening: 0.4,
            mouthOpening: 0, mouthWidth: 0.9, yaw: 0, noseDrop: 0.75, eyeDistance: 75, forehead: seen[0],
            cheeks: seen[1],
            nose: seen[2], background: self.hasBackground ? seen[3] : nil,
            saturated: seen[0].red >= 0.96 ? 0.5 : 0)
    }
}

/// Exposure and white balance that follow the scene with a delay, noise, clipping, eight bits.
private struct Camera {
    private var gains: [Double]?
    /// Time constants in milliseconds; half of the captures have both locked.
    private let exposureMs: Double?
    private let balanceMs: Double?
    private let noise: Double
    private let wobble: Double
    private var drift = 0.0

    init(_ random: inout SplitMix64) {
        let isLocked = random.uniform(0...1) < 0.5
        self.exposureMs = isLocked ? nil : random.uniform(300...1500)
        self.balanceMs = isLocked ? nil : random.uniform(800...4000)
        // Of a region's mean: the remaining noise of the pixels and of JPEG.
        self.noise = random.logarithmic(0.001...0.006)
        self.wobble = random.logarithmic(0.001...0.006)
    }

    mutating func expose(
        _ scene: [LinearColour], elapsedMs: Double, random: inout SplitMix64
    ) -> [LinearColour] {
        let mean = [\LinearColour.red, \.green, \.blue].map { channel in
            scene.map { $0[keyPath: channel] }.reduce(0, +) / Double(scene.count)
        }
        let middle = mean.reduce(0, +) / 3
        // Metered to a fifth of full scale, and to grey.
        let wanted = mean.map { 0.2 / middle * (0.7 + 0.3 * middle / max($0, 1e-6)) }
        var gains = self.gains ?? wanted
        if let exposureMs, let balanceMs {
            let level = gains.reduce(0, +) / 3
            let target = wanted.reduce(0, +) / 3
            let next = level + (target - level) * (1 - exp(-elapsedMs / exposureMs))
            for index in gains.indices {
                let balance = gains[index] / level
                let aim = wanted[index] / target
                gains[index] = next * (balance + (aim - balance) * (1 - exp(-elapsedMs / balanceMs)))
            }
        }
        self.gains = gains
        // The head moves a little, and its shading moves with it.
        self.drift = 0.9 * self.drift + self.wobble * random.normal()
        return scene.enumerated().map { index, light in
            func channel(_ value: Double, _ gain: Double) -> Double {
                let shading = index == 3 ? 1 : 1 + self.drift
                let noisy = value * gain * shading * (1 + self.noise * random.normal()) + 0.0003 * random.normal()
                // A mean over many pixels is finer than the steps of eight bits: a tenth of one.
                let code = (pow(min(max(noisy, 0), 1), 1 / 2.2) * 2550).rounded() / 2550
                return pow(code, 2.2)
            }
            return LinearColour(
                red: channel(light.red, gains[0]), green: channel(light.green, gains[1]),
                blue: channel(light.blue, gains[2]))
        }
    }
}
