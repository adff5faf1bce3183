internal import CSystem
internal import Glibc

/// One message between the worker and an analyzer, over a stream socket.
///
/// On the wire: payload length, sequence number, and the type under a magic number (UInt32 each, little-endian), then
/// the payload. A reply repeats the sequence number of its request.
struct Frame {
    enum Kind: UInt8 {
        /// Analyzer → worker, once: it is ready. The sequence number is its pid, only for logs and tests.
        case hello = 1
        /// Worker → analyzer, once: the table of a job's parts (``PartTable``). No reply.
        case begin = 2
        /// Worker → analyzer: stage and request. Answered by ``reply`` or ``failure``.
        case perform = 3
        case reply = 4
        /// Analyzer → worker: code and detail of an ``InspectError``.
        case failure = 5
    }

    var kind: Kind
    var sequence: UInt32
    var payload: [UInt8]

    /// "INS" in the upper three bytes: any other bytes are refused at once.
    private static let magic: UInt32 = 0x494E_5300
    static let headerSize = 12

    enum Failure: Error {
        /// The other end closed the socket.
        case closed
        case deadline
        /// The bytes received were not a frame.
        case garbage
        case tooLarge(Int)
        case system(CInt)

        init(_ result: CInt) {
            self =
                switch -result {
                case ECONNRESET: .closed
                case ETIMEDOUT: .deadline
                default: .system(-result)
                }
        }
    }

    /// Sends the frame.
    ///
    /// - Parameter deadlineNanoseconds: On the clock of `csys_now_nanoseconds()`; 0 waits for ever.
    func send(to socket: CInt, deadlineNanoseconds: UInt64) throws(Failure) {
        var header = ByteWriter()
        header.append(UInt32(self.payload.count))
        header.append(self.sequence)
        header.append(Self.magic | UInt32(self.kind.rawValue))
        // A short payload travels with its header: one system call instead of two.
        let joined = self.payload.count <= 16_384
        var result = (joined ? header.bytes + self.payload : header.bytes).withUnsafeBytes {
            csys_send_exactly(socket, $0.baseAddress!, $0.count, deadlineNanoseconds)
        }
        if result == 0, !joined {
            result = self.payload.withUnsafeBytes {
                csys_send_exactly(socket, $0.baseAddress!, $0.count, deadlineNanoseconds)
            }
        }
        guard result == 0 else { throw Failure(result) }
    }

    /// Receives one frame.
    ///
    /// - Parameter limit: The largest payload that is accepted, in bytes.
    static func receive(from socket: CInt, limit: Int, deadlineNanoseconds: UInt64) throws(Failure) -> Frame {
        let header = try self.receive(self.headerSize, from: socket, deadlineNanoseconds: deadlineNanoseconds)
        var reader = ByteReader(header)
        guard let length = try? reader.readUInt32(), let sequence = try? reader.readUInt32(),
            let mark = try? reader.readUInt32(), mark & 0xFFFF_FF00 == self.magic,
            let kind = Kind(rawValue: UInt8(truncatingIfNeeded: mark))
        else { throw .garbage }
        guard length <= limit else { throw .tooLarge(Int(length)) }
        let payload = try self.receive(Int(length), from: socket, deadlineNanoseconds: deadlineNanoseconds)
        return Frame(kind: kind, sequence: sequence, payload: payload)
    }

    private static func receive(_ count: Int, from socket: CInt, deadlineNanoseconds: UInt64) throws(Failure) -> [UInt8]
    {
        guard count > 0 else { return [] }
        var result: CInt = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            result = csys_receive_exactly(socket, buffer.baseAddress!, count, deadlineNanoseconds)
            initialized = result == 0 ? count : 0
        }
        guard result == 0 else { throw Failure(result) }
        return bytes
    }
}

/// Where each part lies in the shared memory.
struct PartTable {
    struct Entry {
        var kind: String
        var offset: Int
        var byteCount: Int
    }

    var entries: [Entry] = []

    /// Parts start at multiples of this, so that decoders read aligned words (a cache line).
    static let alignment = 64

    /// The size of all parts with the gaps between them, in bytes.
    private(set) var span = 0

    mutating func append(kind: String, byteCount: Int) {
        let offset = (self.span + Self.alignment - 1) & ~(Self.alignment - 1)
        self.entries.append(Entry(kind: kind, offset: offset, byteCount: byteCount))
        self.span = offset + byteCount
    }

    func encoded() -> [UInt8] {
        var writer = ByteWriter()
        writer.append(UInt32(self.entries.count))
        for entry in self.entries {
            writer.append(entry.kind)
            writer.append(UInt64(entry.offset))
            writer.append(UInt64(entry.byteCount))
        }
        return writer.bytes
    }

    /// Reads a table and lends its parts as views of `memory`.
    static func views(_ payload: [UInt8], in memory: UnsafeRawBufferPointer) throws(MalformedMessage) -> [PartView] {
        var reader = ByteReader(payload)
        var views: [PartView] = []
        for _ in 0..<(try reader.readUInt32()) {
            let kind = try reader.readString()
            guard let offset = Int(exactly: try reader.readUInt64()),
                let byteCount = Int(exactly: try reader.readUInt64()),
                offset <= memory.count, byteCount <= memory.count - offset
            else { throw MalformedMessage() }
            views.append(
                PartView(kind: kind, bytes: UnsafeRawBufferPointer(rebasing: memory[offset..<offset + byteCount])))
        }
        return views
    }
}

/// The end of an untrusted process's text as one line of printable ASCII, for an error message.
func printable(_ bytes: some BidirectionalCollection<UInt8>, limit: Int) -> String {
    String(decoding: bytes.suffix(limit).map { (0x20..<0x7F).contains($0) ? $0 : 0x20 }, as: UTF8.self)
}
