import Foundation
import InspectCore
import TestSupport
import Testing

@testable import Vision

@Suite struct PDFTests {
    @Test func `A PDF of one image gives that image`() throws {
        let deflated = PNG.stored(SmallPDF.samples)
        // Each row with PNG's predictor "Up": the second is what it adds to the first.
        let up: [UInt8] = [2, 255, 0, 0, 0, 255, 0] + [2, 1, 0, 255, 255, 0, 255]
        let predicted = PNG.stored(up)
        for image in [
            SmallPDF.image(SmallPDF.samples), SmallPDF.image(deflated, filter: "/FlateDecode"),
            SmallPDF.image(deflated, filter: "[/FlateDecode]"),
            SmallPDF.image(deflated, space: "/CalRGB", filter: "/FlateDecode"),
            SmallPDF.image(
                predicted, filter: "/FlateDecode", more: "/DecodeParms << /Predictor 12 /Colors 3 /Columns 2 >>"),
            SmallPDF.image(
                [0b0001_0000, 0b1011_0000], space: "[/Indexed /DeviceRGB 3 <FF000000FF000000FFFFFFFF>]", bits: 2),
        ] {
            let decoded = try Decoding.decode(SmallPDF.page(image))
            #expect(Decoding.corners(decoded) == "RGWB")
            #expect(decoded.facts == ImageFacts(format: .pdf, width: 2, height: 2, orientation: 1))
        }
        for (bytes, filter) in [
            (SmallImage.jpeg, "/DCTDecode"), (PNG.stored(SmallImage.jpeg), "[/FlateDecode /DCTDecode]"),
            (SmallImage.jp2, "/JPXDecode"), (SmallImage.codestream, "/JPXDecode"),
        ] {
            let decoded = try Decoding.decode(
                SmallPDF.page(SmallPDF.image(bytes, width: 24, height: 16, filter: filter)))
            #expect(Decoding.corners(decoded) == "RGWB")
            #expect(decoded.facts == ImageFacts(format: .pdf, width: 24, height: 16, orientation: 1))
        }
        let grey = try Decoding.decode(
            SmallPDF.page(SmallPDF.image([0b0101_0000, 0b1111_0000], space: "/DeviceGray", bits: 2)))
        #expect(Decoding.pixel(grey, 0, 0) == Colour(85, 85, 85) && Decoding.pixel(grey, 0, 1) == Colour(255, 255, 255))
        #expect(grey.facts.isGrey == true)
        let negative = SmallPDF.image(
            [255, 255, 0, 0, 255, 255], width: 2, height: 1, more: "/Decode [1 0 1 0 1 0]")
        #expect(Decoding.pixel(try Decoding.decode(SmallPDF.page(negative)), 0, 0) == Colour(0, 0, 255))
    }

