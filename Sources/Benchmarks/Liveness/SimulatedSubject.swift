internal import Foundation
internal import InspectCore

extension SplitMix64 {
    mutating func uniform(_ range: ClosedRange<Double>) -> Double { Double.random(in: range, using: &self) }

    /// Even on a logarithmic scale.
    mutating func logarithmic(_ range: ClosedRange<Double>) -> Double {
        exp(self.uniform(log(range.lowerBound)...log(range.upperBound)))
    }

    /// Of the standard normal distribution (Box and Muller, 1958).
    mutating func normal() -> Double {
        let radius = (-2 * log(1 - Double.random(in: 0..<1, using: &self))).squareRoot()
        return radius * cos(2 * .pi * Double.random(in: 0..<1, using: &self))
    }

    /// As the database draws them: no two equal in a row.
    mutating func sequence<Kind: Equatable>(of kinds: [Kind], count: Int) -> [Kind] {
        var drawn: [Kind] = []
        while drawn.count < count {
            let kind = kinds[Int.random(in: 0..<kinds.count, using: &self)]
            if kind != drawn.last { drawn.append(kind) }
        }
        return drawn
    }
}

/// The subject in front of the simulated camera.
package enum SimulatedSubject: String, Sendable, CaseIterable, Codable {
    /// A person who follows the instructions.
    case live = "live"
    /// A recording of a person who followed another challenge, shown to the camera.
    case replay = "replay"
    /// Frames of a living person who follows another sequence, injected instead of the camera.
    case wrongSequence = "wrongSequence"
    /// A print: whole, or cut out along the face.
    case plane = "plane"
    /// The correct answer, but too late.
    case late = "late"
    /// Frames that are synthesised for a sequence guessed for each challenge.
    case guess = "guess"
}

/// How often simulated subjects of one kind were accepted.
package struct SimulationTally: Codable, Sendable, Hashable {
    /// In all.
    package var runs = 0
    /// Accepted.
    package var passed = 0
    /// Rejected.
    package var failed = 0
    /// Neither; counts as not accepted.
    package var inconclusive = 0
    /// How often each reason kept a run from passing.
    package var reasons: [String: Int] = [:]

    package init() {}

    mutating func add(_ outcome: ChallengeRules.Outcome) {
        self.runs += 1
        switch outcome.outcome {
        case .pass: self.passed += 1
        case .fail: self.failed += 1
        case .inconclusive: self.inconclusive += 1
        }
        guard let reason = outcome.reason else { return }
        // For motions, which of them it was.
        let step = outcome.method == "motion" ? outcome.verdicts.last?.steps.first { $0.outcome != .pass }?.name : nil
        self.reasons[[reason.rawValue, step].compactMap { $0 }.joined(separator: " "), default: 0] += 1
    }

    /// 0–1; 0 without runs.
    package var passRate: Double { self.runs > 0 ? Double(self.passed) / Double(self.runs) : 0 }
}
