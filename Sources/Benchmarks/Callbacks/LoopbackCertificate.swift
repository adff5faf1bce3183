internal import COpenSSL
internal import Callbacks
internal import Foundation
internal import HTTPClient

/// A TLS server's key and self-signed certificate for one wildcard name, created on demand and trusted by this benchmark
/// alone.
///
/// `@unchecked Sendable`: libssl's context is not changed after it was made, and its reference count is atomic.
final class LoopbackCertificate: @unchecked Sendable {
    /// The certificate as a PEM file, for the client that is to trust it.
    let file: URL
    let context: OpaquePointer

    /// - Parameter name: For example `*.bench.example`.
    init(name: String) throws {
        guard let key = Self.makeKey(), let certificate = X509_new(),
            let context = SSL_CTX_new(TLS_server_method())
        else { throw HTTPError(.localFault, "libcrypto cannot make a key") }
        defer {
            EVP_PKEY_free(key)
            X509_free(certificate)
        }
        X509_set_version(certificate, 2)
        ASN1_INTEGER_set(X509_get_serialNumber(certificate), Int(UInt32.random(in: 1...UInt32.max)))
        X509_gmtime_adj(X509_getm_notBefore(certificate), -3600)
        X509_gmtime_adj(X509_getm_notAfter(certificate), 86_400)
        X509_set_pubkey(certificate, key)
        let subject = X509_get_subject_name(certificate)
        X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, name, -1, -1, 0)
        X509_set_issuer_name(certificate, subject)
        let alternative = X509V3_EXT_conf_nid(nil, nil, NID_subject_alt_name, "DNS:\(name)")
        defer { X509_EXTENSION_free(alternative) }
        self.file = FileManager.default.temporaryDirectory.appendingPathComponent("bench-\(UUID().uuidString).pem")
        self.context = context
        guard X509_add_ext(certificate, alternative, -1) == 1, X509_sign(certificate, key, EVP_sha256()) > 0,
            SSL_CTX_use_certificate(context, certificate) == 1, SSL_CTX_use_PrivateKey(context, key) == 1,
            let output = BIO_new_file(self.file.path, "w")
        else { throw HTTPError(.localFault, "libcrypto cannot make a certificate") }
        PEM_write_bio_X509(output, certificate)
        BIO_free(output)
    }

    deinit {
        SSL_CTX_free(self.context)
        try? FileManager.default.removeItem(at: self.file)
    }

    private static func makeKey() -> OpaquePointer? {
        guard let context = EVP_PKEY_CTX_new_from_name(nil, "EC", nil) else { return nil }
        defer { EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        guard EVP_PKEY_keygen_init(context) == 1, EVP_PKEY_CTX_set_group_name(context, "P-256") == 1,
            EVP_PKEY_generate(context, &key) == 1
        else { return nil }
        return key
    }
}
