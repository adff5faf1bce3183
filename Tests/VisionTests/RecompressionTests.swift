import Foundation
import TestSupport
import Testing

@testable import InspectCore
@testable import Vision

@Suite struct RecompressionTests {
    /// Grey blocks of 8 by 8 with random low frequencies, which were quantised in steps of `step`, but not in the patch of 12 by 6
    /// blocks from (20, 16) if `isEdited`; as the JPEG of a preview, whose steps are small.
    private func jpeg(step: Double, isEdited: Bool) throws -> Data {
        let (columns, rows) = (48, 36)
        var wave = [[Double]](repeating: [Double](repeating: 0, count: 8), count: 8)
        for (frequency, at) in (0..<64).map({ ($0 / 8, $0 % 8) }) {
            let turns = Double((2 * at + 1) * frequency) / 32
            wave[frequency][at] = cos(2 * Double.pi * turns)
        }
        var random = TestRandom("blocks of a JPEG")
        var drawing = TestImage(width: 8 * columns, height: 8 * rows)
        for block in 0..<columns * rows {
            let (column, row) = (block % columns, block / columns)
            let isNew = isEdited && (20..<32).contains(column) && (16..<22).contains(row)
            var pixels = [[Double]](repeating: [Double](repeating: 128, count: 8), count: 8)
            for (down, across) in (0..<25).map({ ($0 / 5, $0 % 5) }) where (1...4).contains(down + across) {
                // Small coefficients are more frequent, as in photos.
                var size = -30 * log(Double.random(in: 0.001..<1, using: &random))
                if Bool.random(using: &random) { size = -size }
                if !isNew { size = (size / step).rounded() * step }
                let scale: Double = down == 0 || across == 0 ? 0.5.squareRoot() / 4 : 0.25
                for (y, x) in (0..<64).map({ ($0 / 8, $0 % 8) }) {
                    pixels[y][x] += scale * size * wave[down][y] * wave[across][x]
                }
            }
            for (y, x) in (0..<64).map({ ($0 / 8, $0 % 8) }) {
                let grey = UInt8(min(255, max(0, pixels[y][x].rounded())))
                drawing[8 * column + x, 8 * row + y] = Colour(grey, grey, grey)
            }
        }
        let image = try drawing.png().withUnsafeBytes { try DecodedImage.decode($0) }
        return try image.preview(longestSide: drawing.width).jpeg
    }

    private func contradiction(_ file: Data) throws -> Double? {
        try file.withUnsafeBytes { bytes in
            try DocumentAnalyzer.recompression(bytes, try DecodedImage.decode(bytes))
        }
    }

    @Test func `A patch that is newer than the rest of a JPEG is noticed`() throws {
        let value = try #require(try self.contradiction(try self.jpeg(step: 24, isEdited: true)))
        #expect(!Limits.recompression.allows(value), "\(value)")
    }

    @Test func `A JPEG that was compressed twice as a whole has no such patch`() throws {
        let value = try #require(try self.contradiction(try self.jpeg(step: 24, isEdited: false)))
        #expect(Limits.recompression.allows(value), "\(value)")
    }

    @Test func `A JPEG that was compressed once says nothing`() throws {
        #expect(try self.contradiction(try self.jpeg(step: 0.001, isEdited: false)) == nil)
    }

    @Test func `Other formats and damaged files say nothing`() throws {
        #expect(try self.contradiction(Data(TestImage(width: 64, height: 64).png())) == nil)
        let file = try self.jpeg(step: 24, isEdited: true)
        let image = try file.withUnsafeBytes { try DecodedImage.decode($0) }
        for length in [0, 1, 2, 3, 20, 200, file.count / 2] {
            let cut = Data(file.prefix(length))
            #expect(try cut.withUnsafeBytes { try DocumentAnalyzer.recompression($0, image) } == nil)
        }
        let tiny = try TestImage(width: 5, height: 5).png().withUnsafeBytes { try DecodedImage.decode($0) }
        #expect(try self.contradiction(try tiny.preview().jpeg) == nil)
    }
}
