internal import CPKCS11
internal import Foundation
internal import InspectCore
internal import Synchronization

/// An AES key that never leaves its PKCS#11 token (OASIS PKCS#11 2.40, mechanism `CKM_AES_GCM`).
final class PKCS11WrappingKey: WrappingKey {
    /// The label of the key's object in the token.
    package let id: String
    private let token: String
    private let pinFile: String
    private let module: PKCS11Module
    private let session = Mutex<PKCS11Session?>(nil)
    private let breather = Mutex(Breather())
    /// Digest of a PIN that the token has refused: after a few attempts with it, a token locks itself.
    private let refusedPIN = Mutex<[UInt8]?>(nil)

    private static let version: UInt8 = 1
    private static let headerCount = 1 + AES256GCM.nonceCount

    /// - Parameters:
    ///   - module: Path of the token's library.
    ///   - object: Label of the key, which is also its name here.
    ///   - pinFile: A file with the user's PIN, read at each login.
    /// - Throws: ``InspectError`` with ``ErrorCode/keyMissing`` if the library is not a PKCS#11 module.
    package init(module: String, token: String, object: String, pinFile: String) throws(InspectError) {
        self.module = try PKCS11Module.load(module)
        self.id = object
        self.token = token
        self.pinFile = pinFile
    }

    /// One call of the token, `C_Encrypt`; the outcome is laid out as that of ``KeyWrap``.
    package func wrap(_ key: SecretKey, _ associated: [UInt8]) async throws(InspectError) -> [UInt8] {
        try await self.run { session, functions in
            var nonce = AES256GCM.nonce()
            var sealed = [UInt8](repeating: 0, count: SecretKey.count + AES256GCM.tagCount)
            let count = try key.withBytes { text in
                try sealed.withUnsafeMutableBytes {
                    try session.gcm(functions, text, nonce: &nonce, associated, isSealing: true, into: $0)
                }
            }
            guard count == sealed.count else { throw PKCS11Module.Failure(detail: "C_Encrypt returned \(count) bytes") }
            return [Self.version] + nonce + sealed
        }
    }

    /// One call of the token, `C_Decrypt`.
    package func unwrap(_ wrapped: [UInt8], _ associated: [UInt8]) async throws(InspectError) -> SecretKey {
        guard wrapped.count == KeyWrap.count, wrapped[0] == Self.version else {
            throw InspectError(.sealBroken, "a key")
        }
        return try await self.run { session, functions in
            var nonce = Array(wrapped[1..<Self.headerCount])
            // Some tokens write the tag's place, too.
            var text = [UInt8](repeating: 0, count: SecretKey.count + AES256GCM.tagCount)
            defer { text.wipe() }
            let count = try wrapped.withUnsafeBytes { wrapped in
                try text.withUnsafeMutableBytes {
                    try session.gcm(
                        functions, UnsafeRawBufferPointer(rebasing: wrapped[Self.headerCount...]), nonce: &nonce,
                        associated,
                        isSealing: false, into: $0)
                }
            }
            guard count == SecretKey.count, let key = SecretKey(text.prefix(count)) else {
                throw PKCS11Module.Failure(detail: "C_Decrypt returned \(count) bytes")
            }
            return key
        }
    }

    private func run<Result: Sendable>(
        _ body: @escaping @Sendable (PKCS11Session, PKCS11Functions) throws -> Result
    ) async throws(InspectError) -> Result {
        guard self.breather.withLock({ $0.isOver() }) else {
            throw InspectError(.keysUnavailable, "the PKCS#11 token was unavailable a moment ago")
        }
        do {
            let result = try await self.module.run { functions in try self.attempt(functions, body) }
            self.breather.withLock { $0.succeed() }
            return result
        } catch let error as InspectError {
            throw error
        } catch {
            self.breather.withLock { $0.fail() }
            let failure = error as? PKCS11Module.Failure
            let code = failure.map { $0.code == 0 ? "" : " 0x" + String($0.code, radix: 16) } ?? ""
            throw InspectError(.keysUnavailable, "PKCS#11: \(failure?.detail ?? "an unexpected error")\(code)")
        }
    }

    /// Tries once more with a new session: a reconnected token has lost its session. On the module's queue.
    private func attempt<Result>(
        _ functions: PKCS11Functions, _ body: (PKCS11Session, PKCS11Functions) throws -> Result
    ) throws -> Result {
        if let session = self.session.withLock({ $0 }) {
            if let result = try? body(session, functions) { return result }
            _ = functions.pointee.C_CloseSession(session.handle)
            self.session.withLock { $0 = nil }
        }
        let session: PKCS11Session
        do { session = try self.open(functions) } catch let failure as PKCS11Module.Failure where failure.isTokenMissing
        {
            try self.module.restart()
            session = try self.open(functions)
        }
        self.session.withLock { $0 = session }
        do { return try body(session, functions) } catch {
            // Tokens have various codes for a wrong tag, CKR_GENERAL_ERROR among them. If other data opens, this data is broken.
            guard (try? self.check(session, functions)) != nil else { throw error }
            throw InspectError(.sealBroken, "a key")
        }
    }

    private func open(_ functions: PKCS11Functions) throws -> PKCS11Session {
        var pin = try self.pin()
        defer { pin.wipe() }
        let digest = SHA256.digest(pin)
        guard self.refusedPIN.withLock({ $0 != digest }) else {
            throw PKCS11Module.Failure(detail: "the token has refused the PIN in \(self.pinFile)")
        }
        do {
            return try PKCS11Session.open(functions, token: self.token, object: self.id, pin: pin)
        } catch let failure as PKCS11Module.Failure where failure.code == CKR_PIN_INCORRECT {
            self.refusedPIN.withLock { $0 = digest }
            throw failure
        }
    }

    /// Encrypts and decrypts 32 zero bytes.
    private func check(_ session: PKCS11Session, _ functions: PKCS11Functions) throws {
        var nonce = AES256GCM.nonce()
        var sealed = [UInt8](repeating: 0, count: SecretKey.count + AES256GCM.tagCount)
        var text = sealed
        _ = try [UInt8](repeating: 0, count: SecretKey.count).withUnsafeBytes { zeros in
            try sealed.withUnsafeMutableBytes {
                try session.gcm(functions, zeros, nonce: &nonce, [], isSealing: true, into: $0)
            }
        }
        _ = try sealed.withUnsafeBytes { sealed in
            try text.withUnsafeMutableBytes {
                try session.gcm(functions, sealed, nonce: &nonce, [], isSealing: false, into: $0)
            }
        }
    }

    private func pin() throws -> [UInt8] {
        guard let bytes = FileManager.default.contents(atPath: self.pinFile) else {
            throw PKCS11Module.Failure(detail: "\(self.pinFile) cannot be read")
        }
        return Array(bytes.prefix { $0 != 0x0A && $0 != 0x0D })
    }
}
