import Foundation
import InspectCore
import TestSupport
import Testing

@testable import Vision

@Suite struct BMPTests {
    @Test(arguments: [40, 108, 124])
    func `A BMP is read from its lowest row, or from its highest if its height is negative`(header: Int) throws {
        let rows = SmallBMP.four.map { SmallBMP.row($0) }
        for (bytes, corners) in [
            (SmallBMP.file(rows.reversed(), bits: 24, header: header), "RGWB"),
            (SmallBMP.file(rows, height: -2, bits: 24, header: header), "RGWB"),
            (SmallBMP.file(rows, bits: 24, header: header), "BWGR"),
        ] {
            let image = try Decoding.decode(bytes)
            #expect(Decoding.corners(image) == corners)
            #expect(image.facts == ImageFacts(format: .bmp, width: 2, height: 2, orientation: 1))
        }
    }

    @Test func `A BMP of 32 bits hides nothing unless it says so`() throws {
        // Without a mask the fourth byte means nothing, and where all of it is 0, it was not meant.
        let rows = SmallBMP.four.map { SmallBMP.row($0, alpha: 0) }
        #expect(Decoding.corners(try Decoding.decode(SmallBMP.file(rows, height: -2, bits: 32))) == "RGWB")
        let masks = [0xFF0000, 0xFF00, 0xFF, 0xFF00_0000]
        let masked = SmallBMP.file(rows, height: -2, bits: 32, header: 108, compression: 3, masks: masks)
        #expect(Decoding.corners(try Decoding.decode(masked)) == "RGWB")
        let veiled = SmallBMP.file(
            [SmallBMP.row([Colour(0, 0, 0)], alpha: 51)], width: 1, height: 1, bits: 32, header: 108, compression: 3,
            masks: masks)
        #expect(Decoding.pixel(try Decoding.decode(veiled), 0, 0) == Colour(204, 204, 204))
        // Red and blue exchanged, behind a header that has no place for masks.
        let turned = SmallBMP.file(rows, height: -2, bits: 32, compression: 3, masks: [0xFF, 0xFF00, 0xFF0000])
        #expect(Decoding.corners(try Decoding.decode(turned)) == "BGWR")
    }

    @Test func `A BMP of 16 bits has five or six bits a colour`() throws {
        let five = SmallBMP.file(
            [
                Decoding.little(0x7C00, 2) + Decoding.little(0x03E0, 2),
                Decoding.little(0x001F, 2) + Decoding.little(0x7FFF, 2),
            ],
            height: -2, bits: 16)
        #expect(Decoding.corners(try Decoding.decode(five)) == "RGWB")
        let six = SmallBMP.file(
            [
                Decoding.little(0xF800, 2) + Decoding.little(0x07E0, 2),
                Decoding.little(0x001F, 2) + Decoding.little(0xFFFF, 2),
            ],
            height: -2, bits: 16, compression: 3, masks: [0xF800, 0x07E0, 0x001F])
        #expect(Decoding.corners(try Decoding.decode(six)) == "RGWB")
    }

    @Test func `A BMP with a palette has its colours, and is grey where they are`() throws {
        let palette: [[UInt8]] = [[0, 0, 255, 0], [0, 255, 0, 0], [255, 0, 0, 0], [255, 255, 255, 0]]
        for (bits, rows) in [(8, [[0, 1], [2, 3]]), (4, [[0x01], [0x23]])] as [(Int, [[UInt8]])] {
            let image = try Decoding.decode(SmallBMP.file(rows, height: -2, bits: bits, palette: palette))
            #expect(Decoding.corners(image) == "RGWB")
            #expect(image.facts.isGrey == nil)
        }
        let grey: [[UInt8]] = (0...255).map { [UInt8($0), UInt8($0), UInt8($0), 0] }
        let image = try Decoding.decode(SmallBMP.file([[10, 200], [0, 255]], height: -2, bits: 8, palette: grey))
        #expect(image.facts.isGrey == true)
        #expect(Decoding.pixel(image, 1, 0) == Colour(200, 200, 200))
        #expect(
            Decoding.code(SmallBMP.file([[0, 4], [2, 3]], height: -2, bits: 8, palette: palette)) == .corruptImage,
            "a colour that the palette lacks")
    }

    @Test func `A BMP that is compressed, of OS/2 or of absurd size is refused`() {
        let rows = SmallBMP.four.map { SmallBMP.row($0) }
        #expect(Decoding.code(SmallBMP.file(rows, bits: 8, compression: 1)) == .unsupportedFormat, "RLE8")
        #expect(Decoding.code(SmallBMP.file(rows, bits: 24, compression: 4)) == .unsupportedFormat, "JPEG")
        #expect(Decoding.code(SmallBMP.file(rows, bits: 7)) == .unsupportedFormat)
        var old = SmallBMP.file(rows, bits: 24)
        old[14] = 12
        #expect(Decoding.code(old) == .unsupportedFormat)
        #expect(Decoding.code(SmallBMP.file(rows, width: 10_000, height: 10_000, bits: 24)) == .tooManyPixels)
        #expect(
            Decoding.code(SmallBMP.file(rows, width: 0x7FFF_FFFF, height: -0x7FFF_FFFF, bits: 24)) == .tooManyPixels)
        #expect(Decoding.code(SmallBMP.file(rows, width: -2, bits: 24)) == .corruptImage)
        #expect(Decoding.code(SmallBMP.file(rows, height: 0, bits: 24)) == .corruptImage)
        #expect(Decoding.code(SmallBMP.file(rows, height: -0x8000_0000, bits: 24)) == .corruptImage)
        #expect(
            Decoding.code(SmallBMP.file(rows, width: 3, bits: 24)) == .corruptImage,
            "rows that are longer than the file")
        #expect(Decoding.code(Array("BM".utf8)) == .corruptImage)
        Decoding.damage(SmallBMP.file(rows, bits: 24), step: 1)
    }
}
