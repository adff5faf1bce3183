internal import CCurl
internal import Foundation

/// The floor that the dispatcher is held against: libcurl's own documented loop, `curl_multi_perform` and `curl_multi_poll`,
/// over handles that are set up once. It records nothing and checks only the status.
struct BareLoop {
    let urls: [String]
    let body: [UInt8]
    let certificateAuthorities: String
    /// Requests at once.
    let concurrency: Int
    /// Signs each request: a body of its own, with the headers that belong to it. `nil`: all requests are the same.
    var secret: WebhookSecret?

    /// - Returns: Requests a second, without those that open the connections.
    func run(_ measured: Int) throws -> Double {
        let total = measured + self.concurrency
        guard let multi = curl_multi_init() else { throw HTTPError(.localFault, "libcurl cannot start") }
        _ = ccurl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, 512)
        var headers = curl_slist_append(nil, "Content-Type: application/json")
        headers = curl_slist_append(headers, "Expect:")
        var resolution: UnsafeMutablePointer<curl_slist>?
        for url in self.urls {
            if let (host, port) = HTTPRequest.authority(of: url) {
                resolution = curl_slist_append(resolution, "\(host):\(port):127.0.0.1")
            }
        }
        var handles: [UnsafeMutableRawPointer] = []
        var signed: [UnsafeMutableRawPointer: UnsafeMutablePointer<curl_slist>] = [:]
        defer {
            for list in signed.values { curl_slist_free_all(list) }
            for easy in handles {
                curl_multi_remove_handle(multi, easy)
                curl_easy_cleanup(easy)
            }
            curl_multi_cleanup(multi)
            curl_slist_free_all(headers)
            curl_slist_free_all(resolution)
        }
        var started = 0
        for number in 0..<self.concurrency {
            guard let easy = curl_easy_init() else { throw HTTPError(.localFault, "out of memory") }
            handles.append(easy)
            _ = ccurl_set_string(easy, CURLOPT_URL, self.urls[number % self.urls.count])
            _ = ccurl_set_string(easy, CURLOPT_CAINFO, self.certificateAuthorities)
            _ = ccurl_set_pointer(easy, CURLOPT_RESOLVE, resolution)
            _ = ccurl_set_pointer(easy, CURLOPT_HTTPHEADER, headers)
            _ = ccurl_set_string(easy, CURLOPT_PROXY, "")
            _ = ccurl_set_long(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)
            _ = ccurl_set_long(easy, CURLOPT_POST, 1)
            _ = ccurl_set_offset(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(self.body.count))
            _ = self.body.withUnsafeBytes { ccurl_set_pointer(easy, CURLOPT_COPYPOSTFIELDS, $0.baseAddress) }
            if let secret { signed[easy] = self.sign(easy, started, secret, nil) }
            curl_multi_add_handle(multi, easy)
            started += 1
        }
        var done = 0
        var begin = ContinuousClock.now
        while done < total {
            var running: CInt = 0
            curl_multi_perform(multi, &running)
            var left: CInt = 0
            while let message = curl_multi_info_read(multi, &left) {
                guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle else { continue }
                var status = 0
                _ = ccurl_get_long(easy, CURLINFO_RESPONSE_CODE, &status)
                guard message.pointee.data.result == CURLE_OK, status == 200 else {
                    throw HTTPError(.localFault, String(cString: curl_easy_strerror(message.pointee.data.result)))
                }
                done += 1
                if done == self.concurrency { begin = .now }
                curl_multi_remove_handle(multi, easy)
                if started < total {
                    if let secret { signed[easy] = self.sign(easy, started, secret, signed[easy]) }
                    curl_multi_add_handle(multi, easy)
                    started += 1
                }
            }
            if done < total { curl_multi_poll(multi, nil, 0, 1_000, nil) }
        }
        return Double(measured) / ((ContinuousClock.now - begin) / .seconds(1))
    }

    /// Gives a handle the next request: a new body, its signature and its headers.
    private func sign(
        _ easy: UnsafeMutableRawPointer, _ number: Int, _ secret: WebhookSecret,
        _ old: UnsafeMutablePointer<curl_slist>?
    ) -> UnsafeMutablePointer<curl_slist>? {
        var body = self.body
        let digits = Array(String(number).utf8)
        body.replaceSubrange(0..<min(digits.count, body.count), with: digits.prefix(body.count))
        let signature = WebhookSignature(
            id: "msg_\(number)", timestamp: Int(Date().timeIntervalSince1970), body: body, secrets: [secret])
        var headers = curl_slist_append(nil, "Expect:")
        for header in [HTTPRequest.Header(name: "Content-Type", value: "application/json")] + signature.headers {
            headers = curl_slist_append(headers, "\(header.name): \(header.value)")
        }
        _ = ccurl_set_pointer(easy, CURLOPT_HTTPHEADER, headers)
        _ = body.withUnsafeBytes { ccurl_set_pointer(easy, CURLOPT_COPYPOSTFIELDS, $0.baseAddress) }
        curl_slist_free_all(old)
        return headers
    }
}
