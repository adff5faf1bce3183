internal import Foundation

/// Sends answers and releases what requests held.
extension HTTPConnection {
    func answer(_ response: HTTPResponse, withoutBody: Bool = false) {
        let isHead = withoutBody || self.head?.request.method == "HEAD"
        self.head = nil
        self.departure = nil
        if self.loop.core.isDraining.load(ordering: .relaxed) { self.staysOpen = false }
        self.output.append(contentsOf: response.head(staysOpen: self.staysOpen))
        if !isHead { self.output.append(contentsOf: response.body) }
        self.phase = .answering
        self.deadlineNanoseconds = self.loop.after(seconds: self.loop.core.limits.answerSeconds)
        self.movedNanoseconds = self.loop.nowNanoseconds
        self.flush()
        if let account = self.counted?.account { self.loop.makeRoom(for: account) }
    }

    func flush() {
        while self.written < self.output.count {
            let outcome = self.output.withUnsafeBytes {
                self.transport.write(UnsafeRawBufferPointer(rebasing: $0[self.written...]))
            }
            switch outcome {
            case .done(let count):
                self.written += count
                self.movedNanoseconds = self.loop.nowNanoseconds
            case .later:
                // Written bytes are released only now and then, since each release copies the rest.
                if self.written > self.output.count / 2 {
                    self.output = Array(self.output[self.written...])
                    self.written = 0
                }
                return self.count()
            case .gone: return self.close()
            }
        }
        self.output = []
        self.written = 0
        self.count()
        guard case .answering = self.phase else { return }
        self.endRequest()
        if self.staysOpen {
            self.phase = .idle
            self.deadlineNanoseconds = self.loop.after(seconds: Double(self.loop.core.limits.idleSeconds))
        } else {
            self.input = []
            self.transport.finish()
            self.phase = .lingering
            self.deadlineNanoseconds = self.loop.after(seconds: self.loop.core.limits.lingerSeconds)
        }
    }

    /// Counts unread answers with the bodies, for a partner or, without one, for an address.
    func count() {
        let bytes = self.output.count
        guard bytes != self.counted?.bytes ?? 0 else { return }
        let account = self.counted?.account ?? self.share ?? "address \(self.address?.name ?? "")"
        self.loop.hold(account, bytes - (self.counted?.bytes ?? 0))
        self.counted = bytes == 0 ? nil : (account, bytes)
    }

    /// Releases what the request held. Requests in admission or in work are released by their message.
    func endRequest() {
        self.isBusy = false
        guard self.isInRequest else { return }
        self.isInRequest = false
        self.dropBody()
        self.loop.leavePlace(self.share)
        self.share = nil
        self.loop.core.inFlight.subtract(1, ordering: .relaxed)
    }

    func dropBody() {
        self.loop.hold(self.share, -self.body.count)
        self.body = Data()
    }
}

extension HTTPResponse {
    /// Status line and header fields.
    fileprivate func head(staysOpen: Bool) -> [UInt8] {
        var text = "HTTP/1.1 \(self.status) \(Self.phrase(self.status))\r\nDate: \(HTTPSyntax.date(time(nil)))\r\n"
        for (name, value) in self.headers { text += "\(name): \(value)\r\n" }
        // RFC 9110, section 8.6.
        if self.status != 204, self.status != 304 { text += "Content-Length: \(self.body.count)\r\n" }
        text += "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
        if !staysOpen { text += "Connection: close\r\n" }
        return Array((text + "\r\n").utf8)
    }
}
