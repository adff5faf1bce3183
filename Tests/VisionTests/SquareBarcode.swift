/// Square barcodes, rendered by zint from "ID 4711".
struct SquareBarcode: CustomStringConvertible, Sendable {
    static let text = "ID 4711"

    let format: String
    let columns: Int
    /// Modules of each row, most significant bit first; 1 is black.
    let rows: [String]
    var description: String { self.format }

    /// The barcode, upright on a table, on paper of its own.
    func draw(module: Int = 6) -> TestImage {
        var image = TestImage(width: 480, height: 400, Colour(140, 120, 100))
        let side = self.columns * module
        image.fill(x: 100, y: 80, width: side + 80, height: side + 80, Colour(240, 240, 235))
        for (row, hex) in self.rows.enumerated() {
            let bits = hex.flatMap { digit in (0..<4).map { ((digit.hexDigitValue ?? 0) >> (3 - $0)) & 1 } }
            for (column, bit) in bits.suffix(self.columns).enumerated() where bit == 1 {
                image.fill(
                    x: 140 + column * module, y: 120 + row * module, width: module, height: module, Colour(20, 20, 25))
            }
        }
        return image
    }

    static let all = [
        SquareBarcode(
            format: "QR_CODE", columns: 21,
            rows: [
                "1fd27f", "105c41", "175f5d", "174b5d", "174c5d", "105d41", "1fd57f", "001000", "075de7", "0824cb",
                "03c426", "1fb5c3", "01eea8", "001027", "1fced5", "1040bf", "1759d4", "175528", "1750e8", "104c45",
                "1fc1a4",
            ]),
        SquareBarcode(
            format: "DATA_MATRIX", columns: 12,
            rows: ["aaa", "a73", "888", "d3b", "db4", "96f", "9a6", "8e9", "adc", "9c5", "c82", "fff"]),
        SquareBarcode(
            format: "AZTEC", columns: 15,
            rows: [
                "1828", "31b0", "3825", "1ffe", "380c", "2be8", "7a2b", "6aaa", "0a2d", "1beb", "480f", "6fff", "26f0",
                "178d", "2af5",
            ]),
    ]
}
