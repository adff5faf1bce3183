import Foundation
import InspectCore
import TestSupport
import Testing

@testable import Vision

extension DecodedImage {
    /// The colour at a position; magenta outside, which no test expects.
    fileprivate func pixel(x: Int, y: Int) -> Colour {
        guard let rgb = self.rgb(x: x, y: y) else { return Colour(255, 0, 255) }
        return Colour(rgb.red, rgb.green, rgb.blue)
    }
}

@Suite struct ImageDecodingTests {
    private func decode(_ bytes: [UInt8], limits: ImageLimits = ImageLimits()) throws(InspectError) -> DecodedImage {
        var result: Result<DecodedImage, InspectError>?
        bytes.withUnsafeBytes { buffer in
            result = Result { () throws(InspectError) in try DecodedImage.decode(buffer, limits: limits) }
        }
        guard let result else { throw InspectError(.internalError) }
        return try result.get()
    }

    private func code(_ bytes: [UInt8], limits: ImageLimits = ImageLimits()) -> ErrorCode? {
        do {
            _ = try self.decode(bytes, limits: limits)
            return nil
        } catch {
            return error.code
        }
    }

    /// The corners' colours, clockwise from the top left, as R, G, B, W or `?`.
    private func corners(_ image: DecodedImage) -> String {
        let (right, bottom) = (image.facts.width - 3, image.facts.height - 3)
        return [(2, 2), (right, 2), (right, bottom), (2, bottom)].map { x, y in
            let pixel = image.pixel(x: x, y: y)
            return switch (pixel.red > 150, pixel.green > 150, pixel.blue > 150) {
            case (true, false, false): "R"
            case (false, true, false): "G"
            case (false, false, true): "B"
            case (true, true, true): "W"
            default: "?"
            }
        }.joined()
    }

    @Test(arguments: [
        (SmallImage.jpeg, ImageFormat.jpeg), (SmallImage.progressiveJPEG, .jpeg), (SmallImage.cmykJPEG, .jpeg),
        (SmallImage.webp, .webp), (SmallImage.jp2, .jpeg2000), (SmallImage.codestream, .jpeg2000),
    ])
    func `Every format gives the same pixels`(bytes: [UInt8], format: ImageFormat) throws {
        let image = try self.decode(bytes)
        #expect(image.facts == ImageFacts(format: format, width: 24, height: 16, orientation: 1))
        #expect(self.corners(image) == "RGWB")
    }

    @Test func `Grey becomes three equal channels`() throws {
        let image = try self.decode(SmallImage.grayJPEG)
        let pixel = image.pixel(x: 2, y: 2)
        #expect(pixel.red == pixel.green && pixel.green == pixel.blue)
        #expect((60...95).contains(pixel.red))
    }

    /// CIPA DC-008 §4.6.4: what each orientation makes of the image.
    @Test(arguments: [
        (1, "RGWB"), (2, "GRBW"), (3, "WBRG"), (4, "BWGR"), (5, "RBWG"), (6, "BRGW"), (7, "WGRB"), (8, "GWBR"),
    ])
    func `The orientation is applied`(orientation: Int, corners: String) throws {
        for bigEndian in [false, true] {
            let bytes = SmallImage.jpeg(orientation: UInt8(orientation), bigEndian: bigEndian)
            let image = try self.decode(bytes)
            #expect(self.corners(image) == corners)
            #expect(image.facts.orientation == orientation)
            #expect(image.facts.width == (orientation < 5 ? 24 : 16))
            #expect(image.facts.storedWidth == 24 && image.facts.storedHeight == 16)
        }
    }

    @Test func `Damaged EXIF data is ignored`() throws {
        let tiff: [UInt8] = [0x49, 0x49, 42, 0]
        for body in [
            tiff, tiff + [255, 255, 255, 255], tiff + [8, 0, 0, 0, 255, 255, 0x12, 1], [0x4D, 0x49, 0, 42, 0, 0, 0, 8],
            tiff + [8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0, 0, 0, 9, 0, 0, 0],
        ] {
            let image = try self.decode(SmallImage.jpeg(exif: Array("Exif\0\0".utf8) + body))
            #expect(image.facts.orientation == 1)
        }
    }

