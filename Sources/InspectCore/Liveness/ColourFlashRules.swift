internal import Foundation

/// Decides whether the light on a face follows the colours of a screen.
///
/// The light of the face over that of the background, in logarithms, shows what the screen adds: ambient light, exposure and
/// white balance change both alike and cancel. Differences between successive colours are compared with those of what was
/// shown. A weak response is inconclusive, never a pass. Two things defeat this: a reflection computed into the image,
/// and a living person to whom an attacker shows the colours.
enum ColourFlashRules {
    /// Compares the skin's response in each interval with the colours that were shown.
    package static func decide(_ challenge: LivenessChallenge, _ capture: CaptureFacts) -> LivenessVerdict {
        let samples = zip(challenge.frameTimesMs, capture.frames).compactMap { timeMs, frame in
            frame.face.map { Sample(timeMs: timeMs, face: $0) }
        }
        let steps = challenge.colours.map { LivenessVerdict.Step(name: $0.rawValue, outcome: .inconclusive) }
        func verdict(
            _ outcome: LivenessVerdict.Outcome, _ reason: LivenessVerdict.Reason, _ scores: [String: Double] = [:]
        ) -> LivenessVerdict {
            LivenessVerdict(outcome: outcome, reason: reason, steps: steps, scores: scores)
        }
        let end = challenge.stepsBeginMs
        guard let last = challenge.frameTimesMs.last, last >= end - challenge.colourMs / 3 else {
            return verdict(.inconclusive, .timeout)
        }
        let rest = samples.filter { $0.timeMs < 0 }
        guard rest.count >= Self.leastFramesAtRest else { return verdict(.inconclusive, .tooFewFrames) }
        let saturated =
            Statistics.median(samples.filter { $0.timeMs >= 0 && $0.timeMs < end }.map(\.face.saturated)) ?? 1
        let noise = Self.noise(rest.map(\.signal))

        let signals = samples.map { (timeMs: $0.timeMs, signal: $0.signal) }
        let responses = Self.lags.compactMap { lagMs in
            Response(challenge, signals, lagMs: lagMs).map { (lagMs: lagMs, response: $0) }
        }
        guard let most = responses.map(\.response.correlation).max(),
            // A colour's settled part looks the same from a little earlier: the latest lag that fits as well is the true one.
            let best = responses.last(where: {
                $0.response.correlation >= Self.asWell * most || $0.response.correlation == most
            })
        else { return verdict(.inconclusive, .tooFewFrames) }
        let strength = best.response.strength
        let lead = ColourSequenceFit.lead(
            of: challenge.colours,
            in: responses.filter { $0.response.correlation >= Self.asWell * most }.map(\.response.light))
        let gains = Gains(challenge, samples, lagMs: best.lagMs)
        var scores = [
            "correlation": best.response.correlation, "lagMs": best.lagMs, "response": strength, "noise": noise,
            "saturated": saturated, "weakerHalf": best.response.weakerHalf, "lead": lead,
        ]
        if let gains {
            scores["faceGain"] = gains.face
            scores["backgroundGain"] = gains.background
            scores["relief"] = gains.relief
        }
        func judged(
            _ outcome: LivenessVerdict.Outcome, _ reason: LivenessVerdict.Reason?
        ) -> LivenessVerdict {
            let steps = zip(challenge.colours.indices, challenge.colours).map { index, colour in
                let score = best.response.agreement[index]
                let start = Double(index) * challenge.colourMs + best.lagMs
                return LivenessVerdict.Step(
                    name: colour.rawValue,
                    outcome: outcome == .inconclusive ? .inconclusive : score >= 0.5 ? .pass : .fail,
                    startMs: start, endMs: start + challenge.colourMs, score: score)
            }
            return LivenessVerdict(outcome: outcome, reason: reason, steps: steps, scores: scores)
        }
        guard Limits.flashResponse.allows(strength), strength >= Self.sigmas * noise else {
            return judged(.inconclusive, .tooBright)
        }
        // Burnt-out skin hides the response and the relief, unless enough of them is still visible.
        let isHidden = !Limits.saturatedSkin.allows(saturated)
        guard Limits.flashCorrelation.allows(best.response.correlation) else {
            if isHidden { return judged(.inconclusive, .tooBright) }
            return judged(
                Limits.flashContradiction.allows(best.response.correlation) ? .inconclusive : .fail, .wrongColours)
        }
        guard Limits.flashLead.allows(lead) else {
            return judged(Limits.flashLeadContradiction.allows(lead) ? .inconclusive : .fail, .wrongColours)
        }
        guard best.lagMs <= Self.latestMs else { return judged(.fail, .lateResponse) }
        guard Limits.flashHalf.allows(best.response.weakerHalf) else { return judged(.fail, .wrongColours) }
        guard let gains else { return judged(.inconclusive, .tooFewFrames) }
        guard gains.face > (gains.background ?? 0) else { return judged(.fail, .backgroundResponds) }
        guard Limits.flashRelief.allows(gains.relief) else {
            if isHidden { return judged(.inconclusive, .tooBright) }
            return judged(Limits.flashFlat.allows(gains.relief) ? .inconclusive : .fail, .flat)
        }
        return judged(.pass, nil)
    }

