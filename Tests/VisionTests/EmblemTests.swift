import Foundation
import InspectCore
import Testing

@testable import Vision

/// The EU emblem on cards that the test draws, with signs of bars alone.
@Suite struct EmblemTests {
    private static let (blue, yellow) = (Colour(0, 51, 153), Colour(255, 204, 0))
    /// Bars of letters five units wide and seven high: left, top, width, height.
    private static let letters: [String: [(Int, Int, Int, Int)]] = [
        "E": [(0, 0, 1, 7), (0, 0, 5, 1), (0, 3, 4, 1), (0, 6, 5, 1)], "F": [(0, 0, 1, 7), (0, 0, 5, 1), (0, 3, 4, 1)],
        "H": [(0, 0, 1, 7), (4, 0, 1, 7), (0, 3, 5, 1)], "L": [(0, 0, 1, 7), (0, 6, 5, 1)],
    ]

    private func sign(_ card: TestImage) throws -> String? {
        let image = try Decoding.decode(card.png())
        let (width, height) = (Double(card.width), Double(card.height))
        let frame = Quad(
            topLeft: Point(x: 0, y: 0), topRight: Point(x: width, y: 0), bottomRight: Point(x: width, y: height),
            bottomLeft: Point(x: 0, y: height))
        guard let page = try TextPage.emblem(image, corners: frame) else { return nil }
        return try page.lines.first.map { _ in try TextReader().read(page, line: 0).text } ?? ""
    }

    private func card(_ letter: String, stars: Int = 12, background: Colour = Self.blue) -> TestImage {
        var card = TestImage(width: 1000, height: 630, Colour(230, 215, 230))
        card.fill(x: 40, y: 30, width: 130, height: 90, background)
        for star in 0..<stars {
            let angle = Double(star) * .pi / 6
            card.fill(
                x: 101 + Int(34 * sin(angle)), y: 71 - Int(34 * cos(angle)), width: 8, height: 8, Self.yellow)
        }
        for (x, y, width, height) in Self.letters[letter] ?? [] {
            card.fill(x: 95 + 4 * x, y: 61 + 4 * y, width: 4 * width, height: 4 * height, Colour(255, 255, 255))
        }
        return card
    }

    @Test(arguments: ["E", "F", "H", "L"])
    func `The sign inside the stars is read`(letter: String) throws {
        #expect(try self.sign(self.card(letter)) == letter)
    }

    @Test func `An emblem without a sign has no text, and what is no emblem has none either`() throws {
        #expect(try self.sign(self.card("")) == "")
        #expect(try self.sign(self.card("F", stars: 5)) == nil)
        #expect(try self.sign(self.card("F", background: Colour(150, 40, 40))) == nil)
        #expect(try self.sign(DocumentImage.card()) == nil)
    }
}
