import InspectCore
import Testing

@testable import Vision

@Suite struct BarcodeReaderTests {
    private func read(_ drawing: TestImage) throws -> [BarcodeFacts] {
        let image = try drawing.png().withUnsafeBytes { try DecodedImage.decode($0) }
        return try BarcodeReader.read(image, outline: try DocumentAnalyzer.outline(image), extraMilliseconds: 2000)
    }

    @Test func `A PDF417 barcode is read to the byte`() throws {
        let barcodes = try self.read(BarcodeImage.draw())
        let barcode = try #require(barcodes.first)
        #expect(barcodes.count == 1)
        #expect(barcode.format == "PDF417")
        #expect(barcode.text == BarcodeImage.text)
        #expect(barcode.bytesHex == BarcodeImage.text.utf8.hexadecimal)
        #expect(abs(barcode.quad.topLeft.x - 30) < 10 && abs(barcode.quad.topLeft.y - 30) < 10)
        #expect(AAMVACard(barcode.text)?.surname == "MUSTER")
    }

    @Test(arguments: [7.0, -15, 41, 90, 180])
    func `A turned barcode is read`(degrees: Double) throws {
        let turned = BarcodeImage.draw().turned(
            by: degrees, width: 900, height: 800, background: Colour(120, 110, 90))
        #expect(try self.read(turned).map(\.text) == [BarcodeImage.text])
    }

    /// Neither outline nor gradients are upright here: the barcode's own four sides are.
    @Test(arguments: [(0.0, 0.3), (0.25, 0.2), (0.35, 0.3)])
    func `A tilted barcode is read`(perspective: Double, skew: Double) throws {
        let tilted = BarcodeImage.draw().tilted(
            perspective: perspective, skew: skew, width: 640, height: 480, background: Colour(110, 110, 110))
        #expect(try self.read(tilted).map(\.text) == [BarcodeImage.text])
    }

    @Test func `A dim barcode is read`() throws {
        var dim = BarcodeImage.draw()
        dim.map { _, _, colour in Colour(30 + colour.red / 8, 28 + colour.green / 8, 25 + colour.blue / 8) }
        #expect(try self.read(dim).map(\.text) == [BarcodeImage.text])
    }

    @Test(arguments: SquareBarcode.all)
    func `Square barcodes are reported with their format and bytes`(symbol: SquareBarcode) throws {
        let barcode = try #require(try self.read(symbol.draw()).first)
        #expect(barcode.format == symbol.format)
        #expect(barcode.text == SquareBarcode.text)
        #expect(barcode.bytesHex == "49442034373131")
    }

    @Test func `An image without a barcode gives none`() throws {
        #expect(try self.read(TestImage(width: 400, height: 300)).isEmpty)
        #expect(try self.read(DocumentImage.photo()).isEmpty)
        #expect(try self.read(TestImage(width: 1, height: 1)).isEmpty)
    }

    @Test func `Two barcodes are both reported`() throws {
        let one = BarcodeImage.draw()
        var both = TestImage(width: one.width, height: 2 * one.height)
        both.map { x, y, _ in one[x, y % one.height] }
        #expect(try self.read(both).count == 2)
    }
}
