import Foundation

/// Inputs to start from, made by the code that is tried: always of the present format.
enum FuzzSeeds {
    static let quad = Quad(
        topLeft: Point(x: 10, y: 10), topRight: Point(x: 900, y: 10), bottomRight: Point(x: 900, y: 600),
        bottomLeft: Point(x: 10, y: 600))

    /// A side with everything that a side can have.
    static let side = DocumentFacts(
        image: ImageFacts(format: .jpeg, width: 1000, height: 700, orientation: 1),
        outline: OutlineFacts(quad: quad, aspectRatio: 1.42, cornersOutside: 1, support: 0.9),
        quality: QualityFacts(
            laplacianVariance: 300, edgeWidth: 2.5, brightness: 150, contrast: 50, glareShare: 0, chroma: 60,
            backgroundChroma: 40, documentWidth: 890, printShare: 0.05, midtoneShare: 0.8, moire: 1.5, occlusion: 0.01),
        mrz: MRZReading(
            lines: passport, confidences: passport.map { Array(repeating: 0.99, count: $0.count) }, quad: quad,
            pitch: 19,
            corrections: 1, edgeWidths: [0.2, 0.2], turn: 1,
            centres: passport.map { _ in Segment(start: Point(x: 20, y: 500), end: Point(x: 880, y: 500)) }),
        barcodes: [BarcodeFacts(format: "PDF417", text: cards[0], bytesHex: "00", quad: quad)], faces: [face])

    private static let face = FaceFacts(
        box: Box(x: 50, y: 100, width: 200, height: 200), landmarks: [Point(x: 90, y: 150), Point(x: 150, y: 150)],
        detectionScore: 1.5,
        quality: FaceQuality(
            interEyeDistance: 90, roll: 1, yawOffset: 0.02, luminanceMean: 0.3, luminanceVariance: 0.05, overExposed: 0,
            underExposed: 0.1, illuminationUniformity: 0.8, dynamicRange: 7, chroma: 15, sharpness: 200, centreX: 0.5,
            eyeLineY: 0.6, headWidth: 0.5, visible: 1),
        embedding: FaceEmbedding(
            engine: FaceEmbedding.currentEngine, modelSHA256: String(repeating: "a", count: 64),
            hex: String(repeating: "0000803f", count: 128)))

    /// Specimens of ICAO Doc 9303-4 to -7 and layouts of states.
    private static let passport = [
        "P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<", "L898902C36UTO7408122F1204159ZE184226B<<<<<10",
    ]
    private static let mrzs = [
        passport,
        [
            "I<UTOD231458907<<<<<<<<<<<<<<<", "7408122F1204159UTO<<<<<<<<<<<6",
            "ERIKSSON<<ANNA<MARIA<<<<<<<<<<",
        ],
        ["I<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<", "D231458907UTO7408122F1204159<<<<<<<6"],
        ["V<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<", "L8988901C4XXX4009078F96121096ZE184226B<<<<<<"],
        [
            "I<UTOD23145890<7349<<<<<<<<<<<", "3407127M9507122UTO<<<<<<<<<<<2",
            "STEVENSON<<PETER<JOHN<<<<<<<<<",
        ],
        ["IDFRAERIKSSON<<<<<<<<<<<<<<<<<<952042", "0509952018746NICOLAS<<PAUL<8206152M3"],
    ]
    private static let cards = [
        "@\n\u{1E}\rANSI 636000100002DL00410278ZV03190008DLDAQD12345678\nDCSDOE\nDACJOHN\nDADQ\nDBB08121974\nDBA04152034\n"
            + "DBC1\nDAU068 in\nDCGUSA\nDAK123450000  \n\rZVZVA01\n\r",
        "@\n\u{1E}\rAAMVA6360000102DL00390187DL\nDAADOE,JOHN,Q\nDAQD1\nDBB19740812\nDAU508\n\r",
        "ANSI 636000040001DL DAQX1 DCSROE DCTJANE MARY DBB08121974 DCGUSA",
        "@|ANSI 636000090002DL00410278|DAQD1|DCSDOE|DDEN|DDFT",
    ]

