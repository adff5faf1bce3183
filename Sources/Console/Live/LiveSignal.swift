internal import Foundation
internal import HTTPServer

/// The part of a page that may change while it is open.
enum LiveSubject: Hashable, Sendable {
    /// The cases that the person may review.
    case cases
    case queue
    /// Samples of the queue.
    case plots
    /// Actions on selections.
    case tasks
    /// One case.
    case job(String)

    /// As the database knows it.
    var name: String {
        switch self {
        case .cases: "cases"
        case .queue: "queue"
        case .plots: "plots"
        case .tasks: "tasks"
        case .job(let id): id
        }
    }
}

/// An open page: whose, and of what.
struct LivePage: Hashable, Sendable {
    /// Digest of the session's cookie; the database answers what that session may see.
    var session: Data
    var subject: LiveSubject
}

/// Wakes open pages whose subject has a different stamp from the one they know; `nil`: the session has ended, or may no longer see this.
typealias LiveSignal = Waits<LivePage, String?>

extension LiveSignal {
    /// - Parameter perPerson: Fewer than the six connections that a browser opens to one host.
    convenience init(
        limit: Int = 500, perPerson: Int = 4, pause: Duration = .seconds(1),
        stamps: @escaping @Sendable ([LivePage]) async throws -> [LivePage: String]
    ) {
        self.init(
            limit: limit, perOwner: perPerson, oldestYields: true, pause: { _ in try? await Task.sleep(for: pause) }
        ) { pages in
            let stamps = try await stamps(pages)
            return pages.map { ($0, stamps[$0]) }
        }
    }

    /// Waits until a page's subject has a different stamp from the one the page knows; returns at once if it knows none.
    func wait(for page: LivePage, since known: String?, person: String, within time: Duration) async -> Outcome {
        await self.wait(for: page, within: time, owner: person) { $0 == nil || $0 != known }
    }
}
