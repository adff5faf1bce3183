import Analyzer
import Glibc
import InspectCore

/// What can go wrong in an analyzer.
enum Fault: String {
    case segfault, abort
    /// Swift's own runtime check.
    case trap
    /// Takes memory until there is none, by Swift's allocator.
    case allocate
    /// Uses CPU without end.
    case spin
    /// Uses as many milliseconds of CPU as the request says.
    case burn
    /// Writes a megabyte to stderr.
    case noise
    /// Waits without end.
    case sleep
    /// Writes bytes that are no frame.
    case garbage
    /// Announces a frame and sends it one byte a second.
    case trickle
    /// Exits with status 0 and no answer.
    case exit
    /// Closes the socket and lives on.
    case close
    /// Answers with 64 MiB.
    case flood
    /// Raises `CORRUPT_IMAGE`, as a decoder does: no fault at all.
    case raise
    /// Raises an error with a very long detail of unprintable bytes.
    case shout
    /// Answers with its pid.
    case pid
    /// Answers with the kinds and the sums of the bytes of the parts.
    case parts
    /// Answers with its environment.
    case environment
    /// Answers with the descriptors that it has open.
    case descriptors
    /// Answers with what happened to each forbidden thing that it tried.
    case probe
    /// Answers with the name of the kernels that OpenBLAS multiplies with.
    case blas
    /// Makes the system call that the request names.
    case call
    /// Keeps the request and the parts, as an engine keeps images.
    case remember
}

struct FaultyEngine: AnalyzerEngine {
    var faults: [String: Fault] = [:]
    var every = 1
    /// How long an answer without a fault takes, in milliseconds.
    var delayMs: UInt32 = 0
    /// Only requests that contain this meet a named fault.
    var marker = ""
    var replies: [String: String] = [:]
    var reply: String?
    /// Counts calls in all processes of one parent, since each has one job alone.
    private let calls = sharedCounter()
    private var kept: [[UInt8]] = []

    mutating func handle(stage: String, request: [UInt8], parts: [PartView]) throws(InspectError) -> [UInt8] {
        if let fault = self.faults[stage], self.isMarked(request) {
            self.calls.pointee += 1
            if self.calls.pointee % self.every == 0 { return try self.commit(fault, request, parts) }
        } else if let fault = Fault(rawValue: stage) {
            return try self.commit(fault, request, parts)
        }
        if self.delayMs > 0 { usleep(self.delayMs * 1000) }
        guard let reply = self.replies[stage] ?? self.reply else { return request }
        return Array(
            reply.contains("{sum}") ? reply.replacing("{sum}", with: "\(Self.sum(of: parts))").utf8 : reply.utf8)
    }

    /// A number that hardly any other parts have (FNV-1a, 31 bits).
    private static func sum(of parts: [PartView]) -> UInt32 {
        var sum: UInt32 = 2_166_136_261
        for part in parts { part.withBytes { for byte in $0 { sum = (sum ^ UInt32(byte)) &* 16_777_619 } } }
        return sum >> 1
    }

    private func isMarked(_ request: [UInt8]) -> Bool {
        self.marker.isEmpty || String(decoding: request, as: UTF8.self).contains(self.marker)
    }

    /// Uses as many milliseconds of processor time as the request says, if any.
    private static func burn(_ request: [UInt8]) {
        let end = clock() + (Int(String(decoding: request, as: UTF8.self)) ?? 0) * 1000
        while clock() < end {}
    }

    private mutating func commit(
        _ fault: Fault, _ request: [UInt8], _ parts: [PartView]
    ) throws(InspectError) -> [UInt8] {
        switch fault {
        case .segfault: UnsafeMutablePointer<Int>(bitPattern: request.count & 0 + 8)!.pointee = request.count
        case .abort: Glibc.abort()
        case .trap: _ = request[request.count]
        case .allocate: while true { self.keep(16 << 20) }
        case .spin:
            var value: UInt64 = 1
            while value != 0 { value = value &* 6_364_136_223_846_793_005 | 1 }
            return [UInt8(truncatingIfNeeded: value)]
        case .burn: Self.burn(request)
        case .noise:
            let line = [UInt8](repeating: 0x2E, count: 1 << 20)
            _ = Glibc.write(STDERR_FILENO, line, line.count)
        case .sleep:
            // What a request burns first shows a test that it has begun.
            Self.burn(request)
            Glibc.sleep(3600)
        case .garbage: write([UInt8](repeating: 0x47, count: 64))
        case .trickle:
            write([64, 0, 0, 0])
            while true {
                Glibc.sleep(1)
                write([0])
            }
        case .exit: _exit(0)
        case .close:
            Glibc.close(jobSocket)
            Glibc.sleep(3600)
        case .flood: return [UInt8](repeating: 1, count: 64 << 20)
        case .raise: throw InspectError(.corruptImage, "part FRONT: premature end of JPEG file")
        case .shout: throw InspectError(.corruptImage, String(repeating: "\u{1B}[2J\n", count: 10_000))
        case .pid: return Array("\(getpid())".utf8)
        case .parts:
            let sums = parts.map { part in
                part.withBytes { "\(part.kind) \($0.count) \($0.reduce(UInt64(0)) { $0 &+ UInt64($1) })" }
            }
            return Array(sums.joined(separator: "\n").utf8)
        case .environment: return Array(environment().joined(separator: "\n").utf8)
        case .descriptors: return Array(openDescriptors().map(String.init).joined(separator: " ").utf8)
        case .probe: return Array(probe().joined(separator: "\n").utf8)
        case .blas: return Array(blasCore().utf8)
        case .call: return Array(call(String(decoding: request, as: UTF8.self)).utf8)
        case .remember:
            self.kept.append(request)
            for part in parts { self.kept.append(part.withBytes { Array($0) }) }
        }
        return []
    }

    private mutating func keep(_ size: Int) {
        let block = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            memset(buffer.baseAddress!, CInt(self.kept.count | 1), size)
            count = size
        }
        self.kept.append(block)
    }
}

/// A number that forks share. Only one process at a time touches it, where its value matters.
private func sharedCounter() -> UnsafeMutablePointer<Int> {
    let page = mmap(nil, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)!
    return page.bindMemory(to: Int.self, capacity: 1)
}

/// The only socket of an analyzer.
private var jobSocket: CInt {
    openDescriptors().first { descriptor in
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFSOCK
    } ?? -1
}

private func write(_ bytes: [UInt8]) { _ = Glibc.send(jobSocket, bytes, bytes.count, 0) }