    static func write(to folder: String) {
        func write(_ target: FuzzTarget, _ seeds: [[UInt8]]) {
            let path = "\(folder)/\(target.rawValue)"
            do {
                try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
                for (index, seed) in seeds.enumerated() {
                    try Data(seed).write(to: URL(fileURLWithPath: "\(path)/seed-\(index)"))
                }
            } catch { fatalError("\(error)") }
        }
        write(.mrz, self.mrzs.map { Array($0.joined(separator: "\n").utf8) })
        write(.aamva, self.cards.map { Array($0.utf8) })
        write(.chip, self.chipFiles)
        write(.frames, self.messages)
        write(.facts, self.stages)
        write(.metadata, self.images)
    }

    /// Whole files of DG1, DG7, DG11 and DG12 (Doc 9303-10 §4.7), and the first levels of DG2 and EF.SOD.
    private static var chipFiles: [[UInt8]] {
        func element(_ tag: [UInt8], _ content: [UInt8]) -> [UInt8] {
            let count = content.count
            return tag + (count < 128 ? [UInt8(count)] : [0x82, UInt8(count >> 8), UInt8(count & 255)]) + content
        }
        let mrzs = self.mrzs.map { element([0x61], element([0x5F, 0x1F], Array($0.joined().utf8))) }
        let header = Array("FAC\0010\0".utf8) + [UInt8](repeating: 0, count: 40) + [0xFF, 0xD8, 0xFF, 0xD9]
        let portrait = element(
            [0x75], element([0x7F, 0x61], [2, 1, 1] + element([0x7F, 0x60], element([0x5F, 0x2E], header))))
        // signedData (RFC 5652 §5.1) around LDSSecurityObject's object identifier.
        let content = element([0x30], element([0x06], [0x67, 0x81, 0x08, 0x01, 0x01, 0x01]))
        let signed = element([0x30], [2, 1, 3] + element([0x31], []) + content + element([0x31], []))
        let object = element(
            [0x77],
            element(
                [0x30],
                element([0x06], [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x02]) + element([0xA0], signed)))
        func text(_ tag: [UInt8], _ text: String) -> [UInt8] { element(tag, Array(text.utf8)) }
        let signature = element([0x67], [2, 1, 1] + element([0x5F, 0x43], [0xFF, 0xD8, 0xFF, 0xD9]))
        let names = element([0xA0], [2, 1, 1] + text([0x5F, 0x0F], "SMITH<<JOHN<J"))
        let person = element(
            [0x6B],
            text([0x5F, 0x0E], "SMITH<<JOHN") + names + text([0x5F, 0x2B], "19740812")
                + text([0x5F, 0x42], "123 MAPLE RD<ANYTOWN<MN") + text([0x5F, 0x15], "A"))
        let document = element(
            [0x6C],
            text([0x5F, 0x19], "OFFICE") + text([0x5F, 0x26], "20240415") + text([0x5F, 0x55], "20240415133612"))
        return mrzs + [portrait, object, signature, person, document]
    }

    private static var messages: [[UInt8]] {
        let limits = ChildLimits(
            addressSpace: 1 << 40, cpuSeconds: 60, cpuSecondsInAll: 300, sharedMemory: 1 << 26, largestFrame: 1 << 24)
        let end = ProcessEnd(
            pid: 7, exitStatus: -1, signal: 11, dumpedCore: false, maxResidentBytes: 1 << 20, cpuMicroseconds: 5)
        let controls: [ControlMessage] = [
            .fork(child: 1, limits: limits), .kill(child: 2), .ready(microseconds: 3),
            .failed(InspectError(.modelUnavailable, "a file")), .ended(child: 4, end: end),
        ]
        var table = PartTable()
        table.append(kind: "FRONT", byteCount: 1000)
        table.append(kind: "BACK", byteCount: 2000)
        var frame = ByteWriter()
        frame.append(UInt32(4))
        frame.append(UInt32(1))
        frame.append(UInt32(0x494E_5304))
        return controls.map { $0.encoded() } + [
            table.encoded(), InspectError(.corruptImage, "FRONT").encoded, frame.bytes + [1, 2, 3, 4],
        ]
    }

