/// An image with the facts drawn over it, in their coordinates.
struct ReportImage {
    var part: String
    var image: ImageFacts
    var preview: Preview?
    /// Where the page fetches the image that it does not carry.
    var path: String?
    var outline: OutlineFacts?
    var mrz: MRZReading?
    var barcodes: [BarcodeFacts] = []
    var faces: [FaceFacts] = []
    /// Where a face was on this frame and those that follow.
    var track: [Box] = []

    var markup: Markup { self.figure(tools: "") }

    /// - Parameter tools: The tools above the image.
    func figure(tools: Markup) -> Markup {
        let (width, height) = (self.image.width, self.image.height)
        return """
            <figure>
            \(tools)<svg viewBox='0 0 \(width) \(height)' role='img' aria-label='\(self.part)'>
            \(self.pixels)<g fill='none' stroke-width='2'>
            \(self.shapes)</g>
            </svg>
            <figcaption>\(self.part): \(self.caption)\(self.link)</figcaption>
            </figure>

            """
    }

    private var pixels: Markup {
        // Hidden by the image, once it is here.
        let words: Markup =
            "<text x='50%' y='50%' text-anchor='middle' fill='currentColor'>the image is not shown</text>\n"
        guard let source else { return words }
        return """
            \(self.preview == nil ? words : "")<image id='\(self.id)' width='\(self.image.width)' \
            height='\(self.image.height)' preserveAspectRatio='none' href='\(source)'/>

            """
    }

    /// A link to an image that the page fetches, in case that fails. In a new tab, so that text typed on this page stays.
    private var link: Markup {
        guard self.preview == nil, let path else { return "" }
        return " <a href='\(path)' target='_blank'>open in a new tab</a>"
    }

    private var source: Markup? {
        if let preview { return "data:image/jpeg;base64,\(base64: preview.jpeg)" }
        return self.path.map { "\($0)" }
    }

    /// The name of the image within the page.
    private var id: String { "image-\(self.part)" }

    /// The first face with a margin, from the same bytes; `nil` if there is none or the image is not shown.
    var faceCrop: Markup? {
        guard self.source != nil, let box = self.faces.first?.box, box.width > 0, box.height > 0 else { return nil }
        // Hair, chin and ears lie outside of a detector's box.
        let margin = 0.4
        let view = [
            box.x - margin * box.width, box.y - margin * box.height, box.width * (1 + 2 * margin),
            box.height * (1 + 2 * margin),
        ].map(Self.px).joined(separator: " ")
        return """
            <figure><svg viewBox='\(view)' role='img' aria-label='face of \(self.part)'><use href='#\(self.id)'/></svg>\
            <figcaption>\(self.part)</figcaption></figure>

            """
    }

    private var caption: Markup {
        let stored = "\(self.image.format.rawValue), \(self.image.storedWidth) × \(self.image.storedHeight) px"
        let turned = self.image.orientation == 1 ? "" : ", EXIF orientation \(self.image.orientation) applied"
        let faces = self.faces.count == 1 ? "1 face" : "\(self.faces.count) faces"
        var keys: [Markup] = []
        if self.outline != nil { keys.append("<span class='key o'></span>document") }
        if self.mrz != nil { keys.append("<span class='key z'></span>MRZ") }
        if !self.barcodes.isEmpty { keys.append("<span class='key b'></span>barcode") }
        if !self.faces.isEmpty { keys.append("<span class='key f'></span>\(faces)") }
        return "\(stored)\(turned)\(keys)"
    }

    private var shapes: [Markup] {
        var shapes: [Markup] = []
        if let outline = self.outline {
            shapes.append(
                Self.polygon(outline.quad, "outline", "document, aspect ratio \(Markup.number(outline.aspectRatio))"))
        }
        if let mrz = self.mrz {
            shapes.append(Self.polygon(mrz.quad, "zoneBox", "MRZ"))
            shapes += Self.cells(mrz)
        }
        shapes += self.barcodes.map { Self.polygon($0.quad, "barcode", $0.format) }
        shapes += self.track.map { box in
            """
            <rect class='face' x='\(Self.px(box.x))' y='\(Self.px(box.y))' width='\(Self.px(max(0, box.width)))' \
            height='\(Self.px(max(0, box.height)))' stroke='#ff9d2e' stroke-opacity='0.3'/>

            """
        }
        for (index, face) in self.faces.enumerated() {
            let box = face.box
            shapes.append(
                """
                <rect class='face' x='\(Self.px(box.x))' y='\(Self.px(box.y))' width='\(Self.px(max(0, box.width)))' \
                height='\(Self.px(max(0, box.height)))' stroke='#ff9d2e'><title>face \(index + 1)</title></rect>

                """)
            let radius = max(1.5, box.width / 45)
            shapes += face.landmarks.map { point in
                "<circle class='mark' cx='\(Self.px(point.x))' cy='\(Self.px(point.y))' r='\(Self.px(radius))' fill='#ff9d2e'/>\n"
            }
        }
        return shapes
    }

