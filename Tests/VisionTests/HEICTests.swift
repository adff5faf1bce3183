import Foundation
import InspectCore
import TestSupport
import Testing

@testable import Vision

@Suite struct HEICTests {
    /// `bytes` with the first occurrence of `old` exchanged.
    private static func patched(_ bytes: [UInt8], _ old: [UInt8], _ new: [UInt8]) throws -> [UInt8] {
        let place = try #require(bytes.indices.first { bytes[$0...].starts(with: old) })
        return bytes[..<place] + new + bytes[(place + old.count)...]
    }

    private static func box(_ name: String, _ content: [UInt8]) -> [UInt8] {
        Decoding.big(8 + content.count, 4) + Array(name.utf8) + content
    }

    @Test(arguments: [SmallHEIC.grid, SmallHEIC.deepGrid])
    func `A grid of tiles is put together and turned once, in eight and in ten bits`(bytes: [UInt8]) throws {
        let image = try Decoding.decode(bytes)
        #expect(Decoding.corners(image) == "RGWB")
        #expect(image.facts.format == .heic && image.facts.width == 96 && image.facts.height == 80)
        #expect(image.facts.storedWidth == 80 && image.facts.storedHeight == 96)
        #expect(image.facts.orientation == (bytes == SmallHEIC.grid ? 6 : 8))
        // Both sides of the tiles' borders, which lie at 64 pixels.
        for x in [40, 44, 52, 60] {
            #expect((Decoding.pixel(image, x, 20).red > 150) == (x < 48), "column \(x)")
        }
    }

    @Test func `One picture without a grid is decoded`() throws {
        let image = try Decoding.decode(SmallHEIC.single)
        #expect(Decoding.corners(image) == "RGWB")
        #expect(image.facts == ImageFacts(format: .heic, width: 64, height: 64, orientation: 1))
    }

    /// ISO/IEC 23008-12:2022 §6.5.10 and §6.5.12: turns against the clock; 0 exchanges top and bottom, 1 left and right.
    @Test func `Turns and mirrors are the container's`() throws {
        let turn = Self.box("irot", [3])
        for (property, corners) in [
            (Self.box("irot", [0]), "GWBR"), (Self.box("irot", [1]), "WBRG"), (Self.box("irot", [2]), "BRGW"),
            (turn, "RGWB"), (Self.box("imir", [0]), "RBWG"), (Self.box("imir", [1]), "WGRB"),
        ] {
            #expect(Decoding.corners(try Decoding.decode(Self.patched(SmallHEIC.grid, turn, property))) == corners)
        }
        #expect(
            Decoding.code(try Self.patched(SmallHEIC.grid, turn, Self.box("evil", [3]))) == .unsupportedFormat,
            "what must be understood is not passed over")
    }

    @Test func `A profile of a HEIC image is applied once`() throws {
        #expect(Decoding.corners(try Decoding.decode(SmallHEIC.profiled)) == "BGWR")
    }

    @Test func `A frame that needs few pixels is decoded at a part of its size`() throws {
        let image = try Decoding.decode(SmallHEIC.grid, limits: ImageLimits(enoughSide: 40))
        #expect(image.facts.width == 48 && image.facts.height == 40 && image.facts.storedWidth == 80)
        #expect(Decoding.corners(image) == "RGWB")
    }

    @Test func `A HEIC file that announces too much, lacks tiles or contains itself is refused`() throws {
        let size = Decoding.big(80, 4) + Decoding.big(96, 4)
        let giant = try Self.patched(SmallHEIC.grid, size, Decoding.big(10_000, 4) + Decoding.big(10_000, 4))
        #expect(Decoding.code(giant) == .tooManyPixels)
        #expect(
            Decoding.code(try Self.patched(SmallHEIC.grid, size, Decoding.big(80, 4) + Decoding.big(95, 4)))
                == .corruptImage)
        #expect(Decoding.code(SmallHEIC.grid, limits: ImageLimits(maxPixels: 80 * 96 - 1)) == .tooManyPixels)
        let tiles = Array("dimg".utf8) + Decoding.big(5, 2) + Decoding.big(4, 2)
        for (ids, code) in [([5, 5, 5, 5], ErrorCode.unsupportedFormat), ([1, 2, 3, 9], .corruptImage)] {
            let old = tiles + [1, 2, 3, 4].flatMap { Decoding.big($0, 2) }
            let new = tiles + ids.flatMap { Decoding.big($0, 2) }
            #expect(Decoding.code(try Self.patched(SmallHEIC.grid, old, new)) == code, "\(ids)")
        }
        #expect(
            Decoding.code(try Self.patched(SmallHEIC.single, Array("hvc1".utf8), Array("av01".utf8)))
                == .unsupportedFormat)
        let film = Array("\0\0\0\u{18}ftypisom\0\0\0\0isommp42".utf8)
        #expect(Decoding.code(film) == .unsupportedFormat)
    }

    @Test(arguments: [SmallHEIC.grid, SmallHEIC.deepGrid, SmallHEIC.single])
    func `A HEIC file that is cut off or damaged ends with a known code`(bytes: [UInt8]) {
        for count in stride(from: 33, to: bytes.count, by: 9) {
            #expect(Decoding.code(Array(bytes[..<count])) == .corruptImage, "cut after \(count)")
        }
        Decoding.damage(bytes, step: 5)
    }
}
