internal import HTTPServer

/// One page or form of the console. ``all`` is the only list of them.
struct ConsoleRoute: Sendable {
    enum Access: Sendable {
        case everyone
        /// Persons with one of these roles for some partner. The database checks for which.
        case roles(Set<ConsoleRole>)
    }

    var method: String
    var access: Access
    /// Whether the form contains a longer typed text, which is shown again whatever the outcome.
    var keepsTyped: Bool
    var work: @Sendable (ConsoleCall, FormBody) async throws -> HTTPResponse
    let pattern: PathPattern
    var path: String { self.pattern.text }

    init(
        _ method: String, _ path: String, _ access: Access, keepsTyped: Bool = false,
        _ work: @escaping @Sendable (ConsoleCall, FormBody) async throws -> HTTPResponse
    ) {
        self.method = method
        self.pattern = PathPattern(path)
        self.access = access
        self.keepsTyped = keepsTyped
        self.work = work
    }

    static let all: [ConsoleRoute] =
        Self.signIns + Self.cases + Self.operations + Self.desk + Self.tasks + Self.oversight

    /// The routes of a path with the values of its names.
    static func find(_ segments: [String]) -> (routes: [ConsoleRoute], values: [String: String]) {
        PathPattern.find(segments, in: Self.all, by: \.pattern)
    }
}
