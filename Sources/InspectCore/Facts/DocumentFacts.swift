/// The outline of a document in its image.
package struct OutlineFacts: Codable, Sendable, Hashable {
    /// Its corners in the image, some of which may lie outside.
    package var quad: Quad
    /// Longer side over shorter side of the rectified document (ISO/IEC 7810: ID-1 1.586, ID-2 1.42, ID-3 1.42).
    package var aspectRatio: Double
    /// Number of the four corners outside the frame or on its border.
    package var cornersOutside: Int
    /// Share (0–1) of the outline that edges in the image support.
    package var support: Double

    package init(quad: Quad, aspectRatio: Double, cornersOutside: Int, support: Double) {
        self.quad = quad
        self.aspectRatio = aspectRatio
        self.cornersOutside = cornersOutside
        self.support = support
    }
}

/// One barcode as read.
package struct BarcodeFacts: Codable, Sendable, Hashable {
    /// `PDF417`, `QR_CODE`, `DATA_MATRIX` or `AZTEC`.
    package var format: String
    /// The text, with U+0000 replaced by U+FFFD (PostgreSQL's jsonb cannot hold it); `bytesHex` is exact.
    package var text: String
    /// The raw bytes in lower-case hexadecimal.
    package var bytesHex: String
    /// Its corners in the image.
    package var quad: Quad

    package init(format: String, text: String, bytesHex: String, quad: Quad) {
        self.format = format
        self.text = text
        self.bytesHex = bytesHex
        self.quad = quad
    }
}

/// All measurements on one side of a document (FRONT or BACK).
package struct DocumentFacts: Codable, Sendable, Hashable {
    /// How the image was decoded.
    package var image: ImageFacts
    /// `nil` when no outline was found: the image may be a crop that the document fills, or show no document at all.
    package var outline: OutlineFacts?
    /// Sharpness, exposure and the like.
    package var quality: QualityFacts
    /// `nil`: no legible MRZ was found.
    package var mrz: MRZReading?
    /// Several if a card has several.
    package var barcodes: [BarcodeFacts]
    /// Faces on the document, largest first (the portrait, then ghost images), with embeddings.
    package var faces: [FaceFacts]
    /// Whether a part of an MRZ is illegible, under glare for example; `nil` in facts stored by earlier versions.
    package var hasIllegibleZone: Bool?
    /// Processor time in milliseconds by step: `outline`, `mrz`, `barcode`, `quality`, `faces`, `file`, `ghost`; `nil` if it was
    /// not measured.
    package var stepsMs: [String: Double]?
    /// The VIZ text; `nil` if it was not read.
    package var viz: VIZFacts?
    /// What a glance saw of an MRZ that was not read; `nil` if it saw none, or was not taken.
    package var mrzSight: MRZSight?
    /// The document's luminance as a small square, row by row; `nil` without an outline, or if text and face are looked for, which tell more.
    package var thumbnail: [UInt8]?
    /// The image file's statements about itself; `nil` in facts stored by earlier versions.
    package var metadata: ImageMetadata?
    /// How strongly a patch contradicts the JPEG compression that the rest of the image had before (0–1); `nil` if the file
    /// shows no earlier compression.
    package var recompression: Double?
    /// The search for a ghost image; `nil` if none could be compared, because there is no portrait or it is too small, or none
    /// was sought.
    package var ghost: GhostFacts?

    package init(
        image: ImageFacts, outline: OutlineFacts?, quality: QualityFacts, mrz: MRZReading?,
        barcodes: [BarcodeFacts], faces: [FaceFacts], viz: VIZFacts? = nil
    ) {
        self.image = image
        self.outline = outline
        self.quality = quality
        self.mrz = mrz
        self.barcodes = barcodes
        self.faces = faces
        self.viz = viz
    }
}

/// The result of the search for a document's second, smaller portrait.
package struct GhostFacts: Codable, Sendable, Hashable {
    /// The most certain face next to the portrait; `nil`: none was seen.
    package var box: Box?
    /// The detector's score of that face.
    package var detectionScore: Double?
    /// Pixels between its eyes.
    package var interEyeDistance: Double?
    /// Distance of the embeddings of portrait and ghost image by dlib's network; `nil` if it was not computed.
    package var distance: Double?

    package init(
        box: Box? = nil, detectionScore: Double? = nil, interEyeDistance: Double? = nil, distance: Double? = nil
    ) {
        self.box = box
        self.detectionScore = detectionScore
        self.interEyeDistance = interEyeDistance
        self.distance = distance
    }
}

/// An MRZ as seen at a glance, unread.
package struct MRZSight: Codable, Sendable, Hashable {
    /// How many lines were seen.
    package var lines: Int
    /// Approximate number of characters in the shortest line: fillers may be missing.
    package var shortest: Double
    /// Of the longest one.
    package var longest: Double

    package init(lines: Int, shortest: Double, longest: Double) {
        self.lines = lines
        self.shortest = shortest
        self.longest = longest
    }

    /// Whether it is a card's (Doc 9303-5), with three lines of 30 characters. A passport's has two of 44, above
    /// which a glance may mistake a line of the VIZ for a third.
    var isOfCard: Bool {
        self.lines == 3 && Limits.cellsOfCard.contains(self.shortest) && Limits.cellsOfCard.contains(self.longest)
    }
}

/// An MRZ as read from an image (ICAO Doc 9303-3 §4).
package struct MRZReading: Codable, Sendable, Hashable {
    /// The lines after decoding, characters A–Z, 0–9 and `<` only.
    package var lines: [String]
    /// For every character of every line, the posterior (0–1) of the character chosen.
    package var confidences: [[Double]]
    /// Its corners in the image.
    package var quad: Quad
    /// The same after applying the alphabet of its position (in a name, a letter competes with no digit); `nil` in facts
    /// stored by earlier versions.
    package var posteriors: [[Double]]?
    /// Pixels per character cell in the image; below 7 the characters are too small to trust (`reference`).
    package var pitch: Double
    /// Number of characters that alphabets and check digits decided against the reader's first choice.
    package var corrections: Int
    /// For every line, the width of the strokes' edges (10–90 %) over the pitch; above about 0.35 the characters are too
    /// blurred.
    package var edgeWidths: [Double]
    /// Degrees by which the content is turned clockwise in the image, −180 to 180.
    package var turn: Double
    /// For every line, from the centre of its first character to that of its last; `nil` in facts stored by earlier
    /// versions.
    package var centres: [Segment]?

    package init(
        lines: [String], confidences: [[Double]], quad: Quad, pitch: Double, corrections: Int,
        edgeWidths: [Double] = [], turn: Double = 0, centres: [Segment]? = nil
    ) {
        self.lines = lines
        self.confidences = confidences
        self.quad = quad
        self.pitch = pitch
        self.corrections = corrections
        self.edgeWidths = edgeWidths
        self.turn = turn
        self.centres = centres
    }
}
