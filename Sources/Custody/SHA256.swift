internal import COpenSSL

/// SHA-256 (FIPS 180-4).
package enum SHA256 {
    /// The 32 bytes of a digest.
    package static func digest(_ bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        let result = EVP_Digest(bytes, bytes.count, &digest, nil, self.algorithm, nil)
        precondition(result == 1, "libcrypto has no SHA-256")
        return digest
    }

    /// Looked up once: afterwards only a lack of memory makes libcrypto fail.
    private nonisolated(unsafe) static let algorithm = EVP_MD_fetch(nil, "SHA256", nil)
}
