internal import CVision
package import InspectCore

/// Compares the arithmetic for wide registers with plain sums, and averages, projections and colours with OpenCV's.
package enum PixelArithmetic {
    /// What a comparison found.
    package struct Check: Sendable {
        /// Sums and pixels compared, and how many differ: if any does, results depend on the processor.
        package let compared, different: Int64
        /// Convolutions, small networks and reductions that computed them, and how many of them used wide registers.
        package let runs, wideRuns: Int64
        /// Numbers in this processor's widest register: 4 if it has no wide ones.
        package let lanes: Int

        package init(compared: Int64, different: Int64, runs: Int64, wideRuns: Int64, lanes: Int) {
            self.compared = compared
            self.different = different
            self.runs = runs
            self.wideRuns = wideRuns
            self.lanes = lanes
        }
    }

    /// The verdict on a ``Check``.
    package enum Outcome: Equatable, Sendable {
        case pass
        /// No sum differs, but code for wide registers was not run.
        case inconclusive(reason: String)
        case fail(reason: String)
    }

    /// Convolves and reduces random numbers with wide registers and in plain arithmetic.
    ///
    /// - Parameters:
    ///   - seed: The seed of the random numbers.
    ///   - rounds: How many convolutions of each kind, networks and reductions; each takes some milliseconds.
    ///   - mostLanes: Wider registers stay unused.
    package static func check(seed: UInt64, rounds: Int, mostLanes: Int = .max) throws(InspectError) -> Check {
        var made = cv_arithmetic_check()
        let most = Int32(clamping: mostLanes)
        try callVision { error in cv_arithmetic_verify(seed, Int32(rounds), most, &made, &error) }
        return Check(
            compared: made.compared, different: made.different, runs: made.runs, wideRuns: made.wide_runs,
            lanes: Int(made.lanes))
    }
}

extension PixelArithmetic.Check {
    /// A pass only if the fast code ran each time: sums of the plain code prove nothing about it.
    package var outcome: PixelArithmetic.Outcome {
        guard self.different == 0 else {
            return .fail(reason: "\(self.different) of \(self.compared) sums differ from plain ones")
        }
        guard self.compared > 0 else { return .fail(reason: "no sum was compared") }
        guard self.lanes > 4 else {
            return .inconclusive(reason: "the processor has no AVX2 and FMA, so the code for them did not run")
        }
        guard self.wideRuns == self.runs else {
            return .fail(reason: "registers of \(self.lanes) floats were used in \(self.wideRuns) of \(self.runs) runs")
        }
        return .pass
    }
}
