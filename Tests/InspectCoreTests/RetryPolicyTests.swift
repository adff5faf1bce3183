import InspectCore
import Testing

struct RetryPolicyTests {
    @Test func `The delay doubles from 5 s to 600 s, whatever the attempt's number is`() {
        let policy = RetryPolicy()
        let delays = [0, 1, 2, 3, 7, 8, 9, 100, Int.max].map { policy.delay(afterAttempt: $0, random: 0).seconds }
        #expect(delays == [5, 5, 10, 20, 320, 600, 600, 600, 600])
        #expect(policy.delay(afterAttempt: 1, random: -9) == .seconds(4))
        #expect(policy.delay(afterAttempt: 1, random: 1) == .seconds(6))
    }

    @Test func `A key that is not to be had ends no job, however often`() {
        let policy = RetryPolicy()
        for code in ErrorCode.allCases where code.isUncounted && code != .objectStoreUnavailable {
            let wait: Duration = code == .keyUnknown ? .seconds(300) : .seconds(5)
            for attempt in [1, 8, 1_000] {
                #expect(
                    policy.verdict(after: InspectError(code), attempt: attempt, crashes: 0, random: 0)
                        == .retry(after: wait))
            }
        }
    }

    @Test func `An object store that is unavailable ends no job, however often`() {
        let policy = RetryPolicy()
        for attempt in [1, 8, 1_000] {
            let verdict = policy.verdict(
                after: InspectError(.objectStoreUnavailable), attempt: attempt, crashes: 0, random: 0)
            #expect(verdict == .retry(after: .seconds(30)))
        }
        let lost = InspectError(.objectMissing)
        #expect(policy.verdict(after: lost, attempt: 1, crashes: 0, random: 0) == .deadLetter(lost))
    }
}
