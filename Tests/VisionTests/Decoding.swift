import InspectCore
import TestSupport
import Testing

@testable import Vision

/// What the tests of single formats share.
enum Decoding {
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

    /// A number with its least significant byte first, or last.
    static func little(_ value: Int, _ bytes: Int) -> [UInt8] {
        (0..<bytes).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }
    static func big(_ value: Int, _ bytes: Int) -> [UInt8] { Self.little(value, bytes).reversed() }
}
