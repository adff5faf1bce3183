internal import COpenSSL
internal import Glibc

/// The 256 bits of a key, in memory that is overwritten at the end and, if that is allowed, locked.
package final class SecretKey: Sendable {
    /// Bytes of a key.
    static let count = SecretMemory.cell

    private let address: UInt

    /// A key that the closure writes.
    init(_ fill: (UnsafeMutableRawBufferPointer) throws -> Void) rethrows {
        let address = SecretMemory.allocate()
        do {
            try fill(Self.bytes(address))
        } catch {
            SecretMemory.free(address)
            throw error
        }
        self.address = address
    }

    deinit { SecretMemory.free(self.address) }

    /// A new key.
    static func random() -> SecretKey {
        SecretKey { bytes in
            let isRandom = RAND_priv_bytes(bytes.bindMemory(to: UInt8.self).baseAddress, CInt(bytes.count)) == 1
            precondition(isRandom, "libcrypto has no random numbers")
        }
    }

    /// A key of these bytes; the caller must overwrite its own copy.
    ///
    /// - Returns: `nil` unless there are 32.
    convenience init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == Self.count else { return nil }
        self.init { $0.copyBytes(from: bytes) }
    }

    private static func bytes(_ address: UInt) -> UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(start: UnsafeMutableRawPointer(bitPattern: address), count: Self.count)
    }

    /// Lends the bytes; they must not be kept.
    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try withExtendedLifetime(self) { try body(UnsafeRawBufferPointer(Self.bytes(self.address))) }
    }
}

extension [UInt8] {
    /// Overwrites bytes that held a key.
    mutating func wipe() {
        self.withUnsafeMutableBytes { bytes in
            if let base = bytes.baseAddress { explicit_bzero(base, bytes.count) }
        }
    }
}
