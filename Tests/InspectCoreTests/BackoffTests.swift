import InspectCore
import Testing

struct BackoffTests {
    @Test func `Waits double up to the longest, and begin anew after a reset`() {
        var backoff = Backoff(from: .seconds(1), to: .seconds(10))
        #expect((0..<6).map { _ in backoff.next(1).seconds } == [1, 2, 4, 8, 10, 10])
        for _ in 0..<1000 { _ = backoff.next(1) }
        #expect(backoff.next(0.5) == .seconds(5))
        backoff.reset()
        #expect(backoff.next(1.5) == .seconds(1.5))
        #expect(backoff.next(1) == .seconds(2))
    }
}
