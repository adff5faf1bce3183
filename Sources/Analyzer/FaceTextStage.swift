import InspectCore
import Vision

/// The text around the face of a selfie: beside a document's portrait stand labels, dates and an MRZ, beside a person nothing of
/// that size.
enum FaceTextStage {
    /// How far from the middle between the eyes text is sought, in eye distances: from a portrait to each edge of a data page.
    private static let beside = 14.0
    private static let above = 6.0
    private static let below = 9.0
    /// Pixels an eye distance. Text that is not an eighth of the eye distance high is too small to be found then: print at a person's
    /// own distance would be 8 mm high.
    private static let resolution = 64.0
    /// The head, in eye distances: hair and folds look like strokes.
    private static let head = (beside: 1.5, above: 1.2, below: 2.2)
    /// Connected strokes of a line that is worth reading, and the most lines to read.
    private static let leastMarks = 4
    private static let mostLines = 32

    /// Takes 3 ms where there is no text.
    static func facts(
        _ image: DecodedImage, face: FaceFacts, reader: TextReader
    ) throws(InspectError) -> TextAroundFace? {
        guard face.landmarks.count == 5 else { return nil }
        func middle(_ first: Point, _ second: Point) -> Point {
            Point(x: (first.x + second.x) / 2, y: (first.y + second.y) / 2)
        }
        let left = middle(face.landmarks[0], face.landmarks[1])
        let right = middle(face.landmarks[2], face.landmarks[3])
        let centre = middle(left, right)
        let (dx, dy) = (right.x - left.x, right.y - left.y)
        let eyes = (dx * dx + dy * dy).squareRoot()
        guard eyes >= 1 else { return nil }
        // Axes of the face in eye distances: along the eyes, and down.
        let (cos, sin) = (dx / eyes, dy / eyes)
        let (width, height) = (Double(image.facts.width) - 1, Double(image.facts.height) - 1)
        let corners = [(0, 0), (width, 0), (width, height), (0, height)].map { x, y in
            let (x, y) = ((x - centre.x) / eyes, (y - centre.y) / eyes)
            return (along: x * cos + y * sin, down: y * cos - x * sin)
        }
        func rectangle(_ left: Double, _ top: Double, _ right: Double, _ bottom: Double) -> Quad {
            func point(_ along: Double, _ down: Double) -> Point {
                Point(
                    x: centre.x + eyes * (along * cos - down * sin), y: centre.y + eyes * (along * sin + down * cos))
            }
            return Quad(
                topLeft: point(left, top), topRight: point(right, top), bottomRight: point(right, bottom),
                bottomLeft: point(left, bottom))
        }
        let start = max(-self.beside, corners.map(\.along).min() ?? 0)
        let end = min(self.beside, corners.map(\.along).max() ?? 0)
        let top = max(-self.above, corners.map(\.down).min() ?? 0)
        let bottom = min(self.below, corners.map(\.down).max() ?? 0)
        guard end - start > 1, bottom - top > 1 else { return nil }
        let page = try TextPage(
            image, corners: rectangle(start, top, end, bottom),
            ignoring: [rectangle(-self.head.beside, -self.head.above, self.head.beside, self.head.below)],
            side: self.resolution * max(end - start, bottom - top))
        let longest = page.lines.indices.filter { page.lines[$0].marks >= self.leastMarks }
            .sorted { page.lines[$0].marks > page.lines[$1].marks }.prefix(self.mostLines)
        var lines: [VIZLine] = []
        for index in longest { lines.append(try reader.read(page, line: index)) }
        return TextAroundFace(lines: lines)
    }
}
