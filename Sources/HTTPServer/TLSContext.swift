internal import COpenSSL
internal import Foundation

/// A certificate and its key for TLS 1.2 and 1.3, with forward secrecy only.
final class TLSContext: Sendable {
    // Constant once created; OpenSSL counts references to it under its own lock.
    nonisolated(unsafe) let pointer: OpaquePointer

    /// - Throws: ``ServerFailure`` if the certificate is invalid or does not match its key.
    init(_ identity: HTTPServer.Identity) throws(ServerFailure) {
        guard let context = SSL_CTX_new(TLS_server_method()) else { throw ServerFailure("OpenSSL could not start") }
        self.pointer = context
        SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(TLS1_2_VERSION), nil)
        // An ephemeral key for each connection and an authenticated cipher, so that a leaked certificate key decrypts no
        // recorded traffic.
        let suites = "ECDHE+AESGCM:ECDHE+CHACHA20:!aNULL"
        guard SSL_CTX_set_cipher_list(context, suites) == 1 else { throw ServerFailure("OpenSSL has no ciphers") }
        SSL_CTX_set_options(context, copenssl_server_options)
        SSL_CTX_ctrl(context, SSL_CTRL_SET_SESS_CACHE_MODE, Int(SSL_SESS_CACHE_OFF), nil)
        SSL_CTX_set_num_tickets(context, 0)
        // Idle connections hold no buffers, and unwritten bytes may move before the next attempt.
        SSL_CTX_ctrl(context, SSL_CTRL_MODE, copenssl_server_mode, nil)
        SSL_CTX_set_alpn_select_cb(
            context, { _, chosen, length, offered, count, _ in TLSContext.select(chosen, length, offered, count) }, nil)
        guard Self.use(identity.certificate, context), Self.use(key: identity.key, context),
            SSL_CTX_check_private_key(context) == 1
        else {
            ERR_clear_error()
            throw ServerFailure("no TLS with this certificate and key")
        }
    }

    deinit { SSL_CTX_free(self.pointer) }

    /// The first certificate is the server's, the others are its chain.
    private static func use(_ chain: Data, _ context: OpaquePointer) -> Bool {
        self.reading(chain) { source in
            guard let leaf = PEM_read_bio_X509(source, nil, nil, nil) else { return false }
            defer { X509_free(leaf) }
            guard SSL_CTX_use_certificate(context, leaf) == 1 else { return false }
            while let next = PEM_read_bio_X509(source, nil, nil, nil) {
                // The context now owns it.
                guard SSL_CTX_ctrl(context, SSL_CTRL_CHAIN_CERT, 0, UnsafeMutableRawPointer(next)) == 1 else {
                    X509_free(next)
                    return false
                }
            }
            ERR_clear_error()
            return true
        }
    }

    private static func use(key: Data, _ context: OpaquePointer) -> Bool {
        self.reading(key) { source in
            guard let key = PEM_read_bio_PrivateKey(source, nil, nil, nil) else { return false }
            defer { EVP_PKEY_free(key) }
            return SSL_CTX_use_PrivateKey(context, key) == 1
        }
    }

    private static func reading(_ text: Data, _ body: (OpaquePointer) -> Bool) -> Bool {
        text.withUnsafeBytes { bytes in
            guard let source = BIO_new_mem_buf(bytes.baseAddress, CInt(bytes.count)) else { return false }
            defer { BIO_free(source) }
            return body(source)
        }
    }

    /// Selects HTTP/1.1 from the client's offers (RFC 7301).
    private static func select(
        _ chosen: UnsafeMutablePointer<UnsafePointer<UInt8>?>?, _ length: UnsafeMutablePointer<UInt8>?,
        _ offered: UnsafePointer<UInt8>?, _ count: UInt32
    ) -> CInt {
        guard let chosen, let length, let offered else { return SSL_TLSEXT_ERR_NOACK }
        var index = 0
        while index < Int(count) {
            let size = Int(offered[index])
            guard index + 1 + size <= Int(count) else { break }
            let name = UnsafeBufferPointer(start: offered + index + 1, count: size)
            if name.elementsEqual("http/1.1".utf8) {
                chosen.pointee = offered + index + 1
                length.pointee = UInt8(size)
                return SSL_TLSEXT_ERR_OK
            }
            index += 1 + size
        }
        return SSL_TLSEXT_ERR_NOACK
    }
}
