internal import Foundation

/// One client's connection, on the loop's thread: it turns received bytes into requests, one after the other, and sends
/// answers.
///
/// (PROXY header) → (TLS) → idle → head → admitting → receiving or discarding the body → working → answering → idle or
/// lingering. Nothing is read during admission and work: pipelined requests wait in the kernel. Work is notified when its
/// client leaves.
final class HTTPConnection {
    enum Phase {
        case proxy, handshake
        /// No byte of a request yet.
        case idle
        case head
        case admitting
        case receiving(@Sendable (Data) async -> HTTPResponse)
        /// A refused body is read and dropped: a client that is still sending would not read the answer.
        case discarding(HTTPResponse)
        case working, answering
        /// The answer is sent; further input is dropped, otherwise the kernel might drop the answer.
        case lingering
        case closed
    }

    /// Bodies up to this size are read before a refusal is sent; for larger ones, clients ask first (`Expect:
    /// 100-continue`).
    static let discardable = 1024 * 1024

    let id: UInt64
    let transport: HTTPTransport
    unowned let loop: HTTPLoop
    /// Numeric address of the client, and the unit that its limits count for; `nil` for a proxy, which stands for many
    /// clients.
    var peer: String
    private(set) var address: HTTPAddress?
    var phase: Phase
    /// When bytes last arrived or left, by the loop's clock.
    var movedNanoseconds: UInt64
    var deadlineNanoseconds: UInt64
    /// The events that the loop watches.
    var watched: UInt32 = 0

    private var proxy = ProxyHeader()
    private var proxyNeeds = 8
    /// Received bytes that belong to no request yet.
    var input: [UInt8] = []
    var scanner = HTTPHeadScanner()
    var head: HTTPHead?
    var reader = HTTPBodyReader(.none)
    var body = Data()
    /// Bytes that the body may have.
    var bodyLimit = 0
    /// The pace with which the body may take longer, and when it began; of the last accepted request.
    var pace: (pace: HTTPPace, startNanoseconds: UInt64)?
    /// Headers for the server's own refusals of an admitted request.
    var refusalHeaders: [(name: String, value: String)] = []
    var dropped = 0
    var output: [UInt8] = []
    var written = 0
    /// The counted bytes of `output`, and their account.
    var counted: (account: String, bytes: Int)?
    var staysOpen = true
    var share: String?
    /// Notifies the work on the request when the client leaves.
    var departure: HTTPDeparture?
    /// Whether the client has stopped sending, during work.
    var hasLeft = false
    /// Whether a request is active, and whether the connection cannot be closed to make room.
    var isInRequest = false
    var isBusy = false {
        didSet { self.loop.busy += (self.isBusy ? 1 : 0) - (oldValue ? 1 : 0) }
    }

    init(
        _ id: UInt64, _ transport: HTTPTransport, _ peer: String, _ address: HTTPAddress?, isProxied: Bool,
        _ loop: HTTPLoop
    ) {
        self.id = id
        self.transport = transport
        self.loop = loop
        self.peer = peer
        self.address = address
        self.movedNanoseconds = loop.nowNanoseconds
        self.deadlineNanoseconds = loop.after(seconds: loop.core.limits.firstByteSeconds)
        self.phase = .idle
        if isProxied { self.phase = .proxy } else { self.startTLS() }
    }

    private func startTLS() {
        guard let context = self.loop.tls else { return self.phase = .idle }
        self.phase = self.transport.startTLS(context) ? .handshake : .closed
    }

    // MARK: The loop's queries

    var isClosed: Bool { if case .closed = self.phase { true } else { false } }

    /// The connection's priority for being closed to make room; `nil`: never.
    var eviction: Int? {
        switch self.phase {
        case .lingering: 3
        case .proxy, .handshake, .idle: 2
        case .head, .discarding: 1
        // The client does not read.
        case .answering where self.loop.nowNanoseconds > self.movedNanoseconds + 2_000_000_000: 0
        default: nil
        }
    }

