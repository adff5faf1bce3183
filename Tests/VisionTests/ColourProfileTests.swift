import Foundation
import InspectCore
import TestSupport
import Testing

@testable import Vision

/// What files say of their colours, in each format.
@Suite struct ColourProfileTests {
    private static func fixed(_ value: Double) -> [UInt8] { Decoding.big(Int((value * 65536).rounded()), 4) }

    /// A profile of three primaries (ICC.1), by their places in XYZ under D50, with the curve of sRGB.
    private static func profile(_ primaries: [[Double]]) -> [UInt8] {
        let curve =
            Array("para\0\0\0\0".utf8) + Decoding.big(3, 2) + [0, 0]
            + [2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045].flatMap(Self.fixed)
        let bodies = primaries.map { Array("XYZ \0\0\0\0".utf8) + $0.flatMap(Self.fixed) } + [curve]
        let names = [("rXYZ", 0), ("gXYZ", 1), ("bXYZ", 2), ("rTRC", 3), ("gTRC", 3), ("bTRC", 3)]
        let start = 132 + 12 * names.count
        let places = bodies.indices.map { start + bodies[..<$0].reduce(0) { $0 + $1.count } }
        var bytes = [UInt8](repeating: 0, count: 128)
        bytes.replaceSubrange(16..<24, with: Array("RGB XYZ ".utf8))
        bytes.replaceSubrange(36..<40, with: Array("acsp".utf8))
        bytes += Decoding.big(names.count, 4)
        for (name, body) in names {
            bytes += Array(name.utf8) + Decoding.big(places[body], 4) + Decoding.big(bodies[body].count, 4)
        }
        return bytes + bodies.joined()
    }

    private static let srgb = [
        [0.43607, 0.22249, 0.01392], [0.38515, 0.71687, 0.09708], [0.14307, 0.06061, 0.71410],
    ]
    private static let p3 = [[0.51512, 0.24120, -0.00105], [0.29198, 0.69225, 0.04189], [0.15710, 0.06657, 0.78407]]
    /// Red and blue exchanged: whoever applies it does so visibly, and whoever applies it twice shows the same as without.
    private static let exchanged = Self.profile(Self.srgb.reversed())

    private static func colour(_ profile: [UInt8]) throws -> Colour {
        let chunk = PNG.chunk("iCCP", Array("p\0\0".utf8) + PNG.stored(profile))
        let png = PNG.file(width: 1, height: 1, depth: 8, colourType: 2, rows: [0, 200, 100, 50], extra: chunk)
        return Decoding.pixel(try Decoding.decode(png), 0, 0)
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
        #expect(Decoding.pixel(try Decoding.decode(codes), 0, 0) == wide)
    }

    @Test func `The profile is applied once in every format, with the turn`() throws {
        let profile = Self.exchanged
        let segment = Array("ICC_PROFILE\0\u{1}\u{1}".utf8) + profile
        let jpeg = SmallImage.jpeg(orientation: 6)
        let withProfile =
            Array(jpeg[..<2]) + [0xFF, 0xE2] + Decoding.big(segment.count + 2, 2) + segment + jpeg[2...]
        #expect(Decoding.corners(try Decoding.decode(withProfile)) == "RBGW", "B R G W turned, then R and B exchanged")
        // Two segments, as long profiles have.
        var halves: [UInt8] = []
        for (index, half) in [profile.prefix(100), profile.dropFirst(100)].enumerated() {
            halves += [0xFF, 0xE2] + Decoding.big(half.count + 16, 2)
            halves += Array("ICC_PROFILE\0".utf8) + [UInt8(index + 1), 2]
            halves += half
        }
        let split = Array(SmallImage.jpeg[..<2]) + halves + SmallImage.jpeg[2...]
        #expect(Decoding.corners(try Decoding.decode(split)) == "BGWR")

        var webp = SmallImage.webp + Array("ICCP".utf8) + Decoding.little(profile.count, 4) + profile
        if profile.count % 2 == 1 { webp.append(0) }
        webp.replaceSubrange(4..<8, with: Decoding.little(webp.count - 8, 4))
        #expect(Decoding.corners(try Decoding.decode(webp)) == "BGWR")

        // The colour box of a JP2 file with a profile in place of an enumerated space (ISO/IEC 15444-1 §I.5.3.3).
        let box = Array("colr".utf8) + [2, 0, 0] + profile
        let at = 12 + 20 + 8 + 22
        var jp2 = SmallImage.jp2
        jp2.replaceSubrange(at..<at + 15, with: Decoding.big(box.count + 4, 4) + box)
        jp2.replaceSubrange(32..<36, with: Decoding.big(8 + 22 + box.count + 4, 4))
        #expect(Decoding.corners(try Decoding.decode(jp2)) == "BGWR")

        var bmp = SmallBMP.file(SmallBMP.four.map { SmallBMP.row($0) }, height: -2, bits: 24, header: 124)
        bmp.replaceSubrange(14 + 56..<14 + 60, with: Decoding.little(0x4D42_4544, 4))
        bmp.replaceSubrange(14 + 112..<14 + 116, with: Decoding.little(bmp.count - 14, 4))
        bmp.replaceSubrange(14 + 116..<14 + 120, with: Decoding.little(profile.count, 4))
        #expect(Decoding.corners(try Decoding.decode(bmp + profile)) == "BGWR")

        let image = SmallPDF.image(SmallPDF.samples, space: "[/ICCBased 6 0 R]")
        let pdf = SmallPDF.page(image, others: [SmallPDF.stream("/N 3", profile)])
        #expect(Decoding.corners(try Decoding.decode(pdf)) == "BGWR")
        // The page's colours are those of its colour space; what the JPEG says of itself counts for nothing.
        let own = SmallPDF.image(withProfile, width: 24, height: 16, filter: "/DCTDecode")
        #expect(Decoding.corners(try Decoding.decode(SmallPDF.page(own))) == "RGWB")
    }
}
