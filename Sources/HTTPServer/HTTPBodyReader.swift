/// Reads exactly a request's body from the stream.
struct HTTPBodyReader {
    private enum State {
        case plain(remaining: Int)
        case size
        case data(remaining: Int)
        case dataEnd
        case trailer
        case end
    }

    /// Octets of a chunk's line, extensions included, and of all trailers.
    private static let lineLimit = 256
    private static let trailerLimit = 8 * 1024

    private var state: State
    private var line: [UInt8] = []
    private var trailers = 0

    var isComplete: Bool { if case .end = self.state { true } else { false } }

    init(_ framing: HTTPFraming) {
        self.state =
            switch framing {
            case .none: .end
            case .length(let count): .plain(remaining: count)
            case .chunked: .size
            }
    }

    /// Reads the bytes that belong to the body.
    ///
    /// - Returns: The number of octets read; fewer than given if the body ended earlier.
    mutating func take(
        _ bytes: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Void
    ) throws(HTTPFault) -> Int {
        var index = 0
        while index < bytes.count {
            switch self.state {
            case .end: return index
            case .plain(let remaining), .data(let remaining):
                let count = min(remaining, bytes.count - index)
                body(UnsafeRawBufferPointer(rebasing: bytes[index..<index + count]))
                index += count
                if case .plain = self.state {
                    self.state = count == remaining ? .end : .plain(remaining: remaining - count)
                } else {
                    self.state = count == remaining ? .dataEnd : .data(remaining: remaining - count)
                }
            case .size, .dataEnd, .trailer:
                let byte = bytes[index]
                index += 1
                try self.take(byte)
            }
        }
        return index
    }

    /// An octet of a line between chunks.
    private mutating func take(_ byte: UInt8) throws(HTTPFault) {
        guard (byte == 0x0a) == (self.line.last == 0x0d) else { throw HTTPFault("a chunk's line has no CR LF") }
        guard byte >= 0x20 && byte != 0x7f || byte == 0x09 || byte == 0x0a || byte == 0x0d else {
            throw HTTPFault("a control character between chunks")
        }
        self.line.append(byte)
        if case .trailer = self.state {
            self.trailers += 1
            guard self.trailers <= Self.trailerLimit else { throw HTTPFault("trailers that are too long") }
        } else {
            guard self.line.count <= Self.lineLimit else { throw HTTPFault("a chunk's line is too long") }
        }
        if case .dataEnd = self.state, self.line.first != 0x0d { throw HTTPFault("a chunk is longer than its size") }
        guard byte == 0x0a else { return }
        let line = self.line.dropLast(2)
        self.line.removeAll(keepingCapacity: true)
        switch self.state {
        case .dataEnd: self.state = .size
        case .size:
            let size = try Self.size(line)
            self.state = size == 0 ? .trailer : .data(remaining: size)
        default:
            if line.isEmpty {
                self.state = .end
            } else {
                try line.withUnsafeBufferPointer { (bytes) throws(HTTPFault) in
                    try Self.trailer(UnsafeRawBufferPointer(bytes))
                }
            }
        }
    }

    /// `1*HEXDIG`, then extensions, which are ignored but must be well-formed.
    private static func size(_ line: ArraySlice<UInt8>) throws(HTTPFault) -> Int {
        let digits = line.prefix(while: HTTPSyntax.isHex)
        guard (1...15).contains(digits.count), let size = Int(String(decoding: digits, as: UTF8.self), radix: 16) else {
            throw HTTPFault("a chunk's size is not a number")
        }
        var rest = line.dropFirst(digits.count)
        while !rest.isEmpty {
            guard rest.removeFirst() == UInt8(ascii: ";") else { throw HTTPFault("a chunk's size is not a number") }
            let name = rest.prefix { $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: "=") }
            rest = rest.dropFirst(name.count)
            guard HTTPSyntax.isToken(name) else { throw HTTPFault("a chunk's extension has no name") }
            guard rest.first == UInt8(ascii: "=") else { continue }
            rest = rest.dropFirst()
            let value = rest.prefix { $0 != UInt8(ascii: ";") }
            rest = rest.dropFirst(value.count)
            // Quoted values are refused: other readers end them elsewhere, and no client sends them.
            guard HTTPSyntax.isToken(value) else { throw HTTPFault("a chunk's extension has no value") }
        }
        return size
    }

    /// Trailers are dropped; those that would change decisions based on the head are refused.
    private static func trailer(_ line: UnsafeRawBufferPointer) throws(HTTPFault) {
        let (name, _) = try HTTPSyntax.field(line)
        let decided = [
            "content-length", "transfer-encoding", "host", "authorization", "content-type", "content-encoding",
            "content-range", "trailer", "cookie", "expect", "connection",
        ]
        guard !decided.contains(name) else { throw HTTPFault("\(name) in a trailer") }
    }
}
