/// One line of print of the visual zone as it was read.
package struct VisualLine: Codable, Sendable, Hashable {
    package var text: String
    /// The recogniser's confidence (0–1) in every character of `text`; a blank has that of its neighbour.
    package var confidences: [Double]
    package var quad: Quad
    /// Left, top, width and height as shares of the straightened document's longer side.
    package var place: Box
    /// Height of its capitals, as a share of the document's longer side.
    package var height: Double
    /// Whether a second look at a differently cut picture of the line said the same; `nil` where there was none.
    package var isConfirmed: Bool?

    package init(
        text: String, confidences: [Double], quad: Quad, place: Box, height: Double, isConfirmed: Bool? = nil
    ) {
        self.text = text
        self.confidences = confidences
        self.quad = quad
        self.place = place
        self.height = height
        self.isConfirmed = isConfirmed
    }

    /// The least certain character's confidence; 0 for a line without any.
    package var confidence: Double { self.confidences.min() ?? 0 }

    /// Whether a second look at the line saw the same letters and digits, none of them with less than `confidence`.
    package func saysTheSame(as other: VisualLine, confidence: Double) -> Bool {
        func marks(_ line: VisualLine) -> [(Character, Double)] {
            zip(line.text, line.confidences).filter { $0.0.isLetter || $0.0.isNumber }
        }
        let seen = marks(other)
        return seen.map(\.0) == marks(self).map(\.0) && seen.allSatisfy { $0.1 >= confidence }
    }
}

/// What was read of a document's print beside its machine-readable zone.
package struct VisualZoneFacts: Codable, Sendable, Hashable {
    /// From top to bottom.
    package var lines: [VisualLine]
    /// Lines of print that were found; more than were read where the expected values turned up before, or the budget ended.
    package var found: Int
    /// SHA-256 of the recogniser's model file.
    package var modelSHA256: String
    /// Processor time that finding and reading took, in milliseconds.
    package var cpuMs: Double

    package init(lines: [VisualLine], found: Int, modelSHA256: String, cpuMs: Double = 0) {
        self.lines = lines
        self.found = found
        self.modelSHA256 = modelSHA256
        self.cpuMs = cpuMs
    }
}
