internal import CCurl
internal import Foundation
internal import Synchronization

/// Tells, after libcurl could not resolve a name, whether the name does not exist or the resolver gives no answer.
///
/// libcurl reports both alike; `getaddrinfo` tells them apart. It blocks, so it runs on threads of its own.
final class ResolverProbe: Sendable {
    private let running = Mutex(0)
    /// Names looked up at once. When more fail to resolve at the same time, it is the resolver.
    private static let limit = 4

    /// Whether the resolver gives no answer about a URL's host: then the failure is not the partner's.
    ///
    /// A partner whose own name servers are down looks the same; ``CallbackRetryPolicy/releases`` bounds that case.
    func isSilent(about url: String) async -> Bool {
        guard let host = HTTPRequest.host(of: url) else { return false }
        let mayRun = self.running.withLock { running in
            guard running < Self.limit else { return false }
            running += 1
            return true
        }
        guard mayRun else { return true }
        let code = await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: Self.look(up: host)) }
        }
        self.running.withLock { $0 -= 1 }
        return [EAI_AGAIN, EAI_FAIL, EAI_MEMORY, EAI_SYSTEM].contains(code)
    }

    private static func look(up host: String) -> CInt {
        var result: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, nil, nil, &result)
        if code == 0 { freeaddrinfo(result) }
        return code
    }
}

extension HTTPRequest {
    /// The host of a URL by libcurl's own parser, or `nil`.
    static func host(of url: String) -> String? {
        guard let parser = curl_url() else { return nil }
        defer { curl_url_cleanup(parser) }
        var text: UnsafeMutablePointer<CChar>?
        guard curl_url_set(parser, CURLUPART_URL, url, 0) == CURLUE_OK,
            curl_url_get(parser, CURLUPART_HOST, &text, 0) == CURLUE_OK, let text
        else { return nil }
        defer { curl_free(text) }
        return String(cString: text)
    }
}
