/// A challenge that the server issued, and the times of the frames that answer it.
///
/// Issued and signed by `insp.challenge_issue`; the database puts it into the job that uses it, so that every attempt
/// at the job judges by the same one.
///
/// The clock of a capture is in milliseconds and starts when the first colour or instruction is shown. Frames before that
/// have negative times and show the person at rest. The colours come first, each for ``colourMs``; the steps follow, each
/// as soon as the one before it is done.
package struct LivenessChallenge: Codable, Sendable, Hashable {
    /// A colour that fills the screen; the raw value is the name that clients get.
    package enum Colour: String, Codable, Sendable, CaseIterable {
        case red = "RED"
        case green = "GREEN"
        case blue = "BLUE"
        case cyan = "CYAN"
        case magenta = "MAGENTA"
        case yellow = "YELLOW"

        /// Red, green and blue light, 0 or 1 each.
        package var light: LinearColour {
            switch self {
            case .red: LinearColour(red: 1, green: 0, blue: 0)
            case .green: LinearColour(red: 0, green: 1, blue: 0)
            case .blue: LinearColour(red: 0, green: 0, blue: 1)
            case .cyan: LinearColour(red: 0, green: 1, blue: 1)
            case .magenta: LinearColour(red: 1, green: 0, blue: 1)
            case .yellow: LinearColour(red: 1, green: 1, blue: 0)
            }
        }
    }

    /// A motion that the person is asked to make (Face AI SDK, `motionTypes`).
    package enum Step: String, Codable, Sendable, CaseIterable {
        case mouthOpen = "MOUTH_OPEN"
        case smile = "SMILE"
        case blink = "BLINK"
        case shake = "SHAKE"
        case nod = "NOD"
    }

    /// The database's; a challenge is used up by one job.
    package var id: String
    /// Empty if no colours were asked for; no two in a row are alike.
    package var colours: [Colour]
    /// How long each colour is shown. From 334 ms on there are at most three changes a second, and two changes make one flash:
    /// half of what WCAG 2.2, success criterion 2.3.1, allows for photosensitive people.
    package var colourMs: Double
    /// Empty if no motion was asked for.
    package var steps: [Step]
    /// Time for each step, from the end of the one before.
    package var stepTimeoutMs: Double
    /// Time from the issue of the challenge to the arrival of the job, by the database's clock.
    package var ageMs: Double?
    /// When each frame was taken, rising.
    package var frameTimesMs: [Double]

    package init(
        id: String = "", colours: [Colour] = [], colourMs: Double = 400, steps: [Step] = [],
        stepTimeoutMs: Double = 7000, ageMs: Double? = nil, frameTimesMs: [Double] = []
    ) {
        self.id = id
        self.colours = colours
        self.colourMs = colourMs
        self.steps = steps
        self.stepTimeoutMs = stepTimeoutMs
        self.ageMs = ageMs
        self.frameTimesMs = frameTimesMs
    }

    /// When the first step's instruction is shown.
    package var stepsBeginMs: Double { Double(self.colours.count) * self.colourMs }

    /// The least duration of a colour: at most three changes a second.
    package static let leastColourMs = 334.0

    private enum CodingKeys: String, CodingKey {
        case id, colours, colourMs, steps, stepTimeoutMs, ageMs
        case frameTimesMs = "frameTimes"
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.id = try container.decodeIfPresent(String.self, forKey: .id) ?? ""
        self.colours = try container.decodeIfPresent([Colour].self, forKey: .colours) ?? []
        self.colourMs = try container.decodeIfPresent(Double.self, forKey: .colourMs) ?? 400
        self.steps = try container.decodeIfPresent([Step].self, forKey: .steps) ?? []
        self.stepTimeoutMs = try container.decodeIfPresent(Double.self, forKey: .stepTimeoutMs) ?? 7000
        self.ageMs = try container.decodeIfPresent(Double.self, forKey: .ageMs)
        self.frameTimesMs = try container.decodeIfPresent([Double].self, forKey: .frameTimesMs) ?? []
    }
}

extension LivenessChallenge {
    /// Why frames cannot be judged by this challenge; `nil` if they can.
    package func fault(frames: Int) -> String? {
        if self.colours.isEmpty && self.steps.isEmpty { return "the challenge asks for nothing" }
        if !self.colours.isEmpty && self.colourMs < Self.leastColourMs { return "the colours change too fast" }
        if zip(self.colours, self.colours.dropFirst()).contains(where: { $0 == $1 }) { return "a colour is repeated" }
        if self.frameTimesMs.count != frames { return "the frames' times are not as many as the frames" }
        if !self.frameTimesMs.allSatisfy(\.isFinite) { return "a frame's time is not a number" }
        if zip(self.frameTimesMs, self.frameTimesMs.dropFirst()).contains(where: { $0 >= $1 }) {
            return "the frames' times do not rise"
        }
        // One second for network and clocks. Earlier frames were recorded before the challenge was known.
        if let age = self.ageMs, let last = self.frameTimesMs.last, last > age + 1000 {
            return "the frames are said to have been taken after they had arrived"
        }
        return nil
    }

    /// Probability of guessing the sequence.
    ///
    /// - Parameter motions: What the steps were drawn from.
    package func guessRate(motions: [Step] = Step.allCases) -> Double {
        let kinds = Double(Colour.allCases.count)
        let colours = self.colours.dropFirst().reduce(self.colours.isEmpty ? 1 : kinds) { product, _ in
            product * (kinds - 1)
        }
        return MotionRules.guessRate(steps: self.steps.count, motions: motions) / colours
    }
}

/// A colour in linear light, 0–1 for each channel.
package struct LinearColour: Codable, Sendable, Hashable {
    /// 0–1.
    package var red: Double
    /// 0–1.
    package var green: Double
    /// 0–1.
    package var blue: Double

    package init(red: Double, green: Double, blue: Double) {
        self.red = red
        self.green = green
        self.blue = blue
    }

    /// Luminance with the weights of ITU-R BT.709.
    package var luminance: Double { 0.2126 * self.red + 0.7152 * self.green + 0.0722 * self.blue }
}
