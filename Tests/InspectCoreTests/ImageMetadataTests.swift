import Foundation
import InspectCore
import Testing

/// The origin of images by metadata, in each place where programs write it.
@Suite struct ImageMetadataTests {
    private static func big(_ value: Int, _ bytes: Int) -> [UInt8] {
        (0..<bytes).map { UInt8(truncatingIfNeeded: value >> (8 * (bytes - 1 - $0))) }
    }

    /// A TIFF header with one directory of texts, and behind it one for Exif with a comment.
    private static func exif(_ texts: [Int: String], comment: String? = nil, little: Bool = false) -> [UInt8] {
        func number(_ value: Int, _ bytes: Int) -> [UInt8] {
            little ? Self.big(value, bytes).reversed() : Self.big(value, bytes)
        }
        func directory(_ fields: [(tag: Int, type: Int, content: [UInt8])], at start: Int) -> [UInt8] {
            var entries = number(fields.count, 2)
            var contents: [UInt8] = []
            let behind = start + 2 + 12 * fields.count + 4
            for field in fields {
                let isShort = field.content.count <= 4
                entries += number(field.tag, 2) + number(field.type, 2)
                entries += number(field.type == 4 ? 1 : field.content.count, 4)
                entries += isShort ? field.content : number(behind + contents.count, 4)
                if isShort { entries += [UInt8](repeating: 0, count: 4 - field.content.count) }
                if !isShort { contents += field.content }
            }
            return entries + number(0, 4) + contents
        }
        var fields = texts.sorted { $0.key < $1.key }.map {
            (tag: $0.key, type: 2, content: Array($0.value.utf8) + [0])
        }
        let header = Array((little ? "II" : "MM").utf8) + number(42, 2) + number(8, 4)
        guard let comment else { return header + directory(fields, at: 8) }
        fields.append((0x8769, 4, number(0, 4)))
        let place = 8 + directory(fields, at: 8).count
        fields[fields.count - 1].content = number(place, 4)
        let inner = [(tag: 0x9286, type: 7, content: Array("ASCII\0\0\0\(comment)".utf8))]
        return header + directory(fields, at: 8) + directory(inner, at: place)
    }

    private static func jpeg(_ segments: [(marker: UInt8, content: [UInt8])]) -> [UInt8] {
        var file: [UInt8] = [0xFF, 0xD8]
        for segment in segments {
            file += [0xFF, segment.marker] + Self.big(segment.content.count + 2, 2)
            file += segment.content
        }
        return file + [0xFF, 0xDA, 0, 4, 0, 0, 0xFF, 0xD9]
    }

    private static func segment(exif: [UInt8]) -> (marker: UInt8, content: [UInt8]) {
        (0xE1, Array("Exif\0\0".utf8) + exif)
    }

    private static func segment(xmp: String) -> (marker: UInt8, content: [UInt8]) {
        (0xE1, Array("http://ns.adobe.com/xap/1.0/\0\(xmp)".utf8))
    }

    private static func png(_ chunks: [(type: String, content: [UInt8])]) -> [UInt8] {
        var file: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
        for chunk in chunks {
            file += Self.big(chunk.content.count, 4) + Array(chunk.type.utf8)
            file += chunk.content + [0, 0, 0, 0]
        }
        return file
    }

    private static func webp(_ chunks: [(type: String, content: [UInt8])]) -> [UInt8] {
        var file = Array("RIFF\0\0\0\0WEBP".utf8)
        for chunk in chunks {
            file += Array(chunk.type.utf8) + Self.big(chunk.content.count, 4).reversed()
            file += chunk.content
            if chunk.content.count % 2 == 1 { file.append(0) }
        }
        return file
    }

    /// Boxes of no matter, then what cameras write before the image.
    private static func heic(_ contents: [[UInt8]]) -> [UInt8] {
        Self.big(16, 4) + Array("ftypheic\0\0\0\0".utf8) + Array("Exif\0\0\0\0".utf8) + contents.joined()
    }

    /// Image resources with these numbers.
    private static func resources(_ numbers: [Int]) -> (marker: UInt8, content: [UInt8]) {
        var content = Array("Photoshop 3.0\0".utf8)
        for number in numbers {
            content += Array("8BIM".utf8) + Self.big(number, 2)
            content += [0, 0] + Self.big(3, 4) + [1, 2, 3, 0]
        }
        return (0xED, content)
    }

    private static func reasons(_ file: [UInt8], width: Int = 1200, height: Int = 1600) -> [String] {
        ImageMetadata(file: file).reasons(width: width, height: height)
    }

    private static let edited = ["the file names the editor GIMP"]
    private static let screen = ["the size is a phone screen's, and no camera is named"]

    @Test func `Images of cameras and images without metadata give no reason`() {
        for little in [false, true] {
            let camera = Self.exif(
                [0x010F: "Apple", 0x0110: "iPhone 14", 0x0131: "17.1.2"], comment: "a day out", little: little)
            let file = Self.jpeg([Self.segment(exif: camera)])
            #expect(ImageMetadata(file: file).namesCamera)
            #expect(Self.reasons(file).isEmpty)
            // A phone that takes photos in the shape of its screen.
            #expect(Self.reasons(file, width: 1170, height: 2532).isEmpty)
        }
        #expect(Self.reasons(Self.jpeg([])).isEmpty)
        #expect(Self.reasons(Self.png([("IDAT", [1, 2])]), width: 1080, height: 1920).isEmpty)
        #expect(Self.reasons([]).isEmpty)
        // Captions, and an editor's namespace without its name.
        #expect(Self.reasons(Self.jpeg([Self.resources([0x0404, 0x0425])])).isEmpty)
        let gallery = #"<rdf xmp:CreatorTool="HDR+ 1.0" photoshop:DateCreated="2026-01-01" xmlns:photoshop="x"/>"#
        #expect(Self.reasons(Self.jpeg([Self.segment(xmp: gallery)])).isEmpty)
    }

