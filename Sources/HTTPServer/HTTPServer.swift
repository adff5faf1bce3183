internal import CEpoll
package import Foundation
internal import Glibc
package import InspectCore
internal import Synchronization

/// An HTTP/1.1 server for many slow clients: one thread moves bytes, and slow work runs in Swift tasks while the connection
/// is not read. A waiting client costs memory, but no thread.
///
/// A request is admitted by its head before its body is read, and every phase of a connection has a deadline, so slow
/// senders cannot keep it open.
package final class HTTPServer: Sendable {
    /// A certificate chain and its key, in PEM.
    package struct Identity: Sendable {
        /// The server's own first, then the intermediates.
        package var certificate: Data
        /// Of the first certificate, without a passphrase.
        package var key: Data

        package init(certificate: Data, key: Data) {
            self.certificate = certificate
            self.key = key
        }
    }

    /// The port it listens on.
    package let port: UInt16
    private let core: HTTPServerCore
    private let ended = DispatchSemaphore(value: 0)
    private let isStopped = Atomic(false)

    /// Starts to serve.
    ///
    /// - Parameters:
    ///   - proxies: Addresses whose connections stand for many clients and have no limit by address.
    ///   - proxyHeader: Whether only these may connect, each time with a PROXY protocol header.
    ///   - refusal: The answer, with this status, to requests that the server itself refuses; a problem document by default.
    ///   - admit: Called with the head of each request.
    /// - Throws: ``ServerFailure`` if the address cannot be bound, or if the certificate does not match its key.
    package convenience init(
        _ address: ListenAddress, identity: Identity? = nil, limits: HTTPLimits = HTTPLimits(),
        proxies: TrustedProxies = TrustedProxies(), proxyHeader: Bool = false,
        refusal: @escaping @Sendable (InspectError, Int) -> HTTPResponse = { .problem($0, status: $1) },
        admit: @escaping @Sendable (HTTPRequest) async -> HTTPAdmission
    ) throws(ServerFailure) {
        try self.init(
            address, identity,
            HTTPServerCore(limits, .tasks(admit), proxies, expectsProxyHeader: proxyHeader, refusal: refusal))
    }

    /// A server whose handler answers immediately, on its thread.
    convenience init(
        _ address: ListenAddress, limits: HTTPLimits, answer: @escaping @Sendable (HTTPRequest) -> HTTPResponse
    ) throws(ServerFailure) {
        try self.init(
            address, nil, HTTPServerCore(limits, .direct(answer), TrustedProxies(), expectsProxyHeader: false))
    }

    private init(_ address: ListenAddress, _ identity: Identity?, _ core: HTTPServerCore) throws(ServerFailure) {
        var tls: TLSContext?
        if let identity { tls = try TLSContext(identity) }
        let (socket, port) = try address.listen()
        self.port = port
        self.core = core
        let (ended, context) = (self.ended, tls)
        let thread = Thread {
            HTTPLoop(socket, core, context).run()
            ended.signal()
        }
        thread.name = "http"
        thread.start()
    }

    deinit { self.end() }

    /// Requests that are being received, worked on or answered.
    package var requestsInFlight: Int { self.core.inFlight.load(ordering: .relaxed) }
    /// Connections that are open.
    package var connections: Int { self.core.connections.load(ordering: .relaxed) }
    /// Bytes of bodies, and of answers that wait for their clients, that are held.
    package var heldBytes: Int { self.core.heldBytes.load(ordering: .relaxed) }

    /// Refuses new connections, finishes active requests, and stops.
    ///
    /// - Parameter time: Clients that have not sent their request by then are cut off; requests in work are always
    ///   finished.
    package func stop(within time: Duration) async {
        self.core.isDraining.store(true, ordering: .relaxed)
        self.core.post(.stopListening)
        let deadline = ContinuousClock.now + time
        while self.requestsInFlight > 0, .now < deadline { try? await Task.sleep(for: .milliseconds(20)) }
        self.core.post(.expire)
        while self.requestsInFlight > 0 { try? await Task.sleep(for: .milliseconds(20)) }
        self.end()
    }

    /// Ends the thread, and with it every connection. Safe to call again.
    func end() {
        guard !self.isStopped.exchange(true, ordering: .relaxed) else { return }
        self.core.post(.stop)
        self.ended.wait()
    }
}

/// State shared by the server's thread and its tasks.
final class HTTPServerCore: Sendable {
    enum Handler: Sendable {
        case tasks(@Sendable (HTTPRequest) async -> HTTPAdmission)
        case direct(@Sendable (HTTPRequest) -> HTTPResponse)
    }

    /// Messages to the thread.
    enum Message: Sendable {
        case admitted(UInt64, HTTPAdmission)
        case answered(UInt64, HTTPResponse, held: Int, share: String?)
        case stopListening
        /// Closes every connection without a request in work.
        case expire
        case stop
    }

    let limits: HTTPLimits
    let handler: Handler
    let proxies: TrustedProxies
    let expectsProxyHeader: Bool
    let refusal: @Sendable (InspectError, Int) -> HTTPResponse
    /// A counter that wakes the thread.
    let bell = cepoll_bell()
    let inFlight = Atomic(0)
    let connections = Atomic(0)
    let heldBytes = Atomic(0)
    let isDraining = Atomic(false)
    private let messages = Mutex<[Message]>([])

    init(
        _ limits: HTTPLimits, _ handler: Handler, _ proxies: TrustedProxies, expectsProxyHeader: Bool,
        refusal: @escaping @Sendable (InspectError, Int) -> HTTPResponse = { .problem($0, status: $1) }
    ) {
        self.limits = limits
        self.handler = handler
        self.proxies = proxies
        self.expectsProxyHeader = expectsProxyHeader
        self.refusal = refusal
    }

    deinit { close(self.bell) }

    func post(_ message: Message) {
        let isFirst = self.messages.withLock { messages in
            messages.append(message)
            return messages.count == 1
        }
        if isFirst { eventfd_write(self.bell, 1) }
    }

    func takeMessages() -> [Message] {
        var count: eventfd_t = 0
        eventfd_read(self.bell, &count)
        return self.messages.withLock { messages in
            defer { messages = [] }
            return messages
        }
    }
}
