package import Foundation

/// Parts as a client encrypts them, with `jwcrypto`: another implementation than ours.
package struct EncryptedParts: Sendable {
    /// The private key, in a file named for its key id.
    package let key: URL
    /// What was made of each content, in order.
    package let parts: [Data]

    package struct Failure: Error {}

    /// - Parameters:
    ///   - keyID: Also the name of the key's file.
    ///   - header: What the protected header says, beside `kid`.
    ///   - space: Written behind the header's first character: white space.
    package init(
        _ contents: [Data], keyID: String, header: [String: String] = ["alg": "RSA-OAEP-256", "enc": "A256GCM"],
        space: String = ""
    ) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("jwe-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        self.key = folder.appendingPathComponent("\(keyID).pem")
        for (number, content) in contents.enumerated() {
            try content.write(to: folder.appendingPathComponent("\(number)"))
        }
        let compact = try JSONEncoder().encode(header.merging(["kid": keyID]) { $1 })
        let header = "{" + space + String(decoding: compact.dropFirst(), as: UTF8.self)
        let script = """
            import sys
            from pathlib import Path
            from jwcrypto import jwe, jwk
            folder, name, count, header = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]
            key = jwk.JWK.generate(kty="RSA", size=2048)
            (folder / f"{name}.pem").write_bytes(key.export_to_pem(private_key=True, password=None))
            for n in range(count):
                token = jwe.JWE((folder / str(n)).read_bytes(), protected=header)
                token.allowed_algs = ["RSA-OAEP-256", "RSA-OAEP", "A256GCM", "A128GCM", "A256CBC-HS512"]
                token.add_recipient(key)
                (folder / f"{n}.jwe").write_text(token.serialize(compact=True))
            """
        let process = try ChildProcess.spawn(
            "/usr/bin/python3", ["-c", script, folder.path, keyID, String(contents.count), header])
        guard try process.blockingExitStatus() == 0 else { throw Failure() }
        self.parts = try contents.indices.map { try Data(contentsOf: folder.appendingPathComponent("\($0).jwe")) }
    }
}
