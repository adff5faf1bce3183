internal import CVision
internal import Foundation
package import InspectCore

/// The limits beyond which an image is refused.
package struct ImageLimits: Sendable, Hashable, Codable {
    /// Bytes of the encoded image.
    var maxBytes: Int
    /// Width times height as declared in the header.
    var maxPixels: Int
    /// Width and height each, as declared in the header.
    var maxSide: Int
    /// JPEG and HEIC images are decoded at a half, a quarter or an eighth while the longer side keeps this many pixels; `nil`:
    /// only very large ones are halved.
    package var enoughSide: Int?
    /// Keeps what ``DocumentAnalyzer/recompression(_:)`` looks at.
    var keepsCoefficients: Bool

    /// The defaults leave room for every phone's camera (48 megapixels, 8,064 px) and keep a decoded image, its grey
    /// copy and a progressive JPEG's coefficients below 600 MB.
    package init(
        maxBytes: Int = PartKind.byteLimit, maxPixels: Int = 50_000_000, maxSide: Int = 12_000, enoughSide: Int? = nil,
        keepsCoefficients: Bool = false
    ) {
        self.maxBytes = maxBytes
        self.maxPixels = maxPixels
        self.maxSide = maxSide
        self.enoughSide = enoughSide
        self.keepsCoefficients = keepsCoefficients
    }
}

/// The sole owner of one decoded, upright image.
///
/// A class rather than a noncopyable struct because liveness keeps its frames in an array. Not `Sendable`: an image
/// stays on the thread that analyses it.
package final class DecodedImage {
    /// The native image; valid as long as this object. Never leaves this target.
    let pointer: OpaquePointer
    /// What the file says and how its image was decoded.
    package let facts: ImageFacts
    /// The programs that a PDF names as its makers; empty for other formats.
    package let software: String

    private init(pointer: OpaquePointer, facts: ImageFacts, software: String = "") {
        self.pointer = pointer
        self.facts = facts
        self.software = software
    }

    deinit { cv_image_free(self.pointer) }

    /// A test image, strokes on a gradient, in which no detector finds anything.
    package static func testCard(width: Int, height: Int) throws(InspectError) -> DecodedImage {
        var image: OpaquePointer?
        try callVision { error in cv_image_test_card(Int32(width), Int32(height), &image, &error) }
        guard let image else { throw InspectError(.internalError, "drawing returned no image") }
        return DecodedImage(
            pointer: image, facts: ImageFacts(format: .png, width: width, height: height, orientation: 1))
    }

    /// Loads the library that PDFs take, since analyzers can open no file, and builds the tables of HEIC: once, before they are
    /// forked.
    package static func loadLibraries() throws(InspectError) {
        try callVision { error in cv_image_prepare(&error) }
    }

    /// Decodes the formats of ``ImageFormat``, recognised by their first bytes.
    ///
    /// - Throws: `PART_EMPTY`, `PART_TOO_LARGE`, `UNSUPPORTED_FORMAT`, `TOO_MANY_PIXELS` (from the header, before
    ///   anything is allocated), `CORRUPT_IMAGE` (also for a truncated image), `ANALYZER_OUT_OF_MEMORY`.
    package static func decode(
        _ bytes: UnsafeRawBufferPointer, limits: ImageLimits = ImageLimits()
    ) throws(InspectError) -> DecodedImage {
        guard let start = bytes.bindMemory(to: UInt8.self).baseAddress, !bytes.isEmpty else {
            throw InspectError(.partEmpty)
        }
        guard bytes.count <= limits.maxBytes else {
            throw InspectError(.partTooLarge, "\(bytes.count) bytes, limit \(limits.maxBytes)")
        }
        var nativeLimits = cv_image_limits(
            max_pixels: UInt64(clamping: limits.maxPixels), max_side: UInt32(clamping: limits.maxSide),
            enough_side: UInt32(clamping: limits.enoughSide ?? 0), keeps_coefficients: limits.keepsCoefficients)
        var image: OpaquePointer?
        var info = cv_image_info()
        try callVision { error in
            cv_image_decode(start, bytes.count, &nativeLimits, &image, &info, &error)
        }
        guard let image else { throw InspectError(.internalError, "decoding returned no image") }
        let software = withUnsafeBytes(of: info.software) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        return DecodedImage(pointer: image, facts: ImageFacts(info), software: software)
    }
}

extension DecodedImage {
    /// A reduced image for people to look at.
    package func preview(longestSide: Int = Preview.side) throws(InspectError) -> Preview {
        var native = cv_preview()
        try callVision { error in
            cv_image_preview(self.pointer, UInt32(clamping: longestSide), &native, &error)
        }
        defer { cv_preview_free(&native) }
        let bytes = UnsafeBufferPointer(start: native.bytes, count: native.length)
        return Preview(width: Int(native.width), height: Int(native.height), jpeg: Data(bytes))
    }

    /// The colour at a position inside the image.
    func rgb(x: Int, y: Int) -> (red: UInt8, green: UInt8, blue: UInt8)? {
        var bgr: (UInt8, UInt8, UInt8) = (0, 0, 0)
        let exists = withUnsafeMutableBytes(of: &bgr) { bytes in
            cv_image_pixel(
                self.pointer, UInt32(clamping: x), UInt32(clamping: y),
                bytes.bindMemory(to: UInt8.self).baseAddress)
        }
        return exists ? (bgr.2, bgr.1, bgr.0) : nil
    }
}

extension ImageFacts {
    fileprivate init(_ info: cv_image_info) {
        let format: ImageFormat =
            switch info.format {
            case .jpeg: .jpeg
            case .png: .png
            case .webp: .webp
            case .jpeg2000: .jpeg2000
            case .heic: .heic
            case .bmp: .bmp
            case .pdf: .pdf
            }
        self.init(
            format: format, width: Int(info.width), height: Int(info.height), orientation: Int(info.orientation),
            storedWidth: Int(info.stored_width), storedHeight: Int(info.stored_height),
            isGrey: info.is_grey ? true : nil)
    }
}