    /// The page's own turn and that of its content, once each; the turn that a JPEG's EXIF data name is not the page's.
    @Test func `A PDF's image lies as the page shows it`() throws {
        let image = SmallPDF.image(SmallPDF.samples)
        for (matrix, corners) in [
            ("200 0 0 100 0 0", "RGWB"), ("-200 0 0 100 200 0", "GRBW"), ("-200 0 0 -100 200 100", "WBRG"),
            ("200 0 0 -100 0 100", "BWGR"), ("0 100 -200 0 200 0", "GWBR"), ("0 -100 200 0 0 100", "BRGW"),
            ("0 100 200 0 0 0", "WGRB"), ("0 -100 -200 0 200 100", "RBWG"),
        ] {
            #expect(
                Decoding.corners(try Decoding.decode(SmallPDF.page(image, content: "q \(matrix) cm /Im Do Q")))
                    == corners)
        }
        for (turn, corners) in [(0, "RGWB"), (90, "BRGW"), (180, "WBRG"), (270, "GWBR"), (-90, "GWBR"), (450, "BRGW")] {
            #expect(Decoding.corners(try Decoding.decode(SmallPDF.page(image, more: "/Rotate \(turn)"))) == corners)
        }
        let both = SmallPDF.page(image, content: "q 0 100 -200 0 200 0 cm /Im Do Q", more: "/Rotate 90")
        #expect(Decoding.corners(try Decoding.decode(both)) == "RGWB")
        let turned = SmallPDF.image(SmallImage.jpeg(orientation: 6), width: 24, height: 16, filter: "/DCTDecode")
        #expect(Decoding.corners(try Decoding.decode(SmallPDF.page(turned))) == "RGWB")
    }

    @Test(arguments: [
        "q 200 0 0 100 0 0 cm /Im Do Q q 9 0 0 9 0 0 cm /Im Do Q", "/Im Do BT /F 12 Tf (Name) Tj ET",
        "q 200 50 -50 100 0 0 cm /Im Do Q", "0 0 9 9 re f", "/Im Do 0 0 9 9 re f", "/Im Do 0 0 9 9 re S", "",
        "q 0 0 0 0 0 0 cm /Im Do Q", "BI /W 1 /H 1 ID x EI", "/Im Do /Sh sh",
    ])
    func `A PDF that shows anything else is refused`(content: String) {
        #expect(Decoding.code(SmallPDF.page(SmallPDF.image(SmallPDF.samples), content: content)) == .unsupportedFormat)
    }

    @Test(arguments: [
        "1 1 1 rg 0 0 200 100 re f q 200 0 0 100 0 0 cm /Im Do Q",
        "/Im Do BT 3 Tr /F 12 Tf (Name) Tj [(a) 2 (b)] TJ ET",
        "q Q q 0 0 200 100 re W n q 200 0 0 100 0 0 cm /Im Do Q Q", "/P << /MCID 0 >> BDC /Im Do EMC",
        "% (\n/G gs q 2 0 0 1 0 0 cm 100 0 0 100 0 0 cm /Im Do Q Q",
    ])
    func `What a scanner adds is no other content`(content: String) throws {
        #expect(
            Decoding.corners(try Decoding.decode(SmallPDF.page(SmallPDF.image(SmallPDF.samples), content: content)))
                == "RGWB")
    }

    @Test func `A PDF's programs are judged as those of other files`() throws {
        func metadata(_ information: String, trailer: String = "/Info 6 0 R") throws -> ImageMetadata {
            let file = SmallPDF.page(
                SmallPDF.image(SmallPDF.samples), others: [Array(information.utf8)], trailer: trailer)
            return ImageMetadata(file: file, software: try Decoding.decode(file).software)
        }
        #expect(try metadata("<< /Creator (Adobe Photoshop 25.0) /Producer (x) >>").editor == "Photoshop")
        #expect(try metadata("<< /Producer (GIMP 2.10) >>").editor == "GIMP")
        // UTF-16, as most programs write it.
        #expect(try metadata("<< /Creator <FEFF00470049004D0050> >>").editor == "GIMP")
        let long = String(repeating: "a", count: 5000)
        #expect(try metadata("<< /Creator (\(long)) /Producer (GIMP) >>").editor == "GIMP")
        #expect(try metadata("<< /Creator (Scanner) /Title (GIMP) >>") == ImageMetadata())
        // What is wrong there spoils no image.
        for (information, trailer) in [
            ("<< /Creator 5 0 R >>", "/Info 6 0 R"), ("7", "/Info 6 0 R"), ("<< >>", "/Info 99 0 R"),
            ("<< /Creator", "/Info 6 0 R"),
        ] {
            #expect(try metadata(information, trailer: trailer) == ImageMetadata(), "\(information)")
        }
    }

    @Test func `Other PDFs are refused with what to do`() {
        let image = SmallPDF.image(SmallPDF.samples)
        let two = SmallPDF.file([
            Array("<< /Type /Catalog /Pages 2 0 R >>".utf8),
            Array("<< /Type /Pages /Kids [3 0 R 4 0 R] /Count 2 >>".utf8),
            Array("<< /Type /Page /Parent 2 0 R >>".utf8), Array("<< /Type /Page /Parent 2 0 R >>".utf8),
        ])
        for bytes in [
            two, SmallPDF.page(image, more: "/Annots [<< /Subtype /Stamp >>]"),
            SmallPDF.page(SmallPDF.image(SmallPDF.samples, more: "/SMask 5 0 R")),
            SmallPDF.page(SmallPDF.image(SmallPDF.samples, more: "/ImageMask true")),
            SmallPDF.page(SmallPDF.image(SmallPDF.samples, filter: "/CCITTFaxDecode")),
            SmallPDF.page(SmallPDF.image(SmallPDF.samples, space: "/DeviceCMYK")),
        ] {
            do {
                _ = try Decoding.decode(bytes)
                Issue.record("it was decoded")
            } catch {
                #expect(error.code == .unsupportedFormat && error.detail.contains("JPEG or PNG"), "\(error)")
            }
        }
    }

    @Test func `A PDF is within the limits of images, and damage is noticed`() {
        let bomb = SmallPDF.image(
            PNG.stored([UInt8](repeating: 0, count: 1000)), width: 10_000, height: 10_000, filter: "/FlateDecode")
        #expect(Decoding.code(SmallPDF.page(bomb)) == .tooManyPixels)
        let short = SmallPDF.image(PNG.stored(SmallPDF.samples), width: 200, height: 200, filter: "/FlateDecode")
        #expect(Decoding.code(SmallPDF.page(short)) == .corruptImage)
        let loop = SmallPDF.file([
            Array("<< /Type /Catalog /Pages 2 0 R >>".utf8), Array("<< /Type /Pages /Kids [2 0 R] /Count 1 >>".utf8),
        ])
        #expect([.corruptImage, .unsupportedFormat].contains(Decoding.code(loop)))
        let good = SmallPDF.page(SmallPDF.image(PNG.stored(SmallPDF.samples), filter: "/FlateDecode"))
        Decoding.damage(good, step: 7)
    }
}
