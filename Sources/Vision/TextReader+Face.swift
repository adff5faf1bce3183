package import InspectCore

/// How text is sought around the face of a selfie. Lengths are eye distances.
private enum Surroundings {
    /// From the middle between the eyes: as far as from a portrait to each edge of a data page.
    static let beside = 14.0
    static let above = 6.0
    static let below = 9.0
    /// Pixels an eye distance. Text that is not an eighth of the eye distance high is too small to be found then: print at a person's
    /// own distance would be 8 mm high.
    static let resolution = 64.0
    /// The head: hair and folds look like strokes.
    static let head = (beside: 1.5, above: 1.2, below: 2.2)
    /// Connected strokes of a line that is worth reading, and the most lines to read.
    static let leastMarks = 4
    static let mostLines = 32
}

extension TextReader {
    /// The text around the face of a selfie: labels, days and an MRZ stand next to a document's portrait; next to a living
    /// person nothing of that size does. Takes 3 ms if there is none.
    ///
    /// - Returns: `nil` without the face's points.
    package func text(around face: FaceFacts, in image: DecodedImage) throws(InspectError) -> TextAroundFace? {
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
        let start = max(-Surroundings.beside, corners.map(\.along).min() ?? 0)
        let end = min(Surroundings.beside, corners.map(\.along).max() ?? 0)
        let top = max(-Surroundings.above, corners.map(\.down).min() ?? 0)
        let bottom = min(Surroundings.below, corners.map(\.down).max() ?? 0)
        guard end - start > 1, bottom - top > 1 else { return nil }
        let head = Surroundings.head
        let page = try TextPage(
            image, corners: rectangle(start, top, end, bottom),
            portraits: [rectangle(-head.beside, -head.above, head.beside, head.below)],
            side: Surroundings.resolution * max(end - start, bottom - top))
        let longest = page.lines.indices.filter { page.lines[$0].marks >= Surroundings.leastMarks }
            .sorted { page.lines[$0].marks > page.lines[$1].marks }.prefix(Surroundings.mostLines)
        var lines: [VIZLine] = []
        for index in longest { lines.append(try self.read(page, line: index)) }
        return TextAroundFace(lines: lines)
    }
}
