internal import InspectCore

/// Runs simulated subjects through the product's decisions and counts the outcomes.
package enum LivenessSimulation {
    /// The outcomes of one method's runs, by subject.
    package struct Result: Codable, Sendable {
        /// By raw value of ``SimulatedSubject``.
        package var subjects: [String: SimulationTally] = [:]
        /// The probability of guessing: one of all sequences.
        package var guessRate: Double

        /// Zeros for a subject that was not run.
        package subscript(subject: SimulatedSubject) -> SimulationTally {
            self.subjects[subject.rawValue] ?? SimulationTally()
        }

        /// The limits that are missed; empty if all hold: living people are rejected in at most 5 % of the runs
        /// (what is inconclusive counts as rejected), attacks accepted in at most 1 %; guesses at most as often as
        /// arithmetic says, within chance (three standard deviations).
        package var faults: [String] {
            var faults: [String] = []
            if self[.live].passRate < 0.95 { faults.append("live passes \(self[.live].passRate)") }
            for subject in SimulatedSubject.allCases where ![.live, .guess].contains(subject) {
                if self[subject].passRate > 0.01 {
                    faults.append("\(subject.rawValue) passes \(self[subject].passRate)")
                }
            }
            let guess = self[.guess]
            let spread = (self.guessRate * (1 - self.guessRate) / Double(max(guess.runs, 1))).squareRoot()
            if guess.passRate > max(self.guessRate + 3 * spread, 1 / Double(max(guess.runs, 1))) {
                faults.append("guess passes \(guess.passRate)")
            }
            return faults
        }
    }

    /// - Parameter runs: For each kind of subject.
    package static func colourFlash(runs: Int, seed: UInt64) -> Result {
        let simulation = ColourFlashSimulation()
        var result = Result(guessRate: 0)
        for (number, subject) in SimulatedSubject.allCases.enumerated() {
            var random = SplitMix64(seed: seed &+ UInt64(number))
            var tally = SimulationTally()
            for run in 0..<runs {
                let challenge = simulation.challenge(&random)
                if run == 0 { result.guessRate = challenge.guessRate() }
                let outcome = ChallengeRules.decide(challenge, simulation.capture(subject, challenge, &random))
                tally.add(outcome)
            }
            result.subjects[subject.rawValue] = tally
        }
        return result
    }

    /// - Parameter runs: For each kind of subject.
    package static func motion(runs: Int, seed: UInt64) -> Result {
        let simulation = MotionSimulation()
        var result = Result(guessRate: 0)
        for (number, subject) in SimulatedSubject.allCases.enumerated() {
            var random = SplitMix64(seed: seed &+ 1000 &+ UInt64(number))
            var tally = SimulationTally()
            for run in 0..<runs {
                var challenge = simulation.challenge(&random)
                if run == 0 { result.guessRate = challenge.guessRate(motions: simulation.motions) }
                let capture = simulation.capture(subject, &challenge, &random)
                let outcome = ChallengeRules.decide(challenge, capture)
                tally.add(outcome)
            }
            result.subjects[subject.rawValue] = tally
        }
        return result
    }
}