    @Test func `The orientation of a PNG is applied`() throws {
        var image = TestImage(width: 24, height: 16)
        image.fill(x: 0, y: 0, width: 8, height: 8, Colour(255, 0, 0))
        var rows: [UInt8] = []
        for y in 0..<16 { rows += [0] + image.pixels[y * 72..<(y + 1) * 72] }
        let exif = Array(SmallImage.jpeg(orientation: 6)[12..<38])
        let bytes = PNG.file(
            width: 24, height: 16, depth: 8, colourType: 2, rows: rows, extra: PNG.chunk("eXIf", exif))
        #expect(self.corners(try self.decode(bytes)) == "WRWW")
    }

    @Test func `Every PNG becomes eight bits a channel over white`() throws {
        // 16 bits: the upper eight count.
        let deep = PNG.file(width: 1, height: 1, depth: 16, colourType: 2, rows: [0, 0x80, 0, 0x40, 0, 0x20, 0])
        #expect(try self.decode(deep).pixel(x: 0, y: 0) == Colour(0x80, 0x40, 0x20))
        // Palette.
        let palette = PNG.chunk("PLTE", [10, 20, 30, 200, 100, 50])
        let indexed = PNG.file(width: 2, height: 1, depth: 8, colourType: 3, rows: [0, 1, 0], extra: palette)
        #expect(try self.decode(indexed).pixel(x: 0, y: 0) == Colour(200, 100, 50))
        #expect(try self.decode(indexed).pixel(x: 1, y: 0) == Colour(10, 20, 30))
        // One bit of grey.
        let bits = PNG.file(width: 8, height: 1, depth: 1, colourType: 0, rows: [0, 0b0100_0000])
        #expect(try self.decode(bits).pixel(x: 1, y: 0) == Colour(255, 255, 255))
        #expect(try self.decode(bits).pixel(x: 2, y: 0) == Colour(0, 0, 0))
        // Grey with alpha: a fifth of black over white.
        let alpha = PNG.file(width: 1, height: 1, depth: 8, colourType: 4, rows: [0, 0, 51])
        #expect(try self.decode(alpha).pixel(x: 0, y: 0) == Colour(204, 204, 204))
        // Colour with alpha.
        let clear = PNG.file(width: 1, height: 1, depth: 8, colourType: 6, rows: [0, 9, 9, 9, 0])
        #expect(try self.decode(clear).pixel(x: 0, y: 0) == Colour(255, 255, 255))
    }

    @Test(arguments: [
        SmallImage.jpeg, SmallImage.progressiveJPEG, SmallImage.webp, SmallImage.jp2, SmallImage.codestream,
        TestImage(width: 24, height: 16).png(),
    ])
    func `A cut image is refused wherever it is cut`(bytes: [UInt8]) {
        for count in stride(from: 16, to: bytes.count - 1, by: max(1, bytes.count / 40)) {
            for limits in [ImageLimits(), ImageLimits(keepsCoefficients: true)] {
                let code = self.code(Array(bytes[..<count]), limits: limits)
                #expect(code == .corruptImage, "torn after \(count) of \(bytes.count) bytes")
            }
        }
    }

    @Test func `Damaged bytes decode or fail with a known code`() {
        for bytes in [SmallImage.jpeg, SmallImage.webp, SmallImage.jp2, TestImage(width: 9, height: 9).png()] {
            for position in stride(from: 12, to: bytes.count, by: 3) {
                var damaged = bytes
                damaged[position] ^= 0x5A
                let allowed: [ErrorCode?] = [
                    nil, .corruptImage, .tooManyPixels, .unsupportedFormat, .analyzerOutOfMemory,
                ]
                #expect(allowed.contains(self.code(damaged)))
            }
        }
    }

    @Test func `A PNG with a wrong checksum is refused`() {
        var bytes = TestImage(width: 4, height: 4).png()
        bytes[bytes.count - 20] ^= 1
        #expect(self.code(bytes) == .corruptImage)
    }

