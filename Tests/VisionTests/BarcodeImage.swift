/// A PDF417 barcode of five columns at error correction level 3, drawn module by module.
enum BarcodeImage {
    /// What the barcode says: an AAMVA card of our own.
    static let text =
        "@\n\u{1E}\rANSI 636000100001DL00310080DLDAQA1234567\nDCSMUSTER\nDACERIKA\nDBB05061980\nDBA05062030\nDBC2\r"

    private static let columns = 154
    /// Modules of each row, most significant bit first; 1 is black.
    private static let rows = [
        "3fd51f53ed39e47723a1390422d7be7a9e3fa29", "3fd51f50cbf58433ebe3b5c864fdac7a883fa29",
        "3fd51d4fcefca51be357c1d5f8d5f06a1f3fa29", "3fd51d2e0eae0530c3a1710dccea707d7ebfa29",
        "3fd51d706d7207a843d771a702d3a07ae3bfa29", "3fd51f5e6c25f5fb8a99f1411eb67875f23fa29",
        "3fd514e38ef34477b344611738e61369cf3fa29", "3fd51e920e8c24f2f31709a740afce57e3bfa29",
        "3fd51a67ef7af450f2069d0978a23c7e9dbfa29", "3fd51a3bca6187d4fb5181d270f64751dc3fa29",
        "3fd51d386de9f4f17b5c81f1dae8f77a73bfa29", "3fd51441ec97c6a7c3eb910978a23c519f3fa29",
        "3fd51a0b0d19c68b0218c90c64e6b050503fa29", "3fd51e882e9c6747626fa118fa9e4f7d133fa29",
        "3fd51413c9b3c628fbb93d3ceeb8464af03fa29", "3fd5196e0c4376312218edd6f093b84a083fa29",
    ]

    /// The barcode in a white image, each module `module` wide and three times as high.
    static func draw(module: Int = 3, margin: Int = 30) -> TestImage {
        let height = Self.rows.count * 3 * module
        var image = TestImage(width: Self.columns * module + 2 * margin, height: height + 2 * margin)
        for (row, hex) in Self.rows.enumerated() {
            let bits = hex.flatMap { digit in (0..<4).map { ((digit.hexDigitValue ?? 0) >> (3 - $0)) & 1 } }
            for (column, bit) in bits.suffix(Self.columns).enumerated() where bit == 1 {
                image.fill(
                    x: margin + column * module, y: margin + row * 3 * module, width: module, height: 3 * module,
                    Colour(0, 0, 0))
            }
        }
        return image
    }
}

extension TestImage {
    /// The image as a camera sees it that is nearer to its left side by `perspective` of its depth, sheared by `skew`,
    /// in black and white: bilinearly sampled, in the middle of a larger one.
    func tilted(perspective: Double, skew: Double, width: Int, height: Int, background: Colour) -> TestImage {
        var result = TestImage(width: width, height: height, background)
        for y in 0..<height {
            for x in 0..<width {
                let dx = Double(x) - Double(width) / 2
                let dy = Double(y) - Double(height) / 2
                let depth = 1 - perspective * dx / Double(self.width)
                let u = dx / depth + Double(self.width) / 2
                let v = (dy - skew * dx) / depth + Double(self.height) / 2
                if u < 0 || v < 0 || u >= Double(self.width - 1) || v >= Double(self.height - 1) { continue }
                let (left, top) = (Int(u), Int(v))
                let (right, bottom) = (u - Double(left), v - Double(top))
                let above = Double(self[left, top].red) * (1 - right) + Double(self[left + 1, top].red) * right
                let below = Double(self[left, top + 1].red) * (1 - right) + Double(self[left + 1, top + 1].red) * right
                let grey = UInt8(above * (1 - bottom) + below * bottom)
                result[x, y] = Colour(grey, grey, grey)
            }
        }
        return result
    }
}
