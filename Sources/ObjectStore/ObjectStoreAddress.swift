package import Foundation
internal import HTTPClient
package import InspectCore

/// Where objects are, and what requests are signed with, as the setting `INSPECTD_OBJECT_STORE` says it:
///
/// ```
/// https://HOST[:PORT]/BUCKET[/PREFIX]?credentials-file=FILE[&region=REGION][&style=host][&ca-file=FILE]
/// https://HOST[:PORT]/BUCKET[/PREFIX]?credentials=metadata[…]
/// ```
package struct ObjectStoreAddress: Sendable {
    /// The bucket's name; buckets are created by operators.
    package let bucket: String
    /// Without slashes at its ends; may be empty.
    package let prefix: String
    let region: String
    let credentials: ObjectStoreCredentials.Source
    let certificateAuthorities: String?
    /// Scheme, host and port, in path style with the bucket.
    private let origin: String

    /// - Throws: ``InspectError`` with ``ErrorCode/parameterInvalid``.
    package init(_ setting: String) throws(InspectError) {
        guard let parts = URLComponents(string: setting), let scheme = parts.scheme, let host = parts.host,
            !host.isEmpty,
            parts.user == nil, parts.password == nil, parts.fragment == nil
        else { throw Self.refusal("no URL, or one with a login or a fragment") }
        let isLocal = ["127.0.0.1", "[::1]", "localhost"].contains(host)
        guard scheme == "https" || scheme == "http" && isLocal else {
            throw Self.refusal("http is only for this host")
        }
        let path = parts.path.split(separator: "/").map(String.init)
        // Characters that need no escape: libcurl signs a path as written.
        guard let bucket = path.first, path.allSatisfy(Self.isWord), parts.path.utf8.count <= 255 else {
            throw Self.refusal("no bucket, or a character other than letters, digits, dots, dashes and underscores")
        }
        var settings: [String: String] = [:]
        for item in parts.queryItems ?? [] {
            guard ["region", "style", "ca-file", "credentials-file", "credentials"].contains(item.name),
                let value = item.value, !value.isEmpty, settings.updateValue(value, forKey: item.name) == nil
            else { throw Self.refusal("\(item.name) is unknown, empty or given twice") }
        }
        guard Self.isWord(settings["region"] ?? "us-east-1") else { throw Self.refusal("region is not a word") }
        guard [nil, "path", "host"].contains(settings["style"]) else {
            throw Self.refusal("style is path or host")
        }
        self.credentials = try Self.credentials(settings)
        self.region = settings["region"] ?? "us-east-1"
        self.certificateAuthorities = settings["ca-file"]
        self.bucket = bucket
        self.prefix = path.dropFirst().joined(separator: "/")
        let port = parts.port.map { ":\($0)" } ?? ""
        self.origin =
            settings["style"] == "host"
            ? "\(scheme)://\(bucket).\(host)\(port)" : "\(scheme)://\(host)\(port)/\(bucket)"
    }

    private static func credentials(
        _ settings: [String: String]
    ) throws(InspectError) -> ObjectStoreCredentials.Source {
        switch (settings["credentials-file"], settings["credentials"]) {
        case (let file?, nil): return .file(file)
        case (nil, "metadata"?): return .metadata(.usual)
        case (nil, let text?) where text.hasPrefix("metadata:"):
            if let address = InstanceMetadata.Address(String(text.dropFirst("metadata:".count))) {
                return .metadata(address)
            }
        default: break
        }
        throw self.refusal("give credentials-file=FILE, credentials=metadata or credentials=metadata:ADDRESS:PORT")
    }

    private static func refusal(_ what: String) -> InspectError {
        InspectError(
            .parameterInvalid, what,
            hint:
                "It is https://HOST/BUCKET[/PREFIX]?credentials-file=FILE[&region=REGION][&style=host][&ca-file=FILE].")
    }

    // MARK: Objects

    /// A new object. The day and the key's id let the sweep find, without an index of locations, what no part has; the key's
    /// id is in the sealed bytes anyway.
    ///
    /// - Parameter key: The id of the key that sealed its bytes.
    package func newObject(key: String, at date: Date = Date()) -> String {
        self.object("\(Self.day(date))/\(key)/\(UUID().uuidString.lowercased())")
    }

    private static func day(_ date: Date) -> String {
        date.formatted(.iso8601.year().month().day().dateSeparator(.dash))
    }

    /// What the locations of all objects begin with.
    package var root: String { self.object("") + "/" }

    /// The object under a key that is relative to the prefix.
    package func object(_ key: String) -> String {
        "s3:" + [self.bucket, self.prefix, key].filter { !$0.isEmpty }.joined(separator: "/")
    }

    /// - Throws: ``InspectError`` with ``ErrorCode/objectStoreUnavailable`` for an object of another bucket or prefix: another worker may
    ///   have that.
    func url(of object: String) throws(InspectError) -> String {
        let names = object.dropFirst(self.root.count).split(separator: "/", omittingEmptySubsequences: false)
        guard object.hasPrefix(self.root), !names.isEmpty, names.allSatisfy({ Self.isWord(String($0)) }) else {
            throw InspectError(.objectStoreUnavailable, "the object is in another store than the one configured")
        }
        return self.origin + object.dropFirst("s3:\(self.bucket)".count)
    }

    // MARK: The bucket

    /// The URL that lists the objects behind a key. Its parameters are in the order in which they are signed.
    func listing(after key: String?) -> String {
        let start = self.prefix.isEmpty ? "" : self.prefix + "/"
        let after = key.map { "&start-after=" + Self.escape(start + $0) } ?? ""
        return "\(self.origin)/?list-type=2&prefix=\(Self.escape(start))\(after)"
    }

    /// A key as the prefix has it, from one of the whole bucket; `nil`: it is not below the prefix, or not of ours.
    func relative(_ key: Substring) -> String? {
        let start = self.prefix.isEmpty ? "" : self.prefix + "/"
        guard key.hasPrefix(start) else { return nil }
        let names = key.dropFirst(start.count).split(separator: "/", omittingEmptySubsequences: false)
        return names.allSatisfy { Self.isWord(String($0)) } ? names.joined(separator: "/") : nil
    }

    /// The URL that says whether the bucket keeps former versions of objects.
    var versioning: String { "\(self.origin)/?versioning=" }

    private static let unreserved = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")

    private static func escape(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: self.unreserved) ?? ""
    }

    private static func isWord(_ text: String) -> Bool {
        (1...100).contains(text.utf8.count) && text != "." && text != ".."
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }
}
