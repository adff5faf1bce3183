internal import CVision
internal import Foundation
package import InspectCore

/// Reads lines of text, found and cut out beforehand, with its own small network (`Sources/CVision/Training`).
package struct TextReader: Sendable {
    /// SHA-256 of the network's weights, lower-case hex.
    package let modelSHA256 = String(cString: cv_text_model_sha256())

    package init() {}

    /// Which network reads a line.
    package enum Networks: Sendable {
        case first, second

        var code: cv_text_readers {
            switch self {
            case .first: CV_TEXT_FIRST
            case .second: CV_TEXT_SECOND
            }
        }
    }

    /// Reads the line at `index` of `page`.
    ///
    /// - Parameter again: Reads the line with other margins and scale, for a second, independent reading.
    package func read(
        _ page: TextPage, line index: Int, again: Bool = false, by networks: Networks = .first
    ) throws(InspectError) -> VIZLine {
        var reading = cv_text_reading()
        try callVision { error in
            cv_text_read(page.pointer, Int32(index), again, networks.code, &reading, &error)
        }
        let (text, confidences) = Self.text(reading)
        let line = page.lines[index]
        return VIZLine(
            text: text, confidences: confidences, quad: line.quad, place: line.place, height: line.height)
    }

    /// Reads the text directly above the line at `index` with the same left edge: the field's name, which is often too small
    /// to be found as a line.
    package func readLabel(above index: Int, of page: TextPage) throws(InspectError) -> VIZLine {
        let line = page.lines[index]
        let size = line.height
        let place = Box(
            x: line.place.x - 0.3 * size, y: line.place.y - 1.3 * size, width: 8.3 * size, height: 1.1 * size)
        let (text, confidences) = try self.text(page, place)
        return VIZLine(text: text, confidences: confidences, quad: line.quad, place: place, height: size / 2)
    }

    /// Reads a place where a value should stand that was not found as a line; nothing if a second reading with less of its
    /// surroundings differs.
    package func read(_ page: TextPage, place: Box) throws(InspectError) -> VIZLine {
        let (text, confidences) = try self.text(page, place)
        let inner = Box(
            x: place.x, y: place.y + 0.05 * place.height, width: place.width, height: 0.9 * place.height)
        let again = try self.text(page, inner)
        let height = place.height / 1.7
        let isSame = again.0 == text
        return VIZLine(
            text: isSame ? text : "", confidences: isSame ? zip(confidences, again.1).map(min) : [],
            quad: page.lines.first?.quad ?? Self.nowhere,
            place: Box(x: place.x, y: place.y, width: place.width, height: height), height: height, isConfirmed: false)
    }

    private static let nowhere = Quad(
        topLeft: Point(x: 0, y: 0), topRight: Point(x: 0, y: 0), bottomRight: Point(x: 0, y: 0),
        bottomLeft: Point(x: 0, y: 0))

    /// Small print, mostly: the second network's.
    private func text(_ page: TextPage, _ place: Box) throws(InspectError) -> (String, [Double]) {
        var reading = cv_text_reading()
        try callVision { error in
            cv_text_read_box(
                page.pointer, place.x * page.side, place.y * page.side, place.width * page.side,
                place.height * page.side, CV_TEXT_SECOND, &reading, &error)
        }
        return Self.text(reading)
    }

    private static func text(_ reading: cv_text_reading) -> (String, [Double]) {
        var text = ""
        var confidences: [Double] = []
        withUnsafeBytes(of: reading.characters) { characters in
            withUnsafeBytes(of: reading.confidences) { values in
                let characters = characters.bindMemory(to: UInt32.self)
                let values = values.bindMemory(to: Float.self)
                for position in 0..<Int(reading.count) {
                    guard let scalar = Unicode.Scalar(characters[position]), scalar.value >= 0x20 else { continue }
                    let before = text.count
                    text.unicodeScalars.append(scalar)
                    // A combining mark joins the character before it.
                    if text.count > before { confidences.append(Double(values[position])) }
                }
            }
        }
        return (text.precomposedStringWithCanonicalMapping, confidences)
    }
}

/// A straightened document with its lines of text, not yet read.
package final class TextPage {
    /// One line: its position and its amount of text.
    package struct Line: Sendable {
        /// Its corners in the image, clockwise from the line's own top left.
        package var quad: Quad
        /// As shares of the document's longer side.
        package var place: Box
        /// Height of its capitals, as a share of the document's longer side.
        package var height: Double
        /// Connected strokes, about one for each character.
        package var marks: Int
    }

    let pointer: OpaquePointer
    /// The longer side in pixels.
    let side: Double
    /// As a share of the longer side.
    package let width: Double
    /// From top to bottom.
    package let lines: [Line]

    /// Straightens `corners` of `image` and finds the lines; takes 5 to 15 ms.
    ///
    /// - Parameters:
    ///   - corners: The document, as it is read upright.
    ///   - ignoring: Regions without VIZ text: the MRZ, barcodes.
    ///   - portraits: The same, but a line's first letters may stand in a portrait's surroundings.
    ///   - side: The longer side of the straightened document in pixels; `nil`: what a document's small print takes.
    package convenience init(
        _ image: DecodedImage, corners: Quad, ignoring: [Quad] = [], portraits: [Quad] = [], side: Double? = nil
    ) throws(InspectError) {
        let quad = [corners.corners.0, corners.corners.1, corners.corners.2, corners.corners.3]
        let ignored = (ignoring + portraits).flatMap { [$0.corners.0, $0.corners.1, $0.corners.2, $0.corners.3] }
        var page: OpaquePointer?
        try callVision { error in
            cv_text_page_create(
                image.pointer, quad, ignored, Int32(ignoring.count + portraits.count), Int32(portraits.count),
                side ?? 0, &page, &error)
        }
        guard let page else { throw InspectError(.internalError, "straightening returned no page") }
        self.init(page)
    }

    /// The state's sign on the EU emblem in the upper left of a card, as a page of its own; `nil` if there is no emblem.
    package static func emblem(_ image: DecodedImage, corners: Quad) throws(InspectError) -> TextPage? {
        let quad = [corners.corners.0, corners.corners.1, corners.corners.2, corners.corners.3]
        var page: OpaquePointer?
        try callVision { error in cv_text_emblem_create(image.pointer, quad, &page, &error) }
        return page.map { TextPage($0) }
    }

    private init(_ page: OpaquePointer) {
        self.pointer = page
        var (width, height) = (0.0, 0.0)
        cv_text_page_size(page, &width, &height)
        let side = max(width, height, 1)
        self.side = side
        self.width = width / side
        self.lines = (0..<cv_text_page_count(page)).map { index in
            let line = cv_text_page_line(page, index)
            return Line(
                quad: Quad(line.quad),
                place: Box(x: line.x / side, y: line.y / side, width: line.width / side, height: line.height / side),
                height: line.character_height / side, marks: Int(line.marks))
        }
    }

    deinit { cv_text_page_free(self.pointer) }
}
