/// A position in pixels of the upright image, origin at the top left.
public struct Point: Codable, Sendable, Hashable {
    public var x: Double
    public var y: Double

    public init(x: Double, y: Double) {
        self.x = x
        self.y = y
    }
}

/// An axis-parallel box in pixels of the upright image.
public struct Box: Codable, Sendable, Hashable {
    public var x: Double
    public var y: Double
    public var width: Double
    public var height: Double

    public init(x: Double, y: Double, width: Double, height: Double) {
        self.x = x
        self.y = y
        self.width = width
        self.height = height
    }
}

/// Four corners, clockwise from the one that is at the top left when the content is read upright.
public struct Quad: Codable, Sendable, Hashable {
    public var topLeft: Point
    public var topRight: Point
    public var bottomRight: Point
    public var bottomLeft: Point

    public init(topLeft: Point, topRight: Point, bottomRight: Point, bottomLeft: Point) {
        self.topLeft = topLeft
        self.topRight = topRight
        self.bottomRight = bottomRight
        self.bottomLeft = bottomLeft
    }

    /// The mean of the corners.
    public var centre: Point {
        let corners = self.corners
        return Point(x: corners.reduce(0) { $0 + $1.x } / 4, y: corners.reduce(0) { $0 + $1.y } / 4)
    }

    /// Whether `point` is inside, as long as the corners go round clockwise and none is dented.
    public func contains(_ point: Point) -> Bool {
        let corners = self.corners
        return corners.indices.allSatisfy { index in
            let (a, b) = (corners[index], corners[(index + 1) % 4])
            return (b.x - a.x) * (point.y - a.y) - (b.y - a.y) * (point.x - a.x) >= 0
        }
    }

    private var corners: [Point] { [self.topLeft, self.topRight, self.bottomRight, self.bottomLeft] }
}

/// A straight line from one position to another.
public struct Segment: Codable, Sendable, Hashable {
    public var start: Point
    public var end: Point

    public init(start: Point, end: Point) {
        self.start = start
        self.end = end
    }
}
