internal import CMicroHTTPD
internal import Foundation
internal import Glibc
internal import Synchronization

/// One request and its answer, between libmicrohttpd's calls.
///
/// Head → *suspended while it is admitted* → body → *suspended while it is worked on* → answer. A suspended connection is
/// not touched by libmicrohttpd until it is resumed, which happens exactly once for each suspension.
final class HTTPExchange: Sendable {
    private enum Phase {
        case admitting
        case admitted(HTTPAdmission)
        case receiving(@Sendable (Data) async -> HTTPResponse)
        /// The rest of the body is read and dropped: a client that is still sending would not read an answer.
        case discarding(HTTPResponse)
        case working
        case answering(HTTPResponse)
    }

    private struct State {
        var phase = Phase.admitting
        var body = Data()
    }

    /// Bodies up to this size are read before a refusal is sent; of larger ones clients ask first (`Expect: 100-continue`).
    private static let discardable = 1024 * 1024

    private let core: HTTPServerCore
    // Valid until libmicrohttpd reports the request as completed, which it cannot while the connection is suspended.
    private nonisolated(unsafe) let connection: OpaquePointer
    private let request: HTTPRequest
    private let state = Mutex(State())

    private init(_ core: HTTPServerCore, _ connection: OpaquePointer, _ request: HTTPRequest) {
        self.core = core
        self.connection = connection
        self.request = request
    }

    // MARK: Called by libmicrohttpd, on its thread

    /// Called with the head, with each piece of the body, at the body's end, and again after each suspension.
    static func handle(
        _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?, _ path: UnsafePointer<CChar>?,
        _ method: UnsafePointer<CChar>?, _ bytes: UnsafePointer<CChar>?, _ count: UnsafeMutablePointer<Int>?,
        _ slot: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
    ) -> MHD_Result {
        guard let context, let connection, let path, let method, let count, let slot else { return .NO }
        let core = Unmanaged<HTTPServerCore>.fromOpaque(context).takeUnretainedValue()
        if let known = slot.pointee {
            let exchange = Unmanaged<HTTPExchange>.fromOpaque(known).takeUnretainedValue()
            return exchange.proceed(UnsafeRawBufferPointer(start: bytes, count: count.pointee), taken: count)
        }
        let request = HTTPRequest(connection, path: String(cString: path), method: String(cString: method))
        let exchange = HTTPExchange(core, connection, request)
        slot.pointee = Unmanaged.passRetained(exchange).toOpaque()
        core.inFlight.add(1, ordering: .relaxed)
        exchange.suspended {
            let admission = await core.admit(request)
            exchange.state.withLock { $0.phase = .admitted(admission) }
        }
        return .YES
    }

    static func completed(_ context: UnsafeMutableRawPointer?, _ slot: UnsafeMutablePointer<UnsafeMutableRawPointer?>?)
    {
        guard let known = slot?.pointee else { return }
        slot?.pointee = nil
        let exchange = Unmanaged<HTTPExchange>.fromOpaque(known).takeRetainedValue()
        exchange.core.deadlines.set(exchange.connection, seconds: exchange.core.limits.headSeconds)
        exchange.dropBody()
        exchange.core.inFlight.subtract(1, ordering: .relaxed)
    }

    static func connected(
        _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?, _ what: MHD_ConnectionNotificationCode
    ) {
        guard let context, let connection else { return }
        let core = Unmanaged<HTTPServerCore>.fromOpaque(context).takeUnretainedValue()
        if cmhd_is_start(what) != 0 {
            core.deadlines.open(connection, cmhd_descriptor(connection), seconds: core.limits.headSeconds)
        } else {
            core.deadlines.close(connection)
        }
    }

    // MARK: -

    private func proceed(_ bytes: UnsafeRawBufferPointer, taken: UnsafeMutablePointer<Int>) -> MHD_Result {
        let phase = self.state.withLock { $0.phase }
        switch phase {
        case .admitting, .working:
            // Only reached if a connection was touched while suspended, which libmicrohttpd rules out.
            return .NO
        case .admitted(.refuse(let response)):
            let announced = self.request.isChunked ? Int.max : self.request.contentLength ?? 0
            guard announced <= Self.discardable else { return self.send(response) }
            self.next(.discarding(response), seconds: self.core.limits.bodySeconds)
            return .YES
        case .admitted(.accept(let work)):
            self.next(.receiving(work), seconds: self.core.limits.bodySeconds)
            return .YES
        case .receiving(let work):
            guard bytes.isEmpty else {
                taken.pointee = 0
                if let refusal = self.keep(bytes) {
                    self.dropBody()
                    self.state.withLock { $0.phase = .discarding(refusal) }
                }
                return .YES
            }
            let body = self.state.withLock { state in
                state.phase = .working
                return state.body
            }
            self.suspended {
                let response = await work(body)
                self.dropBody()
                self.state.withLock { $0.phase = .answering(response) }
            }
            return .YES
        case .discarding(let response):
            if bytes.isEmpty { return self.send(response) }
            taken.pointee = 0
            return .YES
        case .answering(let response):
            return self.send(response)
        }
    }

