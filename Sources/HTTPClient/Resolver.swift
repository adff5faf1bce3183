internal import CCurl
internal import Foundation
internal import Synchronization

/// Resolves names on a bounded number of its own threads.
///
/// `getaddrinfo` may block for any time and cannot be cancelled, so a hanging look-up occupies its thread. It delays
/// nothing else: concurrent requests for a name share one look-up, a domain has a few threads at most, and each caller
/// waits no longer than its own deadline.
package final class Resolver: Sendable {
    /// Why a name has no address.
    package enum Failure: Error, Sendable {
        /// The name does not exist.
        case unknown
        /// No answer in time: it is unknown whether the name exists.
        case silent
    }

    /// A look-up that blocks, in the form of `getaddrinfo`.
    package typealias Lookup = @Sendable (String) -> Result<[IPAddress], Failure>

    /// Threads at once.
    package static let threads = 32
    /// Threads at once for names of one domain (its last two labels).
    static let threadsForDomain = 4
    /// How long an answer is used. `getaddrinfo` does not return the record's time to live, and Debian's resolver has no
    /// cache.
    static let lifetime: Duration = .seconds(30)

    private let lookup: Lookup
    private let state = Mutex(State())

    private struct Flight {
        var domain: String
        var waiters: [Int: CheckedContinuation<Result<[IPAddress], Failure>, Never>] = [:]
        var isRunning = false
    }

    private struct State {
        var answers: [String: (addresses: [IPAddress], until: ContinuousClock.Instant)] = [:]
        var flights: [String: Flight] = [:]
        /// Names that wait for a thread, in order.
        var queue: [String] = []
        var busy: [String: Int] = [:]
        var nextWaiter = 0

        var threads: Int { self.busy.values.reduce(0, +) }

        /// Removes and returns the first waiting name whose domain may use another thread.
        mutating func next() -> String? {
            guard self.threads < Resolver.threads else { return nil }
            let position = self.queue.firstIndex { name in
                self.busy[self.flights[name]?.domain ?? "", default: 0] < Resolver.threadsForDomain
            }
            guard let position else { return nil }
            let name = self.queue.remove(at: position)
            if let domain = self.flights[name]?.domain { self.busy[domain, default: 0] += 1 }
            self.flights[name]?.isRunning = true
            return name
        }
    }

    package init(lookup: @escaping Lookup = Resolver.system) { self.lookup = lookup }

    /// The addresses of a name, in the order in which to try them.
    ///
    /// - Parameter limit: How long to wait.
    func addresses(of name: String, within limit: Duration) async -> Result<[IPAddress], Failure> {
        let number = self.state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        if let known = self.known(name) { return .success(known) }
        let timer = Task {
            try await Task.sleep(for: limit)
            self.giveUp(number, on: name)
        }
        defer { timer.cancel() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let starts = self.state.withLock { state in
                    if state.flights[name] == nil {
                        state.flights[name] = Flight(domain: Self.domain(of: name))
                        state.queue.append(name)
                    }
                    state.flights[name]?.waiters[number] = continuation
                    return state.next()
                }
                if let starts { Thread.detachNewThread { self.work(on: starts) } }
                // A cancellation before this point found no waiter.
                if Task.isCancelled { self.giveUp(number, on: name) }
            }
        } onCancel: {
            self.giveUp(number, on: name)
        }
    }

    func known(_ name: String) -> [IPAddress]? {
        self.state.withLock { state in state.answers[name].flatMap { $0.until > .now ? $0.addresses : nil } }
    }

    private func giveUp(_ waiter: Int, on name: String) {
        let continuation = self.state.withLock { state in
            let continuation = state.flights[name]?.waiters.removeValue(forKey: waiter)
            // Nobody waits for it any more, so it needs no thread.
            if let flight = state.flights[name], flight.waiters.isEmpty, !flight.isRunning {
                state.flights[name] = nil
                state.queue.removeAll { $0 == name }
            }
            return continuation
        }
        continuation?.resume(returning: .failure(.silent))
    }

    /// A thread's main function: resolves names until it may take no other.
    private func work(on first: String) {
        var name: String? = first
        while let current = name {
            let result = self.lookup(current)
            let (waiters, next) = self.state.withLock { state in
                let flight = state.flights.removeValue(forKey: current)
                if let domain = flight?.domain {
                    state.busy[domain, default: 1] -= 1
                    if state.busy[domain] == 0 { state.busy[domain] = nil }
                }
                if case .success(let addresses) = result {
                    // Partners choose the names, so the cache is bounded, but larger than any dispatcher needs.
                    if state.answers.count >= 10_000 { state.answers.removeAll() }
                    state.answers[current] = (addresses, .now + Self.lifetime)
                }
                return (flight?.waiters ?? [:], state.next())
            }
            for waiter in waiters.values { waiter.resume(returning: result) }
            name = next
        }
    }

    private static func domain(of name: String) -> String {
        name.lowercased().split(separator: ".").suffix(2).joined(separator: ".")
    }

    /// `getaddrinfo` of the system.
    static let system: Lookup = { name in
        var hints = addrinfo()
        hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(name, nil, &hints, &list)
        defer { if let list { freeaddrinfo(list) } }
        guard code == 0 else {
            return .failure([EAI_AGAIN, EAI_FAIL, EAI_MEMORY, EAI_SYSTEM].contains(code) ? .silent : .unknown)
        }
        var addresses: [IPAddress] = []
        var entry = list
        while let current = entry?.pointee {
            entry = current.ai_next
            guard let address = current.ai_addr else { continue }
            let raw = UnsafeRawPointer(address)
            let found: IPAddress? =
                switch current.ai_family {
                case AF_INET:
                    IPAddress(v4: UInt32(bigEndian: raw.loadUnaligned(as: sockaddr_in.self).sin_addr.s_addr))
                case AF_INET6:
                    withUnsafeBytes(of: raw.loadUnaligned(as: sockaddr_in6.self).sin6_addr) { IPAddress(bytes: $0) }
                default: nil
                }
            if let found, !addresses.contains(found) { addresses.append(found) }
        }
        return addresses.isEmpty ? .failure(.unknown) : .success(addresses)
    }
}
