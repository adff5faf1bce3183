internal import COpenSSL
internal import Glibc

/// The sole owner of a connection's socket, with or without TLS.
final class HTTPTransport {
    enum Outcome {
        case done(Int)
        case later
        case gone
    }

    let descriptor: CInt
    private var session: OpaquePointer?
    /// Whether TLS must write before it can continue.
    private(set) var wantsToWrite = false

    init(_ descriptor: CInt) { self.descriptor = descriptor }

    deinit {
        if let session = self.session { SSL_free(session) }
        close(self.descriptor)
    }

    /// From here on, the connection uses TLS.
    func startTLS(_ context: TLSContext) -> Bool {
        guard let session = SSL_new(context.pointer) else { return false }
        self.session = session
        SSL_set_accept_state(session)
        return SSL_set_fd(session, self.descriptor) == 1
    }

    func handshake() -> Outcome {
        guard let session = self.session else { return .done(0) }
        ERR_clear_error()
        let result = SSL_do_handshake(session)
        return result == 1 ? .done(0) : self.outcome(result)
    }

    /// The buffer holds at least a whole TLS record, so that no data stays inside OpenSSL, where epoll cannot see them.
    func read(_ buffer: UnsafeMutableRawBufferPointer) -> Outcome {
        guard let session = self.session else { return self.readPlain(buffer) }
        ERR_clear_error()
        let count = SSL_read(session, buffer.baseAddress, CInt(buffer.count))
        return count > 0 ? .done(Int(count)) : self.outcome(count)
    }

    /// Plain bytes, before TLS begins or after it has ended.
    func readPlain(_ buffer: UnsafeMutableRawBufferPointer) -> Outcome {
        let count = recv(self.descriptor, buffer.baseAddress, buffer.count, 0)
        if count > 0 { return .done(count) }
        return count < 0 && (errno == EAGAIN || errno == EINTR) ? .later : .gone
    }

    func write(_ bytes: UnsafeRawBufferPointer) -> Outcome {
        guard !bytes.isEmpty else { return .done(0) }
        if let session = self.session {
            ERR_clear_error()
            let count = SSL_write(session, bytes.baseAddress, CInt(min(bytes.count, 1 << 20)))
            return count > 0 ? .done(Int(count)) : self.outcome(count)
        }
        let count = send(self.descriptor, bytes.baseAddress, bytes.count, CInt(MSG_NOSIGNAL))
        if count >= 0 { return .done(count) }
        return errno == EAGAIN || errno == EINTR ? .later : .gone
    }

    /// Says that nothing more will be sent.
    func finish() {
        if let session = self.session {
            ERR_clear_error()
            SSL_shutdown(session)
            self.wantsToWrite = false
        }
        shutdown(self.descriptor, CInt(SHUT_WR))
    }

    private func outcome(_ result: CInt) -> Outcome {
        let error = SSL_get_error(self.session, result)
        self.wantsToWrite = error == SSL_ERROR_WANT_WRITE
        return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? .later : .gone
    }
}
