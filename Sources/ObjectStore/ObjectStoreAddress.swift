package import Foundation
package import InspectCore

/// Where objects are: `https://HOST[:PORT]/BUCKET[/PREFIX][?region=REGION][&http=yes]`, in path style.
package struct ObjectStoreAddress: Sendable, Equatable {
    /// Scheme, host and port.
    let origin: String
    package let bucket: String
    /// Without slashes at its ends; may be empty.
    package let prefix: String
    let region: String

    /// - Throws: ``InspectError`` with ``ErrorCode/requestInvalid``.
    package init(_ text: String) throws(InspectError) {
        func refuse(_ what: String) -> InspectError {
            InspectError(
                .requestInvalid, "the object store's URL: \(what)",
                hint: "It is https://HOST/BUCKET[/PREFIX][?region=REGION].")
        }
        guard let parts = URLComponents(string: text), let scheme = parts.scheme, let host = parts.host, !host.isEmpty,
            parts.user == nil, parts.password == nil, parts.fragment == nil
        else { throw refuse("not a URL, or it holds a login") }
        var region = "us-east-1"
        var allowsHTTP = ["127.0.0.1", "[::1]", "::1"].contains(host)
        for item in parts.queryItems ?? [] {
            switch (item.name, item.value ?? "") {
            case ("region", let value) where Self.isWord(value): region = value
            case ("http", "yes"): allowsHTTP = true
            default: throw refuse("unknown setting \(item.name)")
            }
        }
        guard scheme == "https" || scheme == "http" && allowsHTTP else {
            throw refuse("http leads only to this host, or with http=yes")
        }
        let path = parts.path.split(separator: "/").map(String.init)
        // Characters that need no escape: libcurl signs the path as it is written.
        guard let bucket = path.first, path.allSatisfy({ Self.isWord($0) && $0 != "." && $0 != ".." }),
            parts.path.utf8.count <= 255
        else { throw refuse("no bucket, or a character other than letters, digits, dots, dashes and underscores") }
        self.origin = scheme + "://" + host + (parts.port.map { ":\($0)" } ?? "")
        self.bucket = bucket
        self.prefix = path.dropFirst().joined(separator: "/")
        self.region = region
    }

    /// The location of a new object: the day and the key that sealed it let a sweep find what no job has, without an index of
    /// locations; the key's id stands in the sealed bytes anyway.
    package func newLocation(key: String, at date: Date = Date()) -> String {
        let day = date.formatted(.iso8601.year().month().day().dateSeparator(.dash))
        let name = [self.prefix, day, key, UUID().uuidString.lowercased()].filter { !$0.isEmpty }.joined(separator: "/")
        return "s3:\(self.bucket)/\(name)"
    }

    /// - Throws: ``InspectError`` with ``ErrorCode/objectMissing``: the location is in another bucket or under another prefix.
    func url(of location: String) throws(InspectError) -> String {
        let root = "s3:" + ([self.bucket, self.prefix].filter { !$0.isEmpty }.joined(separator: "/")) + "/"
        let rest = location.dropFirst(root.count).split(separator: "/", omittingEmptySubsequences: false)
        guard location.hasPrefix(root), rest.allSatisfy({ Self.isWord(String($0)) && $0 != "." && $0 != ".." }) else {
            throw InspectError(.objectMissing, "it is in another object store")
        }
        return "\(self.origin)/\(location.dropFirst("s3:".count))"
    }

    /// The URL that lists the bucket behind a key. Its parameters are in the order in which they are signed.
    func listing(after key: String?) -> String {
        func escape(_ text: String) -> String {
            text.addingPercentEncoding(withAllowedCharacters: Self.unreserved) ?? ""
        }
        let root = self.prefix.isEmpty ? "" : self.prefix + "/"
        let start = key.map { "&start-after=" + escape($0) } ?? ""
        return "\(self.origin)/\(self.bucket)?list-type=2&prefix=\(escape(root))\(start)"
    }

    private static let unreserved = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")

    private static func isWord(_ text: String) -> Bool {
        (1...100).contains(text.utf8.count)
            && text.unicodeScalars.allSatisfy { $0 != "~" && Self.unreserved.contains($0) }
    }
}
