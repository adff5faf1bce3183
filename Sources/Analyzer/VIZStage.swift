import Foundation
import InspectCore
import Vision

/// The VIZ part of the document stage: chooses the lines to read, and when to stop.
enum VIZStage {
    /// The most labels to read, to learn which field a certain but unexpected value belongs to.
    private static let mostLabels = 4

    /// Reads the VIZ text of one side.
    ///
    /// Only lines that may show a field are read (``VIZPlan``).
    ///
    /// - Parameter expected: The values of the document's machine-readable data; `nil` if there are none.
    /// - Returns: `nil` if reading is not worth the time: the VIZ cannot be located, the image is rejected anyway, or this is a
    ///   licence's back, which has no fields other than its barcode.
    static func facts(
        _ image: DecodedImage, side: DocumentFacts, expected: VIZExpectation?, today: CalendarDate,
        reader: TextReader
    ) throws(InspectError) -> VIZFacts? {
        try VIZMemo.during { () throws(InspectError) in
            try self.read(image, side: side, expected: expected, today: today, reader: reader)
        }
    }

    private static func read(
        _ image: DecodedImage, side: DocumentFacts, expected: VIZExpectation?, today: CalendarDate, reader: TextReader
    ) throws(InspectError) -> VIZFacts? {
        let evidence = UsabilityRules.evidence(side, today: today)
        guard UsabilityRules.decide(side, reading: evidence, part: "").type != .rejected,
            side.barcodes.isEmpty || !side.faces.isEmpty,
            let corners = self.corners(side)
        else { return nil }
        let start = ProcessorClock.nowMs
        let page = try TextPage(
            image, corners: corners, ignoring: [side.mrz?.quad].compactMap { $0 } + side.barcodes.map(\.quad),
            portraits: self.portraits(side))
        let spelt = { (line: VIZLine) in expected?.corrected(line) ?? line }
        var read: [Int: VIZLine] = [:]
        // The lines that the second network read.
        var second: Set<Int> = []
        var plan = VIZPlan(
            page.lines.map { VIZPlan.Line(place: $0.place, height: $0.height, marks: $0.marks) }, expected: expected)
        while let index = plan.next() {
            // Where no MRZ proves the names, exact letters are worth more than blanks.
            let isSecond = expected == nil || plan.isBesideNames
            if isSecond { second.insert(index) }
            let line = spelt(try reader.read(page, line: index, by: isSecond ? .second : .first))
            plan.add(line, at: index)
            read[index] = line
        }
        let indices = read.keys.sorted()
        var facts = VIZFacts(
            lines: indices.compactMap { read[$0] }, found: page.lines.count, width: page.width,
            modelSHA256: reader.modelSHA256)
        if expected == nil, let emblem = try TextPage.emblem(image, corners: corners),
            let quad = emblem.lines.first?.quad, !VIZEmblem.isOnFace(quad, faces: side.faces.map(\.box))
        {
            var sign = try reader.read(emblem, line: 0)
            let again = try reader.read(emblem, line: 0, again: true, by: .second)
            sign.isConfirmed = VIZEmblem.isSame(sign, again)
            facts.emblem = sign
        }
        // The numbers of fields that stand apart from their values.
        var numbers: [Int: VIZLine] = [:]
        if expected == nil {
            for (line, place) in VIZNumbering.places(facts) {
                let number = try reader.read(page, place: place)
                guard let numbered = facts.lines[line].numbered(number) else { continue }
                (facts.lines[line], numbers[line]) = (numbered, number)
            }
        }
        var blind = plan.withoutLabel.prefix(self.mostLabels).map { $0 }
        if let expected {
            blind += VIZRules.unexplained(facts, expected: expected).map { indices[$0] }.filter { !blind.contains($0) }
                .prefix(self.mostLabels)
        }
        for line in blind { facts.lines.append(try reader.readLabel(above: line, of: page)) }
        if let expected {
            // A contradiction is an accusation, so it requires two readings.
            let doubtful = VIZRules(facts, expected: expected, trustsUnconfirmed: true).findings
                .filter { $0.outcome == .contradicts }
            for finding in doubtful {
                guard let line = finding.line, line < indices.count, facts.lines[line].isConfirmed == nil else {
                    continue
                }
                let again = spelt(try reader.read(page, line: indices[line], again: true))
                facts.lines[line].isConfirmed = facts.lines[line].saysTheSame(
                    as: again, confidence: Limits.confirmedVIZText, inFirstWord: finding.isFirstWord)
            }
        }
        for place in VIZFields.unseen(facts, expected: expected, today: today).prefix(self.mostLabels) {
            facts.lines.append(try reader.read(page, place: place))
        }
        for (line, doubt) in VIZFields.unconfirmed(facts, expected: expected, today: today) where line < indices.count {
            let other: TextReader.Networks = second.contains(indices[line]) ? .first : .second
            var others: [VIZLine] = []
            for isWider in [false, true] where facts.lines[line].isConfirmed != true {
                let again = spelt(try reader.read(page, line: indices[line], again: isWider, by: other))
                facts.lines[line].isConfirmed = doubt.values.allSatisfy {
                    again.shows($0, confidence: doubt.limit)
                }
                others.append(doubt.hasKnownWords ? again.spelt : again)
            }
            // If the other network is sure of a different text in both, the first was wrong.
            if facts.lines[line].isConfirmed != true, others.count == 2,
                others.allSatisfy({ $0.isCertain }), others[0].saysTheSame(as: others[1], confidence: 0)
            {
                facts.lines[line] = numbers[line].flatMap { others[0].numbered($0) } ?? others[0]
                facts.lines[line].isConfirmed = true
            }
        }
        // The second network loses blanks, which nothing else proves in an address.
        if expected == nil {
            for line in VIZFields.addressLines(facts, today: today)
            where line < indices.count && second.contains(indices[line]) {
                let other = try reader.read(page, line: indices[line])
                facts.lines[line] = facts.lines[line].withBlanks(
                    of: numbers[line].flatMap { other.numbered($0) } ?? other)
            }
        }
        facts.cpuMs = ProcessorClock.nowMs - start
        return facts
    }

