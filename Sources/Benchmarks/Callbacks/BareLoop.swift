internal import CCurl
internal import Callbacks
internal import Foundation
internal import HTTPClient

/// The dispatcher's reference: libcurl's own documented loop, `curl_multi_perform` and `curl_multi_poll`, over handles that
/// are configured once. It records nothing and checks only the status.
///
/// It runs in a separate process (`inspectd bench bare-loop`): the heap's earlier use changes its speed by a fifth.
package struct BareLoop: Codable, Sendable {
    /// One for each endpoint, used in turn.
    package var urls: [String]
    /// Bytes of each POST.
    package var bodyBytes: Int
    /// Path of a PEM file.
    package var certificateAuthorities: String
    /// Requests at once.
    var concurrency: Int
    /// Requests that are measured, without those that open the connections.
    package var count: Int
    /// Signs each request (`whsec_…`), each with a different body and headers. `nil`: all requests are the same.
    package var secret: String?

    /// The outcome.
    package struct Report: Codable, Sendable {
        /// Requests per second.
        package var perSecond: Double
        /// CPU seconds of its process meanwhile.
        package var cpuSeconds: Double
    }

    private var body: [UInt8] { [UInt8](repeating: UInt8(ascii: "x"), count: self.bodyBytes) }

    /// Runs in a separate process.
    ///
    /// - Parameter program: `inspectd`.
    /// - Throws: ``HTTPError/Code/localFault`` if it cannot be started or fails.
    package func run(by program: String) throws -> Report {
        let pipe = Pipe()
        let specification = String(decoding: try JSONEncoder().encode(self), as: UTF8.self)
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawn_file_actions_adddup2(&actions, pipe.fileHandleForWriting.fileDescriptor, 1)
        let words = [program, "bench", "bare-loop", specification].map { (word: String) in strdup(word) }
        var pid: pid_t = 0
        let failure = posix_spawn(&pid, program, &actions, nil, words + [nil], environ)
        words.forEach { free($0) }
        posix_spawn_file_actions_destroy(&actions)
        try pipe.fileHandleForWriting.close()
        guard failure == 0 else { throw HTTPError(.localFault, String(cString: strerror(failure))) }
        let answer = try pipe.fileHandleForReading.readToEnd() ?? Data()
        var status: CInt = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        guard status == 0 else { throw HTTPError(.localFault, "the bare loop failed") }
        return try JSONDecoder().decode(Report.self, from: answer)
    }

    /// Runs here, as `inspectd bench bare-loop`.
    ///
    /// - Parameter specification: A loop as JSON.
    /// - Throws: ``HTTPError`` for the first request that is not answered with 200.
    package static func run(_ specification: String) throws -> Report {
        try JSONDecoder().decode(Self.self, from: Data(specification.utf8)).run()
    }

    private func run() throws -> Report {
        let secret = try self.secret.map { text in
            guard let secret = WebhookSecret(text) else { throw HTTPError(.localFault, "the secret is invalid") }
            return secret
        }
        let body = self.body
        let total = self.count + self.concurrency
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
            _ = ccurl_set_offset(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(body.count))
            _ = body.withUnsafeBytes { ccurl_set_pointer(easy, CURLOPT_COPYPOSTFIELDS, $0.baseAddress) }
            if let secret { signed[easy] = try self.sign(body, easy, started, secret, nil) }
            curl_multi_add_handle(multi, easy)
            started += 1
        }
        var done = 0
        var (begin, cpu) = (ContinuousClock.now, CallbackBenchmark.cpuSeconds())
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
                if done == self.concurrency { (begin, cpu) = (.now, CallbackBenchmark.cpuSeconds()) }
                curl_multi_remove_handle(multi, easy)
                if started < total {
                    if let secret { signed[easy] = try self.sign(body, easy, started, secret, signed[easy]) }
                    curl_multi_add_handle(multi, easy)
                    started += 1
                }
            }
            if done < total { curl_multi_poll(multi, nil, 0, 1_000, nil) }
        }
        return Report(
            perSecond: Double(self.count) / ((ContinuousClock.now - begin) / .seconds(1)),
            cpuSeconds: CallbackBenchmark.cpuSeconds() - cpu)
    }

    /// Gives a handle the next request: a new body, its signature and its headers.
    private func sign(
        _ body: [UInt8], _ easy: UnsafeMutableRawPointer, _ number: Int, _ secret: WebhookSecret,
        _ old: UnsafeMutablePointer<curl_slist>?
    ) throws(HTTPError) -> UnsafeMutablePointer<curl_slist>? {
        var body = body
        let digits = Array(String(number).utf8)
        body.replaceSubrange(0..<min(digits.count, body.count), with: digits.prefix(body.count))
        let signature = try WebhookSignature(
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
