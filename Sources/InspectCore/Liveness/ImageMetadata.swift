/// Origin of an image by its file's metadata: a camera, an editor, a generator or a screenshot.
///
/// Weak signals only: anybody can remove or forge metadata. Of the file's text, only names in ``editors`` are kept.
package struct ImageMetadata: Codable, Sendable, Hashable {
    /// Whether a make or model of a camera is named (CIPA DC-008, Exif 2.32, §4.6.4: tags 0x010F and 0x0110).
    package var namesCamera = false
    /// The editor of ``editors`` that the file names as its software.
    package var editor: String?
    /// Whether image resources of an editor are there (Photoshop File Formats, "Image Resource Section"), other than captions.
    var hasEditorResources = false
    /// Whether the file calls itself a screenshot.
    package var isScreenshot = false
    /// Whether the file says that a generative model made it (IPTC, digital source type).
    var isGenerated = false

    package init() {}

    /// Image editors, by a part of the name that they write. Software of cameras and galleries is not listed.
    static let editors = [
        "Photoshop", "Lightroom", "GIMP", "Snapseed", "PicsArt", "Pixlr", "Affinity Photo", "Paint.NET", "Canva",
        "FaceApp",
        "Facetune", "Meitu", "BeautyPlus", "Luminar", "PaintShop", "PhotoScape", "Photopea", "Krita", "Fotor", "VSCO",
        "Remini", "Picasa", "Paint Tool", "Inkscape",
    ]

    /// Sides of phones' screens in pixels, from makers' data sheets: only shapes (2:1 and longer) that no camera has.
    static let screens: Set<[Int]> = [
        [720, 1520], [720, 1560], [720, 1600], [828, 1792], [1080, 2160], [1080, 2220], [1080, 2280], [1080, 2340],
        [1080, 2400], [1080, 2408], [1080, 2424], [1125, 2436], [1170, 2532], [1179, 2556], [1206, 2622], [1220, 2712],
        [1242, 2688], [1260, 2800], [1280, 2856], [1284, 2778], [1290, 2796], [1320, 2868], [1344, 2992], [1440, 2960],
        [1440, 3040], [1440, 3088], [1440, 3120], [1440, 3200],
    ]

    /// Reasons for a manual check of an image of this size.
    package func reasons(width: Int, height: Int) -> [String] {
        var reasons: [String] = []
        if let editor { reasons.append("the file names the editor \(editor)") }
        if self.hasEditorResources { reasons.append("the file holds an editor's image resources") }
        if self.isGenerated { reasons.append("the file says that a generative model made it") }
        if self.isScreenshot { reasons.append("the file calls itself a screenshot") }
        // A phone that takes photos at its screen's size names itself as the camera.
        if !self.namesCamera, Self.screens.contains([min(width, height), max(width, height)]) {
            reasons.append("the size is a phone screen's, and no camera is named")
        }
        return reasons
    }
}

// MARK: Reading

extension ImageMetadata {
    /// Limits on a file's segments or chunks that are read, and on the bytes of each: real files have tens of a few
    /// kilobytes.
    private static let (mostPieces, mostBytes) = (2_000, 262_144)

