/// A position in pixels of the upright image, origin at the top left.
package struct Point: Codable, Sendable, Hashable {
    /// From left to right.
    package var x: Double
    /// From top to bottom.
    package var y: Double

    package init(x: Double, y: Double) {
        self.x = x
        self.y = y
    }
}

/// An axis-parallel box in pixels of the upright image.
package struct Box: Codable, Sendable, Hashable {
    /// The left edge.
    package var x: Double
    /// The top edge.
    package var y: Double
    /// From the left edge to the right.
    package var width: Double
    /// From the top edge to the bottom.
    package var height: Double

    package init(x: Double, y: Double, width: Double, height: Double) {
        self.x = x
        self.y = y
        self.width = width
        self.height = height
    }
}

/// Four corners, clockwise from the one that is at the top left when the content is read upright.
package struct Quad: Codable, Sendable, Hashable {
    /// The first corner of the content as read, wherever it lies in the image.
    package var topLeft: Point
    /// The next corner, where the first line ends.
    package var topRight: Point
    /// Opposite ``topLeft``.
    package var bottomRight: Point
    /// Below ``topLeft`` as read.
    package var bottomLeft: Point

    package init(topLeft: Point, topRight: Point, bottomRight: Point, bottomLeft: Point) {
        self.topLeft = topLeft
        self.topRight = topRight
        self.bottomRight = bottomRight
        self.bottomLeft = bottomLeft
    }

    /// The mean of the corners.
    package var centre: Point {
        let corners = self.corners
        return Point(x: corners.reduce(0) { $0 + $1.x } / 4, y: corners.reduce(0) { $0 + $1.y } / 4)
    }

    /// Whether `point` is inside. The quad must be convex with its corners in clockwise order.
    package func contains(_ point: Point) -> Bool {
        let corners = self.corners
        return corners.indices.allSatisfy { index in
            let (a, b) = (corners[index], corners[(index + 1) % 4])
            return (b.x - a.x) * (point.y - a.y) - (b.y - a.y) * (point.x - a.x) >= 0
        }
    }

    private var corners: [Point] { [self.topLeft, self.topRight, self.bottomRight, self.bottomLeft] }
}

/// A straight line from one position to another.
package struct Segment: Codable, Sendable, Hashable {
    /// One end.
    package var start: Point
    /// The other end.
    package var end: Point

    package init(start: Point, end: Point) {
        self.start = start
        self.end = end
    }
}
