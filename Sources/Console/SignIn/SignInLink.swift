internal import Foundation
internal import Synchronization

/// A link with which one person signs in once, without a provider: anyone who can start the console on this machine may.
package final class SignInLink: Sendable {
    /// The name under which the record has the person.
    let name: String
    let grants: [String]
    private let secret: ConsoleSecret
    private let until: ContinuousClock.Instant
    private let isUsed = Mutex(false)

    /// - Parameter grants: Such as `reviewer:bank` or `operator:*`.
    package init(name: String, grants: [String], lifetime: Duration = .seconds(600)) {
        self.name = name
        self.grants = grants
        self.secret = ConsoleSecret()
        self.until = .now + lifetime
    }

    /// The link's path.
    package var path: String { "/sign-in/link?token=\(self.secret.text)" }

    /// Whether the link is this one and has not been used; from now on it counts as used.
    func take(_ token: String) -> Bool {
        guard ConsoleSecret.areEqual(token, self.secret.text), .now < self.until else { return false }
        return self.isUsed.withLock { isUsed in
            defer { isUsed = true }
            return !isUsed
        }
    }
}