    @Test func `Bytes that are no image are refused`() {
        #expect(self.code([]) == .partEmpty)
        #expect(self.code([0xFF]) == .unsupportedFormat)
        #expect(self.code(Array("%PDF-1.7\n%âãÏÓ".utf8)) == .corruptImage)
        #expect(self.code(Array("GIF89a\u{1}\0\u{1}\0".utf8)) == .unsupportedFormat)
        #expect(self.code([0x49, 0x49, 42, 0, 8, 0, 0, 0]) == .unsupportedFormat, "TIFF")
        #expect(self.code(Array("<svg xmlns='http://www.w3.org/2000/svg'/>".utf8)) == .unsupportedFormat)
        #expect(self.code([0xFF, 0xD8, 0xFF]) == .corruptImage)
        #expect(self.code(PNG.signature) == .corruptImage)
    }

    /// 30,000 × 30,000 pixels announced in each format's header, with nothing behind it.
    static let giants: [[UInt8]] = [
        PNG.signature + PNG.header(width: 30000, height: 30000, depth: 8, colourType: 6),
        [0xFF, 0xD8, 0xFF, 0xC0, 0, 17, 8, 0x75, 0x30, 0x75, 0x30, 3, 1, 0x11, 0, 2, 0x11, 1, 3, 0x11, 1]
            + [0xFF, 0xDA, 0, 12, 3, 1, 0, 2, 0x11, 3, 0x11, 0, 63, 0, 0xFF, 0xD9],
        [0xFF, 0x4F, 0xFF, 0x51, 0, 47, 0, 0] + PNG.bigEndian(30000) + PNG.bigEndian(30000) + PNG.bigEndian(0)
            + PNG.bigEndian(0) + PNG.bigEndian(30000) + PNG.bigEndian(30000) + PNG.bigEndian(0) + PNG.bigEndian(0)
            + [0, 3, 7, 1, 1, 7, 1, 1, 7, 1, 1],
    ]

    @Test(arguments: Self.giants)
    func `Images of too many pixels are refused by their header`(bytes: [UInt8]) {
        // In this thread's processor time: decoding is done where it is called.
        let start = ProcessorTime.ofThread()
        #expect(self.code(bytes) == .tooManyPixels)
        #expect(ProcessorTime.ofThread() - start < .milliseconds(200))
    }

    @Test func `Limits hold to the pixel and the byte`() {
        let bytes = TestImage(width: 20, height: 10).png()
        #expect(self.code(bytes, limits: ImageLimits(maxPixels: 200, maxSide: 20)) == nil)
        #expect(self.code(bytes, limits: ImageLimits(maxPixels: 199)) == .tooManyPixels)
        #expect(self.code(bytes, limits: ImageLimits(maxSide: 19)) == .tooManyPixels)
        #expect(self.code(bytes, limits: ImageLimits(maxBytes: bytes.count)) == nil)
        #expect(self.code(bytes, limits: ImageLimits(maxBytes: bytes.count - 1)) == .partTooLarge)
    }

    /// 1 MB of zeros is announced as a compressed profile and as a compressed comment; neither is inflated.
    @Test func `Compressed metadata of a PNG is not inflated`() throws {
        let zeros = PNG.stored([UInt8](repeating: 0, count: 1_000_000))
        let bombs = PNG.chunk("iCCP", Array("x\0\0".utf8) + zeros) + PNG.chunk("zTXt", Array("x\0\0".utf8) + zeros)
        let bytes = PNG.file(width: 1, height: 1, depth: 8, colourType: 0, rows: [0, 77], extra: bombs)
        #expect(try self.decode(bytes).pixel(x: 0, y: 0) == Colour(77, 77, 77))
    }

    /// Each scan of a progressive JPEG costs a pass over all coefficients, and can be a few bytes long.
    @Test func `A JPEG with very many scans is refused`() throws {
        let bytes = SmallImage.progressiveJPEG
        let scans = bytes.indices.dropLast().filter { bytes[$0] == 0xFF && bytes[$0 + 1] == 0xDA }
        let first = try #require(scans.first)
        let scan = Array(bytes[first..<(try #require(scans.dropFirst().first))])
        let bomb = Array(bytes[..<first]) + Array(repeating: scan, count: 400).joined() + bytes[first...]
        #expect(self.code(bomb) == .corruptImage)
        #expect(self.code(bomb, limits: ImageLimits(keepsCoefficients: true)) == .corruptImage)
    }
}
