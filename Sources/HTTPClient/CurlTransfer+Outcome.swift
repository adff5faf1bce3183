internal import CCurl
internal import Foundation

extension CurlTransfer {
    /// The transfer's outcome, from libcurl's result code and the callbacks' observations.
    func result(of easy: UnsafeMutableRawPointer, code: CURLcode) -> Result<HTTPResponse, HTTPError> {
        let failure = code == CURLE_OK ? nil : self.failure(code, of: easy)
        guard self.areHeadersComplete else { return .failure(failure ?? HTTPError(.responseBroken, "no headers")) }
        var microseconds: curl_off_t = 0
        _ = ccurl_get_offset(easy, CURLINFO_TOTAL_TIME_T, &microseconds)
        var connections = 0
        _ = ccurl_get_long(easy, CURLINFO_NUM_CONNECTS, &connections)
        return .success(
            HTTPResponse(
                status: self.status, head: self.head, body: self.body, bodyFailure: failure,
                microseconds: Int(microseconds), isConnectionReused: connections == 0, sent: self.sent))
    }

    private func failure(_ code: CURLcode, of easy: UnsafeMutableRawPointer) -> HTTPError {
        if let objection { return objection }
        let words = String(cString: curl_easy_strerror(code))
        if self.route.exit.proxy != nil, let failure = self.proxyFailure(code, of: easy) { return failure }
        switch code {
        case CURLE_OPERATION_TIMEDOUT: return HTTPError(.timedOut)
        case CURLE_COULDNT_RESOLVE_HOST: return HTTPError(.nameNotResolved)
        case CURLE_COULDNT_CONNECT:
            var number = 0
            _ = ccurl_get_long(easy, CURLINFO_OS_ERRNO, &number)
            let reason = String(cString: strerror(CInt(number)))
            // A missing route is our network's fault; a refused or unanswered connection is the partner's.
            let isLocal = [ENETUNREACH, ENETDOWN, EADDRNOTAVAIL, EACCES, EPERM].contains(CInt(number))
            return HTTPError(isLocal ? .localFault : .connectionFailed, number == 0 ? "" : reason)
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS:
            return HTTPError(.certificateInvalid, words)
        case CURLE_SSL_PINNEDPUBKEYNOTMATCH: return HTTPError(.pinMismatch)
        case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CIPHER, CURLE_USE_SSL_FAILED: return HTTPError(.tlsFailed, words)
        // The endpoint's own certificate and key for mutual TLS.
        case CURLE_SSL_CERTPROBLEM: return HTTPError(.requestInvalid, words)
        case CURLE_OUT_OF_MEMORY, CURLE_FAILED_INIT, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ENGINE_NOTFOUND,
            CURLE_SSL_ENGINE_SETFAILED, CURLE_BAD_FUNCTION_ARGUMENT:
            return HTTPError(.localFault, words)
        case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL: return HTTPError(.requestInvalid, words)
        default: return HTTPError(.responseBroken, words)
        }
    }

    /// The failure to open a tunnel; `nil`: it was opened.
    private func proxyFailure(_ code: CURLcode, of easy: UnsafeMutableRawPointer) -> HTTPError? {
        var answer = 0
        _ = ccurl_get_long(easy, CURLINFO_HTTP_CONNECTCODE, &answer)
        switch (code, answer) {
        case (CURLE_COULDNT_CONNECT, _), (CURLE_COULDNT_RESOLVE_PROXY, _), (CURLE_PROXY, _):
            return HTTPError(.localFault, "the proxy cannot be reached")
        // The proxy's report about the server: no connection, no answer.
        case (_, 502), (_, 503), (_, 504): return HTTPError(.connectionFailed, "the proxy answered \(answer)")
        case (_, 300...): return HTTPError(.localFault, "the proxy answered \(answer)")
        default: return nil
        }
    }
}
