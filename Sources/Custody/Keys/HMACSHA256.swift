internal import COpenSSL

/// HMAC (RFC 2104) with SHA-256.
enum HMACSHA256 {
    /// The 32 bytes of the code.
    package static func code(of bytes: [UInt8], under key: SecretKey) -> [UInt8] {
        key.withBytes { self.code(of: bytes, under: $0) }
    }

    static func code(of bytes: [UInt8], under key: UnsafeRawBufferPointer) -> [UInt8] {
        var code = [UInt8](repeating: 0, count: 32)
        // A null pointer would mean the key of an earlier call.
        let isDone = withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 1) { none in
            HMAC(
                EVP_sha256(), key.baseAddress ?? UnsafeRawPointer(none.baseAddress!), CInt(key.count), bytes,
                bytes.count, &code, nil)
                != nil
        }
        precondition(isDone, "libcrypto has no HMAC")
        return code
    }
}

/// HKDF (RFC 5869) with SHA-256.
enum HKDF {
    static func extract(_ material: UnsafeRawBufferPointer, salt: [UInt8]) -> [UInt8] {
        var material = Array(material)
        defer { material.wipe() }
        return salt.withUnsafeBytes { HMACSHA256.code(of: material, under: $0) }
    }

    /// - Parameter count: At most 255 times 32.
    static func expand(_ pseudorandom: [UInt8], info: [UInt8], count: Int) -> [UInt8] {
        precondition(count <= 255 * 32)
        var output: [UInt8] = []
        var block: [UInt8] = []
        var number: UInt8 = 0
        while output.count < count {
            number += 1
            block = pseudorandom.withUnsafeBytes { HMACSHA256.code(of: block + info + [number], under: $0) }
            output += block
        }
        block.wipe()
        return Array(output.prefix(count))
    }

    /// Derives a key for another purpose, without a salt, since the first key is random.
    static func key(from key: SecretKey, label: String) -> SecretKey {
        var pseudorandom = key.withBytes { self.extract($0, salt: []) }
        defer { pseudorandom.wipe() }
        var bytes = self.expand(pseudorandom, info: Array(label.utf8), count: SecretKey.count)
        defer { bytes.wipe() }
        return SecretKey { $0.copyBytes(from: bytes) }
    }
}
