package import Foundation

/// The image formats that are decoded; everything else is refused by its first bytes.
package enum ImageFormat: String, Codable, Sendable, CaseIterable {
    case jpeg = "JPEG"
    case png = "PNG"
    case webp = "WEBP"
    case jpeg2000 = "JPEG2000"
    case heic = "HEIC"
    case bmp = "BMP"
    /// A PDF whose page is one image.
    case pdf = "PDF"
}

/// The result of decoding one part.
package struct ImageFacts: Codable, Sendable, Hashable {
    /// By the file's first bytes, whatever its name or media type.
    package var format: ImageFormat
    /// Pixels of the upright image that was analysed: every coordinate in the facts refers to these.
    package var width: Int
    /// Pixels, as ``width``.
    package var height: Int
    /// The EXIF orientation that was applied, 1 to 8 (1 = as stored).
    package var orientation: Int
    /// Pixels as the header announces them, before orientation. Very large JPEG and HEIC images are decoded at half of this.
    package var storedWidth: Int
    /// Pixels, as ``storedWidth``.
    package var storedHeight: Int
    /// Whether the file holds one channel of grey, as infrared images do: it cannot show colours. `nil` stands for no.
    package var isGrey: Bool?

    package init(
        format: ImageFormat, width: Int, height: Int, orientation: Int, storedWidth: Int? = nil,
        storedHeight: Int? = nil, isGrey: Bool? = nil
    ) {
        self.format = format
        self.width = width
        self.height = height
        self.orientation = orientation
        self.storedWidth = storedWidth ?? (orientation >= 5 ? height : width)
        self.storedHeight = storedHeight ?? (orientation >= 5 ? width : height)
        self.isGrey = isGrey
    }
}

/// A small preview of an image, for people to look at.
package struct Preview: Codable, Sendable, Hashable {
    /// Pixels of the longer side at most.
    package static let side = 1200

    /// Pixels.
    package var width: Int
    /// Pixels.
    package var height: Int
    /// A baseline JPEG without any metadata.
    package var jpeg: Data

    package init(width: Int, height: Int, jpeg: Data) {
        self.width = width
        self.height = height
        self.jpeg = jpeg
    }
}

/// Measurements of an image's quality, inside the document's quad if one was found, otherwise over the whole frame.
///
/// Measurements only: the limits that turn them into decisions are in ``UsabilityRules``.
package struct QualityFacts: Codable, Sendable, Hashable {
    /// Variance of the Laplacian at 1,000 px document width (`reference`: folk threshold 100, floor about 40).
    package var laplacianVariance: Double
    /// Median width of strong edges across the blurrier of the two axes, in pixels at 1,000 px document width; grows with
    /// defocus and motion alike.
    package var edgeWidth: Double
    /// Mean luminance, 0–255.
    package var brightness: Double
    /// Standard deviation of the luminance, 0–255.
    package var contrast: Double
    /// Share (0–1) of the document covered by burnt-out, colourless blobs that hide print.
    package var glareShare: Double
    /// 95th percentile of max−min over the colour channels inside the document, 0–255; 0 is pure grey.
    package var chroma: Double
    /// The same outside the document; `nil` when no background is visible.
    package var backgroundChroma: Double?
    /// Length of the document's longer side in pixels.
    package var documentWidth: Double
    /// Share (0–1) of the document under thin dark strokes, which print consists of.
    package var printShare: Double?
    /// Share (0–1) of the whole image that is neither near black nor near white; drawings have little of it.
    package var midtoneShare: Double?
    /// How far isolated periodic patterns stand out of the spectrum (natural logarithm of power), as the pixel grid of
    /// a screen does; `nil` if the document is smaller than the patches this takes (256 px).
    package var moire: Double?
    /// Share (0–1) of the document under skin-coloured regions that cross its outline; `nil` without an outline.
    package var occlusion: Double?
    /// ``chroma`` without the tint of the paper or of the light on it; `nil` in facts stored by earlier versions.
    package var balancedChroma: Double?
    /// How much the tip of a corner looks like the table behind it, 0–1, the worst of four; `nil` if it cannot be
    /// measured.
    package var missingCorner: Double?
    /// How much a round patch looks like a hole that shows the table (0–1); `nil` if that cannot be determined, or an earlier version
    /// measured.
    package var punchedHole: Double?
    /// Depth of the deepest piece that an edge lacks, over the document's longer side; 0 if none does; `nil` if that cannot be determined,
    /// or an earlier version measured.
    package var tornEdge: Double?
    /// Share (0–1) of the document's patches that show dots on several grids turned against each other, as machines print
    /// colours; `nil` if the document is smaller than a patch.
    package var halftone: Double?
    /// How much the directions of the document's strong gradients agree, 0–1: little in print, much if a hand moved;
    /// `nil` in facts stored by earlier versions.
    package var coherence: Double?

    package init(
        laplacianVariance: Double, edgeWidth: Double, brightness: Double, contrast: Double, glareShare: Double,
        chroma: Double, backgroundChroma: Double?, documentWidth: Double, printShare: Double? = nil,
        midtoneShare: Double? = nil, moire: Double? = nil, occlusion: Double? = nil,
        balancedChroma: Double? = nil, missingCorner: Double? = nil, punchedHole: Double? = nil,
        tornEdge: Double? = nil, halftone: Double? = nil, coherence: Double? = nil
    ) {
        self.laplacianVariance = laplacianVariance
        self.edgeWidth = edgeWidth
        self.brightness = brightness
        self.contrast = contrast
        self.glareShare = glareShare
        self.chroma = chroma
        self.backgroundChroma = backgroundChroma
        self.documentWidth = documentWidth
        self.printShare = printShare
        self.midtoneShare = midtoneShare
        self.moire = moire
        self.occlusion = occlusion
        self.balancedChroma = balancedChroma
        self.missingCorner = missingCorner
        self.punchedHole = punchedHole
        self.tornEdge = tornEdge
        self.halftone = halftone
        self.coherence = coherence
    }
}