    /// Frames before the first colour that are needed to measure the noise.
    static let leastFramesAtRest = 4
    /// The time that is ignored at the start of every colour: the camera's exposure and the screen follow with a delay.
    static let settlingMs = 150.0
    /// The longest plausible delay of a screen, a camera and a network together.
    static let latestMs = 500.0
    /// The search continues beyond it, so that late answers are recognised as late.
    static let lags = stride(from: 0.0, through: 900, by: 33).map { $0 }
    /// Share of the best correlation that another lag must reach to fit equally well.
    static let asWell = 0.97
    /// How far the response must stand out from the noise.
    static let sigmas = 3.0

    /// The difference between a frame's skin and its background, in logarithms of light.
    static func signal(of face: CaptureFacts.Face) -> Opponent { Sample(timeMs: 0, face: face).signal }

    /// Standard deviation of the signal at rest, of all three components together.
    private static func noise(_ signals: [Opponent]) -> Double {
        let components = [signals.map(\.redGreen), signals.map(\.yellowBlue), signals.map(\.luminance)]
        let variances = components.map { Statistics.variance($0) }
        return (variances.reduce(0, +) / 3).squareRoot()
    }
}

/// Opponent colours: the channels' differences survive a change of brightness.
struct Opponent {
    var redGreen: Double
    var yellowBlue: Double
    var luminance: Double

    init(red: Double, green: Double, blue: Double) {
        self.redGreen = red - green
        self.yellowBlue = (red + green) / 2 - blue
        self.luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    }

    init(redGreen: Double, yellowBlue: Double, luminance: Double) {
        self.redGreen = redGreen
        self.yellowBlue = yellowBlue
        self.luminance = luminance
    }

    /// The channels that these components were made of.
    var channels: LinearColour {
        // luminance = 0.2126 r + 0.7152 g + 0.0722 b, with g = r − redGreen and b = r − redGreen / 2 − yellowBlue.
        let red = self.luminance + 0.7152 * self.redGreen + 0.0722 * (self.redGreen / 2 + self.yellowBlue)
        return LinearColour(red: red, green: red - self.redGreen, blue: red - self.redGreen / 2 - self.yellowBlue)
    }

    static func - (a: Opponent, b: Opponent) -> Opponent {
        Opponent(
            redGreen: a.redGreen - b.redGreen, yellowBlue: a.yellowBlue - b.yellowBlue,
            luminance: a.luminance - b.luminance)
    }

    func dot(_ other: Opponent) -> Double {
        self.redGreen * other.redGreen + self.yellowBlue * other.yellowBlue + self.luminance * other.luminance
    }

    static func median(_ values: [Opponent]) -> Opponent? {
        guard let a = Statistics.median(values.map(\.redGreen)), let b = Statistics.median(values.map(\.yellowBlue)),
            let c = Statistics.median(values.map(\.luminance))
        else { return nil }
        return Opponent(redGreen: a, yellowBlue: b, luminance: c)
    }
}

/// One frame's light in logarithms.
private struct Sample {
    var timeMs: Double
    var face: CaptureFacts.Face

    private static func logarithm(_ colour: LinearColour) -> LinearColour {
        // A thousandth of full scale is below what eight bits hold.
        func log1(_ value: Double) -> Double { log(max(value, 0.001)) }
        return LinearColour(red: log1(colour.red), green: log1(colour.green), blue: log1(colour.blue))
    }

    /// Changes common to face and background are subtracted; without a background, only brightness can be.
    func signal(of colour: LinearColour) -> Opponent {
        let light = Self.logarithm(colour)
        let reference = self.face.background.map(Self.logarithm) ?? LinearColour(red: 0, green: 0, blue: 0)
        return Opponent(
            red: light.red - reference.red, green: light.green - reference.green, blue: light.blue - reference.blue)
    }

    var skin: LinearColour {
        let (a, b) = (self.face.forehead, self.face.cheeks)
        return LinearColour(red: (a.red + b.red) / 2, green: (a.green + b.green) / 2, blue: (a.blue + b.blue) / 2)
    }

    var signal: Opponent { self.signal(of: self.skin) }
    var backgroundSignal: Opponent? {
        self.face.background.map(Self.logarithm).map { Opponent(red: $0.red, green: $0.green, blue: $0.blue) }
    }
    var skinSignal: Opponent {
        let light = Self.logarithm(self.skin)
        return Opponent(red: light.red, green: light.green, blue: light.blue)
    }

