import Foundation
import Testing

@testable import Callbacks
@testable import HTTPClient

struct CallbackRetryPolicyTests {
    private let policy = CallbackRetryPolicy()
    private let now = Date(timeIntervalSince1970: 1_800_000_000)

    private func answer(_ status: Int, retryAfter: String? = nil) -> Result<HTTPResponse, HTTPError> {
        .success(
            HTTPResponse(
                status: status, head: Array((retryAfter.map { "Retry-After: \($0)\n" } ?? "").utf8), body: [],
                microseconds: 1, isConnectionReused: false))
    }

    private func outcome(
        _ result: Result<HTTPResponse, HTTPError>, attempt: Int = 1, released: Int = 0, isOurFault: Bool = false,
        jitter: Double = 1
    ) -> CallbackRetryPolicy.Outcome {
        self.policy.outcome(
            of: result, attempt: attempt, released: released, isOurFault: isOurFault, now: self.now, jitter: jitter)
    }

    @Test(arguments: [200, 201, 202, 204, 299]) func `Each 2xx status means delivered`(_ status: Int) {
        #expect(self.outcome(self.answer(status)) == .delivered)
    }

    @Test(arguments: [100, 199, 300, 301, 304, 307, 400, 401, 404, 408, 429, 500, 503])
    func `Any other status is retried`(
        _ status: Int
    ) {
        #expect(self.outcome(self.answer(status)) == .retry(after: .seconds(5)))
    }

    @Test func `Twelve attempts are spread over two days`() {
        var delays: [Duration] = []
        for attempt in 1...12 {
            guard case .retry(let delay) = self.outcome(.failure(HTTPError(.timedOut)), attempt: attempt) else { break }
            delays.append(delay)
        }
        #expect(delays == CallbackRetryPolicy.delays)
        #expect(delays.count == 11)
        #expect((47...49).contains(delays.reduce(.zero, +) / .seconds(3600)))
        #expect(self.outcome(.failure(HTTPError(.timedOut)), attempt: 12) == .deadLetter)
        #expect(self.outcome(.failure(HTTPError(.timedOut)), attempt: 13) == .deadLetter)
    }

    @Test func `Jitter multiplies the delay`() {
        #expect(self.outcome(self.answer(500), attempt: 2, jitter: 0.8) == .retry(after: .seconds(24)))
        #expect(self.outcome(self.answer(500), attempt: 2, jitter: 1.2) == .retry(after: .seconds(36)))
    }

    @Test func `Status 410 dead-letters at once`() {
        #expect(self.outcome(self.answer(410)) == .deadLetter)
    }

    @Test func `A URL that cannot be requested dead-letters at once`() {
        #expect(self.outcome(.failure(HTTPError(.requestInvalid))) == .deadLetter)
    }

    @Test(arguments: [429, 503]) func `Retry-After counts within bounds`(_ status: Int) {
        #expect(self.outcome(self.answer(status, retryAfter: "60")) == .retry(after: .seconds(60)))
        #expect(self.outcome(self.answer(status, retryAfter: "1")) == .retry(after: .seconds(5)))
        #expect(self.outcome(self.answer(status, retryAfter: "4000000000")) == .retry(after: .seconds(36_000)))
        #expect(self.outcome(self.answer(status, retryAfter: "soon")) == .retry(after: .seconds(5)))
        #expect(self.outcome(self.answer(status, retryAfter: "-7")) == .retry(after: .seconds(5)))
        // 1,800,000,000 is 2027-01-15T08:00:00Z.
        #expect(
            self.outcome(self.answer(status, retryAfter: "Fri, 15 Jan 2027 08:02:00 GMT"))
                == .retry(after: .seconds(120)))
        #expect(
            self.outcome(self.answer(status, retryAfter: "Fri, 15 Jan 2027 07:00:00 GMT")) == .retry(after: .seconds(5))
        )
    }

    @Test func `Retry-After of other statuses is ignored`() {
        #expect(self.outcome(self.answer(500, retryAfter: "60")) == .retry(after: .seconds(5)))
    }

    @Test func `A fault on our side counts no attempt`() {
        let fault = Result<HTTPResponse, HTTPError>.failure(HTTPError(.nameNotResolved))
        #expect(self.outcome(fault, isOurFault: true) == .release(after: .seconds(30), isCounted: true))
        #expect(
            self.outcome(fault, attempt: 12, released: 9, isOurFault: true)
                == .release(after: .seconds(600), isCounted: true))
        #expect(self.outcome(fault) == .retry(after: .seconds(5)))
    }

    @Test func `After a hundred releases a fault on our side counts`() {
        let fault = Result<HTTPResponse, HTTPError>.failure(HTTPError(.localFault))
        #expect(self.outcome(fault, released: 100, isOurFault: true) == .retry(after: .seconds(5)))
        #expect(self.outcome(fault, attempt: 12, released: 100, isOurFault: true) == .deadLetter)
    }

    @Test func `An interrupted attempt is released without a delay`() {
        #expect(self.outcome(.failure(HTTPError(.cancelled)), attempt: 12) == .release(after: .zero, isCounted: true))
    }
}
