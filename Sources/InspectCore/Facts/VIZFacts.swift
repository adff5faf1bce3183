/// One line of VIZ text as read.
package struct VIZLine: Codable, Sendable, Hashable {
    /// In the order of reading, with blanks between words.
    package var text: String
    /// The recogniser's confidence (0–1) in every character of `text`; a blank has that of its neighbour.
    package var confidences: [Double]
    /// Its corners in the image, clockwise from the line's own top left.
    package var quad: Quad
    /// Left, top, width and height as shares of the straightened document's longer side.
    package var place: Box
    /// Height of its capitals, as a share of the document's longer side.
    package var height: Double
    /// Whether a second reading of a differently cropped line gave the same text; `nil` if there was none.
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

    /// Whether a second reading found the same letters and digits, each with at least `confidence`.
    ///
    /// - Parameter inFirstWord: Compares the first words alone.
    package func saysTheSame(as other: VIZLine, confidence: Double, inFirstWord: Bool = false) -> Bool {
        func marks(_ line: VIZLine) -> [(Character, Double)] {
            let all = Array(zip(line.text, line.confidences))
            let part = inFirstWord ? all.prefix { $0.0 != " " } : all[...]
            return part.filter { $0.0.isLetter || $0.0.isNumber }
        }
        let seen = marks(other)
        return seen.map(\.0) == marks(self).map(\.0) && seen.allSatisfy { $0.1 >= confidence }
    }
}

/// The VIZ text of one side of a document.
package struct VIZFacts: Codable, Sendable, Hashable {
    /// From top to bottom.
    package var lines: [VIZLine]
    /// Number of lines found. Fewer are read if the expected values turn up early or the budget ends.
    package var found: Int
    /// Width of the straightened document, as a share of its longer side; `nil` in facts of earlier versions.
    package var width: Double?
    /// The state's sign on the EU emblem, of a document without machine-readable data; `nil` if no emblem was seen.
    package var emblem: VIZLine?
    /// SHA-256 of the recogniser's weights.
    package var modelSHA256: String
    /// Processor time that finding and reading took, in milliseconds.
    package var cpuMs: Double

    package init(lines: [VIZLine], found: Int, width: Double? = nil, modelSHA256: String, cpuMs: Double = 0) {
        self.lines = lines
        self.found = found
        self.width = width
        self.modelSHA256 = modelSHA256
        self.cpuMs = cpuMs
    }

    /// Whether the words of `line` reach the page's edge and may go on beyond it.
    func isCut(_ line: VIZLine) -> Bool {
        line.place.x < 0.003 || line.place.x + line.place.width > (self.width ?? 1) - 0.003
    }
}
