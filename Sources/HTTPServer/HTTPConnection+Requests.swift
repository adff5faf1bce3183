internal import Foundation
internal import InspectCore

/// Turns received bytes into requests, one after the other.
extension HTTPConnection {
    func take(_ bytes: UnsafeRawBufferPointer) {
        var bytes = bytes
        if self.input.isEmpty { bytes = UnsafeRawBufferPointer(rebasing: bytes[self.feed(bytes)...]) }
        self.input += bytes
        self.proceed()
    }

    /// Processes received bytes as far as the phase allows.
    func proceed() {
        while !self.input.isEmpty {
            switch self.phase {
            case .idle, .head:
                guard self.takeHead() else { return }
            case .receiving, .discarding:
                let bytes = self.input
                self.input = []
                let used = bytes.withUnsafeBytes { self.feed($0) }
                if used < bytes.count { self.input = Array(bytes[used...]) }
            default: return
            }
        }
    }

    private func takeHead() -> Bool {
        if case .idle = self.phase {
            self.phase = .head
            self.deadlineNanoseconds = self.loop.after(seconds: self.loop.core.limits.headSeconds)
        }
        do throws(HTTPFault) {
            let length = try self.input.withUnsafeBufferPointer { (bytes) throws(HTTPFault) in
                try self.scanner.scan(UnsafeRawBufferPointer(bytes))
            }
            guard (length ?? self.input.count) <= self.loop.core.limits.headBytes else {
                throw self.scanner.isInFirstLine
                    ? HTTPFault("the request line is too long") : HTTPFault("the head is too large", status: 431)
            }
            guard let length else { return false }
            let peer = self.peer
            let head = try self.input.withUnsafeBufferPointer { (bytes) throws(HTTPFault) in
                try HTTPHead(UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: bytes[..<length])), peer: peer)
            }
            if length == self.input.count { self.input = [] } else { self.input.removeFirst(length) }
            self.scanner = HTTPHeadScanner()
            self.begin(head)
            return true
        } catch {
            self.fail(error)
            return false
        }
    }

    private func begin(_ head: HTTPHead) {
        self.head = head
        self.staysOpen = head.staysOpen
        self.reader = HTTPBodyReader(head.framing)
        self.dropped = 0
        self.refusalHeaders = []
        self.isInRequest = true
        self.isBusy = true
        self.loop.core.inFlight.add(1, ordering: .relaxed)
        self.phase = .admitting
        let request = head.request
        switch self.loop.core.handler {
        // Sent as a message, so that other connections get a turn between two requests of this one.
        case .direct(let answer): self.loop.core.post(.admitted(self.id, .refuse(answer(request))))
        case .tasks(let admit):
            let (core, id) = (self.loop.core, self.id)
            Task { core.post(.admitted(id, await admit(request))) }
        }
    }

    func admitted(_ admission: HTTPAdmission) {
        guard let head = self.head else { return }
        switch admission {
        case .refuse(let response): self.refuse(response, head)
        case .accept(let share, let limit, let pace, let headers, let work):
            self.bodyLimit = min(limit ?? .max, self.loop.core.limits.bodyBytes)
            self.refusalHeaders = headers
            if case .length(let count) = head.framing, count > self.bodyLimit {
                return self.refuse(self.own(InspectError(.requestTooLarge)), head)
            }
            guard self.loop.takePlace(share) else {
                return self.refuse(self.own(InspectError(.rateLimited), retryAfter: "1"), head)
            }
            self.share = share
            self.pace = pace.map { ($0, self.loop.nowNanoseconds) }
            self.deadlineNanoseconds = self.loop.after(seconds: self.loop.core.limits.bodySeconds)
            self.movedNanoseconds = self.loop.nowNanoseconds
            self.phase = .receiving(work)
            if self.reader.isComplete { return self.complete() }
            if head.expectsContinue, self.input.isEmpty {
                self.output += Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)
                self.flush()
            }
        }
    }

    /// The server's own refusal of a request that may be admitted already.
    private func own(_ error: InspectError, status: Int? = nil, retryAfter: String? = nil) -> HTTPResponse {
        var response = self.loop.core.refusal(error, status ?? error.code.httpStatus)
        var headers = self.refusalHeaders
        if let retryAfter {
            response.headers.removeAll { $0.name == "Retry-After" }
            headers.append(("Retry-After", retryAfter))
        }
        let names = Set(response.headers.map(\.name))
        response.headers += headers.filter { !names.contains($0.name) }
        return response
    }

    private func refuse(_ response: HTTPResponse, _ head: HTTPHead) {
        if self.reader.isComplete { return self.answer(response) }
        let announced = if case .length(let count) = head.framing { count } else { 0 }
        // A client that asked first may send its body in any case.
        if announced > Self.discardable || head.expectsContinue {
            self.staysOpen = false
            return self.answer(response)
        }
        self.phase = .discarding(response)
        self.isBusy = false
        self.deadlineNanoseconds = self.loop.after(seconds: self.loop.core.limits.bodySeconds)
        self.movedNanoseconds = self.loop.nowNanoseconds
    }

    /// Passes octets to the body being received, if any.
    ///
    /// - Returns: The number of octets taken.
    private func feed(_ bytes: UnsafeRawBufferPointer) -> Int {
        let isKept: Bool
        switch self.phase {
        case .receiving: isKept = true
        case .discarding: isKept = false
        default: return 0
        }
        var arrived = 0
        let taken: Int
        do throws(HTTPFault) {
            taken = try self.reader.take(bytes) { piece in
                if isKept, let start = piece.baseAddress {
                    self.body.append(start.assumingMemoryBound(to: UInt8.self), count: piece.count)
                }
                arrived += piece.count
            }
        } catch {
            self.loop.hold(self.share, arrived * (isKept ? 1 : 0))
            self.fail(error)
            return bytes.count
        }
        if isKept {
            self.loop.hold(self.share, arrived)
            if self.body.count > self.bodyLimit {
                return self.giveUp(self.own(InspectError(.requestTooLarge)), bytes)
            }
            if self.loop.holdsTooMuch(self.share) {
                return self.giveUp(self.own(InspectError(.gatewayOverloaded)), bytes)
            }
        } else {
            // Framing included: a chunk's line may be longer than its data.
            self.dropped += taken
        }
        if self.reader.isComplete {
            self.complete()
        } else if self.dropped > Self.discardable, case .discarding(let response) = self.phase {
            return self.giveUp(response, bytes)
        }
        return taken
    }

    /// Answers before the body's end; the rest is not read.
    private func giveUp(_ response: HTTPResponse, _ bytes: UnsafeRawBufferPointer) -> Int {
        self.staysOpen = false
        self.dropBody()
        self.answer(response)
        return bytes.count
    }

    private func complete() {
        switch self.phase {
        case .discarding(let response): self.answer(response)
        case .receiving(let work):
            self.phase = .working
            let (core, id, body, share) = (self.loop.core, self.id, self.body, self.share)
            self.body = Data()
            let departure = HTTPDeparture()
            self.departure = departure
            // By an earlier request on this connection.
            if self.hasLeft { departure.leave() }
            Task {
                let response = await HTTPDeparture.$current.withValue(departure) { await work(body) }
                core.post(.answered(id, response, held: body.count, share: share))
            }
        default: break
        }
    }

    private func fail(_ fault: HTTPFault) {
        self.staysOpen = false
        let isHead = self.input.starts(with: Array("HEAD ".utf8))
        self.input = []
        self.dropBody()
        // A fault of the head belongs to no request that was admitted.
        if self.head == nil { self.refusalHeaders = [] }
        self.answer(self.own(fault.error, status: fault.status), withoutBody: isHead)
    }
}
