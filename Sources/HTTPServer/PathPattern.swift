/// A path such as `/cases/{id}`: names in braces stand for a segment.
package struct PathPattern: Sendable {
    /// As it was given.
    package let text: String
    private let segments: [String]

    package init(_ text: String) {
        self.text = text
        self.segments = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    }

    /// The names, in their order.
    package var names: [String] {
        self.segments.filter { $0.first == "{" }.map { String($0.dropFirst().dropLast()) }
    }

    /// The values of the names; `nil`: another path.
    private func values(_ segments: [String]) -> [String: String]? {
        guard segments.count == self.segments.count else { return nil }
        var values: [String: String] = [:]
        for (given, own) in zip(segments, self.segments) {
            if own.first == "{" {
                guard !given.isEmpty else { return nil }
                values[String(own.dropFirst().dropLast())] = given
            } else if given != own {
                return nil
            }
        }
        return values
    }

    /// The routes of a path with the values of its names. A literal segment goes before a name.
    package static func find<Route>(
        _ segments: [String], in all: [Route], by pattern: KeyPath<Route, PathPattern>
    ) -> (routes: [Route], values: [String: String]) {
        let found = all.compactMap { route in
            route[keyPath: pattern].values(segments).map { (route: route, values: $0) }
        }
        guard let fewest = found.map(\.values.count).min() else { return ([], [:]) }
        let exact = found.filter { $0.values.count == fewest }
        return (exact.map(\.route), exact[0].values)
    }
}
