internal import CPKCS11
internal import Dispatch
internal import Foundation
internal import InspectCore
internal import Synchronization

typealias PKCS11Functions = UnsafeMutablePointer<ck_function_list>

/// A PKCS#11 module that is loaded into this process, on its own thread: calls to a token take milliseconds, or hang.
final class PKCS11Module: Sendable {
    private let queue = DispatchQueue(label: "inspectd.pkcs11")
    // Used on the queue alone.
    private nonisolated(unsafe) let functions: PKCS11Functions
    private let isStarted = Mutex(false)

    private static let loaded = Mutex<[String: PKCS11Module]>([:])

    /// The module of a path; a process initialises each once (PKCS#11 section 5.4).
    ///
    /// - Throws: ``InspectError`` with ``ErrorCode/keyMissing``.
    static func load(_ path: String) throws(InspectError) -> PKCS11Module {
        let module = self.loaded.withLock { loaded -> PKCS11Module? in
            if let module = loaded[path] { return module }
            guard let functions = cpkcs11_load(path) else { return nil }
            let module = PKCS11Module(functions)
            loaded[path] = module
            return module
        }
        guard let module else { throw InspectError(.keyMissing, "\(path) is not a PKCS#11 module") }
        return module
    }

    private init(_ functions: PKCS11Functions) { self.functions = functions }

    /// The code that a call of the module returned (`CKR_…`), or what is missing.
    struct Failure: Error {
        var detail: String
        var code: UInt = 0
        /// Whether there is no token with the label.
        var isTokenMissing = false

    }

    /// Runs calls one after another.
    func run<Result: Sendable>(
        _ body: @escaping @Sendable (PKCS11Functions) throws -> Result
    ) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            self.queue.async {
                continuation.resume(
                    with: Swift.Result {
                        try self.start()
                        return try body(self.functions)
                    })
            }
        }
    }

    /// Initialises the module. On the queue.
    func start() throws {
        guard !self.isStarted.withLock({ $0 }) else { return }
        var arguments = ck_c_initialize_args()
        arguments.flags = CKF_OS_LOCKING_OK
        let code = self.functions.pointee.C_Initialize(&arguments)
        guard code == CKR_OK || code == CKR_CRYPTOKI_ALREADY_INITIALIZED else {
            throw Failure(detail: "C_Initialize", code: code)
        }
        self.isStarted.withLock { $0 = true }
    }

    /// Initialises the module again, so that it sees tokens inserted meanwhile; every session of it ends. On the queue.
    func restart() throws {
        _ = self.functions.pointee.C_Finalize(nil)
        self.isStarted.withLock { $0 = false }
        try self.start()
    }
}

/// A session at a token, logged in, with the handle of an AES key. Used on its module's queue alone.
struct PKCS11Session {
    let handle: ck_session_handle_t
    let key: ck_object_handle_t

    /// - Parameters:
    ///   - token: The token's label.
    ///   - object: The key's label.
    static func open(
        _ functions: PKCS11Functions, token: String, object: String, pin: [UInt8]
    ) throws -> PKCS11Session {
        let slot = try self.slot(functions, token)
        var handle = ck_session_handle_t()
        try self.check(
            functions.pointee.C_OpenSession(slot, CKF_SERIAL_SESSION, nil, nil, &handle), "C_OpenSession")
        do {
            var pin = pin
            defer { pin.wipe() }
            let login = functions.pointee.C_Login(handle, CKU_USER, &pin, UInt(pin.count))
            if login != CKR_USER_ALREADY_LOGGED_IN { try self.check(login, "C_Login") }
            return PKCS11Session(handle: handle, key: try self.find(functions, handle, object))
        } catch {
            _ = functions.pointee.C_CloseSession(handle)
            throw error
        }
    }

    private static func slot(_ functions: PKCS11Functions, _ token: String) throws -> ck_slot_id_t {
        var count: UInt = 0
        try self.check(functions.pointee.C_GetSlotList(1, nil, &count), "C_GetSlotList")
        var slots = [ck_slot_id_t](repeating: 0, count: Int(count))
        try self.check(functions.pointee.C_GetSlotList(1, &slots, &count), "C_GetSlotList")
        let matching = slots.prefix(Int(count)).filter { slot in
            var info = ck_token_info()
            guard functions.pointee.C_GetTokenInfo(slot, &info) == CKR_OK else { return false }
            let label = withUnsafeBytes(of: info.label) { String(decoding: $0, as: UTF8.self) }
            return label.trimmingCharacters(in: CharacterSet(charactersIn: " \0")) == token
        }
        guard matching.count == 1 else {
            throw PKCS11Module.Failure(
                detail: "\(matching.count) tokens have the label \(token)", isTokenMissing: matching.isEmpty)
        }
        return matching[0]
    }

