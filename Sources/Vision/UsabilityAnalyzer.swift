package import InspectCore

/// Analyses a document's side as fast as possible: reduced decoding, outline, quality and a glance for an MRZ.
package enum UsabilityAnalyzer {
    /// The least longer side after reduction. Quality is measured at 1,800 px in any case, so that it is the same as after full
    /// decoding.
    static let enoughSide = 1800

    /// - Throws: As ``DecodedImage/decode(_:limits:)``.
    package static func facts(_ bytes: UnsafeRawBufferPointer) throws(InspectError) -> DocumentFacts {
        let image = try DecodedImage.decode(bytes, limits: ImageLimits(enoughSide: self.enoughSide))
        return try self.facts(image)
    }

    /// The same for a decoded image.
    package static func facts(_ image: DecodedImage) throws(InspectError) -> DocumentFacts {
        let outline = try DocumentAnalyzer.outline(image)
        var quality = try DocumentAnalyzer.quality(image, outline: outline, withMoire: false)
        let sight = try MRZReader.glance(image, outline: outline)
        var facts = image.facts
        // Coordinates and lengths are in pixels of the image as it was sent.
        let isTurned = facts.orientation >= 5
        let width = isTurned ? facts.storedHeight : facts.storedWidth
        let height = isTurned ? facts.storedWidth : facts.storedHeight
        let scaleX = Double(width) / Double(max(facts.width, 1))
        let scaleY = Double(height) / Double(max(facts.height, 1))
        facts.width = width
        facts.height = height
        quality.documentWidth *= max(scaleX, scaleY)
        func scaled(_ point: Point) -> Point { Point(x: point.x * scaleX, y: point.y * scaleY) }
        let quad = outline.map { outline in
            OutlineFacts(
                quad: Quad(
                    topLeft: scaled(outline.quad.topLeft), topRight: scaled(outline.quad.topRight),
                    bottomRight: scaled(outline.quad.bottomRight), bottomLeft: scaled(outline.quad.bottomLeft)),
                aspectRatio: outline.aspectRatio, cornersOutside: outline.cornersOutside, support: outline.support)
        }
        var side = DocumentFacts(image: facts, outline: quad, quality: quality, mrz: nil, barcodes: [], faces: [])
        side.mrzSight = sight
        if let outline { side.thumbnail = try DocumentAnalyzer.thumbnail(image, outline: outline) }
        return side
    }
}