    /// Reads what JPEG, PNG, WebP and HEIC files say about themselves; nothing is read from other formats or damaged data.
    ///
    /// - Parameter software: The programs that a PDF names, which only its decoder can find.
    package init(file: [UInt8], software: String = "") {
        if !software.isEmpty { self.readSoftware(ArraySlice(software.utf8)) }
        if file.starts(with: [0xFF, 0xD8]) {
            self.readJPEG(file)
        } else if file.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
            self.readPNG(file)
        } else if file.starts(with: Array("RIFF".utf8)), file.dropFirst(8).starts(with: Array("WEBP".utf8)) {
            self.readWebP(file)
        } else if file.dropFirst(4).starts(with: Array("ftyp".utf8)) {
            self.readHEIC(file)
        }
    }

    /// EXIF and XMP of a HEIF file, found by how they begin: cameras write both before the image (ISO/IEC 23008-12, annex A).
    private mutating func readHEIC(_ file: [UInt8]) {
        let start = file.prefix(Self.mostBytes)
        for place in start.places(of: "Exif\0\0", most: 16) {
            let content = start[place...].dropFirst(6)
            if content.starts(with: Array("MM".utf8)) || content.starts(with: Array("II".utf8)) {
                self.readExif(content)
            }
        }
        if let place = start.places(of: "<x:xmpmeta", most: 1).first { self.readXMP(start[place...]) }
    }

    /// Segments up to the first scan (ITU-T T.81, annex B.1.1).
    private mutating func readJPEG(_ file: [UInt8]) {
        var at = 2
        for _ in 0..<Self.mostPieces {
            guard at + 4 <= file.count, file[at] == 0xFF else { return }
            let marker = file[at + 1]
            // A byte of 0xFF before a marker fills.
            if marker == 0xFF {
                at += 1
                continue
            }
            let length = Int(file[at + 2]) << 8 | Int(file[at + 3])
            guard marker != 0xDA, length >= 2, at + 2 + length <= file.count else { return }
            let content = file[at + 4..<at + 2 + length]
            if marker == 0xE1, let exif = content.after("Exif\0\0") { self.readExif(exif) }
            if marker == 0xE1, let packet = content.after("http://ns.adobe.com/xap/1.0/\0") { self.readXMP(packet) }
            if marker == 0xED, let resources = content.after("Photoshop 3.0\0") { self.readResources(resources) }
            at += 2 + length
        }
    }

    /// Chunks (ISO/IEC 15948, 5.3), including those after the image.
    private mutating func readPNG(_ file: [UInt8]) {
        var at = 8
        for _ in 0..<Self.mostPieces {
            guard at + 12 <= file.count else { return }
            let length = file[at..<at + 4].reduce(0) { $0 << 8 | Int($1) }
            guard length <= file.count - at - 12 else { return }
            let content = file[at + 8..<at + 8 + length].prefix(Self.mostBytes)
            let type = String(decoding: file[at + 4..<at + 8], as: UTF8.self)
            if type == "eXIf" { self.readExif(content) }
            if type == "tEXt", let text = content.after("Software\0") { self.readSoftware(text) }
            if type == "iTXt", let text = content.after("Software\0") { self.readSoftware(text) }
            if type == "iTXt", let packet = content.after("XML:com.adobe.xmp\0") { self.readXMP(packet) }
            if type == "iTXt", let comment = content.after("exif:UserComment\0") { self.readComment(comment) }
            at += 12 + length
        }
    }

    /// Chunks of the RIFF container (WebP Container Specification).
    private mutating func readWebP(_ file: [UInt8]) {
        var at = 12
        for _ in 0..<Self.mostPieces {
            guard at + 8 <= file.count else { return }
            let length = file[at + 4..<at + 8].reversed().reduce(0) { $0 << 8 | Int($1) }
            guard length <= file.count - at - 8 else { return }
            let content = file[at + 8..<at + 8 + length].prefix(Self.mostBytes)
            switch String(decoding: file[at..<at + 4], as: UTF8.self) {
            case "EXIF": self.readExif(content.after("Exif\0\0") ?? content)
            case "XMP ": self.readXMP(content)
            default: break
            }
            // A byte fills odd lengths up.
            at += 8 + length + length % 2
        }
    }

    /// Tags of the first directory and of the one for Exif (CIPA DC-008 §4.6).
    private mutating func readExif(_ tiff: ArraySlice<UInt8>) {
        guard let tiff = TIFF(tiff), let first = tiff.u32(4) else { return }
        // Only the first field of each tag, so that no file makes this take long.
        let fields = tiff.fields(first)
        for tag in [0x010F, 0x0110] where fields[tag]?.text.contains(where: { $0 > 0x20 }) == true {
            self.namesCamera = true
        }
        if let software = fields[0x0131]?.text { self.readSoftware(software) }
        if let exif = fields[0x8769]?.number, let comment = tiff.fields(exif)[0x9286]?.text {
            self.readComment(comment)
        }
    }

    /// Attributes and elements of an XMP packet (ISO 16684-1, 8.2) that name programs.
    private mutating func readXMP(_ packet: ArraySlice<UInt8>) {
        for key in ["CreatorTool", "softwareAgent", "tiff:Software"] {
            for value in packet.values(of: key) { self.readSoftware(value) }
        }
        for key in ["tiff:Make", "tiff:Model"] where !packet.values(of: key).allSatisfy(\.isEmpty) {
            self.namesCamera = true
        }
        for value in packet.values(of: "DigitalSourceType")
        where value.holds("trainedAlgorithmicMedia") {
            self.isGenerated = true
        }
        // Its text may stand in elements of its own, one for each language.
        for place in packet.places(of: "UserComment", most: 16) { self.readComment(packet[place...]) }
    }

    /// Image resources other than IPTC's captions (0x0404) and their digest (0x0425), which programs for captions write.
    private mutating func readResources(_ resources: ArraySlice<UInt8>) {
        var rest = resources
        for _ in 0..<Self.mostPieces {
            guard let resource = rest.after("8BIM"), resource.count >= 3 else { return }
            let bytes = Array(resource.prefix(2))
            let number = Int(bytes[0]) << 8 | Int(bytes[1])
            if number != 0x0404, number != 0x0425 { self.hasEditorResources = true }
            // A name with its length before it, filled up to an even number of bytes; then the length of the data, in the same way.
            let name = 1 + Int(resource[resource.startIndex + 2])
            let content = resource.dropFirst(2 + name + name % 2)
            guard content.count >= 4 else { return }
            let length = content.prefix(4).reduce(0) { $0 << 8 | Int($1) }
            guard length <= content.count - 4 else { return }
            rest = content.dropFirst(4 + length + length % 2)
        }
    }

    private mutating func readSoftware(_ text: ArraySlice<UInt8>) {
        let text = text.prefix(256)
        if self.editor == nil { self.editor = Self.editors.first { text.holds($0) } }
        if text.holds("screenshot") { self.isScreenshot = true }
    }

    /// What phones write with an image of their screen, in bytes or in UTF-16.
    private mutating func readComment(_ text: ArraySlice<UInt8>) {
        if ArraySlice(text.prefix(256).filter { $0 != 0 }).holds("screenshot") { self.isScreenshot = true }
    }
}