    private func next(_ phase: Phase, seconds: Double) {
        self.state.withLock { $0.phase = phase }
        self.core.deadlines.set(self.connection, seconds: seconds)
    }

    /// Does work while the connection is suspended, and resumes it. The client's time stands still meanwhile.
    private func suspended(_ work: @escaping @Sendable () async -> Void) {
        self.core.deadlines.set(self.connection, seconds: nil)
        MHD_suspend_connection(self.connection)
        Task {
            await work()
            MHD_resume_connection(self.connection)
        }
    }

    /// Keeps a piece of the body, if there is room for it.
    private func keep(_ bytes: UnsafeRawBufferPointer) -> HTTPResponse? {
        let size = self.state.withLock { state in
            state.body.append(contentsOf: bytes)
            return state.body.count
        }
        let held = self.core.heldBytes.add(bytes.count, ordering: .relaxed).newValue
        if size > self.core.limits.bodyBytes { return .problem(.requestTooLarge) }
        if held > self.core.limits.heldBytes { return .problem(.gatewayOverloaded) }
        return nil
    }

    private func dropBody() {
        let dropped = self.state.withLock { state in
            defer { state.body = Data() }
            return state.body.count
        }
        self.core.heldBytes.subtract(dropped, ordering: .relaxed)
    }

    private func send(_ answer: HTTPResponse) -> MHD_Result {
        let response = answer.body.withUnsafeBytes { cmhd_response($0.baseAddress, $0.count) }
        guard let response else { return .NO }
        defer { MHD_destroy_response(response) }
        for (name, value) in answer.headers { MHD_add_response_header(response, name, value) }
        MHD_add_response_header(response, "Cache-Control", "no-store")
        MHD_add_response_header(response, "X-Content-Type-Options", "nosniff")
        if self.core.isDraining.load(ordering: .relaxed) { MHD_add_response_header(response, "Connection", "close") }
        self.core.deadlines.set(self.connection, seconds: self.core.limits.answerSeconds)
        return MHD_queue_response(self.connection, UInt32(answer.status), response)
    }
}

extension HTTPRequest {
    fileprivate init(_ connection: OpaquePointer, path: String, method: String) {
        self.init(method: method, path: path)
        self.query = Self.values(connection, .GET_ARGUMENT_KIND)
        self.headers = Self.values(connection, .HEADER_KIND)
        self.peer = Self.address(cmhd_peer(connection))
    }

    private static func values(_ connection: OpaquePointer, _ kind: MHD_ValueKind) -> [String: String] {
        final class Collected {
            var values: [String: String] = [:]
        }
        let collected = Collected()
        _ = withExtendedLifetime(collected) {
            MHD_get_connection_values(
                connection, kind,
                { context, kind, name, value in
                    guard let context, let name else { return .YES }
                    let collected = Unmanaged<Collected>.fromOpaque(context).takeUnretainedValue()
                    let text = String(cString: name)
                    let key = kind == .HEADER_KIND ? text.lowercased() : text
                    let new = value.map { String(cString: $0) } ?? ""
                    collected.values[key] = collected.values[key].map { "\($0), \(new)" } ?? new
                    return .YES
                }, Unmanaged.passUnretained(collected).toOpaque())
        }
        return collected.values
    }

    private static func address(_ peer: UnsafePointer<sockaddr>?) -> String {
        guard let peer else { return "" }
        var buffer = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        let length =
            peer.pointee.sa_family == UInt16(AF_INET6)
            ? MemoryLayout<sockaddr_in6>.size : MemoryLayout<sockaddr_in>.size
        guard getnameinfo(peer, socklen_t(length), &buffer, socklen_t(buffer.count), nil, 0, NI_NUMERICHOST) == 0
        else { return "" }
        return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
