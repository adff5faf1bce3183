internal import Foundation
internal import InspectCore

/// What requests to an object store are signed with.
struct ObjectStoreKeys: Sendable, Equatable {
    var access: String
    var secret: String
    /// Of temporary keys.
    var token: String?

    /// - Returns: `nil` for what must not get into a header.
    init?(access: String, secret: String, token: String? = nil) {
        let isVisible: (String) -> Bool = { text in
            (1...8_192).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7e).contains($0) }
        }
        guard isVisible(access), isVisible(secret), token.map(isVisible) != false else { return nil }
        self.access = access
        self.secret = secret
        self.token = token
    }
}

/// Where the keys come from.
struct ObjectStoreCredentials: Sendable {
    enum Source: Sendable {
        /// A file with the access key, the secret key and, for temporary ones, the session token, separated by white space. Read
        /// for each request, since the file is replaced when they are renewed.
        case file(String)
        case metadata(InstanceMetadata.Address)
    }

    private let file: String?
    private let metadata: InstanceMetadata?

    init(_ source: Source) {
        switch source {
        case .file(let path):
            self.file = path
            self.metadata = nil
        case .metadata(let address):
            self.file = nil
            self.metadata = InstanceMetadata(address)
        }
    }

    /// - Throws: ``InspectError`` with ``ErrorCode/objectStoreUnavailable``.
    func read() async throws(InspectError) -> ObjectStoreKeys {
        if let metadata { return try await metadata.keys() }
        let path = self.file ?? ""
        guard let data = FileManager.default.contents(atPath: path), data.count <= 16_384 else {
            throw InspectError(.objectStoreUnavailable, "\(path) cannot be read")
        }
        let words = String(decoding: data, as: UTF8.self).split(whereSeparator: \.isWhitespace).map(String.init)
        guard (2...3).contains(words.count),
            let keys = ObjectStoreKeys(access: words[0], secret: words[1], token: words.count == 3 ? words[2] : nil)
        else {
            throw InspectError(.objectStoreUnavailable, "\(path) has no access key and secret key")
        }
        return keys
    }
}
