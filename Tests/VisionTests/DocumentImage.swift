import Foundation

/// A card that a test draws: coloured paper with rows of small dark strokes, and the table that it lies on.
enum DocumentImage {
    static let paper = Colour(215, 228, 240)
    static let table = Colour(120, 80, 50)

    /// An ID-1 card of `width` pixels, without surroundings.
    static func card(width: Int = 600) -> TestImage {
        let height = Int(Double(width) / 1.586)
        var card = TestImage(width: width, height: height, Self.paper)
        card.fill(x: 0, y: 0, width: width, height: height / 9, Colour(90, 140, 200))
        var state: UInt32 = 7
        func random(_ count: Int) -> Int {
            state = state &* 1_664_525 &+ 1_013_904_223
            return Int(state >> 16) % count
        }
        // Irregular strokes: print as even as a grid is what the test for screens looks for.
        let size = max(4, width / 100)
        var row = height / 6
        while row < height - 2 * size {
            var column = width / 3
            while column < width - 2 * size {
                let (thin, long) = (max(2, size / 3), size + random(size))
                // Letters have level strokes, too.
                let isLevel = random(2) == 0
                card.fill(
                    x: column, y: row + random(2), width: isLevel ? long : thin, height: isLevel ? thin : long,
                    Colour(40, 40, 60))
                column += (isLevel ? long : size / 2) + random(size)
            }
            row += 2 * size + random(2 * size)
        }
        return card
    }

    /// `card` on the table, turned by `degrees`.
    static func photo(
        of card: TestImage = Self.card(), degrees: Double = 0, width: Int = 900, height: Int = 680,
        table: Colour = Self.table
    ) -> TestImage {
        card.turned(by: degrees, width: width, height: height, background: table)
    }
}
