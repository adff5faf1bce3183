internal import CVision
package import InspectCore

/// Reads the barcodes of an image: PDF417, QR, Data Matrix and Aztec.
package enum BarcodeReader {
    /// All barcodes in `image`, each once.
    ///
    /// Blocks its thread for some 10 to 20 ms of computing; if a barcode cannot be read at once, up to some 300 ms and
    /// `extraMilliseconds` longer.
    ///
    /// - Parameters:
    ///   - outline: The document's outline, if one was found; used to remove perspective.
    ///   - onlyLikely: Reads only regions that look like a barcode; takes half the time if none does.
    ///   - extraMilliseconds: Processor time for regions that cannot be read unchanged.
    package static func read(
        _ image: DecodedImage, outline: OutlineFacts? = nil, onlyLikely: Bool = false, extraMilliseconds: Int = 100
    ) throws(InspectError) -> [BarcodeFacts] {
        var list: OpaquePointer?
        let budget = UInt32(clamping: extraMilliseconds)
        try callVision { error in
            guard let outline else { return cv_barcode_read(image.pointer, nil, onlyLikely, budget, &list, &error) }
            var native = cv_outline(outline)
            return cv_barcode_read(image.pointer, &native, onlyLikely, budget, &list, &error)
        }
        defer { cv_barcodes_free(list) }
        return (0..<cv_barcodes_count(list)).map { BarcodeFacts(cv_barcodes_get(list, $0)) }
    }
}

extension BarcodeFacts {
    fileprivate init(_ barcode: cv_barcode) {
        let bytes = UnsafeBufferPointer(start: barcode.bytes, count: barcode.length)
        let text = UnsafeRawBufferPointer(start: barcode.text, count: barcode.text_length)
        let digits = Array("0123456789abcdef".utf8)
        let hex = bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        self.init(
            format: Self.name(barcode.format),
            text: String(decoding: text.map { $0 }, as: UTF8.self).replacing("\0", with: "\u{FFFD}"),
            bytesHex: String(decoding: hex, as: UTF8.self), quad: Quad(barcode.corners))
    }

    private static func name(_ format: cv_barcode_format) -> String {
        switch format {
        case .pdf417: "PDF417"
        case .qr: "QR_CODE"
        case .dataMatrix: "DATA_MATRIX"
        case .aztec: "AZTEC"
        }
    }
}