    @Test func `Editors are found wherever files name them`() {
        let exif = Self.exif([0x0131: "GIMP 2.10.36"])
        let packets = [
            "<x xmp:CreatorTool='GIMP 2.10'/>", "<xmp:CreatorTool>\n GIMP 2.10</xmp:CreatorTool>",
            #"<li stEvt:action="saved" stEvt:softwareAgent="Gimp 2.10 (Linux)"/>"#,
            "<tiff:Software>gimp</tiff:Software>",
        ]
        #expect(Self.reasons(Self.jpeg([(0xE0, [1]), Self.segment(exif: exif)])) == Self.edited)
        #expect(Self.reasons(Self.webp([("VP8 ", [1]), ("EXIF", exif)])) == Self.edited)
        #expect(Self.reasons(Self.heic([[0, 0, 0, 6] + Array("Exif\0\0".utf8) + exif])) == Self.edited)
        #expect(Self.reasons(Self.heic([Array("<x:xmpmeta><x xmp:CreatorTool='GIMP'/>".utf8)])) == Self.edited)
        #expect(Self.reasons(Self.png([("IDAT", [1]), ("eXIf", exif)])) == Self.edited)
        #expect(Self.reasons(Self.png([("tEXt", Array("Software\0GIMP".utf8))])) == Self.edited)
        for packet in packets {
            #expect(Self.reasons(Self.jpeg([Self.segment(xmp: packet)])) == Self.edited, "\(packet)")
            #expect(Self.reasons(Self.webp([("XMP ", Array(packet.utf8))])) == Self.edited)
            let text = Array("XML:com.adobe.xmp\0\0\0\0\0\(packet)".utf8)
            #expect(Self.reasons(Self.png([("iTXt", text)])) == Self.edited)
        }
        #expect(
            Self.reasons(Self.jpeg([Self.resources([0x0404, 0x03ED])])) == [
                "the file holds an editor's image resources"
            ])
        // Image data are no metadata.
        #expect(Self.reasons(Self.jpeg([]) + Self.jpeg([Self.segment(exif: exif)]).dropFirst(2)).isEmpty)
    }

    @Test func `Screenshots and generated images are found by their metadata or the size of a screen`() {
        let shot = ["the file calls itself a screenshot"]
        let comment = Self.exif([0x0131: "17.1"], comment: "Screenshot")
        #expect(Self.reasons(Self.jpeg([Self.segment(exif: comment)])) == shot)
        #expect(Self.reasons(Self.png([("tEXt", Array("Software\0gnome-screenshot".utf8))])) == shot)
        let wide = Self.exif([0x0131: "17.1"], comment: "Screenshot".map { "\($0)\0" }.joined())
        #expect(Self.reasons(Self.jpeg([Self.segment(exif: wide)])) == shot)
        let languages = """
            <exif:UserComment><rdf:Alt><rdf:li xml:lang="x-default">Screenshot</rdf:li></rdf:Alt></exif:UserComment>
            """
        #expect(Self.reasons(Self.jpeg([Self.segment(xmp: languages)])) == shot)
        #expect(Self.reasons(Self.png([]), width: 1170, height: 2532) == Self.screen)
        #expect(Self.reasons(Self.png([]), width: 2400, height: 1080) == Self.screen)
        let generated =
            #"<x Iptc4xmpExt:DigitalSourceType="http://cv.iptc.org/newscodes/digitalsourcetype/trainedAlgorithmicMedia"/>"#
        #expect(
            Self.reasons(Self.jpeg([Self.segment(xmp: generated)])) == ["the file says that a generative model made it"]
        )
    }

    @Test func `A damaged file is never read beyond its end, nor for long`() {
        let comment = Self.exif([0x010F: "Maker", 0x0131: "GIMP 2.10.36"], comment: "Screenshot")
        let packet = "<x xmp:CreatorTool='GIMP' tiff:Make=''/>"
        let files = [
            Self.jpeg([Self.segment(exif: comment), Self.segment(xmp: packet), Self.resources([0x0404, 1, 2])]),
            Self.png([("eXIf", comment), ("iTXt", Array("XML:com.adobe.xmp\0\0\0\0\0\(packet)".utf8))]),
            Self.webp([("EXIF", comment), ("XMP ", Array(packet.utf8))]),
            Self.heic([Array("Exif\0\0".utf8) + comment, Array("<x:xmpmeta>\(packet)".utf8)]),
        ]
        for file in files {
            #expect(ImageMetadata(file: file).editor == "GIMP")
            for length in file.indices { _ = ImageMetadata(file: Array(file.prefix(length))) }
            for index in file.indices {
                for value in [0, 0xFF, file[index] &+ 1, file[index] ^ 0x80] as [UInt8] {
                    var damaged = file
                    damaged[index] = value
                    _ = ImageMetadata(file: damaged)
                }
            }
        }
        // A directory that fills its segment and leads to itself.
        var loop = Array("MM".utf8) + Self.big(42, 2) + Self.big(8, 4)
        loop += Self.big(5_000, 2)
        for _ in 0..<5_000 { loop += Self.big(0x8769_0004, 4) + Self.big(1, 4) + Self.big(8, 4) }
        #expect(ImageMetadata(file: Self.jpeg([Self.segment(exif: loop)])) == ImageMetadata())
    }
}
