import Foundation
import InspectCore
import TestSupport
import Testing

@testable import Vision

/// BMP, PDF and HEIC, and the colours of every format.
@Suite struct ImageFormatTests {
    static func decode(_ bytes: [UInt8], limits: ImageLimits = ImageLimits()) throws(InspectError) -> DecodedImage {
        var result: Result<DecodedImage, InspectError>?
        bytes.withUnsafeBytes { buffer in
            result = Result { () throws(InspectError) in try DecodedImage.decode(buffer, limits: limits) }
        }
        guard let result else { throw InspectError(.internalError) }
        return try result.get()
    }

    static func code(_ bytes: [UInt8], limits: ImageLimits = ImageLimits()) -> ErrorCode? {
        do {
            _ = try self.decode(bytes, limits: limits)
            return nil
        } catch {
            return error.code
        }
    }

    static func pixel(_ image: DecodedImage, _ x: Int, _ y: Int) -> Colour {
        guard let rgb = image.rgb(x: x, y: y) else { return Colour(255, 0, 255) }
        return Colour(rgb.red, rgb.green, rgb.blue)
    }

    /// The corners' colours, clockwise from the top left, as R, G, B, W or `?`.
    static func corners(_ image: DecodedImage) -> String {
        let (right, bottom) = (image.facts.width - 1, image.facts.height - 1)
        return [(0, 0), (right, 0), (right, bottom), (0, bottom)].map { x, y in
            let pixel = self.pixel(image, x, y)
            return switch (pixel.red > 150, pixel.green > 150, pixel.blue > 150) {
            case (true, false, false): "R"
            case (false, true, false): "G"
            case (false, false, true): "B"
            case (true, true, true): "W"
            default: "?"
            }
        }.joined()
    }

    /// What an image's bytes can do: give an image, or end with one of these.
    static let allowed: [ErrorCode?] = [nil, .corruptImage, .tooManyPixels, .unsupportedFormat, .analyzerOutOfMemory]

    /// Every byte changed in turn, and every length.
    static func damage(_ bytes: [UInt8], step: Int) {
        for position in stride(from: 5, to: bytes.count, by: step) {
            for change in [UInt8(0x5A), 0xFF, 0x80] {
                var damaged = bytes
                damaged[position] ^= change
                #expect(Self.allowed.contains(Self.code(damaged)), "byte \(position)")
            }
            #expect(Self.allowed.contains(Self.code(Array(bytes[..<position]))), "cut after \(position)")
        }
    }

    // MARK: BMP

    private static let (red, green, blue, white) = (
        Colour(255, 0, 0), Colour(0, 255, 0), Colour(0, 0, 255), Colour(255, 255, 255)
    )
    /// Two by two pixels: red and green over blue and white.
    private static let four = [[red, green], [blue, white]]

    private static func little(_ value: Int, _ bytes: Int) -> [UInt8] {
        (0..<bytes).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }

    /// A file of `rows`, as they lie in it; `header` counts the bytes of its information header.
    private static func bmp(
        _ rows: [[UInt8]], width: Int = 2, height: Int = 2, bits: Int, header: Int = 40, compression: Int = 0,
        masks: [Int] = [], palette: [[UInt8]] = []
    ) -> [UInt8] {
        let pixels = rows.flatMap { row in row + [UInt8](repeating: 0, count: (4 - row.count % 4) % 4) }
        var information = Self.little(header, 4) + Self.little(width, 4) + Self.little(height, 4)
        information += Self.little(1, 2) + Self.little(bits, 2) + Self.little(compression, 4)
        information += Self.little(pixels.count, 4) + Self.little(0, 8) + Self.little(palette.count, 4) + Self.little(0, 4)
        information += masks.flatMap { Self.little($0, 4) }
        if header > information.count {
            information += [UInt8](repeating: 0, count: header - information.count)
        }
        information += palette.flatMap { $0 }
        let size = 14 + information.count + pixels.count
        return Array("BM".utf8) + Self.little(size, 4) + Self.little(0, 4) + Self.little(14 + information.count, 4)
            + information + pixels
    }

    private static func row(_ colours: [Colour], alpha: UInt8? = nil) -> [UInt8] {
        colours.flatMap { [$0.blue, $0.green, $0.red] + (alpha.map { [$0] } ?? []) }
    }

