import Foundation
import Synchronization
import TestSupport

@testable import Custody

/// A token of SoftHSM with AES keys that it has drawn itself. SoftHSM reads its settings when a process first uses it, so all
/// tests of a process share one folder.
enum SoftToken {
    static let module = "/usr/lib/softhsm/libsofthsm2.so"
    static let tokens = FileManager.default.temporaryDirectory.appendingPathComponent("softhsm-\(UUID().uuidString)")

    /// The folder of the tokens, and the module's settings in this process's environment.
    private static let prepared: Bool = {
        let tokens = Self.tokens.appendingPathComponent("tokens")
        try? FileManager.default.createDirectory(at: tokens, withIntermediateDirectories: true)
        let settings = Self.tokens.appendingPathComponent("softhsm2.conf")
        try? Data("directories.tokendir = \(tokens.path)\nlog.level = ERROR\n".utf8).write(to: settings)
        try? Data("1234\n".utf8).write(to: Self.tokens.appendingPathComponent("pin"))
        setenv("SOFTHSM2_CONF", settings.path, 1)
        return true
    }()

    static func prepare() { _ = self.prepared }

    static var pinFile: String { self.tokens.appendingPathComponent("pin").path }

    /// Two processes that initialize a token at once may choose the same free slot.
    private static let slots = Mutex(())

    /// A new token with a key.
    static func make(_ label: String, key: String) throws {
        self.prepare()
        try self.slots.withLock { _ in
            try runQuietly(
                "/usr/bin/softhsm2-util",
                ["--init-token", "--free", "--label", label, "--so-pin", "5678", "--pin", "1234"])
        }
        try runQuietly(
            "/usr/bin/pkcs11-tool",
            [
                "--module", self.module, "--token-label", label, "--login", "--pin", "1234", "--keygen", "--key-type",
                "AES:32", "--label", key, "--sensitive",
            ])
    }

    static func key(_ label: String, _ key: String, pinFile: String? = nil) throws -> PKCS11WrappingKey {
        self.prepare()
        return try PKCS11WrappingKey(module: self.module, token: label, object: key, pinFile: pinFile ?? self.pinFile)
    }
}
