/// The extent of a document, derived from its MRZ.
///
/// The MRZ is printed at ten characters an inch (ICAO Doc 9303-3 §4.4) at the lower edge of a document of known size, so a
/// complete MRZ shows where the rest must be: an image may contain all of the MRZ and only half of the document.
struct DocumentExtent {
    /// Millimetres: the document's width and height (ISO/IEC 7810: ID-1, ID-2, ID-3), and from line to line.
    private let width, height, lineSpacing: Double
    private let columns, lines: Int

    /// - Returns: `nil` for layouts that are printed on documents of more than one size.
    init?(_ format: MRZFormat) {
        // Two lines are 6.35 mm apart (Doc 9303-4 §3, figure 3); three share the same MRZ at six lines an inch: published
        // German and Slovenian cards measure 4.2 to 4.3 mm.
        switch format {
        case .td1: (self.width, self.height, self.lineSpacing, self.columns, self.lines) = (85.6, 53.98, 4.23, 30, 3)
        case .td2: (self.width, self.height, self.lineSpacing, self.columns, self.lines) = (105, 74, 6.35, 36, 2)
        case .td3: (self.width, self.height, self.lineSpacing, self.columns, self.lines) = (125, 88, 6.35, 44, 2)
        case .mrva, .mrvb, .frenchID, .frenchLicence, .swissLicence: return nil
        }
    }

    /// Millimetres from the lower edge to the middle of the last line. The MRZ is the lower 23.2 ± 1 mm (Doc 9303-4 §3,
    /// figure 3, -5 and -6 §3.2.1, figure 6), and its first line's middle is 7.25 mm below its upper edge (the former
    /// figure): 9.6 mm with two lines and 7.5 mm with three. Published documents measure 8.9 to 9.7 mm and 7.1 to 7.4 mm.
    private var lastLine: Double { 23.2 - 7.25 - Double(self.lines - 1) * self.lineSpacing }

    /// Longer over shorter side.
    var aspectRatio: Double { self.width / self.height }

    /// How far the document extends beyond the frame, over its height; 0 if it is entirely inside.
    ///
    /// Perspective is undone by the lines' distance alone, so the answer is uncertain by a tenth or so in an oblique view.
    ///
    /// - Parameter centres: Of the first and the last character of each line.
    func beyondFrame(_ centres: [Segment], _ image: ImageFacts) -> Double? {
        guard let first = centres.first, let last = centres.last, centres.count >= 2 else { return nil }
        let along = Point(x: last.end.x - last.start.x, y: last.end.y - last.start.y)
        let length = (along.x * along.x + along.y * along.y).squareRoot()
        guard length >= 1 else { return nil }
        let scale = length / (Double(self.columns - 1) * 25.4 / 10)
        let right = Point(x: along.x / length, y: along.y / length)
        // Upwards is where the first line is.
        let middle = Point(
            x: (first.start.x + first.end.x - last.start.x - last.end.x) / 2,
            y: (first.start.y + first.end.y - last.start.y - last.end.y) / 2)
        let spacing = abs(right.x * middle.y - right.y * middle.x) / Double(centres.count - 1)
        // Lines that stand closer than they are printed show how much an oblique view shortens the document.
        let upScale = min(scale, spacing / self.lineSpacing)
        guard upScale > 0 else { return nil }
        let side: Double = right.x * middle.y - right.y * middle.x < 0 ? 1 : -1
        let up = Point(x: right.y * side, y: -right.x * side)
        let margin = (self.width * scale - length) / 2
        let corners = [-self.lastLine, self.height - self.lastLine].flatMap { above in
            [(last.start, -margin), (last.end, margin)].map { start, beside in
                Point(
                    x: start.x + up.x * above * upScale + right.x * beside,
                    y: start.y + up.y * above * upScale + right.y * beside)
            }
        }
        let farthest = corners.map { max(-$0.x, -$0.y, $0.x - Double(image.width), $0.y - Double(image.height)) }.max()
        return max(0, farthest ?? 0) / (self.height * upScale)
    }

    /// The extent by a side's MRZ, and how far it reaches beyond the frame.
    static func of(_ facts: DocumentFacts) -> (extent: DocumentExtent, beyondFrame: Double)? {
        guard let mrz = facts.mrz, let format = MRZFormat(lines: mrz.lines), let extent = DocumentExtent(format),
            let beyond = extent.beyondFrame(mrz.centres ?? [], facts.image)
        else { return nil }
        return (extent, beyond)
    }
}
