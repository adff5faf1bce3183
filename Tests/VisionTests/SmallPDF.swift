import TestSupport

/// PDFs of one image, object by object, so that a test can also write wrong ones.
enum SmallPDF {
    static func file(_ objects: [[UInt8]], trailer: String = "") -> [UInt8] {
        var bytes = Array("%PDF-1.4\n".utf8)
        var places: [Int] = []
        for (index, object) in objects.enumerated() {
            places.append(bytes.count)
            bytes += Array("\(index + 1) 0 obj\n".utf8) + object + Array("\nendobj\n".utf8)
        }
        let start = bytes.count
        bytes += Array("xref\n0 \(objects.count + 1)\n0000000000 65535 f \n".utf8)
        for place in places {
            let digits = String(place)
            bytes += Array((String(repeating: "0", count: 10 - digits.count) + digits + " 00000 n \n").utf8)
        }
        bytes += Array(
            "trailer\n<< /Size \(objects.count + 1) /Root 1 0 R \(trailer) >>\nstartxref\n\(start)\n%%EOF\n".utf8)
        return bytes
    }

    static func stream(_ dictionary: String, _ data: [UInt8]) -> [UInt8] {
        Array("<< \(dictionary) /Length \(data.count) >>\nstream\n".utf8) + data + Array("\nendstream".utf8)
    }

    static let drawn = "q 200 0 0 100 0 0 cm /Im Do Q"

    /// A document whose page draws object 5.
    static func page(
        _ image: [UInt8], content: String = Self.drawn, more: String = "", others: [[UInt8]] = [], trailer: String = ""
    ) -> [UInt8] {
        Self.file(
            [
                Array("<< /Type /Catalog /Pages 2 0 R >>".utf8),
                Array("<< /Type /Pages /Kids [3 0 R] /Count 1 /MediaBox [0 0 200 100] >>".utf8),
                Array(
                    "<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /XObject << /Im 5 0 R >> >> \(more) >>"
                        .utf8
                ),
                Self.stream("", Array(content.utf8)), image,
            ] + others, trailer: trailer)
    }

    static func image(
        _ data: [UInt8], width: Int = 2, height: Int = 2, space: String = "/DeviceRGB", bits: Int = 8,
        filter: String? = nil, more: String = ""
    ) -> [UInt8] {
        Self.stream(
            "/Type /XObject /Subtype /Image /Width \(width) /Height \(height) /ColorSpace \(space) "
                + "/BitsPerComponent \(bits) \(filter.map { "/Filter \($0)" } ?? "") \(more)", data)
    }

    static let samples: [UInt8] = [255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 255]
}