/// A file of tagged fields (TIFF 6.0, section 2), of which every offset is checked before it is read.
private struct TIFF {
    private let bytes: ArraySlice<UInt8>
    private let isLittle: Bool

    init?(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        self.isLittle = bytes.starts(with: [0x49, 0x49])
        guard self.isLittle || bytes.starts(with: [0x4D, 0x4D]), self.number(2, bytes: 2) == 42 else { return nil }
    }

    func u32(_ at: Int) -> Int? { self.number(at, bytes: 4) }

    private func number(_ at: Int, bytes count: Int) -> Int? {
        guard at >= 0, at <= self.bytes.count - count else { return nil }
        let start = self.bytes.startIndex + at
        let field = self.bytes[start..<start + count]
        return self.isLittle ? field.reversed().reduce(0) { $0 << 8 | Int($1) } : field.reduce(0) { $0 << 8 | Int($1) }
    }

    /// The fields of the directory at a place, by tag: texts and undefined bytes (types 2 and 7) as such, others as a number.
    func fields(_ directory: Int) -> [Int: (text: ArraySlice<UInt8>, number: Int)] {
        var fields: [Int: (text: ArraySlice<UInt8>, number: Int)] = [:]
        for index in 0..<(self.number(directory, bytes: 2) ?? 0) {
            let at = directory + 2 + 12 * index
            guard let tag = self.number(at, bytes: 2), let type = self.number(at + 2, bytes: 2),
                let length = self.u32(at + 4), let number = self.u32(at + 8)
            else { break }
            guard fields[tag] == nil else { continue }
            let place = length <= 4 ? at + 8 : number
            let isText = [2, 7].contains(type) && place <= self.bytes.count && length <= self.bytes.count - place
            let start = self.bytes.startIndex + place
            fields[tag] = (isText ? self.bytes[start..<start + length] : [], number)
        }
        return fields
    }
}

extension ArraySlice<UInt8> {
    /// What follows `prefix`; `nil` if it begins otherwise.
    fileprivate func after(_ prefix: String) -> ArraySlice<UInt8>? {
        self.starts(with: prefix.utf8) ? self.dropFirst(prefix.utf8.count) : nil
    }

    /// Whether `word` is in it, large or small.
    fileprivate func holds(_ word: String) -> Bool { !self.places(of: word, most: 1).isEmpty }

    /// Where `word` begins, large or small; `most` of them at most.
    fileprivate func places(of word: String, most: Int) -> [Int] {
        func small(_ byte: UInt8) -> UInt8 { (0x41...0x5A).contains(byte) ? byte | 0x20 : byte }
        let word = word.utf8.map(small)
        guard let first = word.first, self.count >= word.count else { return [] }
        var places: [Int] = []
        for at in self.startIndex...self.endIndex - word.count where small(self[at]) == first {
            guard self[at..<at + word.count].elementsEqual(word, by: { small($0) == $1 }) else { continue }
            places.append(at)
            if places.count == most { break }
        }
        return places
    }

    /// The value of `key` as an attribute or element of an XML text, up to the next quote or tag: 16 times and 256 bytes at most.
    fileprivate func values(of key: String) -> [ArraySlice<UInt8>] {
        self.places(of: key, most: 16).map { place in
            let rest = self[place...].dropFirst(key.utf8.count).prefix(256)
            return rest.drop { "=\"'> \n\t".utf8.contains($0) }.prefix { !"\"'<".utf8.contains($0) }
        }
    }
}
