internal import Foundation
internal import InspectCore

/// What requests to an object store are signed with: a file with the access key, the secret key and, for temporary ones, the
/// session token, each on a line. Read for each request, as whoever renews them replaces the file.
package struct ObjectStoreCredentials: Sendable {
    private let file: String

    package init(file: String) { self.file = file }

    /// - Throws: ``InspectError`` with ``ErrorCode/objectStoreUnavailable``.
    func read() throws(InspectError) -> (access: String, secret: String, token: String?) {
        guard let data = FileManager.default.contents(atPath: self.file), data.count <= 16_384 else {
            throw InspectError(.objectStoreUnavailable, "\(self.file) cannot be read")
        }
        let lines = String(decoding: data, as: UTF8.self).split(whereSeparator: \.isWhitespace).map(String.init)
        guard (2...3).contains(lines.count), !lines[0].contains(":") else {
            throw InspectError(.objectStoreUnavailable, "\(self.file) has no access key and secret key")
        }
        return (lines[0], lines[1], lines.count == 3 ? lines[2] : nil)
    }
}