    /// Heads of files with all that is looked for: Exif, XMP and image resources in JPEG, PNG, WebP and HEIC.
    private static var images: [[UInt8]] {
        // Two directories (TIFF 6.0, section 2): a program's name and the place of the other, which holds a comment.
        var exif = Array("MM\0*\0\0\0\u{8}\0\u{2}".utf8)
        exif += [1, 0x31, 0, 2, 0, 0, 0, 4] + Array("GIMP".utf8)
        exif += [0x87, 0x69, 0, 4, 0, 0, 0, 1, 0, 0, 0, 0x26, 0, 0, 0, 0]
        exif += [0, 1, 0x92, 0x86, 0, 7, 0, 0, 0, 10, 0, 0, 0, 0x38, 0, 0, 0, 0] + Array("Screenshot".utf8)
        let packet = Array(
            "<x xmp:CreatorTool='Snapseed' tiff:Make='M' DigitalSourceType='trainedAlgorithmicMedia'/>".utf8)
        let resources = Array("8BIM\u{3}\u{1}\0\0\0\0\0\u{2}ab8BIM\u{4}\u{4}\u{1}n\0\0\0\u{1}c\0".utf8)
        func segment(_ marker: UInt8, _ name: String, _ content: [UInt8]) -> [UInt8] {
            [0xFF, marker, 0, UInt8(2 + name.utf8.count + content.count)] + Array(name.utf8) + content
        }
        func chunk(_ type: String, _ content: [UInt8]) -> [UInt8] {
            [0, 0, 0, UInt8(content.count)] + Array(type.utf8) + content + [0, 0, 0, 0]
        }
        func piece(_ type: String, _ content: [UInt8]) -> [UInt8] {
            Array(type.utf8) + [UInt8(content.count), 0, 0, 0] + content + (content.count % 2 == 0 ? [] : [0])
        }
        let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
        return [
            [0xFF, 0xD8] + segment(0xE1, "Exif\0\0", exif) + segment(0xE1, "http://ns.adobe.com/xap/1.0/\0", packet)
                + segment(0xED, "Photoshop 3.0\0", resources) + [0xFF, 0xDA],
            png + chunk("eXIf", exif) + chunk("iTXt", Array("XML:com.adobe.xmp\0\0\0\0\0".utf8) + packet),
            Array("RIFF\0\0\0\0WEBP".utf8) + piece("EXIF", exif) + piece("XMP ", packet),
            Array("\0\0\0\u{10}ftypheic\0\0\0\0Exif\0\0".utf8) + exif + Array("<x:xmpmeta>".utf8) + packet,
        ]
    }

    private static var stages: [[UInt8]] {
        let portrait = FaceStageFacts.Image(image: self.side.image, faces: [self.face])
        let signals = LivenessFacts(
            signals: Dictionary(uniqueKeysWithValues: LivenessFacts.Signal.allCases.map { ($0.rawValue, 0.95) }),
            network: LivenessNetworkScore(name: "small", modelSHA256: "aa", live: 0.4, threshold: 0.5),
            metadata: ImageMetadata())
        func encoded(_ value: some Encodable) -> Data { (try? JSONEncoder().encode(value)) ?? Data() }
        var document = DocumentStageFacts(sides: ["FRONT": self.side, "BACK": self.side])
        var chip = ChipFacts(authentication: PassiveAuthenticationFacts())
        chip.mrzLines = self.passport
        chip.portrait = portrait
        document.chip = chip
        let stages: [(JobStatus, Data)] = [
            (.acquired, encoded(AcquisitionFacts(images: ["FRONT": self.side.image]))),
            (.document, encoded(document)),
            (.face, encoded(FaceStageFacts(images: ["FACE": portrait]))),
            (.liveness, encoded(LivenessStageFacts(passive: signals))),
        ]
        let all = Dictionary(uniqueKeysWithValues: stages.map { ($0.0.stageName, $0.1) })
        return stages.enumerated().map { [UInt8($0.offset)] + $0.element.1 } + [[0] + encoded(all)]
    }
}
