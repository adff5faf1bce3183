internal import CCurl
internal import Foundation

/// One HTTP request and its limits.
package struct HTTPRequest: Sendable {
    /// The methods that this program uses.
    package enum Method: Sendable {
        case get
        case post(body: [UInt8])
        case put(body: [UInt8])
        case delete
    }

    /// A header field; fields are sent in the order given.
    package struct Header: Sendable, Equatable {
        /// A field name (RFC 9110 §5.1).
        package var name: String
        /// Never logged: it may be a token.
        package var value: String

        package init(name: String, value: String) {
            self.name = name
            self.value = value
        }

        /// - Throws: ``HTTPError/Code/requestInvalid`` for what must not reach libcurl.
        package func validate() throws(HTTPError) {
            var (name, value) = (self.name, self.value)
            guard name.withUTF8({ !$0.isEmpty && $0.allSatisfy { HTTPRequest.isToken[Int($0)] } }) else {
                throw HTTPError(.requestInvalid, "a header's name is not a token of RFC 9110 section 5.6.2")
            }
            // Field values of RFC 9110 section 5.5 without the obsolete bytes above 127.
            guard value.withUTF8({ $0.allSatisfy { $0 >= 0x20 && $0 <= 0x7e } }) else {
                throw HTTPError(
                    .requestInvalid, "the value of header \(self.name) holds a character that is not visible")
            }
        }
    }

    /// Limits on the cost of a hostile or broken server.
    package struct Limits: Sendable {
        /// From the start of name resolution to the last byte, in milliseconds.
        package var totalMilliseconds: Int
        /// Name resolution, TCP and TLS together, in milliseconds.
        var connectMilliseconds: Int = 5_000
        /// Bytes of the body. A larger `Content-Length` ends the request before any byte of the body is read.
        package var bodyBytes: Int
        /// Bytes of all header lines together.
        var headerBytes: Int = 32 * 1024
        /// A transfer slower than this many bytes a second …
        package var lowSpeedBytes: Int = 1
        /// … for this many seconds is ended. 0: only the total counts.
        package var lowSpeedSeconds: Int = 0

        package init(totalMilliseconds: Int, bodyBytes: Int, lowSpeedBytes: Int = 1, lowSpeedSeconds: Int = 0) {
            self.totalMilliseconds = totalMilliseconds
            self.bodyBytes = bodyBytes
            self.lowSpeedBytes = lowSpeedBytes
            self.lowSpeedSeconds = lowSpeedSeconds
        }
    }

    /// The method, with its body.
    package var method: Method
    /// The body of a POST or PUT; `nil` for other methods.
    package var body: [UInt8]? {
        switch self.method {
        case .post(let body), .put(let body): body
        case .get, .delete: nil
        }
    }
    /// The method's name.
    var verb: String {
        switch self.method {
        case .get: "GET"
        case .post: "POST"
        case .put: "PUT"
        case .delete: "DELETE"
        }
    }
    /// Absolute, http or https. Never logged: it may contain a secret.
    package var url: String
    /// In addition to those that libcurl sets.
    package var headers: [Header] = []
    /// Every request has them.
    package var limits: Limits
    /// Whether plain http is allowed.
    package var allowsHTTP: Bool = false
    /// Pins, client certificate, signing.
    package var transport = Transport()
    /// Called before bytes of the body are kept, with their number: first the bytes that `Content-Length` announces, then all
    /// beyond. Returning `false` ends the request. Called on the thread of ``CurlMulti``: must return at once.
    package var admits: (@Sendable (Int) -> Bool)?

    /// Additional requirements on the connection.
    package struct Transport: Sendable, Hashable {
        /// Public keys, one of which the server's certificate must have (RFC 7469 section 2.4): `sha256//` and base64.
        package var pins: [String] = []
        /// Certificate chain and private key in PEM for mutual TLS.
        package var clientCertificate: String?
        /// The private key in PEM; never logged.
        package var clientKey: String?
        /// Whether HTTP/2 is offered in TLS's ALPN (RFC 9113 section 3.2).
        package var offersHTTP2 = false
        /// Signs the request as AWS Signature Version 4.
        package var signing: Signing?

        /// The credentials and scope that a request is signed with.
        package struct Signing: Sendable, Hashable {
            /// The id of the access key, which is sent in the clear.
            package var accessKey: String
            /// Signs; neither sent nor logged.
            package var secretKey: String
            /// Such as `eu-central-1`.
            package var region: String
            /// Such as `s3`.
            package var service: String

            package init(accessKey: String, secretKey: String, region: String, service: String) {
                self.accessKey = accessKey
                self.secretKey = secretKey
                self.region = region
                self.service = service
            }
        }

        package init(
            pins: [String] = [], clientCertificate: String? = nil, clientKey: String? = nil, offersHTTP2: Bool = false
        ) {
            self.pins = pins
            self.clientCertificate = clientCertificate
            self.clientKey = clientKey
            self.offersHTTP2 = offersHTTP2
        }
    }

    package init(
        method: Method, url: String, headers: [Header] = [], limits: Limits, allowsHTTP: Bool = false,
        transport: Transport = Transport(), admits: (@Sendable (Int) -> Bool)? = nil
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.limits = limits
        self.allowsHTTP = allowsHTTP
        self.transport = transport
        self.admits = admits
    }

    /// Refuses input that must not reach libcurl, which accepts CR and LF inside a header.
    ///
    /// - Throws: ``HTTPError/Code/requestInvalid``.
    package func validate() throws(HTTPError) {
        for header in self.headers { try header.validate() }
        try Self.validate(url: self.url, allowsHTTP: self.allowsHTTP)
        // libcurl separates pins by semicolons, so one inside would be another pin.
        guard
            self.transport.pins.allSatisfy({ pin in
                pin.hasPrefix("sha256//") && Data(base64Encoded: String(pin.dropFirst("sha256//".count)))?.count == 32
            })
        else { throw HTTPError(.requestInvalid, "a pin is not sha256// and the base64 of a digest") }
    }

    /// Checks a URL with libcurl's own parser, so that the check and the connection cannot disagree.
    ///
    /// - Throws: ``HTTPError/Code/requestInvalid``.
    package static func validate(url: String, allowsHTTP: Bool) throws(HTTPError) {
        // Also refuses NUL, at which C would end the text, and names in Unicode, which two resolvers may map differently.
        guard (1...2048).contains(url.utf8.count), url.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
            throw HTTPError(.requestInvalid, "the URL is empty, longer than 2048 bytes, or not visible ASCII")
        }
        guard let parser = curl_url() else { throw HTTPError(.localFault, "out of memory") }
        defer { curl_url_cleanup(parser) }
        guard curl_url_set(parser, CURLUPART_URL, url, UInt32(CURLU_NON_SUPPORT_SCHEME)) == CURLUE_OK else {
            throw HTTPError(.requestInvalid, "the URL cannot be parsed")
        }
        func part(_ part: CURLUPart) -> String? {
            var text: UnsafeMutablePointer<CChar>?
            guard curl_url_get(parser, part, &text, 0) == CURLUE_OK, let text else { return nil }
            defer { curl_free(text) }
            return String(cString: text)
        }
        let scheme = part(CURLUPART_SCHEME)
        guard scheme == "https" || scheme == "http" && allowsHTTP else {
            throw HTTPError(.requestInvalid, "the URL's scheme is not https")
        }
        guard part(CURLUPART_USER) == nil, part(CURLUPART_PASSWORD) == nil else {
            throw HTTPError(.requestInvalid, "the URL holds a login")
        }
        guard part(CURLUPART_FRAGMENT) == nil else { throw HTTPError(.requestInvalid, "the URL has a fragment") }
        guard let host = part(CURLUPART_HOST), !host.isEmpty else {
            throw HTTPError(.requestInvalid, "the URL has no host")
        }
    }

    /// Whether a byte may occur in a token of RFC 9110 section 5.6.2, by its value.
    private static let isToken: [Bool] = (0..<256).map { byte in
        switch UInt8(byte) {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "!#$%&'*+-.^_`|~".utf8.contains(UInt8(byte))
        }
    }
}

extension HTTPRequest {
    /// Host and port of a URL by libcurl's own parser, or `nil`. Numeric forms come out as four decimal numbers.
    package static func authority(of url: String) -> (host: String, port: String)? {
        guard let parser = curl_url() else { return nil }
        defer { curl_url_cleanup(parser) }
        func part(_ part: CURLUPart) -> String? {
            var text: UnsafeMutablePointer<CChar>?
            guard curl_url_get(parser, part, &text, UInt32(CURLU_DEFAULT_PORT)) == CURLUE_OK, let text else {
                return nil
            }
            defer { curl_free(text) }
            return String(cString: text)
        }
        guard curl_url_set(parser, CURLUPART_URL, url, 0) == CURLUE_OK, let host = part(CURLUPART_HOST),
            let port = part(CURLUPART_PORT)
        else { return nil }
        return (host, port)
    }
}
