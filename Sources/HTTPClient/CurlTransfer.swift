internal import CCurl
internal import Foundation
internal import Synchronization

/// One request in ``CurlMulti``, and the receiver of libcurl's callbacks.
///
/// `@unchecked Sendable`: the submitting task fills it and hands it over; from then on only the thread of ``CurlMulti``
/// touches it, except for the atomic flag.
package final class CurlTransfer: @unchecked Sendable {
    let request: HTTPRequest
    let isCancelled = Atomic<Bool>(false)
    /// Called once, on the thread of ``CurlMulti``: must return at once.
    private var onEnd: (@Sendable (Result<HTTPResponse, HTTPError>) -> Void)?

    let route: CurlRoute
    /// The host's addresses that the policy allows; `nil` for a host that is an address.
    private let addresses: [IPAddress]?
    private(set) var sent: ContinuousClock.Instant?
    private(set) var status = 0
    private(set) var areHeadersComplete = false
    private var headerBytes = 0
    private(set) var head: [UInt8] = []
    private var announced: Int?
    private(set) var body: [UInt8] = []
    /// Bytes that the request's owner has admitted.
    private var admitted = 0
    /// The error of a callback; libcurl only reports that a callback failed.
    private(set) var objection: HTTPError?
    private var resolution: UnsafeMutablePointer<curl_slist>?
    /// When libcurl received the addresses.
    private var pinned: ContinuousClock.Instant?

    init(
        request: HTTPRequest, route: CurlRoute, addresses: [IPAddress]?,
        onEnd: @escaping @Sendable (Result<HTTPResponse, HTTPError>) -> Void
    ) {
        self.request = request
        self.route = route
        self.addresses = addresses
        self.onEnd = onEnd
    }

    // MARK: - Set-up, on the thread of CurlMulti

    /// Sets the options of the ``route`` on a new or reset handle.
    ///
    /// - Parameter easyHandle: The context of libcurl's callbacks.
    func configure(_ easyHandle: CurlEasyHandle, certificateAuthorities: String?) throws(HTTPError) {
        let limits = self.request.limits
        let schemes = self.request.allowsHTTP ? "http,https" : "https"
        let easy = easyHandle.easy
        var options = CurlOptions(easy: easy)
        options.set(CURLOPT_URL, self.request.url)
        options.set(CURLOPT_PROTOCOLS_STR, schemes)
        options.set(CURLOPT_PATH_AS_IS, 1)  // a signed object-store URL must arrive as it was signed
        options.set(CURLOPT_FOLLOWLOCATION, 0)
        options.set(CURLOPT_PROXY, self.route.exit.proxy ?? "")  // not even from the environment
        options.set(CURLOPT_NOPROXY, "")  // else no_proxy in the environment would bypass it
        if self.route.exit.proxy != nil {
            options.set(CURLOPT_HTTPPROXYTUNNEL, 1)
            options.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        }
        options.set(
            CURLOPT_HTTP_VERSION,
            self.request.transport.offersHTTP2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1)
        // Otherwise, requests that start together would each open a connection instead of sharing one.
        options.set(CURLOPT_PIPEWAIT, self.request.transport.offersHTTP2 ? 1 : 0)
        options.set(CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2)
        if let certificateAuthorities { options.set(CURLOPT_CAINFO, certificateAuthorities) }
        let transport = self.request.transport
        if !transport.pins.isEmpty { options.set(CURLOPT_PINNEDPUBLICKEY, transport.pins.joined(separator: ";")) }
        if let certificate = transport.clientCertificate, let key = transport.clientKey {
            options.set(CURLOPT_SSLCERT_BLOB, blob: certificate)
            options.set(CURLOPT_SSLKEY_BLOB, blob: key)
        }
        options.set(CURLOPT_NOSIGNAL, 1)
        options.set(CURLOPT_NOPROGRESS, 1)
        options.set(CURLOPT_QUICK_EXIT, 1)  // else a time-out still waits for a hanging resolver thread
        options.set(CURLOPT_CONNECTTIMEOUT_MS, limits.connectMilliseconds)
        options.set(CURLOPT_LOW_SPEED_LIMIT, limits.lowSpeedBytes)
        options.set(CURLOPT_LOW_SPEED_TIME, limits.lowSpeedSeconds)
        options.set(CURLOPT_MAXAGE_CONN, 60)  // seconds idle: below the usual 75 s of servers
        options.set(CURLOPT_MAXLIFETIME_CONN, 300)  // seconds in all: changed addresses take effect
        options.set(CURLOPT_TCP_NODELAY, 1)
        options.set(CURLOPT_TCP_KEEPALIVE, 1)
        if self.request.body != nil {
            // libcurl allocates both buffers for each request, and its own sizes (16 and 64 KiB) make malloc split and merge
            // its largest blocks each time. Answers to posts are short, and a TLS record holds 16 KiB at most.
            options.set(CURLOPT_BUFFERSIZE, 4_096)
            options.set(CURLOPT_UPLOAD_BUFFERSIZE, 16_384)
        }

        let context = Unmanaged.passUnretained(easyHandle).toOpaque()
        options.set(CURLOPT_WRITEDATA, pointer: context)
        options.set(CURLOPT_HEADERDATA, pointer: context)
        options.set(CURLOPT_OPENSOCKETDATA, pointer: context)
        options.set(CURLOPT_PREREQDATA, pointer: context)
        options.check(ccurl_set_receiver(easy, CURLOPT_WRITEFUNCTION, receiveBody))
        options.check(ccurl_set_receiver(easy, CURLOPT_HEADERFUNCTION, receiveHeader))
        options.check(ccurl_set_opensocket(easy, openSocket))
        // A connection may outlive the easy handle that opened it, but not the sockets' table.
        options.set(CURLOPT_CLOSESOCKETDATA, pointer: Unmanaged.passUnretained(easyHandle.sockets).toOpaque())
        options.check(ccurl_set_closesocket(easy, closeSocket))
        options.check(ccurl_set_prerequest(easy, vetConnection))
        options.set(self.request.body == nil ? CURLOPT_HTTPGET : CURLOPT_POST, 1)
        switch self.request.method {
        case .get, .post: break
        case .put, .delete: options.set(CURLOPT_CUSTOMREQUEST, self.request.verb)
        }
        if let signing = transport.signing {
            options.set(CURLOPT_AWS_SIGV4, "aws:amz:\(signing.region):\(signing.service)")
            options.set(CURLOPT_USERNAME, signing.accessKey)
            options.set(CURLOPT_PASSWORD, signing.secretKey)
            options.set(CURLOPT_EXPECT_100_TIMEOUT_MS, 1)  // sends Expect with a large body, and does not wait
        }
        try options.finish()
    }

    /// Sets the options that differ between requests, on a handle that is configured for this transfer's ``route``.
    ///
    /// - Parameter pin: The addresses that libcurl was last given.
    func load(_ easyHandle: CurlEasyHandle, _ pin: CurlPin) throws(HTTPError) {
        var options = CurlOptions(easy: easyHandle.easy)
        try self.setAddresses(pin, &options)
        options.set(CURLOPT_TIMEOUT_MS, self.request.limits.totalMilliseconds)
        let (headers, body) = try easyHandle.content.fill(self.request.headers, self.request.body ?? [])
        if self.request.body != nil {
            options.check(ccurl_set_offset(easyHandle.easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(body.count)))
            options.set(CURLOPT_POSTFIELDS, pointer: body.baseAddress)
        }
        // libcurl would sign the first one, which only keeps it from adding Expect, and is not sent.
        options.set(
            CURLOPT_HTTPHEADER,
            pointer: self.request.transport.signing == nil ? headers : headers.pointee.next)
        try options.finish()
    }

    /// Gives libcurl the addresses of the host, so that it resolves nothing itself: `+HOST:PORT:ADDRESS,…`, where the plus
    /// sign lets the entry end with libcurl's own cache time. It needs no repetition until shortly before that time.
    private func setAddresses(_ pin: CurlPin, _ options: inout CurlOptions) throws(HTTPError) {
        guard let addresses else { return }
        let (host, port) = self.route.authority
        if self.route.exit.proxy != nil {
            // One address, since the proxy takes one; IPv4 if there is one, because more networks have IPv4.
            let one = addresses.first { $0.family == .v4 }.map { "\($0)" } ?? "[\(addresses[0])]"
            guard let entry = curl_slist_append(nil, "\(host):\(port):\(one):\(port)") else {
                throw HTTPError(.localFault, "out of memory")
            }
            self.resolution = entry
            options.set(CURLOPT_CONNECT_TO, pointer: entry)
            return
        }
        guard !pin.holds(addresses) else { return }
        let list = addresses.map { $0.family == .v4 ? "\($0)" : "[\($0)]" }.joined(separator: ",")
        guard let entry = curl_slist_append(nil, "+\(host):\(port):\(list)") else {
            throw HTTPError(.localFault, "out of memory")
        }
        self.resolution = entry
        options.set(CURLOPT_RESOLVE, pointer: entry)
        self.pinned = .now
    }

    /// The addresses that libcurl holds after this transfer: only a request that was sent has read them.
    var pin: CurlPin? {
        guard let addresses, let pinned, self.sent != nil else { return nil }
        return CurlPin(addresses, at: pinned)
    }

    /// Takes back the memory that libcurl borrowed. The easy handle must not serve this transfer afterwards.
    func release(_ easyHandle: CurlEasyHandle) {
        _ = ccurl_set_pointer(easyHandle.easy, CURLOPT_HTTPHEADER, nil)
        if self.request.body != nil { _ = ccurl_set_pointer(easyHandle.easy, CURLOPT_POSTFIELDS, nil) }
        easyHandle.content.shrink()
        guard let resolution else { return }
        _ = ccurl_set_pointer(easyHandle.easy, CURLOPT_RESOLVE, nil)
        _ = ccurl_set_pointer(easyHandle.easy, CURLOPT_CONNECT_TO, nil)
        curl_slist_free_all(resolution)
        self.resolution = nil
    }

    func finish(_ result: Result<HTTPResponse, HTTPError>) {
        self.onEnd?(result)
        self.onEnd = nil
    }

    // MARK: - Called by libcurl

    /// - Returns: Whether the transfer goes on.
    fileprivate func receive(header bytes: UnsafeRawBufferPointer) -> Bool {
        self.headerBytes += bytes.count
        guard self.headerBytes <= self.request.limits.headerBytes else {
            self.objection = HTTPError(.responseTooLarge, "headers above \(self.request.limits.headerBytes) bytes")
            return false
        }
        // Trailers of a chunked body: counted, not kept.
        guard !self.areHeadersComplete else { return true }
        var end = bytes.count
        while end > 0, bytes[end - 1] == UInt8(ascii: "\n") || bytes[end - 1] == UInt8(ascii: "\r") { end -= 1 }
        let line = UnsafeRawBufferPointer(rebasing: bytes[..<end])
        if line.count >= 5, let start = line.baseAddress, memcmp(start, "HTTP/", 5) == 0 {
            self.head = []
            self.announced = nil
            let digits = line.drop { $0 != UInt8(ascii: " ") }.dropFirst().prefix { (48...57).contains($0) }
            self.status = digits.count <= 3 ? digits.reduce(0) { $0 * 10 + Int($1 - 48) } : 0
        } else if !line.isEmpty {
            if self.head.isEmpty { self.head.reserveCapacity(256) }
            self.head.append(contentsOf: line)
            self.head.append(UInt8(ascii: "\n"))
            if HTTPResponse.name(of: line, is: "content-length") {
                let digits = line.drop { !(48...57).contains($0) }.prefix { (48...57).contains($0) }
                self.announced = digits.count <= 18 ? digits.reduce(0) { $0 * 10 + Int($1 - 48) } : .max
            }
        } else if self.status >= 200 {
            // An interim 1xx block also ends with an empty line, and the final status follows.
            self.areHeadersComplete = true
            if let announced {
                guard announced <= self.request.limits.bodyBytes else { return self.objectToBody() }
                guard self.admit(announced) else { return false }
                // Otherwise, the array would grow by doubling, with both copies in memory. Unwritten capacity takes no
                // memory.
                if self.request.admits != nil { self.body.reserveCapacity(announced) }
            }
        }
        return true
    }

    fileprivate func receive(body bytes: UnsafeRawBufferPointer) -> Bool {
        let count = self.body.count + bytes.count
        guard count <= self.request.limits.bodyBytes else { return self.objectToBody() }
        guard self.admit(count) else { return false }
        self.body.append(contentsOf: bytes)
        return true
    }

    /// Asks the request's owner to admit a body of this many bytes.
    private func admit(_ count: Int) -> Bool {
        guard let admits = self.request.admits, count > self.admitted else { return true }
        guard admits(count - self.admitted) else {
            self.objection = HTTPError(.responseTooLarge, "no room for the body")
            return false
        }
        self.admitted = count
        return true
    }

    private func objectToBody() -> Bool {
        self.objection = HTTPError(.responseTooLarge, "body above \(self.request.limits.bodyBytes) bytes")
        return false
    }

    /// Opens the socket for an address that libcurl is about to connect to, or refuses.
    ///
    /// - Parameter sockets: Forgets the state of the descriptor's number.
    fileprivate func open(_ target: UnsafeMutablePointer<curl_sockaddr>, _ sockets: CurlSockets) -> curl_socket_t {
        var storage: (UInt64, UInt64) = (0, 0)
        let address = withUnsafeMutableBytes(of: &storage) { buffer in
            let bytes = buffer.assumingMemoryBound(to: UInt8.self)
            return bytes.baseAddress.flatMap { IPAddress(bytes: bytes.prefix(Int(ccurl_address_bytes(target, $0)))) }
        }
        guard let address, self.route.exit.allows(address, by: self.route.profile.policy) else {
            self.objection = HTTPError(.egressRefused)
            return CURL_SOCKET_BAD
        }
        // Close-on-exec: the process forks analyzers.
        let type = target.pointee.socktype | CInt(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(target.pointee.family, type, target.pointee.protocol)
        if descriptor < 0 {
            self.objection = HTTPError(.localFault, String(cString: strerror(errno)))
        } else if let failure = self.route.exit.bind(descriptor, to: address.family) {
            self.objection = failure
            close(descriptor)
            return CURL_SOCKET_BAD
        } else {
            // Another address of the same name may have been refused before this one.
            self.objection = nil
            sockets.forget(descriptor)
        }
        return descriptor
    }

    /// Vets the connection right before the request goes out. A kept-alive connection opens no socket, so this is the check
    /// that covers it.
    ///
    /// - Parameter vetted: An address that the route's policy is known to allow. The policy is constant, so the check need
    ///   not be repeated.
    fileprivate func vet(_ peer: UnsafePointer<CChar>?, _ vetted: inout CurlVetted) -> Bool {
        guard let peer else { return self.refuse() }
        if !vetted.holds(peer) {
            guard let address = IPAddress(String(cString: peer)),
                self.route.exit.allows(address, by: self.route.profile.policy)
            else {
                return self.refuse()
            }
            vetted = CurlVetted(peer)
        }
        self.objection = nil
        self.sent = .now
        return true
    }

    private func refuse() -> Bool {
        self.objection = HTTPError(.egressRefused)
        return false
    }
}

private func easyHandle(_ context: UnsafeMutableRawPointer?) -> CurlEasyHandle? {
    context.map { Unmanaged<CurlEasyHandle>.fromOpaque($0).takeUnretainedValue() }
}

private func transfer(_ context: UnsafeMutableRawPointer?) -> CurlTransfer? { easyHandle(context)?.transfer }

/// Returning another number than it was given makes libcurl end the transfer with `CURLE_WRITE_ERROR`.
private let receiveBody: @convention(c) (UnsafeMutablePointer<CChar>?, Int, Int, UnsafeMutableRawPointer?) -> Int = {
    bytes, size, count, context in
    let buffer = UnsafeRawBufferPointer(start: bytes, count: size * count)
    guard let transfer = transfer(context), transfer.receive(body: buffer) else { return size * count == 0 ? 1 : 0 }
    return size * count
}

private let receiveHeader: @convention(c) (UnsafeMutablePointer<CChar>?, Int, Int, UnsafeMutableRawPointer?) -> Int = {
    bytes, size, count, context in
    let buffer = UnsafeRawBufferPointer(start: bytes, count: size * count)
    guard let transfer = transfer(context), transfer.receive(header: buffer) else { return size * count == 0 ? 1 : 0 }
    return size * count
}

private let openSocket:
    @convention(c) (UnsafeMutableRawPointer?, curlsocktype, UnsafeMutablePointer<curl_sockaddr>?) -> curl_socket_t = {
        context, _, target in
        guard let easyHandle = easyHandle(context), let transfer = easyHandle.transfer, let target else {
            return CURL_SOCKET_BAD
        }
        return transfer.open(target, easyHandle.sockets)
    }

private let closeSocket: @convention(c) (UnsafeMutableRawPointer?, curl_socket_t) -> CInt = { context, socket in
    if let context { Unmanaged<CurlSockets>.fromOpaque(context).takeUnretainedValue().forget(socket) }
    return close(socket)
}

private let vetConnection:
    @convention(c) (
        UnsafeMutableRawPointer?, UnsafeMutablePointer<CChar>?, UnsafeMutablePointer<CChar>?, CInt, CInt
    ) -> CInt = { context, peer, _, _, _ in
        guard let easyHandle = easyHandle(context), let transfer = easyHandle.transfer,
            transfer.vet(peer, &easyHandle.vetted)
        else {
            return CURL_PREREQFUNC_ABORT
        }
        return CURL_PREREQFUNC_OK
    }
