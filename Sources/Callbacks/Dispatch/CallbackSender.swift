internal import Foundation
internal import InspectCore

/// Makes one attempt: signs, sends and judges.
struct CallbackSender: Sendable {
    let client: HTTPClient
    let policy = CallbackRetryPolicy()
    /// Milliseconds for one attempt, resolution to last byte. Well below the lease.
    let timeoutMilliseconds: Int
    /// Value of `User-Agent`.
    let agent: String
    /// Tells a name that does not exist from a resolver that does not answer.
    let resolver: ResolverProbe

    /// - Parameter deadline: When the claim lapses.
    func attempt(_ callback: ClaimedCallback, deadline: ContinuousClock.Instant) async -> CallbackSettlement {
        let started = Date()
        // A span of its own for each attempt: a receiver's work belongs to the attempt that reached it.
        var generator = SystemRandomNumberGenerator()
        let trace = callback.trace?.child(using: &generator)
        let clock = ContinuousClock.now
        let result = await self.send(callback, at: started, trace)
        let milliseconds = Int((ContinuousClock.now - clock) / .milliseconds(1))
        var isOurFault = false
        if case .failure(let error) = result {
            isOurFault = error.code == .localFault
            if error.code == .nameNotResolved { isOurFault = await self.resolver.isSilent(about: callback.url) }
        }
        let outcome = self.policy.outcome(
            of: result, attempt: callback.attempts + 1, released: callback.released, isOurFault: isOurFault,
            now: Date(), jitter: Double.random(in: 0.8...1.2))
        return CallbackSettlement(
            callback: callback, outcome: outcome, started: started, milliseconds: milliseconds,
            status: (try? result.get())?.status, error: Self.error(of: result, isOurFault: isOurFault), trace: trace,
            deadline: deadline)
    }

    private func send(
        _ callback: ClaimedCallback, at date: Date, _ trace: TraceContext?
    ) async -> Result<HTTPResponse, HTTPError> {
        guard let secret = WebhookSecret(callback.secret) else {
            return .failure(HTTPError(.localFault, "the endpoint's secret is not one of Standard Webhooks"))
        }
        // The new secret's signature first. An overlap may have ended since the claim, which costs nothing.
        let secrets = [secret] + [callback.previousSecret.flatMap { WebhookSecret($0) }].compactMap { $0 }
        // A new timestamp each time: the receiver refuses old ones.
        let signature = WebhookSignature(
            id: callback.webhookID, timestamp: Int(date.timeIntervalSince1970), body: callback.body, secrets: secrets)
        let request = HTTPRequest(
            method: .post(body: callback.body), url: callback.url,
            headers: [
                .init(name: "Content-Type", value: "application/json"), .init(name: "User-Agent", value: self.agent),
            ] + signature.headers + (trace.map { [.init(name: "traceparent", value: $0.traceparent)] } ?? []),
            limits: .init(totalMilliseconds: self.timeoutMilliseconds, bodyBytes: 64 * 1024),
            allowsHTTP: callback.allowsHTTP)
        do throws(HTTPError) {
            return .success(
                try await self.client.send(request, policy: EgressPolicy(allowsPrivate: callback.allowsPrivate)))
        } catch {
            return .failure(error)
        }
    }

    private static func error(of result: Result<HTTPResponse, HTTPError>, isOurFault: Bool) -> String? {
        switch result {
        case .success(let response):
            (200..<300).contains(response.status) ? nil : "HTTP status \(response.status)"
        case .failure(let error):
            isOurFault && error.code != .localFault ? "\(error) (\(HTTPError.Code.localFault.rawValue))" : "\(error)"
        }
    }
}
