// Entry points of the fuzzer. `Tests/fuzz.sh` compiles this file into one module with the sources that it tries, so that
// it reaches what is internal to them.

import CSystem
import Foundation
import Glibc

/// What is tried, by the name that the command line uses.
enum FuzzTarget: String, CaseIterable {
    /// MRZs as texts and as lattices of the line reader.
    case mrz
    /// Texts of barcodes.
    case aamva
    /// Files of chips.
    case chip
    /// Messages between worker and analyzer, both ways.
    case frames
    /// Facts as the worker gets them from an analyzer that an image took over.
    case facts
    /// Files of images, of which only what they say of themselves is read.
    case metadata

    func run(_ bytes: [UInt8]) {
        switch self {
        case .mrz: Fuzz.mrz(bytes)
        case .aamva: Fuzz.aamva(bytes)
        case .chip: Fuzz.chip(bytes)
        case .frames: Fuzz.frames(bytes)
        case .facts: Fuzz.facts(bytes)
        case .metadata: Fuzz.metadata(bytes)
        }
    }
}

/// Set once, before the first input.
nonisolated(unsafe) private var target = FuzzTarget.mrz

@_cdecl("LLVMFuzzerInitialize")
public func initialize(_ count: UnsafePointer<CInt>, _ words: UnsafeRawPointer) -> CInt {
    let environment = ProcessInfo.processInfo.environment
    if let folder = environment["INSPECTD_FUZZ_SEEDS"] {
        FuzzSeeds.write(to: folder)
        exit(0)
    }
    guard let chosen = environment["INSPECTD_FUZZ_TARGET"].flatMap(FuzzTarget.init(rawValue:)) else {
        fatalError("INSPECTD_FUZZ_TARGET names no target")
    }
    target = chosen
    return 0
}

@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    target.run(Array(UnsafeBufferPointer(start: start, count: count)))
    return 0
}

enum Fuzz {
    static let today = CalendarDate(year: 2026, month: 6, day: 1)

    static func mrz(_ bytes: [UInt8]) {
        let lines = bytes.split(separator: 0x0A).map { String(decoding: $0, as: UTF8.self) }
        if let mrz = MRZDocument(lines: lines, today: self.today) {
            precondition(mrz.lines == lines)
            self.judge(self.passport(lines), bytes)
        }
        guard let first = bytes.first else { return }
        // The same bytes as an MRZ of a known format, so that most inputs get past the lengths.
        let format = MRZFormat.allCases[Int(first) % MRZFormat.allCases.count]
        var rest = bytes.dropFirst()[...]
        func next() -> UInt8 { rest.popFirst() ?? 0 }
        let filled = format.lineLengths.map { length in
            MRZText.string((0..<length).map { _ in MRZText.alphabet[Int(next()) % MRZText.alphabet.count] })
        }
        guard let mrz = MRZDocument(lines: filled, today: self.today) else { fatalError("an MRZ of its own lengths") }
        precondition(!mrz.documentNumber.contains("<") && !mrz.surname.contains("<"))
        self.judge(self.passport(filled), bytes)

        rest = bytes.dropFirst()[...]
        let cells = format.lineLengths.map { length in
            (0..<length).map { _ in
                var cell = [Float](repeating: 0.0001, count: MRZText.alphabet.count)
                let share = Float(next()) / 255
                cell[Int(next()) % cell.count] += share
                cell[Int(next()) % cell.count] += 1 - share
                return cell
            }
        }
        let lattice = MRZLattice(lines: cells, layoutScore: -0.1)
        if case .mrz(let decoding) = MRZDecoder().outcome([lattice]) {
            precondition(decoding.lines.map(\.utf8.count) == decoding.format.lineLengths)
        }
    }

    static func aamva(_ bytes: [UInt8]) {
        let text = String(decoding: bytes, as: UTF8.self)
        if let card = AAMVACard(text) { precondition(!card.elements.fields.isEmpty) }
        var side = self.passport([])
        side.mrz = nil
        side.barcodes = [BarcodeFacts(format: "PDF417", text: text, bytesHex: "", quad: FuzzSeeds.quad)]
        self.judge(side, bytes)
    }

    static func chip(_ bytes: [UInt8]) {
        let file = bytes[...]
        _ = try? SecurityObject(file: file)
        _ = try? CMSSignedData(file)
        if let record = try? FacialRecord(dg2: file) { precondition(record.image.count <= bytes.count) }
        for number in 1...2 {
            if let hashed = try? DataGroup.hashed(file, number: number) { precondition(hashed.count <= bytes.count) }
        }
        if let lines = try? DataGroup.mrzLines(dg1: file) { _ = MRZDocument(lines: lines, today: self.today) }
        for image in (try? DataGroup.signatureImages(dg7: file)) ?? [] { precondition(image.count <= bytes.count) }
        // No text is longer than a result may have, whatever a file holds.
        if let details = try? DataGroup.personalDetails(dg11: file) {
            precondition((details.personalSummary ?? "").count <= 1000 && (details.address ?? []).count <= 1000)
        }
        if let details = try? DataGroup.documentDetails(dg12: file) {
            precondition((details.endorsements ?? "").count <= 1000)
        }
    }