    // MARK: Where the VIZ is

    /// The document's corners in reading order.
    private static func corners(_ side: DocumentFacts) -> Quad? {
        let turn = side.mrz?.turn ?? side.faces.first.map { $0.quality.roll } ?? 0
        let quarters = ((Int((turn / 90).rounded()) % 4) + 4) % 4
        if let outline = side.outline, outline.cornersOutside == 0,
            side.mrz.map({ outline.quad.contains($0.quad.centre) }) ?? true
        {
            return self.turned(outline.quad, by: quarters)
        }
        if let mrz = side.mrz { return self.page(around: mrz) }
        // Only the frame: a crop.
        let (width, height) = (Double(side.image.width - 1), Double(side.image.height - 1))
        let frame = Quad(
            topLeft: Point(x: 0, y: 0), topRight: Point(x: width, y: 0), bottomRight: Point(x: width, y: height),
            bottomLeft: Point(x: 0, y: height))
        return self.turned(frame, by: quarters)
    }

    private static func turned(_ quad: Quad, by quarters: Int) -> Quad {
        let corners = [quad.topLeft, quad.topRight, quad.bottomRight, quad.bottomLeft]
        func corner(_ index: Int) -> Point { corners[(index + quarters) % 4] }
        return Quad(topLeft: corner(0), topRight: corner(1), bottomRight: corner(2), bottomLeft: corner(3))
    }

    /// The page, computed from the position of its MRZ (Doc 9303-3 §4.4, -4 figure 3, -5 and -6 figure 6): the MRZ's characters are
    /// 2.54 mm apart, it begins 6 mm (TD3) or 4 mm (cards) from the left edge, and its last line's centre is 9.6 mm (two lines) or
    /// 7.5 mm (three) above the lower edge.
    private static func page(around mrz: MRZReading) -> Quad? {
        guard let centres = mrz.centres, let last = centres.last, let count = mrz.lines.last?.count, count > 1 else {
            return nil
        }
        let millimetre = 1 / (2.54 * Double(count - 1))
        let across = Point(x: (last.end.x - last.start.x) * millimetre, y: (last.end.y - last.start.y) * millimetre)
        let down = Point(x: -across.y, y: across.x)
        let size: (width: Double, height: Double, left: Double) =
            switch count {
            case 44: (125, 88, 6)
            case 36: (105, 74, 4)
            default: (85.6, 54, 4)
            }
        let below = mrz.lines.count == 2 ? 9.6 : 7.5
        func place(_ x: Double, _ y: Double) -> Point {
            // From the centre of the last line's first character.
            let (dx, dy) = (x - size.left - 1.27, y - (size.height - below))
            return Point(
                x: last.start.x + dx * across.x + dy * down.x, y: last.start.y + dx * across.y + dy * down.y)
        }
        return Quad(
            topLeft: place(0, 0), topRight: place(size.width, 0), bottomRight: place(size.width, size.height),
            bottomLeft: place(0, size.height))
    }

    /// The faces with the rest of their portraits; values begin right next to a portrait.
    private static func portraits(_ side: DocumentFacts) -> [Quad] {
        side.faces.map { face -> Quad in
            let box = face.box
            let (left, right) = (box.x - 0.2 * box.width, box.x + 1.2 * box.width)
            let (top, bottom) = (box.y - 0.5 * box.height, box.y + 1.5 * box.height)
            return Quad(
                topLeft: Point(x: left, y: top), topRight: Point(x: right, y: top),
                bottomRight: Point(x: right, y: bottom), bottomLeft: Point(x: left, y: bottom))
        }
    }
}
