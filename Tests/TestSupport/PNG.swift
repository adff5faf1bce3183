package import Foundation

/// Writes PNG files chunk by chunk, so that a test can also write wrong ones.
package enum PNG {
    package static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

    /// A whole file; `rows` are the filtered rows, each with its filter byte.
    package static func file(
        width: Int, height: Int, depth: UInt8, colourType: UInt8, rows: [UInt8], extra: [UInt8] = []
    ) -> [UInt8] {
        Self.signature + Self.header(width: width, height: height, depth: depth, colourType: colourType) + extra
            + Self.chunk("IDAT", Self.stored(rows)) + Self.chunk("IEND", [])
    }

    package static func header(width: Int, height: Int, depth: UInt8, colourType: UInt8) -> [UInt8] {
        Self.chunk("IHDR", Self.bigEndian(width) + Self.bigEndian(height) + [depth, colourType, 0, 0, 0])
    }

    package static func chunk(_ type: String, _ body: [UInt8]) -> [UInt8] {
        let typed = Array(type.utf8) + body
        return Self.bigEndian(body.count) + typed + Self.bigEndian(Int(Self.crc(typed)))
    }

    /// A zlib stream of stored blocks (RFC 1950, RFC 1951 §3.2.4).
    package static func stored(_ bytes: [UInt8]) -> [UInt8] {
        var result: [UInt8] = [0x78, 0x01]
        var (low, high): (UInt32, UInt32) = (1, 0)
        // At most 5,552 sums fit into 32 bits before the remainder is due (zlib).
        // Loops over bytes are plain, and use pointers, here and below: they run unoptimised, over millions.
        bytes.withUnsafeBufferPointer { buffer in
            guard let bytes = buffer.baseAddress else { return }
            var index = 0
            while index < buffer.count {
                let end = min(buffer.count, index + 5552)
                while index < end {
                    low &+= UInt32(bytes[index])
                    high &+= low
                    index &+= 1
                }
                low %= 65521
                high %= 65521
            }
        }
        var start = 0
        repeat {
            let count = min(65535, bytes.count - start)
            let last: UInt8 = start + count == bytes.count ? 1 : 0
            result += [last, UInt8(count & 255), UInt8(count >> 8), UInt8(~count & 255), UInt8((~count >> 8) & 255)]
            result += bytes[start..<start + count]
            start += count
        } while start < bytes.count
        return result + Self.bigEndian(Int(high << 16 | low))
    }

    package static func bigEndian(_ value: Int) -> [UInt8] { (0..<4).map { UInt8((value >> (24 - 8 * $0)) & 255) } }

    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 1 ? 0xEDB8_8320 ^ (value >> 1) : value >> 1 }
    }

    private static func crc(_ bytes: [UInt8]) -> UInt32 {
        var value = ~UInt32(0)
        Self.table.withUnsafeBufferPointer { entries in
            bytes.withUnsafeBufferPointer { buffer in
                guard let table = entries.baseAddress, let bytes = buffer.baseAddress else { return }
                let count = buffer.count
                var index = 0
                while index < count {
                    value = table[Int((value ^ UInt32(bytes[index])) & 255)] ^ (value >> 8)
                    index &+= 1
                }
            }
        }
        return ~value
    }
}

extension PNG {
    /// Grey noise for jobs that are about the queue: valid, cheap, and without a face.
    package static func noise(width: Int, height: Int) -> Data {
        var state: UInt32 = 1
        var rows = [UInt8](repeating: 0, count: (width + 1) * height)
        rows.withUnsafeMutableBufferPointer { buffer in
            guard let rows = buffer.baseAddress else { return }
            let count = buffer.count
            var index = 0
            while index < count {
                // A row begins with its filter.
                if index % (width + 1) != 0 {
                    state = state &* 1_664_525 &+ 1_013_904_223
                    rows[index] = UInt8(state >> 24)
                }
                index &+= 1
            }
        }
        return Data(Self.file(width: width, height: height, depth: 8, colourType: 0, rows: rows))
    }
}
