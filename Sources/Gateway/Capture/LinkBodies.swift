internal import Foundation
internal import Synchronization

/// The bodies that are under way for each link. A person sends one, and perhaps another before it is known that the first is lost;
/// with more, one link could take its partner's whole share of the server's memory.
final class LinkBodies: Sendable {
    private static let most = 2

    private let counts = Mutex<[String: Int]>([:])

    /// One body. The work holds it until it is answered or its client has left.
    private final class Place: Sendable {
        private let bodies: LinkBodies
        private let link: String

        init(_ bodies: LinkBodies, _ link: String) {
            self.bodies = bodies
            self.link = link
        }

        deinit {
            self.bodies.counts.withLock { counts in
                let left = (counts[self.link] ?? 0) - 1
                counts[self.link] = left > 0 ? left : nil
            }
        }
    }

    /// The work on a body of a link, which is counted from now on.
    func counted(_ link: String, _ work: @escaping GatewayRoute.Work) throws -> GatewayRoute.Work {
        let isTaken = self.counts.withLock { counts in
            let count = counts[link] ?? 0
            guard count < Self.most else { return false }
            counts[link] = count + 1
            return true
        }
        guard isTaken else { throw GatewayService.Later(seconds: 1) }
        let place = Place(self, link)
        return { body in
            defer { withExtendedLifetime(place) {} }
            return try await work(body)
        }
    }
}
