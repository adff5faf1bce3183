package import Foundation

/// A partner's key pair, made and used by `jwcrypto`: another implementation than ours.
package struct PartnerKeyPair: Sendable {
    /// The public key, a JWK.
    package let publicKey: Data
    /// The whole key, a JWK with private members.
    package let privateKey: Data
    private let folder: URL

    package struct Failure: Error {}

    /// What was encrypted.
    package struct Opened: Sendable {
        package var content: Data
        /// The protected header.
        package var header: [String: String]
    }

    /// - Parameter kind: What `JWK.generate` takes, such as `["kty": "EC", "crv": "P-256"]` or `["kty": "RSA", "size": "2048"]`.
    package init(_ kind: [String: String]) throws {
        self.folder = FileManager.default.temporaryDirectory.appendingPathComponent("key-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        try JSONEncoder().encode(kind).write(to: self.folder.appendingPathComponent("kind"))
        try Self.python(
            """
            import json, sys
            from pathlib import Path
            from jwcrypto import jwk
            folder = Path(sys.argv[1])
            kind = json.loads((folder / "kind").read_text())
            if "size" in kind:
                kind["size"] = int(kind["size"])
            key = jwk.JWK.generate(**kind)
            (folder / "private").write_text(key.export_private())
            (folder / "public").write_text(key.export_public())
            """, self.folder)
        self.publicKey = try Data(contentsOf: self.folder.appendingPathComponent("public"))
        self.privateKey = try Data(contentsOf: self.folder.appendingPathComponent("private"))
    }

    /// Opens a JWE in compact form.
    package func open(_ sealed: Data) throws -> Opened {
        let name = UUID().uuidString
        try sealed.write(to: self.folder.appendingPathComponent(name))
        try Self.python(
            """
            import json, sys
            from pathlib import Path
            from jwcrypto import jwe, jwk
            folder, name = Path(sys.argv[1]), sys.argv[2]
            key = jwk.JWK.from_json((folder / "private").read_text())
            token = jwe.JWE(algs=["RSA-OAEP-256", "ECDH-ES", "A256GCM"])
            token.deserialize((folder / name).read_text(), key)
            (folder / (name + ".content")).write_bytes(token.payload)
            header = json.loads(token.objects["protected"])
            (folder / (name + ".header")).write_text(json.dumps({k: v if isinstance(v, str) else json.dumps(v) for k, v in header.items()}))
            """, self.folder, name)
        return Opened(
            content: try Data(contentsOf: self.folder.appendingPathComponent(name + ".content")),
            header: try JSONDecoder().decode(
                [String: String].self, from: Data(contentsOf: self.folder.appendingPathComponent(name + ".header"))))
    }

    private static func python(_ script: String, _ folder: URL, _ more: String...) throws {
        let process = try ChildProcess.spawn("/usr/bin/python3", ["-c", script, folder.path] + more)
        guard try process.blockingExitStatus() == 0 else { throw Failure() }
    }
}
