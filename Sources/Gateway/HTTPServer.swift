internal import CMicroHTTPD
public import Foundation
internal import Glibc
internal import Synchronization

/// An HTTP/1.1 server for many slow clients: one thread of libmicrohttpd's own moves bytes, and whatever takes time runs in
/// Swift's tasks while the connection is suspended. A waiting client costs neither a thread nor anything but its memory.
///
/// A request is admitted by its head before its body is read, and every phase of a connection has a deadline: dripping a
/// byte now and then keeps nothing open.
public final class HTTPServer: Sendable {
    /// A certificate chain and its key, in PEM.
    public struct Identity: Sendable {
        public var certificate: Data
        public var key: Data

        public init(certificate: Data, key: Data) {
            self.certificate = certificate
            self.key = key
        }
    }

    /// The port it listens on.
    public let port: UInt16
    private let core: HTTPServerCore
    private let daemon: Mutex<Daemon?>
    private let sweeping: Task<Void, Never>

    /// Starts to serve.
    ///
    /// - Parameter admit: Called with the head of each request.
    /// - Throws: ``ServerFailure`` if nobody may listen there, or if the certificate does not fit its key.
    public init(
        _ address: ListenAddress, identity: Identity? = nil, limits: HTTPLimits = HTTPLimits(),
        admit: @escaping @Sendable (HTTPRequest) async -> HTTPAdmission
    ) throws(ServerFailure) {
        let (socket, port) = try address.listen()
        let core = HTTPServerCore(limits, admit)
        self.port = port
        self.core = core
        self.daemon = Mutex(try Daemon(socket: socket, core: core, identity: identity))
        self.sweeping = Task {
            while !Task.isCancelled {
                core.deadlines.sweep()
                try? await Task.sleep(for: .milliseconds(500))
            }
        }
    }

    /// Requests that are being received, worked on or answered.
    public var requestsInFlight: Int { self.core.inFlight.load(ordering: .relaxed) }
    /// Connections that are open.
    public var connections: Int { self.core.deadlines.count }
    /// Bytes of bodies that are held.
    public var heldBytes: Int { self.core.heldBytes.load(ordering: .relaxed) }

    /// Takes no more connections, lets requests under way end, and stops.
    ///
    /// - Parameter seconds: Clients that have not sent their request by then are cut off; what is being worked on is waited
    ///   for all the same.
    public func stop(within seconds: Double) async {
        self.core.isDraining.store(true, ordering: .relaxed)
        self.daemon.withLock { $0?.stopListening() }
        let deadline = ContinuousClock.now + .seconds(seconds)
        while self.requestsInFlight > 0, .now < deadline { try? await Task.sleep(for: .milliseconds(20)) }
        self.core.deadlines.expireAll()
        while self.requestsInFlight > 0 { try? await Task.sleep(for: .milliseconds(20)) }
        self.sweeping.cancel()
        self.daemon.withLock { $0 = nil }
    }
}

/// What the server's thread, its tasks and its timer share.
final class HTTPServerCore: Sendable {
    let limits: HTTPLimits
    let admit: @Sendable (HTTPRequest) async -> HTTPAdmission
    let deadlines = ConnectionDeadlines()
    let inFlight = Atomic(0)
    let heldBytes = Atomic(0)
    let isDraining = Atomic(false)

    init(_ limits: HTTPLimits, _ admit: @escaping @Sendable (HTTPRequest) async -> HTTPAdmission) {
        self.limits = limits
        self.admit = admit
    }
}

/// Sole owner of one `MHD_Daemon`.
private struct Daemon: ~Copyable {
    private let pointer: OpaquePointer
    private let context: Unmanaged<HTTPServerCore>
    private let strings: [UnsafeMutablePointer<CChar>]
    private var isListening = true

    init(socket: CInt, core: HTTPServerCore, identity: HTTPServer.Identity?) throws(ServerFailure) {
        self.context = Unmanaged.passRetained(core)
        self.strings =
            identity.map { [$0.certificate, $0.key] }.map {
                $0.compactMap { strdup(String(decoding: $0, as: UTF8.self)) }
            } ?? []
        let limits = cmhd_limits(
            connections: core.limits.connections, connections_per_address: core.limits.connectionsPerAddress,
            idle_seconds: core.limits.idleSeconds, connection_memory: core.limits.headBytes + 64 * 1024)
        let pointer = cmhd_serve(
            socket, { HTTPExchange.handle($0, $1, $2, $3, $5, $6, $7) },
            { context, _, slot, _ in HTTPExchange.completed(context, slot) },
            { context, connection, _, what in HTTPExchange.connected(context, connection, what) },
            self.context.toOpaque(), limits, self.strings.first,
            self.strings.count == 2 ? self.strings[1] : nil)
        guard let pointer else {
            self.context.release()
            for string in self.strings { free(string) }
            close(socket)
            throw ServerFailure(
                identity == nil ? "libmicrohttpd could not start" : "no TLS with this certificate and key")
        }
        self.pointer = pointer
    }

    mutating func stopListening() {
        guard self.isListening else { return }
        self.isListening = false
        let socket = MHD_quiesce_daemon(self.pointer)
        if socket >= 0 { close(socket) }
    }

    deinit {
        // Joins the thread: nobody uses the core after this.
        MHD_stop_daemon(self.pointer)
        self.context.release()
        for string in self.strings { free(string) }
    }
}