    var wantsInput: Bool {
        switch self.phase {
        case .proxy, .handshake, .idle, .head, .receiving, .discarding, .lingering: true
        case .admitting, .working, .answering, .closed: false
        }
    }

    /// Whether the loop watches for the client's departure, as it reads nothing.
    var awaitsDeparture: Bool { if case .working = self.phase { !self.hasLeft } else { false } }

    var wantsOutput: Bool { self.written < self.output.count || self.transport.wantsToWrite }

    /// Whether the client has used up its time.
    func isLate(_ nowNanoseconds: UInt64) -> Bool {
        switch self.phase {
        case .admitting, .working: false
        default:
            nowNanoseconds > self.deadlineNanoseconds && !self.keepsPace(nowNanoseconds)
                || nowNanoseconds > self.movedNanoseconds + UInt64(self.loop.core.limits.idleSeconds) * 1_000_000_000
        }
    }

    /// Whether a body that has used up the usual time arrives fast enough to get more.
    private func keepsPace(_ nowNanoseconds: UInt64) -> Bool {
        guard case .receiving = self.phase, let (pace, startNanoseconds) = self.pace else { return false }
        let seconds = Double(nowNanoseconds - startNanoseconds) / 1_000_000_000
        return seconds < pace.seconds && Double(self.body.count) >= pace.bytesPerSecond * seconds
    }

    func writable() {
        if case .handshake = self.phase { return self.handshake() }
        self.flush()
        self.proceed()
        // TLS had to write before it could read.
        if self.transport.wantsToWrite, self.wantsInput { self.readable() }
    }

    func readable() {
        // A limited number of reads, so that others get a turn.
        for _ in 0..<8 where self.wantsInput {
            switch self.phase {
            case .proxy:
                guard self.readProxy() else { return }
            case .handshake:
                self.handshake()
                guard case .idle = self.phase else { return }
            case .lingering:
                let outcome = self.transport.readPlain(self.loop.scratch)
                self.stopIfGone(outcome)
                guard case .done = outcome else { return }
            default:
                guard case .done(let count) = self.read() else { return }
                self.movedNanoseconds = self.loop.nowNanoseconds
                self.take(UnsafeRawBufferPointer(rebasing: self.loop.scratch[..<count]))
            }
        }
    }

    private func read() -> HTTPTransport.Outcome {
        let outcome = self.transport.read(self.loop.scratch)
        self.stopIfGone(outcome)
        return outcome
    }

    private func stopIfGone(_ outcome: HTTPTransport.Outcome) { if case .gone = outcome { self.close() } }

    private func handshake() {
        switch self.transport.handshake() {
        case .done: self.phase = .idle
        case .later: break
        case .gone: self.close()
        }
    }

    private func readProxy() -> Bool {
        let outcome = self.transport.readPlain(
            UnsafeMutableRawBufferPointer(rebasing: self.loop.scratch[..<self.proxyNeeds]))
        self.stopIfGone(outcome)
        guard case .done(let count) = outcome else { return false }
        switch self.proxy.take(UnsafeRawBufferPointer(rebasing: self.loop.scratch[..<count])) {
        case .read(let more): self.proxyNeeds = more
        case .broken: self.close()
        case .client(let address):
            if let address {
                self.peer = address
                self.address = self.loop.join(address)
                if self.address == nil {
                    self.close()
                    return false
                }
            }
            self.startTLS()
        }
        return !self.isClosed
    }

    /// The client stopped sending. Whether it still reads is not known, so the request is answered.
    func leave() {
        guard self.awaitsDeparture else { return }
        self.hasLeft = true
        self.departure?.leave()
    }

    /// Closes the connection at once. The loop then forgets it.
    func close() {
        self.output = []
        self.written = 0
        self.count()
        switch self.phase {
        case .closed: return
        case .admitting, .working:
            self.departure?.leave()
            self.isInRequest = false
            self.isBusy = false
        default: self.endRequest()
        }
        self.phase = .closed
    }
}
