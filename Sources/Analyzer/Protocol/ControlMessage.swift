internal import CSystem
internal import Glibc
internal import InspectCore

/// One message between the worker and the warm parent, over a socket that keeps message boundaries.
///
/// Closing the socket is a message too: it ends the parent and with it every analyzer.
enum ControlMessage {
    /// Worker → parent: fork an analyzer. Carries its job socket, its shared memory and its stderr, in this order.
    case fork(child: UInt64, limits: ChildLimits)
    /// Worker → parent: kill an analyzer's process group. Harmless if it has ended.
    case kill(child: UInt64)
    /// Parent → worker: the engine is ready; `microseconds` since the parent began.
    case ready(microseconds: UInt64)
    /// Parent → worker: creating the engine failed; the parent ends.
    case failed(InspectError)
    /// Parent → worker: an analyzer ended, or fork failed (pid 0, the errno as exit status).
    case ended(child: UInt64, end: ProcessEnd)

    /// Larger than any message.
    static let capacity = 4096

    func encoded() -> [UInt8] {
        var writer = ByteWriter()
        switch self {
        case .fork(let child, let limits):
            writer.append(UInt32(1))
            writer.append(child)
            writer.append(limits.addressSpace)
            writer.append(limits.cpuSeconds)
            writer.append(limits.cpuSecondsInAll)
            writer.append(limits.sharedMemory)
            writer.append(limits.largestFrame)
        case .kill(let child):
            writer.append(UInt32(2))
            writer.append(child)
        case .ready(let microseconds):
            writer.append(UInt32(3))
            writer.append(microseconds)
        case .failed(let error):
            writer.append(UInt32(4))
            writer.append(error.encoded)
        case .ended(let child, let end):
            writer.append(UInt32(5))
            writer.append(child)
            writer.append(UInt32(bitPattern: end.pid))
            writer.append(UInt32(bitPattern: end.exitStatus))
            writer.append(UInt32(bitPattern: end.signal))
            writer.append(UInt32(end.dumpedCore ? 1 : 0))
            writer.append(end.maxResidentBytes)
            writer.append(end.cpuMicroseconds)
        }
        return writer.bytes
    }

    init(_ bytes: [UInt8]) throws(MalformedMessage) {
        var reader = ByteReader(bytes)
        switch try reader.readUInt32() {
        case 1:
            self = .fork(
                child: try reader.readUInt64(),
                limits: ChildLimits(
                    addressSpace: try reader.readUInt64(), cpuSeconds: try reader.readUInt64(),
                    cpuSecondsInAll: try reader.readUInt64(), sharedMemory: try reader.readUInt64(),
                    largestFrame: try reader.readUInt64()))
        case 2: self = .kill(child: try reader.readUInt64())
        case 3: self = .ready(microseconds: try reader.readUInt64())
        case 4: self = .failed(try InspectError(encoded: Array(try reader.readBytes())))
        case 5:
            self = .ended(
                child: try reader.readUInt64(),
                end: ProcessEnd(
                    pid: Int32(bitPattern: try reader.readUInt32()),
                    exitStatus: Int32(bitPattern: try reader.readUInt32()),
                    signal: Int32(bitPattern: try reader.readUInt32()), dumpedCore: try reader.readUInt32() != 0,
                    maxResidentBytes: try reader.readUInt64(), cpuMicroseconds: try reader.readUInt64()))
        default: throw MalformedMessage()
        }
    }

    func send(to socket: CInt, descriptors: [CInt] = []) throws(SystemError) {
        let bytes = self.encoded()
        let result = bytes.withUnsafeBytes {
            csys_send_message(socket, $0.baseAddress!, $0.count, descriptors, descriptors.count)
        }
        try SystemError.check("sendmsg", result)
    }

    /// Receives one message with its descriptors, blocking; `nil` at the end of the stream.
    static func receive(from socket: CInt) throws -> (message: ControlMessage, descriptors: [CInt])? {
        var descriptors = [CInt](repeating: -1, count: Int(CSYS_MAX_DESCRIPTORS))
        var descriptorCount = 0
        var result = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: self.capacity) { buffer, initialized in
            result = csys_receive_message(socket, buffer.baseAddress!, self.capacity, &descriptors, &descriptorCount)
            initialized = max(0, result)
        }
        guard result >= 0 else { throw SystemError(call: "recvmsg", code: CInt(-result)) }
        guard result > 0 else { return nil }
        return (try ControlMessage(bytes), Array(descriptors.prefix(descriptorCount)))
    }
}

/// The limits of one analyzer process.
struct ChildLimits {
    /// Bytes of address space on top of what the parent has mapped.
    var addressSpace: UInt64
    /// CPU seconds per stage.
    var cpuSeconds: UInt64
    /// CPU seconds of the process's whole life: the hard limit.
    var cpuSecondsInAll: UInt64
    /// Size of the shared memory in bytes.
    var sharedMemory: UInt64
    /// The largest request and the largest reply, in bytes.
    var largestFrame: UInt64
}

/// How an analyzer process ended, and what it used.
package struct ProcessEnd: Sendable, Equatable {
    /// The process; 0 if it never began.
    package var pid: Int32
    /// The exit status, or -1 if a signal ended it.
    package var exitStatus: Int32
    /// The signal that ended it, or 0.
    package var signal: Int32
    /// Whether the kernel wrote a core file: never, if the limits hold.
    package var dumpedCore: Bool
    /// Its largest resident set, in bytes, including memory shared with its parent.
    package var maxResidentBytes: UInt64
    /// CPU time in microseconds, user and system.
    package var cpuMicroseconds: UInt64

    /// Whether the process crashed or broke a rule, rather than being ended for exceeding a limit.
    var isCrash: Bool { ![0, SIGKILL, SIGXCPU].contains(self.signal) }

    /// "SIGSEGV", "exit status 3".
    package var cause: String {
        guard self.signal != 0 else { return "exit status \(self.exitStatus)" }
        return csys_signal_name(self.signal).map { String(cString: $0) } ?? "signal \(self.signal)"
    }
}

extension ProcessEnd {
    init(_ end: csys_exit) {
        self.init(
            pid: end.pid, exitStatus: end.exit_status, signal: end.signal, dumpedCore: end.dumped_core != 0,
            maxResidentBytes: end.max_rss_bytes,
            cpuMicroseconds: end.cpu_microseconds)
    }
}
