internal import CCurl
internal import Callbacks
internal import Foundation
internal import HTTPClient
internal import Synchronization

/// A partner that accepts a request and never finishes it; each mode hangs at a different step.
final class HungPartner: Sendable {
    enum Mode: String, CaseIterable, Sendable {
        /// No answer to the connection's first packet.
        case tcp = "tcp"
        /// A connection, and then silence.
        case tls = "tls"
        /// A name whose look-up never returns.
        case dns = "dns"
        /// An endless header, one byte every tenth of a second.
        case drip = "drip"
    }

    let mode: Mode
    private let port: UInt16
    private let descriptors: [CInt]
    private let isOver = Atomic<Bool>(false)

    init(_ mode: Mode, sink: LoopbackSink) throws {
        self.mode = mode
        switch mode {
        case .dns, .drip: (self.port, self.descriptors) = (sink.port, [])
        case .tls:
            // Nobody accepts, but the kernel completes each connection.
            let (descriptor, port) = try LoopbackSink.listen(backlog: 1024)
            (self.port, self.descriptors) = (port, [descriptor])
        case .tcp:
            let (descriptor, port) = try LoopbackSink.listen(backlog: 0)
            // When the queue of connections is full, the kernel drops further ones.
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
            address.sin_port = port.bigEndian
            let fillers = (0..<4).map { _ in
                let filler = socket(
                    AF_INET, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue) | CInt(SOCK_NONBLOCK.rawValue), 0)
                _ = withUnsafePointer(to: &address) { pointer in
                    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                        connect(filler, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                    }
                }
                return filler
            }
            (self.port, self.descriptors) = (port, [descriptor] + fillers)
        }
    }

    deinit { for descriptor in self.descriptors { close(descriptor) } }

    func stop() { self.isOver.store(true, ordering: .releasing) }

    var url: String { "https://hung.bench.example:\(self.port)/\(self.mode == .drip ? "drip" : "ok")" }

    /// Every name in the benchmark resolves to the loopback interface; in that mode, the hung partner's look-up never returns.
    var resolver: Resolver {
        let hangs = self.mode == .dns
        return Resolver { [weak self] name in
            while hangs, name == "hung.bench.example", let self, !self.isOver.load(ordering: .acquiring) {
                Thread.sleep(forTimeInterval: 0.05)
            }
            return .success([IPAddress(v4: 0x7f00_0001)])
        }
    }

    static let noneResolver = Resolver { _ in .success([IPAddress(v4: 0x7f00_0001)]) }
}
