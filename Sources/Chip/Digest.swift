internal import COpenSSL
internal import InspectCore

extension DigestAlgorithm {
    /// libcrypto's description of the function; static, never freed.
    var native: OpaquePointer? {
        switch self {
        case .sha1: EVP_sha1()
        case .sha224: EVP_sha224()
        case .sha256: EVP_sha256()
        case .sha384: EVP_sha384()
        case .sha512: EVP_sha512()
        }
    }

    /// The digest of `bytes`, or `nil` if libcrypto refuses the function.
    func digest(_ bytes: some Collection<UInt8>) -> [UInt8]? {
        let message = Array(bytes)
        var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var count: UInt32 = 0
        guard EVP_Digest(message, message.count, &digest, &count, self.native, nil) == 1 else {
            ERR_clear_error()
            return nil
        }
        return Array(digest.prefix(Int(count)))
    }
}
