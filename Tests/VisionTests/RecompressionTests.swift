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

    private func decoded(_ file: Data, keepsCoefficients: Bool = true) throws -> DecodedImage {
        try file.withUnsafeBytes {
            try DecodedImage.decode($0, limits: ImageLimits(keepsCoefficients: keepsCoefficients))
        }
    }

    private func contradiction(_ file: Data) throws -> Double? {
        try DocumentAnalyzer.recompression(self.decoded(file))
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

    @Test func `Keeping what tells of an earlier compression changes no pixel`() throws {
        for file in try [self.jpeg(step: 24, isEdited: true), Data(SmallImage.jpeg), Data(SmallImage.progressiveJPEG)] {
            let kept = try self.decoded(file), plain = try self.decoded(file, keepsCoefficients: false)
            #expect(kept.facts == plain.facts)
            for y in 0..<kept.facts.height {
                for x in 0..<kept.facts.width {
                    let pixel = try #require(kept.rgb(x: x, y: y)), other = try #require(plain.rgb(x: x, y: y))
                    #expect(pixel == other, "\(x), \(y)")
                }
            }
        }
    }

    @Test func `Other formats and damaged files say nothing`() throws {
        #expect(try self.contradiction(Data(TestImage(width: 64, height: 64).png())) == nil)
        let file = try self.jpeg(step: 24, isEdited: true)
        #expect(try DocumentAnalyzer.recompression(self.decoded(file, keepsCoefficients: false)) == nil)
        for length in [3, 20, 200, file.count / 2] {
            let error = #expect(throws: InspectError.self) { try self.decoded(Data(file.prefix(length))) }
            #expect(error?.code == .corruptImage, "\(length) bytes")
        }
        let tiny = try TestImage(width: 5, height: 5).png().withUnsafeBytes { try DecodedImage.decode($0) }
        #expect(try self.contradiction(try tiny.preview().jpeg) == nil)
    }
}
