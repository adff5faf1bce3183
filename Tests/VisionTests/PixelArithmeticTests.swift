import Testing
import Vision

@Suite struct PixelArithmeticTests {
    @Test(arguments: [1, 2, 3], [16, 8, 4])
    func `Sums, networks, grids, averages, projections and colours equal plain ones with registers of each width`(
        seed: UInt64, mostLanes: Int
    ) throws {
        let check = try PixelArithmetic.check(seed: seed, rounds: 60, mostLanes: mostLanes)
        #expect(check.compared > 200_000)
        #expect(check.different == 0)
        #expect(check.runs == 360)
        #expect(check.wideRuns == (min(mostLanes, check.lanes) > 4 ? 360 : 0))
    }

    @Test func `The check passes only where the fast way ran`() throws {
        let check = try PixelArithmetic.check(seed: 4, rounds: 5)
        if check.lanes > 4 {
            #expect(check.outcome == .pass)
        } else if case .inconclusive = check.outcome {
        } else {
            Issue.record("without wide registers: \(check.outcome)")
        }
        let narrow = try PixelArithmetic.check(seed: 4, rounds: 5, mostLanes: 4)
        #expect(narrow.different == 0)
        #expect(narrow.outcome != .pass)
    }

    @Test func `Each outcome has its reason`() {
        func outcome(different: Int64 = 0, wideRuns: Int64 = 10, lanes: Int = 8) -> PixelArithmetic.Outcome {
            PixelArithmetic.Check(compared: 100, different: different, runs: 10, wideRuns: wideRuns, lanes: lanes)
                .outcome
        }
        #expect(outcome() == .pass)
        #expect(outcome(different: 3) == .fail(reason: "3 of 100 sums differ from plain ones"))
        #expect(outcome(wideRuns: 4) == .fail(reason: "registers of 8 floats were used in 4 of 10 runs"))
        #expect(
            outcome(wideRuns: 0, lanes: 4)
                == .inconclusive(reason: "the processor has no AVX2 and FMA, so the code for them did not run"))
    }
}