    /// A box for each character of the MRZ if the ends of its lines are known. Cells have equal pitch.
    private static func cells(_ mrz: MRZReading) -> [Markup] {
        guard let centres = mrz.centres else { return [] }
        var cells: [Markup] = []
        for (line, segment) in zip(mrz.lines.indices, centres) {
            let characters = Array(mrz.lines[line])
            let confidences = mrz.confidences.indices.contains(line) ? mrz.confidences[line] : []
            guard characters.count > 1, confidences.count == characters.count else { continue }
            let steps = Double(characters.count - 1)
            let (dx, dy) = ((segment.end.x - segment.start.x) / steps, (segment.end.y - segment.start.y) / steps)
            for (index, character) in characters.enumerated() {
                let (x, y) = (segment.start.x + dx * Double(index), segment.start.y + dy * Double(index))
                // Half a pitch to each side and 0.6 up and down: OCR-B has ten
                // characters to an inch (Doc 9303-3 §4) and capitals about as high as that.
                func corner(_ across: Double, _ down: Double) -> Point {
                    Point(x: x + across * dx - down * dy, y: y + across * dy + down * dx)
                }
                let quad = Quad(
                    topLeft: corner(-0.5, -0.6), topRight: corner(0.5, -0.6), bottomRight: corner(0.5, 0.6),
                    bottomLeft: corner(-0.5, 0.6))
                cells.append(
                    self.polygon(
                        quad, "\(self.grade(confidences[index])) cell",
                        "\(character) \(Markup.number(confidences[index]))"))
            }
        }
        return cells
    }

    private static func polygon(_ quad: Quad, _ style: String, _ title: String) -> Markup {
        let points = [quad.topLeft, quad.topRight, quad.bottomRight, quad.bottomLeft].map {
            "\(self.px($0.x)),\(self.px($0.y))"
        }.joined(separator: " ")
        let stroke = self.colours[style.split(separator: " ").first.map(String.init) ?? ""] ?? "none"
        return
            "<polygon class='\(style)' points='\(points)' stroke='\(stroke)'><title>\(title)</title></polygon>\n"
    }

    /// Colours that show on any document. They are also set in the drawing itself, since not every program that prints HTML
    /// applies the page's style to it.
    private static let colours = [
        "outline": "#2f81f7", "zoneBox": "#8957e5", "barcode": "#e85aad", "face": "#ff9d2e", "sure": "#2da44e",
        "good": "#94a800", "weak": "#e09b00", "poor": "#ff3b30",
    ]

    /// A tenth of a pixel is finer than anything was measured.
    private static func px(_ value: Double) -> String {
        value.isFinite ? Markup.number((value * 10).rounded() / 10) : "0"
    }

    /// The style sheet's class for a character's confidence.
    static func grade(_ confidence: Double) -> String {
        switch confidence {
        case 0.99...: "sure"
        case 0.9...: "good"
        case 0.5...: "weak"
        default: "poor"
        }
    }

    /// The MRZ's text, each character coloured by its confidence.
    static func text(_ mrz: MRZReading) -> Markup {
        let lines = mrz.lines.enumerated().map { index, line -> Markup in
            let confidences = mrz.confidences.indices.contains(index) ? mrz.confidences[index] : []
            let characters = Array(line)
            guard confidences.count == characters.count else { return "\(line)\n" }
            let spans = zip(characters, confidences).map { character, confidence -> Markup in
                """
                <span class='\(self.grade(confidence)) text' title='\(Markup.number(confidence))'>\(String(character))</span>
                """
            }
            return "\(spans)\n"
        }
        return "<pre class='mrz'>\(lines)</pre>\n"
    }
}
