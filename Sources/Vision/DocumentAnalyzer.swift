internal import CVision
package import InspectCore

/// Finds the document in an image and measures the image's quality.
///
/// Stateless; every call blocks its thread for some 20 to 90 ms of computing.
package enum DocumentAnalyzer {
    /// The outline of the document, or `nil` if the image is itself the crop of a document, or shows none.
    package static func outline(_ image: DecodedImage) throws(InspectError) -> OutlineFacts? {
        var outline = cv_outline()
        var found = false
        try callVision { error in cv_document_outline(image.pointer, &outline, &found, &error) }
        return found ? OutlineFacts(outline) : nil
    }

    /// The quality inside `outline`, or of the whole frame where there is none.
    ///
    /// - Parameter withMoire: Whether to analyse the spectrum as well; only the image checks need that.
    package static func quality(
        _ image: DecodedImage, outline: OutlineFacts?, withMoire: Bool = true
    ) throws(InspectError) -> QualityFacts {
        var quality = cv_quality()
        try callVision { error in
            guard let outline else { return cv_document_quality(image.pointer, nil, withMoire, &quality, &error) }
            var native = cv_outline(outline)
            return cv_document_quality(image.pointer, &native, withMoire, &quality, &error)
        }
        return QualityFacts(quality)
    }

    /// The document's luminance as a small square, row by row.
    static func thumbnail(_ image: DecodedImage, outline: OutlineFacts) throws(InspectError) -> [UInt8] {
        var pixels = [UInt8](repeating: 0, count: Int(CV_THUMBNAIL_SIDE * CV_THUMBNAIL_SIDE))
        var native = cv_outline(outline)
        try callVision { error in cv_document_thumbnail(image.pointer, &native, &pixels, &error) }
        return pixels
    }

    /// How strongly a patch of a JPEG contradicts the compression that the rest had before (0–1); `nil` if it shows no earlier
    /// compression, is turned by its orientation, or was decoded without keeping its coefficients.
    package static func recompression(_ image: DecodedImage) throws(InspectError) -> Double? {
        var contradiction = -1.0
        try callVision { error in cv_image_recompression(image.pointer, &contradiction, &error) }
        return contradiction < 0 ? nil : contradiction
    }
}

extension Point {
    init(_ point: cv_point) { self.init(x: point.x, y: point.y) }
}

extension cv_point {
    init(_ point: Point) { self.init(x: point.x, y: point.y) }
}

extension Quad {
    /// Four corners as the native side orders them: clockwise from the top left.
    init(_ corners: (cv_point, cv_point, cv_point, cv_point)) {
        self.init(
            topLeft: Point(corners.0), topRight: Point(corners.1), bottomRight: Point(corners.2),
            bottomLeft: Point(corners.3))
    }

    var corners: (cv_point, cv_point, cv_point, cv_point) {
        (cv_point(self.topLeft), cv_point(self.topRight), cv_point(self.bottomRight), cv_point(self.bottomLeft))
    }
}

extension OutlineFacts {
    fileprivate init(_ outline: cv_outline) {
        self.init(
            quad: Quad(outline.corners), aspectRatio: outline.aspect_ratio,
            cornersOutside: Int(outline.corners_outside), support: outline.support)
    }
}

extension cv_outline {
    init(_ outline: OutlineFacts) {
        self.init(
            corners: outline.quad.corners, aspect_ratio: outline.aspectRatio,
            corners_outside: Int32(clamping: outline.cornersOutside), support: outline.support)
    }
}

extension QualityFacts {
    /// The native side marks what it could not assess with -1.
    fileprivate init(_ quality: cv_quality) {
        func assessed(_ value: Double) -> Double? { value < 0 ? nil : value }
        self.init(
            laplacianVariance: quality.laplacian_variance, edgeWidth: quality.edge_width,
            brightness: quality.brightness, contrast: quality.contrast, glareShare: quality.glare_share,
            chroma: quality.chroma, backgroundChroma: assessed(quality.background_chroma),
            documentWidth: quality.document_width, printShare: quality.print_share,
            midtoneShare: quality.midtone_share, moire: assessed(quality.moire),
            occlusion: assessed(quality.occlusion), balancedChroma: quality.balanced_chroma,
            missingCorner: assessed(quality.missing_corner),
            punchedHole: assessed(quality.punched_hole), tornEdge: assessed(quality.torn_edge),
            halftone: assessed(quality.halftone), coherence: quality.coherence)
    }
}