    @Test(arguments: [40, 108, 124])
    func `A BMP is read from its lowest row, or from its highest if its height is negative`(header: Int) throws {
        let rows = Self.four.map { Self.row($0) }
        for (bytes, corners) in [
            (Self.bmp(rows.reversed(), bits: 24, header: header), "RGWB"),
            (Self.bmp(rows, height: -2, bits: 24, header: header), "RGWB"),
            (Self.bmp(rows, bits: 24, header: header), "BWGR"),
        ] {
            let image = try Self.decode(bytes)
            #expect(Self.corners(image) == corners)
            #expect(image.facts == ImageFacts(format: .bmp, width: 2, height: 2, orientation: 1))
        }
    }

    @Test func `A BMP of 32 bits hides nothing unless it says so`() throws {
        // Without a mask the fourth byte means nothing, and where all of it is 0, it was not meant.
        let rows = Self.four.map { Self.row($0, alpha: 0) }
        #expect(Self.corners(try Self.decode(Self.bmp(rows, height: -2, bits: 32))) == "RGWB")
        let masks = [0xFF0000, 0xFF00, 0xFF, 0xFF00_0000]
        let masked = Self.bmp(rows, height: -2, bits: 32, header: 108, compression: 3, masks: masks)
        #expect(Self.corners(try Self.decode(masked)) == "RGWB")
        let veiled = Self.bmp(
            [Self.row([Colour(0, 0, 0)], alpha: 51)], width: 1, height: 1, bits: 32, header: 108, compression: 3,
            masks: masks)
        #expect(Self.pixel(try Self.decode(veiled), 0, 0) == Colour(204, 204, 204))
        // Red and blue exchanged, behind a header that has no place for masks.
        let turned = Self.bmp(rows, height: -2, bits: 32, compression: 3, masks: [0xFF, 0xFF00, 0xFF0000])
        #expect(Self.corners(try Self.decode(turned)) == "BGWR")
    }

    @Test func `A BMP of 16 bits has five or six bits a colour`() throws {
        let five = Self.bmp(
            [Self.little(0x7C00, 2) + Self.little(0x03E0, 2), Self.little(0x001F, 2) + Self.little(0x7FFF, 2)],
            height: -2, bits: 16)
        #expect(Self.corners(try Self.decode(five)) == "RGWB")
        let six = Self.bmp(
            [Self.little(0xF800, 2) + Self.little(0x07E0, 2), Self.little(0x001F, 2) + Self.little(0xFFFF, 2)],
            height: -2, bits: 16, compression: 3, masks: [0xF800, 0x07E0, 0x001F])
        #expect(Self.corners(try Self.decode(six)) == "RGWB")
    }