    private static func find(
        _ functions: PKCS11Functions, _ session: ck_session_handle_t, _ object: String
    ) throws -> ck_object_handle_t {
        var kind = CKO_SECRET_KEY
        var type = CKK_AES
        var label = Array(object.utf8)
        var found = [ck_object_handle_t](repeating: 0, count: 2)
        var count: UInt = 0
        try withUnsafeMutableBytes(of: &kind) { kind in
            try withUnsafeMutableBytes(of: &type) { type in
                try label.withUnsafeMutableBytes { label in
                    var wanted = [
                        ck_attribute(type: CKA_CLASS, value: kind.baseAddress, value_len: UInt(kind.count)),
                        ck_attribute(type: CKA_KEY_TYPE, value: type.baseAddress, value_len: UInt(type.count)),
                        ck_attribute(type: CKA_LABEL, value: label.baseAddress, value_len: UInt(label.count)),
                    ]
                    try self.check(
                        functions.pointee.C_FindObjectsInit(session, &wanted, UInt(wanted.count)), "C_FindObjectsInit")
                }
            }
        }
        defer { _ = functions.pointee.C_FindObjectsFinal(session) }
        try self.check(functions.pointee.C_FindObjects(session, &found, UInt(found.count), &count), "C_FindObjects")
        guard count == 1 else {
            throw PKCS11Module.Failure(
                detail: count == 0 ? "the token has no AES key \(object)" : "several keys are called \(object)")
        }
        return found[0]
    }

    /// Encrypts or decrypts with AES-GCM.
    ///
    /// - Parameter nonce: May be replaced: some tokens draw their own.
    func gcm(
        _ functions: PKCS11Functions, _ bytes: UnsafeRawBufferPointer, nonce: inout [UInt8],
        _ associated: [UInt8], isSealing: Bool, into target: UnsafeMutableRawBufferPointer
    ) throws -> Int {
        var associated = associated
        // The token writes no more than a text and its tag.
        let room = target.bindMemory(to: UInt8.self)
        let text = UnsafeMutablePointer(mutating: bytes.bindMemory(to: UInt8.self).baseAddress)
        return try nonce.withUnsafeMutableBufferPointer { nonce in
            try associated.withUnsafeMutableBufferPointer { associated in
                var parameters = ck_gcm_params(
                    iv_ptr: nonce.baseAddress, iv_len: UInt(nonce.count), iv_bits: UInt(nonce.count * 8),
                    aad_ptr: associated.baseAddress, aad_len: UInt(associated.count),
                    tag_bits: UInt(AES256GCM.tagCount * 8))
                return try withUnsafeMutablePointer(to: &parameters) { parameters in
                    var mechanism = ck_mechanism(
                        mechanism: CKM_AES_GCM, parameter: parameters,
                        parameter_len: UInt(MemoryLayout<ck_gcm_params>.size))
                    var count = UInt(room.count)
                    if isSealing {
                        try Self.check(
                            functions.pointee.C_EncryptInit(self.handle, &mechanism, self.key), "C_EncryptInit")
                        try Self.check(
                            functions.pointee.C_Encrypt(self.handle, text, UInt(bytes.count), room.baseAddress, &count),
                            "C_Encrypt")
                    } else {
                        try Self.check(
                            functions.pointee.C_DecryptInit(self.handle, &mechanism, self.key), "C_DecryptInit")
                        try Self.check(
                            functions.pointee.C_Decrypt(self.handle, text, UInt(bytes.count), room.baseAddress, &count),
                            "C_Decrypt")
                    }
                    return Int(count)
                }
            }
        }
    }

    private static func check(_ code: UInt, _ call: String) throws {
        guard code == CKR_OK else { throw PKCS11Module.Failure(detail: call, code: code) }
    }
}
