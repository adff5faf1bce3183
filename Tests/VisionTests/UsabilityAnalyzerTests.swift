import Foundation
import InspectCore
import TestSupport
import Testing

@testable import Vision

@Suite struct UsabilityAnalyzerTests {
    private func jpeg(width: Int, height: Int) throws -> Data {
        try DecodedImage.testCard(width: width, height: height).preview(longestSide: width).jpeg
    }

    @Test func `A preview is an image of the size that was asked for, and of the same content`() throws {
        let card = try DecodedImage.testCard(width: 900, height: 600)
        let preview = try card.preview(longestSide: 300)
        #expect(preview.width == 300 && preview.height == 200)
        let again = try preview.jpeg.withUnsafeBytes { try DecodedImage.decode($0) }
        #expect(again.facts == ImageFacts(format: .jpeg, width: 300, height: 200, orientation: 1))
        // The card gets redder to the left: the gradient must have survived.
        let (left, right) = (try #require(again.rgb(x: 5, y: 199)), try #require(again.rgb(x: 294, y: 199)))
        #expect(Int(right.green) - Int(left.green) > 60)
        // Small images stay as they are.
        #expect(try card.preview(longestSide: 5000).width == 900)
    }

    @Test func `A large JPEG is measured as if it had been decoded in full, in pixels as sent`() throws {
        let bytes = try self.jpeg(width: 4000, height: 2800)
        let early = try bytes.withUnsafeBytes { try UsabilityAnalyzer.facts($0) }
        let image = try bytes.withUnsafeBytes { try DecodedImage.decode($0) }
        let full = try DocumentAnalyzer.quality(image, outline: try DocumentAnalyzer.outline(image))
        #expect(early.image.width == 4000 && early.image.height == 2800)
        #expect(abs(early.quality.documentWidth - full.documentWidth) < 0.02 * full.documentWidth)
        #expect(abs(early.quality.brightness - full.brightness) < 2)
        #expect(abs(early.quality.contrast - full.contrast) < 3)
        #expect(abs(early.quality.edgeWidth - full.edgeWidth) < 0.15 * full.edgeWidth)
        #expect(early.quality.moire == nil && full.moire != nil)
    }

    @Test(arguments: [(1700, 1), (3598, 1), (3600, 2), (7200, 4)])
    func `Decoding is reduced only as far as the measures allow`(width: Int, divisor: Int) throws {
        let bytes = try self.jpeg(width: width, height: 400)
        let image = try bytes.withUnsafeBytes { bytes throws(InspectError) in
            try DecodedImage.decode(bytes, limits: ImageLimits(enoughSide: UsabilityAnalyzer.enoughSide))
        }
        #expect(image.facts.width == width / divisor)
        #expect(image.facts.storedWidth == width)
    }

    @Test func `Two photos of one side are recognised, and the two sides of a card are not taken for one`() async throws
    {
        func side(_ data: Data) throws -> DocumentFacts { try data.withUnsafeBytes { try UsabilityAnalyzer.facts($0) } }
        func missing(_ front: DocumentFacts, _ back: DocumentFacts) -> [Int] {
            UsabilityRules.decideBeforeReading([.front: front, .back: back]).values.flatMap(\.reasons).map(\.code)
        }
        for card in ["id", "licence"] {
            let front = try await TestInputs.specimen("\(card)_front.jpg")
            let back = try await TestInputs.specimen("\(card)_back.jpg")
            #expect(missing(try side(front), try side(back)) == [], "\(card)")
            // Saved again, smaller and at another quality.
            let again = try front.withUnsafeBytes { try DecodedImage.decode($0) }.preview(longestSide: 900).jpeg
            #expect(missing(try side(front), try side(again)).contains(206), "\(card)")
        }
    }
}