    @Test func `A BMP with a palette has its colours, and is grey where they are`() throws {
        let palette: [[UInt8]] = [[0, 0, 255, 0], [0, 255, 0, 0], [255, 0, 0, 0], [255, 255, 255, 0]]
        for (bits, rows) in [(8, [[0, 1], [2, 3]]), (4, [[0x01], [0x23]])] as [(Int, [[UInt8]])] {
            let image = try Self.decode(Self.bmp(rows, height: -2, bits: bits, palette: palette))
            #expect(Self.corners(image) == "RGWB")
            #expect(image.facts.isGrey == nil)
        }
        let grey: [[UInt8]] = (0...255).map { [UInt8($0), UInt8($0), UInt8($0), 0] }
        let image = try Self.decode(Self.bmp([[10, 200], [0, 255]], height: -2, bits: 8, palette: grey))
        #expect(image.facts.isGrey == true)
        #expect(Self.pixel(image, 1, 0) == Colour(200, 200, 200))
        #expect(
            Self.code(Self.bmp([[0, 4], [2, 3]], height: -2, bits: 8, palette: palette)) == .corruptImage,
            "a colour that the palette lacks")
    }

    @Test func `A BMP that is compressed, of OS/2 or of absurd size is refused`() {
        let rows = Self.four.map { Self.row($0) }
        #expect(Self.code(Self.bmp(rows, bits: 8, compression: 1)) == .unsupportedFormat, "RLE8")
        #expect(Self.code(Self.bmp(rows, bits: 24, compression: 4)) == .unsupportedFormat, "JPEG")
        #expect(Self.code(Self.bmp(rows, bits: 7)) == .unsupportedFormat)
        var old = Self.bmp(rows, bits: 24)
        old[14] = 12
        #expect(Self.code(old) == .unsupportedFormat)
        #expect(Self.code(Self.bmp(rows, width: 10_000, height: 10_000, bits: 24)) == .tooManyPixels)
        #expect(Self.code(Self.bmp(rows, width: 0x7FFF_FFFF, height: -0x7FFF_FFFF, bits: 24)) == .tooManyPixels)
        #expect(Self.code(Self.bmp(rows, width: -2, bits: 24)) == .corruptImage)
        #expect(Self.code(Self.bmp(rows, height: 0, bits: 24)) == .corruptImage)
        #expect(Self.code(Self.bmp(rows, height: -0x8000_0000, bits: 24)) == .corruptImage)
        #expect(Self.code(Self.bmp(rows, width: 3, bits: 24)) == .corruptImage, "rows that are longer than the file")
        #expect(Self.code(Array("BM".utf8)) == .corruptImage)
        Self.damage(Self.bmp(rows, bits: 24), step: 1)
    }

    // MARK: PDF

    private static func pdf(_ objects: [[UInt8]], trailer: String = "") -> [UInt8] {
        var bytes = Array("%PDF-1.4\n".utf8)
        var places: [Int] = []
        for (index, object) in objects.enumerated() {
            places.append(bytes.count)
            bytes += Array("\(index + 1) 0 obj\n".utf8) + object + Array("\nendobj\n".utf8)
        }
        let start = bytes.count
        bytes += Array("xref\n0 \(objects.count + 1)\n0000000000 65535 f \n".utf8)
        for place in places {
            let digits = String(place)
            bytes += Array((String(repeating: "0", count: 10 - digits.count) + digits + " 00000 n \n").utf8)
        }
        bytes += Array(
            "trailer\n<< /Size \(objects.count + 1) /Root 1 0 R \(trailer) >>\nstartxref\n\(start)\n%%EOF\n".utf8)
        return bytes
    }

    private static func stream(_ dictionary: String, _ data: [UInt8]) -> [UInt8] {
        Array("<< \(dictionary) /Length \(data.count) >>\nstream\n".utf8) + data + Array("\nendstream".utf8)
    }

    private static let drawn = "q 200 0 0 100 0 0 cm /Im Do Q"

    /// A document whose page draws object 5.
    private static func page(
        _ image: [UInt8], content: String = Self.drawn, more: String = "", others: [[UInt8]] = []
    ) -> [UInt8] {
        Self.pdf(
            [
            Array("<< /Type /Catalog /Pages 2 0 R >>".utf8),
            Array("<< /Type /Pages /Kids [3 0 R] /Count 1 /MediaBox [0 0 200 100] >>".utf8),
            Array(
                "<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /XObject << /Im 5 0 R >> >> \(more) >>".utf8
            ),
            Self.stream("", Array(content.utf8)), image,
        ] + others)
    }

    private static func image(
        _ data: [UInt8], width: Int = 2, height: Int = 2, space: String = "/DeviceRGB", bits: Int = 8,
        filter: String? = nil, more: String = ""
    ) -> [UInt8] {
        Self.stream(
            "/Type /XObject /Subtype /Image /Width \(width) /Height \(height) /ColorSpace \(space) "
                + "/BitsPerComponent \(bits) \(filter.map { "/Filter \($0)" } ?? "") \(more)", data)
    }

    private static let samples: [UInt8] = [255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 255]

    @Test func `A PDF of one image gives that image`() throws {
        let deflated = PNG.stored(Self.samples)
        // Each row with PNG's predictor "Up": the second is what it adds to the first.
        let up: [UInt8] = [2, 255, 0, 0, 0, 255, 0] + [2, 1, 0, 255, 255, 0, 255]
        let predicted = PNG.stored(up)
        for image in [
            Self.image(Self.samples), Self.image(deflated, filter: "/FlateDecode"),
            Self.image(deflated, filter: "[/FlateDecode]"), Self.image(deflated, space: "/CalRGB", filter: "/FlateDecode"),
            Self.image(
                predicted, filter: "/FlateDecode", more: "/DecodeParms << /Predictor 12 /Colors 3 /Columns 2 >>"),
            Self.image([0b0001_0000, 0b1011_0000], space: "[/Indexed /DeviceRGB 3 <FF000000FF000000FFFFFFFF>]", bits: 2),
        ] {
            let decoded = try Self.decode(Self.page(image))
            #expect(Self.corners(decoded) == "RGWB")
            #expect(decoded.facts == ImageFacts(format: .pdf, width: 2, height: 2, orientation: 1))
        }
        for (bytes, filter) in [
            (SmallImage.jpeg, "/DCTDecode"), (PNG.stored(SmallImage.jpeg), "[/FlateDecode /DCTDecode]"),
            (SmallImage.jp2, "/JPXDecode"), (SmallImage.codestream, "/JPXDecode"),
        ] {
            let decoded = try Self.decode(Self.page(Self.image(bytes, width: 24, height: 16, filter: filter)))
            #expect(Self.corners(decoded) == "RGWB")
            #expect(decoded.facts == ImageFacts(format: .pdf, width: 24, height: 16, orientation: 1))
        }
        let grey = try Self.decode(Self.page(Self.image([0b0101_0000, 0b1111_0000], space: "/DeviceGray", bits: 2)))
        #expect(Self.pixel(grey, 0, 0) == Colour(85, 85, 85) && Self.pixel(grey, 0, 1) == Colour(255, 255, 255))
        #expect(grey.facts.isGrey == true)
        let negative = Self.image(
            [255, 255, 0, 0, 255, 255], width: 2, height: 1, more: "/Decode [1 0 1 0 1 0]")
        #expect(Self.pixel(try Self.decode(Self.page(negative)), 0, 0) == Colour(0, 0, 255))
    }

    /// The page's own turn and that of its content, once each; the turn that a JPEG's EXIF data name is not the page's.
    @Test func `A PDF's image lies as the page shows it`() throws {
        let image = Self.image(Self.samples)
        for (matrix, corners) in [
            ("200 0 0 100 0 0", "RGWB"), ("-200 0 0 100 200 0", "GRBW"), ("-200 0 0 -100 200 100", "WBRG"),
            ("200 0 0 -100 0 100", "BWGR"), ("0 100 -200 0 200 0", "GWBR"), ("0 -100 200 0 0 100", "BRGW"),
            ("0 100 200 0 0 0", "WGRB"), ("0 -100 -200 0 200 100", "RBWG"),
        ] {
            #expect(Self.corners(try Self.decode(Self.page(image, content: "q \(matrix) cm /Im Do Q"))) == corners)
        }
        for (turn, corners) in [(0, "RGWB"), (90, "BRGW"), (180, "WBRG"), (270, "GWBR"), (-90, "GWBR"), (450, "BRGW")] {
            #expect(Self.corners(try Self.decode(Self.page(image, more: "/Rotate \(turn)"))) == corners)
        }
        let both = Self.page(image, content: "q 0 100 -200 0 200 0 cm /Im Do Q", more: "/Rotate 90")
        #expect(Self.corners(try Self.decode(both)) == "RGWB")
        let turned = Self.image(SmallImage.jpeg(orientation: 6), width: 24, height: 16, filter: "/DCTDecode")
        #expect(Self.corners(try Self.decode(Self.page(turned))) == "RGWB")
    }

    @Test(arguments: [
        "q 200 0 0 100 0 0 cm /Im Do Q q 9 0 0 9 0 0 cm /Im Do Q", "/Im Do BT /F 12 Tf (Name) Tj ET",
        "q 200 50 -50 100 0 0 cm /Im Do Q", "0 0 9 9 re f", "/Im Do 0 0 9 9 re f", "/Im Do 0 0 9 9 re S", "",
        "q 0 0 0 0 0 0 cm /Im Do Q", "BI /W 1 /H 1 ID x EI", "/Im Do /Sh sh",
    ])
    func `A PDF that shows anything else is refused`(content: String) {
        #expect(Self.code(Self.page(Self.image(Self.samples), content: content)) == .unsupportedFormat)
    }

    @Test(arguments: [
        "1 1 1 rg 0 0 200 100 re f q 200 0 0 100 0 0 cm /Im Do Q", "/Im Do BT 3 Tr /F 12 Tf (Name) Tj [(a) 2 (b)] TJ ET",
        "q Q q 0 0 200 100 re W n q 200 0 0 100 0 0 cm /Im Do Q Q", "/P << /MCID 0 >> BDC /Im Do EMC",
        "% (\n/G gs q 2 0 0 1 0 0 cm 100 0 0 100 0 0 cm /Im Do Q Q",
    ])
    func `What a scanner adds is no other content`(content: String) throws {
        #expect(Self.corners(try Self.decode(Self.page(Self.image(Self.samples), content: content))) == "RGWB")
    }

    @Test func `Other PDFs are refused with what to do`() {
        let image = Self.image(Self.samples)
        let two = Self.pdf([
            Array("<< /Type /Catalog /Pages 2 0 R >>".utf8),
            Array("<< /Type /Pages /Kids [3 0 R 4 0 R] /Count 2 >>".utf8),
            Array("<< /Type /Page /Parent 2 0 R >>".utf8), Array("<< /Type /Page /Parent 2 0 R >>".utf8),
        ])
        for bytes in [
            two, Self.page(image, more: "/Annots [<< /Subtype /Stamp >>]"),
            Self.page(Self.image(Self.samples, more: "/SMask 5 0 R")),
            Self.page(Self.image(Self.samples, more: "/ImageMask true")),
            Self.page(Self.image(Self.samples, filter: "/CCITTFaxDecode")),
            Self.page(Self.image(Self.samples, space: "/DeviceCMYK")),
        ] {
            do {
                _ = try Self.decode(bytes)
                Issue.record("it was decoded")
            } catch {
                #expect(error.code == .unsupportedFormat && error.detail.contains("JPEG or PNG"), "\(error)")
            }
        }
    }

    @Test func `A PDF is within the limits of images, and damage is noticed`() {
        let bomb = Self.image(PNG.stored([UInt8](repeating: 0, count: 1000)), width: 10_000, height: 10_000, filter: "/FlateDecode")
        #expect(Self.code(Self.page(bomb)) == .tooManyPixels)
        let short = Self.image(PNG.stored(Self.samples), width: 200, height: 200, filter: "/FlateDecode")
        #expect(Self.code(Self.page(short)) == .corruptImage)
        let loop = Self.pdf([
            Array("<< /Type /Catalog /Pages 2 0 R >>".utf8), Array("<< /Type /Pages /Kids [2 0 R] /Count 1 >>".utf8),
        ])
        #expect([.corruptImage, .unsupportedFormat].contains(Self.code(loop)))
        let good = Self.page(Self.image(PNG.stored(Self.samples), filter: "/FlateDecode"))
        Self.damage(good, step: 7)
    }

    // MARK: Colours

    private static func big(_ value: Int, _ bytes: Int) -> [UInt8] { Self.little(value, bytes).reversed() }

    private static func fixed(_ value: Double) -> [UInt8] { Self.big(Int((value * 65536).rounded()), 4) }

    /// A profile of three primaries (ICC.1), by their places in XYZ under D50, with the curve of sRGB.
    private static func profile(_ primaries: [[Double]]) -> [UInt8] {
        let curve =
            Array("para\0\0\0\0".utf8) + Self.big(3, 2) + [0, 0]
            + [2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045].flatMap(Self.fixed)
        let bodies = primaries.map { Array("XYZ \0\0\0\0".utf8) + $0.flatMap(Self.fixed) } + [curve]
        let names = [("rXYZ", 0), ("gXYZ", 1), ("bXYZ", 2), ("rTRC", 3), ("gTRC", 3), ("bTRC", 3)]
        let start = 132 + 12 * names.count
        let places = bodies.indices.map { start + bodies[..<$0].reduce(0) { $0 + $1.count } }
        var bytes = [UInt8](repeating: 0, count: 128)
        bytes.replaceSubrange(16..<24, with: Array("RGB XYZ ".utf8))
        bytes.replaceSubrange(36..<40, with: Array("acsp".utf8))
        bytes += Self.big(names.count, 4)
        for (name, body) in names {
            bytes += Array(name.utf8) + Self.big(places[body], 4) + Self.big(bodies[body].count, 4)
        }
        return bytes + bodies.joined()
    }

    private static let srgb = [[0.43607, 0.22249, 0.01392], [0.38515, 0.71687, 0.09708], [0.14307, 0.06061, 0.71410]]
    private static let p3 = [[0.51512, 0.24120, -0.00105], [0.29198, 0.69225, 0.04189], [0.15710, 0.06657, 0.78407]]
    /// Red and blue exchanged: whoever applies it does so visibly, and whoever applies it twice shows the same as without.
    private static let exchanged = Self.profile(Self.srgb.reversed())

    private static func colour(_ profile: [UInt8]) throws -> Colour {
        let chunk = PNG.chunk("iCCP", Array("p\0\0".utf8) + PNG.stored(profile))
        let png = PNG.file(width: 1, height: 1, depth: 8, colourType: 2, rows: [0, 200, 100, 50], extra: chunk)
        return Self.pixel(try Self.decode(png), 0, 0)
    }

    @Test func `Colours of a profile become those of sRGB`() throws {
        // Display P3 by the matrix of CSS Color 4 §17: (0.6789, 0.1085, 0.0137) of light.
        let wide = try Self.colour(Self.profile(Self.p3))
        #expect((214...216).contains(wide.red) && (92...94).contains(wide.green) && (30...32).contains(wide.blue))
        #expect(try Self.colour(Self.profile(Self.srgb)) == Colour(200, 100, 50), "sRGB itself changes nothing")
        // A profile whose primaries make no white, and one that is cut off.
        #expect(try Self.colour(Self.profile([[9, 9, 9], [0, 0, 0], [0, 0, 0]])) == Colour(200, 100, 50))
        #expect(try Self.colour(Array(Self.profile(Self.p3).dropLast(30))) == Colour(200, 100, 50))
        let codes = PNG.file(
            width: 1, height: 1, depth: 8, colourType: 2, rows: [0, 200, 100, 50],
            extra: PNG.chunk("cICP", [12, 13, 0, 1]))
        #expect(Self.pixel(try Self.decode(codes), 0, 0) == wide)
    }

    @Test func `The profile is applied once in every format, with the turn`() throws {
        let profile = Self.exchanged
        let segment = Array("ICC_PROFILE\0\u{1}\u{1}".utf8) + profile
        let jpeg = SmallImage.jpeg(orientation: 6)
        let withProfile =
            Array(jpeg[..<2]) + [0xFF, 0xE2] + Self.big(segment.count + 2, 2) + segment + jpeg[2...]
        #expect(Self.corners(try Self.decode(withProfile)) == "RBGW", "B R G W turned, then R and B exchanged")
        // Two segments, as long profiles have.
        let halves = [profile.prefix(100), profile.dropFirst(100)].enumerated().flatMap { index, half in
            [0xFF, 0xE2] + Self.big(half.count + 16, 2) + Array("ICC_PROFILE\0".utf8) + [UInt8(index + 1), 2] + half
        }
        let split = Array(SmallImage.jpeg[..<2]) + halves + SmallImage.jpeg[2...]
        #expect(Self.corners(try Self.decode(split)) == "BGWR")

        var webp = SmallImage.webp + Array("ICCP".utf8) + Self.little(profile.count, 4) + profile
        if profile.count % 2 == 1 { webp.append(0) }
        webp.replaceSubrange(4..<8, with: Self.little(webp.count - 8, 4))
        #expect(Self.corners(try Self.decode(webp)) == "BGWR")

        // The colour box of a JP2 file with a profile in place of an enumerated space (ISO/IEC 15444-1 §I.5.3.3).
        let box = Array("colr".utf8) + [2, 0, 0] + profile
        let at = 12 + 20 + 8 + 22
        var jp2 = SmallImage.jp2
        jp2.replaceSubrange(at..<at + 15, with: Self.big(box.count + 4, 4) + box)
        jp2.replaceSubrange(32..<36, with: Self.big(8 + 22 + box.count + 4, 4))
        #expect(Self.corners(try Self.decode(jp2)) == "BGWR")

        var bmp = Self.bmp(Self.four.map { Self.row($0) }, height: -2, bits: 24, header: 124)
        bmp.replaceSubrange(14 + 56..<14 + 60, with: Self.little(0x4D42_4544, 4))
        bmp.replaceSubrange(14 + 112..<14 + 116, with: Self.little(bmp.count - 14, 4))
        bmp.replaceSubrange(14 + 116..<14 + 120, with: Self.little(profile.count, 4))
        #expect(Self.corners(try Self.decode(bmp + profile)) == "BGWR")

        let image = Self.image(Self.samples, space: "[/ICCBased 6 0 R]")
        let pdf = Self.page(image, others: [Self.stream("/N 3", profile)])
        #expect(Self.corners(try Self.decode(pdf)) == "BGWR")
        // The page's colours are those of its colour space; what the JPEG says of itself counts for nothing.
        let own = Self.image(withProfile, width: 24, height: 16, filter: "/DCTDecode")
        #expect(Self.corners(try Self.decode(Self.page(own))) == "RGWB")
    }
}