    static func frames(_ bytes: [UInt8]) {
        if let message = try? ControlMessage(bytes) {
            // Bytes that were left over are not part of it; what was read must come back.
            guard case .failed = message else {
                precondition(bytes.starts(with: message.encoded()) || self.holdsFlag(message))
                return
            }
        }
        _ = try? InspectError(encoded: bytes)
        let memory = [UInt8](repeating: 1, count: 4096)
        memory.withUnsafeBytes { memory in
            for view in (try? PartTable.views(bytes, in: memory)) ?? [] {
                // The sanitizer watches what lies behind the memory.
                view.withBytes { precondition($0.allSatisfy { $0 == 1 }) }
            }
        }
        var (sender, receiver): (CInt, CInt) = (-1, -1)
        precondition(csys_socket_pair(0, &sender, &receiver) == 0)
        defer { [sender, receiver].forEach { close($0) } }
        // As much as a socket's buffer takes without a reader.
        let sent = Array(bytes.prefix(32_768))
        precondition(sent.isEmpty || sent.withUnsafeBytes { write(sender, $0.baseAddress, $0.count) } == sent.count)
        csys_close_for_writing(sender)
        while let frame = try? Frame.receive(from: receiver, limit: 8_192, deadlineNanoseconds: 0) {
            precondition(frame.payload.count <= 8_192)
        }
    }

    /// The one field that has more encodings than one: any number but 0 is true.
    private static func holdsFlag(_ message: ControlMessage) -> Bool {
        if case .ended(_, let end) = message { return end.dumpedCore }
        return false
    }

    static func facts(_ bytes: [UInt8]) {
        guard let first = bytes.first else { return }
        let stages: [JobStatus] = [.acquired, .document, .face, .liveness]
        let decoder = JSONDecoder()
        let data = Data(bytes.dropFirst())
        var facts = InspectionFacts(request: InspectionRequest(workflow: .idIdentity), parts: [.front, .back, .face])
        if let all = try? decoder.decode([String: Data].self, from: data) {
            for stage in stages { if let part = all[stage.stageName] { try? facts.take(part, of: stage) } }
        } else {
            try? facts.take(data, of: stages[Int(first) % stages.count])
        }
        self.decide(facts)
        _ = try? decoder.decode([String: Preview].self, from: data)
    }

    static func metadata(_ bytes: [UInt8]) {
        let reasons = ImageMetadata(file: bytes).reasons(width: 1170, height: 2532)
        // Nothing of the file's own text is repeated.
        precondition(reasons.count <= 5 && reasons.allSatisfy { $0.hasPrefix("the ") && $0.count < 80 })
    }

    // MARK: What follows from facts

    private static func passport(_ lines: [String]) -> DocumentFacts {
        var side = FuzzSeeds.side
        side.mrz?.lines = lines
        side.mrz?.confidences = lines.map { Array(repeating: 0.95, count: $0.count) }
        side.mrz?.centres = lines.map { _ in Segment(start: Point(x: 10, y: 10), end: Point(x: 900, y: 12)) }
        return side
    }

    /// The way of every job: rules, result document; for some inputs also the report, which takes twenty times as long.
    private static func judge(_ side: DocumentFacts, _ bytes: [UInt8]) {
        var facts = InspectionFacts(request: InspectionRequest(workflow: .id), parts: [.front])
        facts.documents = DocumentStageFacts(sides: ["FRONT": side])
        self.decide(facts, withReport: bytes.reduce(0, &+) % 16 == 0)
    }

    private static func decide(_ facts: InspectionFacts, withReport: Bool = true) {
        let open = InspectionDecider(facts: facts, today: self.today, isGated: false)
        let shut = InspectionDecider(facts: facts, today: self.today, isGated: true)
        for stage in facts.request.workflow.stages { precondition(open.needs(stage) || !shut.needs(stage)) }
        _ = shut.decide()
        let document = open.decide()
        for side in (facts.documents?.sides ?? [:]).values {
            _ = UsabilityRules.decideBeforeReading([.front: side, .back: facts.documents?.sides["BACK"] ?? side])
        }
        guard withReport else { return }
        var report = InspectionReport(document: document, facts: facts, previews: [:], today: self.today).html
        report.withUTF8 { bytes in
            // No control character, which XML does not allow, and none that turns text around (U+202A to U+202E).
            precondition(bytes.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x0A || $0 == 0x09 })
            for index in bytes.indices.dropLast(2) where bytes[index] == 0xE2 && bytes[index + 1] == 0x80 {
                precondition(!(0xAA...0xAE).contains(bytes[index + 2]))
            }
            // Tags are the page's own: all of them begin with these letters or with a mark.
            for index in bytes.indices.dropLast() where bytes[index] == 0x3C {
                precondition("!/bcdfghimprst".utf8.contains(bytes[index + 1]))
            }
        }
        precondition(!report.contains("<script"))
    }
}