    /// Medians over the frames of each colour, once the light has settled; `nil` if a colour has fewer than two frames.
    static func medians(
        _ challenge: LivenessChallenge, _ signals: [(timeMs: Double, signal: Opponent)], lagMs: Double
    ) -> [Opponent]? {
        var medians: [Opponent] = []
        for index in challenge.colours.indices {
            let start = Double(index) * challenge.colourMs + lagMs
            let shown = signals.filter {
                $0.timeMs >= start + ColourFlashRules.settlingMs && $0.timeMs < start + challenge.colourMs
            }
            guard shown.count >= 2, let median = Opponent.median(shown.map(\.signal)) else { return nil }
            medians.append(median)
        }
        return medians
    }
}

/// How the face followed the colours at one lag.
private struct Response {
    /// Correlation of successive differences with those of what was shown.
    var correlation: Double
    /// The lower of the correlations of both halves: a lag that drifts, or one lucky colour, fails here.
    var weakerHalf: Double
    /// Root mean square of the successive differences.
    var strength: Double
    /// The settled light of each colour in logarithms.
    var light: [LinearColour]
    /// Of each colour separately.
    var agreement: [Double]

    init?(_ challenge: LivenessChallenge, _ signals: [(timeMs: Double, signal: Opponent)], lagMs: Double) {
        guard challenge.colours.count >= 3, let seen = Sample.medians(challenge, signals, lagMs: lagMs) else {
            return nil
        }
        let shown = challenge.colours.map { Opponent(red: $0.light.red, green: $0.light.green, blue: $0.light.blue) }
        let seenSteps = zip(seen.dropFirst(), seen).map { $0 - $1 }
        let shownSteps = zip(shown.dropFirst(), shown).map { $0 - $1 }
        self.correlation = Self.correlation(shownSteps[...], seenSteps[...])
        let middle = seenSteps.count / 2
        self.weakerHalf = min(
            Self.correlation(shownSteps[..<middle], seenSteps[..<middle]),
            Self.correlation(shownSteps[middle...], seenSteps[middle...]))
        self.strength = (seenSteps.map { $0.dot($0) }.reduce(0, +) / Double(3 * seenSteps.count)).squareRoot()
        self.light = seen.map(\.channels)
        // A colour occurs in one difference at the ends and in two between them.
        let each = zip(shownSteps, seenSteps).map { Self.correlation([$0], [$1]) }
        self.agreement = challenge.colours.indices.map { index in
            let around = [index - 1, index].filter(each.indices.contains).map { each[$0] }
            return around.reduce(0, +) / Double(around.count)
        }
    }

    private static func correlation(_ a: ArraySlice<Opponent>, _ b: ArraySlice<Opponent>) -> Double {
        let product = zip(a, b).map { $0.dot($1) }.reduce(0, +)
        let norms = (a.map { $0.dot($0) }.reduce(0, +) * b.map { $0.dot($0) }.reduce(0, +)).squareRoot()
        return norms > 0 ? product / norms : 0
    }
}

/// How strongly regions answer: slopes of their successive differences over those of what was shown.
private struct Gains {
    var face: Double
    var background: Double?
    /// Gain of the nose over that of the cheeks: it is nearer to the screen and faces it.
    var relief: Double

    init?(_ challenge: LivenessChallenge, _ samples: [Sample], lagMs: Double) {
        let shown = challenge.colours.map { Opponent(red: $0.light.red, green: $0.light.green, blue: $0.light.blue) }
        let shownSteps = zip(shown.dropFirst(), shown).map { $0 - $1 }
        func gain(_ signal: (Sample) -> Opponent) -> Double? {
            let signals = samples.map { (timeMs: $0.timeMs, signal: signal($0)) }
            guard let seen = Sample.medians(challenge, signals, lagMs: lagMs) else { return nil }
            let steps = zip(seen.dropFirst(), seen).map { $0 - $1 }
            let power = shownSteps.map { $0.dot($0) }.reduce(0, +)
            return power > 0 ? zip(shownSteps, steps).map { $0.dot($1) }.reduce(0, +) / power : nil
        }
        guard let face = gain(\.skinSignal), let nose = gain({ $0.signal(of: $0.face.nose) }),
            let cheeks = gain({ $0.signal(of: $0.face.cheeks) }), cheeks > 0
        else { return nil }
        self.face = face
        let hasBackground = samples.allSatisfy { $0.face.background != nil }
        self.background = hasBackground ? gain { $0.backgroundSignal ?? $0.skinSignal } : nil
        self.relief = nose / cheeks
    }
}
