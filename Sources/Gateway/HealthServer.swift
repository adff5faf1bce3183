internal import CMicroHTTPD
internal import Synchronization

/// What a ``HealthServer`` answers.
public struct HealthAnswer: Sendable {
    public var status: UInt32
    public var contentType: String
    public var body: String

    public init(status: UInt32 = 200, contentType: String, body: String) {
        self.status = status
        self.contentType = contentType
        self.body = body
    }
}

/// A small HTTP server for probes and scrapes: GET and HEAD, a few connections, short time-outs.
///
/// It runs on a thread of libmicrohttpd's own, so it also answers while every thread of Swift's pool is busy; that is
/// when somebody needs the answer.
public final class HealthServer: Sendable {
    /// Connections at once; more wait in the kernel's queue.
    public static let connections: UInt32 = 32
    /// A connection on which nothing moves for so many seconds is closed.
    public static let idleSeconds: UInt32 = 5
    /// Bytes for the head of a request: a longer one is refused.
    public static let headBytes = 16 * 1024

    /// The port it listens on.
    public let port: UInt16
    private let daemon: Mutex<Daemon?>

    /// Starts to serve.
    ///
    /// - Parameter answer: Called on the server's thread with the path of a request; `nil` is 404. It must not block.
    /// - Throws: ``ServerFailure`` if nobody may listen there.
    public init(
        _ address: ListenAddress, answer: @escaping @Sendable (_ path: String) -> HealthAnswer?
    ) throws(ServerFailure) {
        let (socket, port) = try address.listen()
        self.port = port
        self.daemon = Mutex(try Daemon(socket: socket, answer: answer))
    }

    /// Stops serving; returns when the last answer has been given. Safe to call again.
    public func stop() {
        self.daemon.withLock { $0 = nil }
    }
}

/// Sole owner of one `MHD_Daemon` and of the closure that its thread calls.
private struct Daemon: ~Copyable {
    private let pointer: OpaquePointer
    private let responder: Unmanaged<Responder>

    init(socket: CInt, answer: @escaping @Sendable (String) -> HealthAnswer?) throws(ServerFailure) {
        // The thread knows the responder by address alone, so it is kept until the thread is gone.
        let responder = Unmanaged.passRetained(Responder(answer))
        let pointer = cmhd_start(
            socket, { Responder.handle($0, $1, $2, $3, $7) }, responder.toOpaque(), HealthServer.connections,
            HealthServer.idleSeconds, HealthServer.headBytes)
        guard let pointer else {
            responder.release()
            throw ServerFailure("libmicrohttpd could not start")
        }
        self.pointer = pointer
        self.responder = responder
    }

    deinit {
        // Joins the thread: nobody uses the responder after this.
        MHD_stop_daemon(self.pointer)
        self.responder.release()
    }
}

/// Turns libmicrohttpd's calls into answers.
private final class Responder: Sendable {
    private let answer: @Sendable (String) -> HealthAnswer?

    init(_ answer: @escaping @Sendable (String) -> HealthAnswer?) { self.answer = answer }

    /// Called once with the head of a request and, for GET and HEAD, once more at its end; `progress` tells the two apart.
    static func handle(
        _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?, _ path: UnsafePointer<CChar>?,
        _ method: UnsafePointer<CChar>?, _ progress: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
    ) -> MHD_Result {
        guard let context, let connection, let path, let method, let progress else { return .NO }
        let responder = Unmanaged<Responder>.fromOpaque(context).takeUnretainedValue()
        let methodName = String(cString: method)
        guard methodName == "GET" || methodName == "HEAD" else {
            return Self.send(
                HealthAnswer(status: 405, contentType: "text/plain", body: "only GET and HEAD\n"), to: connection)
        }
        if progress.pointee == nil {
            progress.pointee = context
            return .YES
        }
        let answer = responder.answer(String(cString: path))
        return Self.send(
            answer ?? HealthAnswer(status: 404, contentType: "text/plain", body: "not found\n"), to: connection)
    }

    private static func send(_ answer: HealthAnswer, to connection: OpaquePointer) -> MHD_Result {
        var body = answer.body
        let response = body.withUTF8 { cmhd_response($0.baseAddress, $0.count) }
        guard let response else { return .NO }
        defer { MHD_destroy_response(response) }
        MHD_add_response_header(response, "Content-Type", answer.contentType)
        MHD_add_response_header(response, "Cache-Control", "no-store")
        if answer.status == 405 { MHD_add_response_header(response, "Allow", "GET, HEAD") }
        return MHD_queue_response(connection, answer.status, response)
    }
}
