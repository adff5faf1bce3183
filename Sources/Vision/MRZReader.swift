internal import CVision
package import InspectCore

/// Finds and reads the MRZ of a document, anywhere in the image and in any orientation.
///
/// Blocks the calling thread for some 50 to 150 ms of computing.
package struct MRZReader: Sendable {
    private let decoder = MRZDecoder()

    package init() {}

    /// Loads the networks: once, before analyzers are forked.
    package static func loadNetworks() throws(InspectError) { try callVision { error in cv_mrz_prepare(&error) } }

    /// Reads the MRZ in `image`.
    ///
    /// - Parameter outline: The document's outline, if one was found: it is searched first.
    /// - Returns: No reading when there is no legible MRZ; `isIllegible` if there is an illegible one.
    /// - Throws: `ANALYZER_OUT_OF_MEMORY`, `INTERNAL_ERROR`.
    package func read(
        _ image: DecodedImage, outline: OutlineFacts? = nil
    ) throws(InspectError) -> (reading: MRZReading?, isIllegible: Bool) {
        // About 20 KB each, so not on the stack of a thread that may have little of it.
        let readings = UnsafeMutableBufferPointer<cv_mrz_reading>.allocate(capacity: CV_MRZ_MAX_READINGS)
        defer { readings.deallocate() }
        readings.initialize(repeating: cv_mrz_reading())
        guard let base = readings.baseAddress else { return (nil, false) }
        var count: Int32 = 0
        try callVision { error in
            guard let outline else {
                return cv_mrz_read(image.pointer, nil, base, Int32(readings.count), &count, &error)
            }
            var native = cv_outline(outline)
            return cv_mrz_read(image.pointer, &native, base, Int32(readings.count), &count, &error)
        }
        let found = readings.prefix(Int(count))
        let decoding: MRZDecoding
        switch self.decoder.outcome(found.map { MRZLattice($0) }) {
        case .mrz(let decoded): decoding = decoded
        case .illegible: return (nil, true)
        case .none: return (nil, false)
        }
        let native = readings[decoding.lattice]
        var reading = MRZReading(
            lines: decoding.lines, confidences: decoding.confidences,
            quad: Quad(native.quad),
            pitch: native.pitch, corrections: decoding.corrections, edgeWidths: native.usedLines.map { $0.sharpness },
            turn: native.turn,
            centres: native.usedLines.map { Segment(start: Point($0.start), end: Point($0.end)) })
        reading.posteriors = decoding.posteriors
        return (reading, false)
    }

    /// Looks for an MRZ without reading it, in some 10 ms.
    ///
    /// - Throws: `ANALYZER_OUT_OF_MEMORY`, `INTERNAL_ERROR`.
    static func glance(_ image: DecodedImage, outline: OutlineFacts?) throws(InspectError) -> MRZSight? {
        var sight = cv_mrz_sight()
        try callVision { error in
            guard let outline else { return cv_mrz_glance(image.pointer, nil, &sight, &error) }
            var native = cv_outline(outline)
            return cv_mrz_glance(image.pointer, &native, &sight, &error)
        }
        guard sight.line_count > 0 else { return nil }
        return MRZSight(lines: Int(sight.line_count), shortest: sight.shortest, longest: sight.longest)
    }
}

extension cv_mrz_reading {
    fileprivate var usedLines: [cv_mrz_line] {
        Array([self.lines.0, self.lines.1, self.lines.2].prefix(Int(self.line_count)))
    }
}

extension MRZLattice {
    fileprivate init(_ reading: cv_mrz_reading) {
        let lines = reading.usedLines.map { line in
            withUnsafeBytes(of: line.posterior) { bytes in
                let all = bytes.bindMemory(to: Float.self)
                let classes = CV_MRZ_CLASSES
                return (0..<Int(line.cell_count)).map { cell in
                    Array(all[cell * classes..<(cell + 1) * classes])
                }
            }
        }
        self.init(lines: lines, layoutScore: reading.score)
    }
}
