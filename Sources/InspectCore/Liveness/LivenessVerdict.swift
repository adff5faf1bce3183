/// The outcome of one liveness method.
package struct LivenessVerdict: Codable, Sendable, Hashable {
    /// Inconclusive is never a pass.
    package enum Outcome: String, Codable, Sendable {
        case pass = "pass"
        case fail = "fail"
        case inconclusive = "inconclusive"
    }

    /// One colour or one motion.
    package struct Step: Codable, Sendable, Hashable {
        /// As the challenge names it.
        package var name: String
        /// Whether the step was seen.
        package var outcome: Outcome
        /// Milliseconds on the capture's clock; `nil` if nothing was seen.
        package var startMs: Double?
        /// Milliseconds on the capture's clock; `nil` if nothing was seen.
        package var endMs: Double?
        /// Agreement of a colour's response with what was shown, −1 to 1; extent of a motion over what is asked for.
        package var score: Double?
    }

    /// Why a method did not pass.
    package enum Reason: String, Codable, Sendable {
        /// The capture ends before everything asked for was seen.
        case timeout = "timeout"
        /// The screen's light is lost in that of the surroundings.
        case tooBright = "tooBright"
        /// Too few frames, or none at rest, or too much noise.
        case tooFewFrames = "tooFewFrames"
        /// The light on the face is not that of the screen.
        case wrongColours = "wrongColours"
        /// The right colours, but too late.
        case lateResponse = "lateResponse"
        /// The face answers to light like a plane.
        case flat = "flat"
        /// The surroundings answer as the face does.
        case backgroundResponds = "backgroundResponds"
        /// A motion other than the requested one.
        case wrongMotion = "wrongMotion"
        /// The face was lost, or jumps.
        case faceLost = "faceLost"
        case severalPeople = "severalPeople"
        /// The scene changes from one frame to the next.
        case cut = "cut"
        /// Frames repeat each other.
        case repeatedFrames = "repeatedFrames"
        /// The challenge or its times cannot be right.
        case invalidChallenge = "invalidChallenge"
    }

    /// The outcome of all steps together.
    package var outcome: Outcome
    /// `nil` for a pass.
    package var reason: Reason?
    /// In the order of the challenge.
    package var steps: [Step] = []
    /// Named numbers behind the outcome.
    package var scores: [String: Double] = [:]

    /// The face SDK's result code: 1 success, 53 too bright, 60 timeout; `nil` for its error LIVENESS_FAILED.
    package var resultCode: Int? {
        switch (self.outcome, self.reason) {
        case (.pass, _): 1
        case (_, .tooBright): 53
        case (_, .timeout): 60
        default: nil
        }
    }
}
