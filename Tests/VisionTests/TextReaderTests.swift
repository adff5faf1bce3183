import Foundation
import InspectCore
import Testing
import TextReferee

@testable import Vision

/// A page of lines in fonts that the text reader was not trained on (`Sources/CVision/Training/viz_page.py` draws it).
struct TextReaderTests {
    private struct Line: Decodable {
        var text: String
        /// A point within the line's first character, and the line its letters stand on.
        var x: Double
        var base: Double
        var isLatin: Bool
    }

    private let image: DecodedImage
    private let page: TextPage
    private let truth: [Line]

    init() throws {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Truth")
        self.truth = try JSONDecoder().decode(
            [Line].self, from: Data(contentsOf: folder.appendingPathComponent("lines.json")))
        self.image = try Decoding.decode([UInt8](Data(contentsOf: folder.appendingPathComponent("lines.jpg"))))
        let (width, height) = (Double(self.image.facts.width), Double(self.image.facts.height))
        let frame = Quad(
            topLeft: Point(x: 0, y: 0), topRight: Point(x: width, y: 0), bottomRight: Point(x: width, y: height),
            bottomLeft: Point(x: 0, y: height))
        self.page = try TextPage(self.image, corners: frame)
    }

    /// The line found where `line` was drawn. The page has the image's own scale.
    private func found(_ line: Line) -> Int? {
        self.page.lines.firstIndex { other in
            let place = other.place
            let (x, y) = (line.x / self.page.side, (line.base - 4) / self.page.side)
            return place.x - place.height <= x && x <= place.x + place.width && place.y <= y
                && y <= place.y + place.height
        }
    }

    /// What Tesseract reads there, with as much room around it.
    private func refereed(_ index: Int, _ referee: OpaquePointer) -> String? {
        let line = self.page.lines[index]
        let (side, margin) = (self.page.side, 0.3 * line.height)
        let columns = Int((line.place.x - margin) * side)..<Int((line.place.x + line.place.width + margin) * side)
        let rows = Int((line.place.y - margin) * side)..<Int((line.place.y + line.place.height + margin) * side)
        let gray = rows.flatMap { y in
            columns.map { x in self.image.rgb(x: max(0, x), y: max(0, y))?.green ?? 255 }
        }
        guard let text = referee_read(referee, gray, Int32(columns.count), Int32(rows.count)) else { return nil }
        defer { referee_text_free(text) }
        return String(cString: text).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    @Test func `Print that was not trained on is read more exactly than by Tesseract`() throws {
        let referee = try #require(referee_create())
        defer { referee_free(referee) }
        let latin = self.truth.filter(\.isLatin)
        var (exact, refereed) = (0, 0)
        for line in latin {
            guard let index = self.found(line) else { continue }
            exact += try TextReader().read(self.page, line: index).text == line.text ? 1 : 0
            refereed += self.refereed(index, referee) == line.text ? 1 : 0
        }
        #expect(latin.count == 50)
        #expect(refereed >= 18, "otherwise the referee was not given the lines")
        #expect(exact >= 34)
        #expect(exact > refereed)
    }

    @Test func `A portrait that covers the first letters of a line does not cut them off, a barcode does`() throws {
        let line = try #require(
            self.truth.filter(\.isLatin).compactMap(self.found).first { self.page.lines[$0].marks >= 8 })
        let place = self.page.lines[line].place
        let side = self.page.side
        // Over the first letter and half of the next.
        let right = (place.x + 1.2 * self.page.lines[line].height) * side
        let portrait = Quad(
            topLeft: Point(x: 0, y: (place.y - 0.02) * side), topRight: Point(x: right, y: (place.y - 0.02) * side),
            bottomRight: Point(x: right, y: (place.y + place.height + 0.02) * side),
            bottomLeft: Point(x: 0, y: (place.y + place.height + 0.02) * side))
        let (width, height) = (Double(self.image.facts.width), Double(self.image.facts.height))
        let frame = Quad(
            topLeft: Point(x: 0, y: 0), topRight: Point(x: width, y: 0), bottomRight: Point(x: width, y: height),
            bottomLeft: Point(x: 0, y: height))
        func again(_ page: TextPage) throws -> TextPage.Line {
            try #require(page.lines.first { abs($0.place.y - place.y) < 0.5 * place.height && $0.marks > 2 })
        }
        let letter = self.page.lines[line].height
        let beside = try again(TextPage(self.image, corners: frame, portraits: [portrait]))
        #expect(abs(beside.place.x - place.x) < 0.4 * letter)
        let behind = try again(TextPage(self.image, corners: frame, ignoring: [portrait]))
        #expect(behind.place.x > place.x + 0.8 * letter)
        let both = try again(TextPage(self.image, corners: frame, ignoring: [portrait], portraits: [portrait]))
        #expect(both.place.x > place.x + 0.8 * letter)
    }

    @Test(arguments: [("5119 Quito", 1.7), ("MAI /MAI 2, 1920", 1.7)])
    func `Neither punctuation nor a letter's faint edge ends a line behind a portrait`(
        text: String, covered: Double
    ) throws {
        let line = self.page.lines[try #require(self.truth.first { $0.text == text }.flatMap(self.found))]
        let side = self.page.side
        let (left, right) = (line.place.x - 2 * line.height, line.place.x + covered * line.height)
        let (top, bottom) = (line.place.y - 0.02, line.place.y + line.place.height + 0.02)
        let portrait = Quad(
            topLeft: Point(x: left * side, y: top * side), topRight: Point(x: right * side, y: top * side),
            bottomRight: Point(x: right * side, y: bottom * side), bottomLeft: Point(x: left * side, y: bottom * side))
        let (width, height) = (Double(self.image.facts.width), Double(self.image.facts.height))
        let frame = Quad(
            topLeft: Point(x: 0, y: 0), topRight: Point(x: width, y: 0), bottomRight: Point(x: width, y: height),
            bottomLeft: Point(x: 0, y: height))
        let page = try TextPage(self.image, corners: frame, portraits: [portrait])
        let beside = try #require(
            page.lines.first { abs($0.place.y - line.place.y) < 0.5 * line.place.height && $0.marks > 2 })
        #expect(abs(beside.place.x - line.place.x) < 0.4 * line.height)
    }

    @Test func `A letter and its diacritic are one character with one confidence`() throws {
        var marked = 0
        for index in self.page.lines.indices {
            let line = try TextReader().read(self.page, line: index)
            #expect(line.text.unicodeScalars.count == line.confidences.count)
            marked += line.text.count { $0.isLetter && !$0.isASCII }
        }
        #expect(marked >= 20)
    }

    /// They look like Latin ones, and a name in them must not be reported as read.
    @Test func `Letters of other scripts are never certain`() throws {
        let others = self.truth.filter { !$0.isLatin }
        #expect(others.count == 2)
        for line in others {
            let index = try #require(self.found(line))
            #expect(try TextReader().read(self.page, line: index).confidence == 0)
        }
    }
}
