import Foundation
import InspectCore
import TestSupport
import Testing

@testable import Vision

/// Rendered documents of every format, photographed from different sides (`deploy/specimens.py`).
struct MRZReaderTests {
    private func read(_ name: String) async throws -> MRZReading? {
        let bytes = try await TestInputs.specimen(name)
        return try bytes.withUnsafeBytes { try MRZReader().read(DecodedImage.decode($0)).reading }
    }

    private func truth(_ name: String) async throws -> [String] {
        let specimen = try await TestInputs.manifest.first { $0.file == name }
        return try #require(specimen?.mrzLines)
    }

    @Test(arguments: [
        "passport.jpg", "passport_icao.jpg", "id_back.jpg", "td2.jpg", "dark.jpg", "small.jpg", "black_white.jpg",
        "photocopy.jpg", "passport.webp", "passport.heic", "passport_10bit.heic", "passport.bmp", "passport.pdf",
        "passport_infrared.bmp",
    ])
    func `Every line of a legible MRZ is exact`(name: String) async throws {
        let reading = try #require(try await self.read(name))
        #expect(reading.lines == (try await self.truth(name)))
        #expect(reading.confidences.map(\.count) == reading.lines.map(\.utf8.count))
        #expect(reading.edgeWidths.count == reading.lines.count)
        #expect(reading.edgeWidths.allSatisfy { $0 > 0 && $0 < 0.6 })
    }

    /// The sideways image is upright by its EXIF orientation; without that it lies on its side.
    @Test(arguments: [
        ("passport_sideways.jpg", false, 0.0), ("passport_sideways.jpg", true, 90.0),
        ("passport_upside_down.jpg", true, 180.0),
    ])
    func `The MRZ is read however it is turned`(name: String, withoutEXIF: Bool, turn: Double) async throws {
        var bytes = try await TestInputs.specimen(name)
        if withoutEXIF { bytes = Self.withoutEXIF(bytes) }
        let reading = try #require(try bytes.withUnsafeBytes { try MRZReader().read(DecodedImage.decode($0)).reading })
        #expect(reading.lines == (try await self.truth(name)))
        #expect(abs(abs(reading.turn) - turn) < 15)
    }

    /// Small and aslant, the detector takes this MRZ for one that is upside down, and some of it passes a glance so.
    @Test func `An MRZ that reads poorly is read upside down as well`() async throws {
        let image = try await TestInputs.specimen("td2.jpg").withUnsafeBytes { try DecodedImage.decode($0) }
        var half = TestImage(width: Int(image.facts.width) / 2, height: Int(image.facts.height) / 2)
        half.map { x, y, _ in
            let four = [(0, 0), (1, 0), (0, 1), (1, 1)].compactMap { image.rgb(x: 2 * x + $0.0, y: 2 * y + $0.1) }
            func mean(_ channel: KeyPath<(red: UInt8, green: UInt8, blue: UInt8), UInt8>) -> UInt8 {
                UInt8((four.reduce(0) { $0 + Int($1[keyPath: channel]) } + 2) / 4)
            }
            return Colour(mean(\.red), mean(\.green), mean(\.blue))
        }
        let png = half.turned(by: 130, width: 1600, height: 1600, background: Colour(120, 120, 120)).png()
        let small = try png.withUnsafeBytes { try DecodedImage.decode($0) }
        let reading = try #require(try MRZReader().read(small).reading)
        #expect(reading.lines == (try await self.truth("td2.jpg")))
        #expect(abs(reading.turn - 130) < 5)
    }

    /// A JPEG file without its APP1 segments.
    private static func withoutEXIF(_ jpeg: Data) -> Data {
        var rest = [UInt8](jpeg)
        var kept = Array(rest.prefix(2))
        rest.removeFirst(2)
        while rest.count > 4, rest[0] == 0xFF, rest[1] != 0xDA {
            let length = 2 + Int(rest[2]) * 256 + Int(rest[3])
            if rest[1] != 0xE1 { kept += rest.prefix(length) }
            rest.removeFirst(min(length, rest.count))
        }
        return Data(kept + rest)
    }

    @Test func `The corners of the MRZ follow its reading direction`() async throws {
        let reading = try #require(try await self.read("passport_upside_down.jpg"))
        let quad = reading.quad
        // Upside down, the reader's left is the image's right and its top the image's bottom.
        #expect(quad.topLeft.x > quad.topRight.x && quad.bottomLeft.x > quad.bottomRight.x)
        #expect(quad.topLeft.y > quad.bottomLeft.y && quad.topRight.y > quad.bottomRight.y)
        let width = hypot(quad.topLeft.x - quad.topRight.x, quad.topLeft.y - quad.topRight.y)
        #expect(abs(width / 44 - reading.pitch) < 0.05 * reading.pitch)
    }

    @Test(arguments: ["landscape.jpg", "bare_desk.jpg", "licence_front.jpg", "licence_back.jpg", "id_front.jpg"])
    func `An image without an MRZ gives none`(name: String) async throws {
        #expect(try await self.read(name) == nil)
    }

    @Test(arguments: ["cut_off.jpg", "glare.jpg"])
    func `The missing part of an MRZ is not made up`(name: String) async throws {
        #expect(try await self.read(name) == nil)
    }

    /// Straightened by its outline, the MRZ is the same as without, and lies at the same place of the image.
    @Test(arguments: ["passport.jpg", "id_back.jpg", "passport_upside_down.jpg"])
    func `With an outline the MRZ reads the same at the same place`(name: String) async throws {
        let image = try await TestInputs.specimen(name).withUnsafeBytes { try DecodedImage.decode($0) }
        let outline = try #require(try DocumentAnalyzer.outline(image))
        let within = try #require(try MRZReader().read(image, outline: outline).reading)
        let without = try #require(try MRZReader().read(image).reading)
        #expect(within.lines == without.lines)
        let apart = hypot(
            within.quad.topLeft.x - without.quad.topLeft.x, within.quad.topLeft.y - without.quad.topLeft.y)
        #expect(apart < without.pitch)
        #expect(abs(within.turn - without.turn) < 2)
    }

    /// An outline without a document's left part, as shadows and page edges give: the lines go on beyond it.
    @Test(arguments: [("passport.jpg", 0.3), ("id_back.jpg", 0.15), ("small.jpg", 0.3)])
    func `An MRZ that a wrong outline cuts is sought in the whole image`(name: String, share: Double) async throws {
        let image = try await TestInputs.specimen(name).withUnsafeBytes { try DecodedImage.decode($0) }
        var outline = try #require(try DocumentAnalyzer.outline(image))
        let quad = outline.quad
        func between(_ left: Point, _ right: Point) -> Point {
            Point(x: left.x + share * (right.x - left.x), y: left.y + share * (right.y - left.y))
        }
        outline.quad.topLeft = between(quad.topLeft, quad.topRight)
        outline.quad.bottomLeft = between(quad.bottomLeft, quad.bottomRight)
        #expect(try MRZReader().read(image, outline: outline).reading?.lines == (try await self.truth(name)))
    }

    @Test func `Reading an MRZ is repeatable`() async throws {
        #expect(try await self.read("passport.jpg") == self.read("passport.jpg"))
    }
}
