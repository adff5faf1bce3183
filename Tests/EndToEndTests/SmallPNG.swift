import Foundation

/// Images for tests of the queue: valid, cheap, and without a face.
enum SmallPNG {
    /// Grey noise, uncompressed (RFC 2083; deflate blocks of type 0, RFC 1951 section 3.2.4).
    static func noise(width: Int, height: Int) -> Data {
        var state: UInt32 = 1
        var rows: [UInt8] = []
        for _ in 0..<height {
            rows.append(0)
            for _ in 0..<width {
                state = state &* 1_664_525 &+ 1_013_904_223
                rows.append(UInt8(state >> 24))
            }
        }
        precondition(rows.count < 65_536, "one stored block holds no more")
        let length = UInt16(rows.count)
        var stream: [UInt8] = [0x78, 0x01, 0x01]
        stream += [UInt8(length & 255), UInt8(length >> 8), UInt8(~length & 255), UInt8(~length >> 8)]
        stream += rows
        var (low, high): (UInt32, UInt32) = (1, 0)
        for byte in rows {
            low = (low + UInt32(byte)) % 65_521
            high = (high + low) % 65_521
        }
        stream += Self.bigEndian(high << 16 | low)
        var header = Self.bigEndian(UInt32(width)) + Self.bigEndian(UInt32(height))
        header += [8, 0, 0, 0, 0]
        return Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) + Self.chunk("IHDR", header)
            + Self.chunk("IDAT", stream) + Self.chunk("IEND", [])
    }

    private static func chunk(_ type: String, _ content: [UInt8]) -> Data {
        let body = Array(type.utf8) + content
        return Data(Self.bigEndian(UInt32(content.count)) + body + Self.bigEndian(Self.crc(body)))
    }

    private static func bigEndian(_ number: UInt32) -> [UInt8] {
        withUnsafeBytes(of: number.bigEndian) { Array($0) }
    }

    private static func crc(_ bytes: [UInt8]) -> UInt32 {
        ~bytes.reduce(0xFFFF_FFFF) { crc, byte in
            (0..<8).reduce(crc ^ UInt32(byte)) { crc, _ in crc & 1 == 1 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1 }
        }
    }
}
