internal import HTTPServer

/// One page or form of the console. ``all`` is the only list of them.
struct ConsoleRoute: Sendable {
    enum Access: Sendable {
        case everyone
        /// Persons with one of these roles for some partner. The database checks for which.
        case roles(Set<ConsoleRole>)
    }

    var method: String
    /// Names in braces stand for a segment of the path.
    var path: String
    var access: Access
    /// Whether the form has what a person typed at length, which is shown again however it ends.
    var keepsTyped: Bool
    var work: @Sendable (ConsoleCall, FormBody) async throws -> HTTPResponse
    private var segments: [String]

    init(
        _ method: String, _ path: String, _ access: Access, keepsTyped: Bool = false,
        _ work: @escaping @Sendable (ConsoleCall, FormBody) async throws -> HTTPResponse
    ) {
        self.method = method
        self.path = path
        self.access = access
        self.keepsTyped = keepsTyped
        self.work = work
        self.segments = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    }

    static let all: [ConsoleRoute] =
        Self.signIns + Self.cases + Self.operations + Self.desk + Self.tasks + Self.oversight

    /// The routes of a path with the values of its names. A literal segment goes before a name.
    static func find(_ segments: [String]) -> (routes: [ConsoleRoute], values: [String: String]) {
        var found: [(route: ConsoleRoute, values: [String: String])] = []
        for route in Self.all where route.segments.count == segments.count {
            var values: [String: String]? = [:]
            for (given, own) in zip(segments, route.segments) {
                if own.first == "{", !given.isEmpty {
                    values?[String(own.dropFirst().dropLast())] = given
                } else if given != own {
                    values = nil
                }
            }
            if let values { found.append((route, values)) }
        }
        guard let fewest = found.map(\.values.count).min() else { return ([], [:]) }
        let exact = found.filter { $0.values.count == fewest }
        return (exact.map(\.route), exact[0].values)
    }
}
