import TestSupport

/// BMP files field by field, so that a test can also write wrong ones.
enum SmallBMP {
    static let (red, green, blue, white) = (
        Colour(255, 0, 0), Colour(0, 255, 0), Colour(0, 0, 255), Colour(255, 255, 255)
    )
    /// Two by two pixels: red and green over blue and white.
    static let four = [[red, green], [blue, white]]

    /// A file of `rows`, as they lie in it; `header` counts the bytes of its information header.
    static func file(
        _ rows: [[UInt8]], width: Int = 2, height: Int = 2, bits: Int, header: Int = 40, compression: Int = 0,
        masks: [Int] = [], palette: [[UInt8]] = []
    ) -> [UInt8] {
        let pixels = rows.flatMap { row in row + [UInt8](repeating: 0, count: (4 - row.count % 4) % 4) }
        var information = Decoding.little(header, 4) + Decoding.little(width, 4) + Decoding.little(height, 4)
        information += Decoding.little(1, 2) + Decoding.little(bits, 2) + Decoding.little(compression, 4)
        information +=
            Decoding.little(pixels.count, 4) + Decoding.little(0, 8) + Decoding.little(palette.count, 4)
            + Decoding.little(0, 4)
        information += masks.flatMap { Decoding.little($0, 4) }
        if header > information.count {
            information += [UInt8](repeating: 0, count: header - information.count)
        }
        information += palette.flatMap { $0 }
        let size = 14 + information.count + pixels.count
        return Array("BM".utf8) + Decoding.little(size, 4) + Decoding.little(0, 4)
            + Decoding.little(14 + information.count, 4)
            + information + pixels
    }

    static func row(_ colours: [Colour], alpha: UInt8? = nil) -> [UInt8] {
        colours.flatMap { [$0.blue, $0.green, $0.red] + (alpha.map { [$0] } ?? []) }
    }
}
