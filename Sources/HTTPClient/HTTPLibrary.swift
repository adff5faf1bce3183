internal import CCurl

/// The libcurl that this program uses.
package enum HTTPLibrary {
    /// For example `7.88.1 OpenSSL/3.0.19`: libcurl's own version and the TLS library under it.
    package static var version: String {
        String(cString: curl_version()).split(separator: " ").prefix(2).joined(separator: " ")
            .replacing("libcurl/", with: "")
    }
}
