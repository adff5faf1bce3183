/// How alike two sides look at a glance.
enum Likeness {
    /// Correlation of two square thumbnails without their coarse light and shade, in whichever of four turns it is highest; `nil` unless
    /// both are there and of one size.
    static func of(_ first: [UInt8]?, _ second: [UInt8]?) -> Double? {
        guard let first, let second, first.count == second.count else { return nil }
        let side = Int(Double(first.count).squareRoot().rounded())
        guard side > 2, side * side == first.count else { return nil }
        let one = self.relief(first, side)
        var other = self.relief(second, side)
        var best = -1.0
        for _ in 0..<4 {
            best = max(best, zip(one, other).reduce(0) { $0 + $1.0 * $1.1 })
            let former = other
            // A quarter turn.
            for y in 0..<side { for x in 0..<side { other[y * side + x] = former[(side - 1 - x) * side + y] } }
        }
        return best
    }

    /// Each pixel over the mean of those within two pixels, of unit length; the light of a lamp changes slowly and drops out. The border,
    /// where the outline is uncertain, is left out.
    private static func relief(_ pixels: [UInt8], _ side: Int) -> [Double] {
        var relief = [Double](repeating: 0, count: pixels.count)
        for y in 1..<side - 1 {
            for x in 1..<side - 1 {
                let rows = max(0, y - 2)...min(side - 1, y + 2)
                let columns = max(0, x - 2)...min(side - 1, x + 2)
                var sum = 0
                for row in rows { for column in columns { sum += Int(pixels[row * side + column]) } }
                relief[y * side + x] =
                    Double(pixels[y * side + x]) - Double(sum) / Double(rows.count * columns.count)
            }
        }
        let length = relief.reduce(0) { $0 + $1 * $1 }.squareRoot()
        return length > 0 ? relief.map { $0 / length } : relief
    }
}
