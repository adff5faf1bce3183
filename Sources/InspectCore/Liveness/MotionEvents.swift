internal import Foundation

/// A motion that was seen.
struct MotionEvent: Sendable, Hashable {
    /// Which motion it was.
    package var step: LivenessChallenge.Step
    /// When it begins, in milliseconds on the capture's clock.
    package var startMs: Double
    /// When it ends, in milliseconds on the capture's clock.
    package var endMs: Double
    /// Extent relative to the requirement, from 1.
    var extent: Double
}

/// Finds motions of eyes, mouth and head in a track, each relative to the same face at rest.
struct MotionTrack {
    let timesMs: [Double]
    let faces: [CaptureFacts.Face?]
    private let rest: Rest

    /// The face at rest.
    private struct Rest {
        var mouthOpening: Double
        var mouthWidth: Double
        var yaw: Double
        var noseDrop: Double
        var eyeDistance: Double
    }

    /// The person is at rest before the clock starts; if no frames are from then, for this long at first.
    static let restMs = 600.0
    /// A mouth must keep its shape for at least this long.
    static let dwellMs = 150.0
    /// A head that is shaken passes from one side to the other within this time.
    static let crossingMs = 1500.0
    /// A head that looks ahead for this long has stopped shaking; from side to side it passes the middle in less.
    static let calmMs = 500.0
    /// A nod, down and back.
    static let nodMs = 2000.0

    /// `nil` if the face at rest was not seen in three frames.
    init?(timesMs: [Double], faces: [CaptureFacts.Face?]) {
        guard let first = timesMs.first else { return nil }
        self.timesMs = timesMs
        self.faces = faces
        let until = max(first + Self.restMs, 0)
        let still = zip(timesMs, faces).filter { $0.0 <= until && $0.0 - first <= 2000 }.compactMap(\.1)
        guard still.count >= 3, let opening = Statistics.median(still.map(\.mouthOpening)),
            let width = Statistics.median(still.map(\.mouthWidth)), let yaw = Statistics.median(still.map(\.yaw)),
            let drop = Statistics.median(still.map(\.noseDrop)),
            let distance = Statistics.median(still.map(\.eyeDistance)), distance > 0
        else { return nil }
        // A faint line between the lips is found completely in some frames and partly in others, which is not a smile.
        let longest = still.map(\.mouthWidth).max() ?? width
        let whole = longest < Limits.smileWidening * width ? width : longest
        self.rest = Rest(
            mouthOpening: opening, mouthWidth: whole, yaw: yaw, noseDrop: drop, eyeDistance: distance)
    }

    /// All motions in the order of their starts.
    var events: [MotionEvent] {
        let events = self.blinks + self.mouths + self.shakes + self.nods
        return events.sorted { ($0.startMs, $0.endMs) < ($1.startMs, $1.endMs) }
    }

    /// Turn from the position at rest, degrees.
    private func turn(_ face: CaptureFacts.Face) -> Double { face.yaw - self.rest.yaw }

    /// Drop of the nose from its position at rest, frame by frame: medians of three, since one point's noise is a third of a nod.
    private var drops: [Double?] {
        self.faces.indices.map { index in
            guard self.faces[index] != nil else { return nil }
            let near = self.faces[max(index - 1, 0)...min(index + 1, self.faces.count - 1)].compactMap { $0?.noseDrop }
            return Statistics.median(near).map { $0 - self.rest.noseDrop }
        }
    }

    private var blinks: [MotionEvent] {
        BlinkDetector.blinks(timesMs: self.timesMs, openings: self.faces.map { $0?.eyeOpening }).compactMap { blink in
            // Lids follow the head: a dip while it moves is not a blink. Closed eyes shift their points, so that the nose shows
            // moves, and that looks like a turn, which is over with the blink: the frames before and after must look ahead.
            let seen = zip(self.timesMs, self.faces).compactMap { timeMs, face in
                face.map { (timeMs: timeMs, face: $0) }
            }
            let during = seen.filter { $0.timeMs >= blink.startMs && $0.timeMs <= blink.endMs }.map(\.face)
            let around = [
                seen.last { $0.timeMs < blink.startMs }?.face, seen.first { $0.timeMs > blink.endMs }?.face,
            ].compactMap { $0 }
            let heights = during.map { ($0.noseBase.y - (during.first?.noseBase.y ?? 0)) / self.rest.eyeDistance }
            let isStill =
                heights.allSatisfy { $0 < Limits.nodSink && $0 > -2 * Limits.nodSink }
                && around.allSatisfy { abs(self.turn($0)) < Limits.stepTurn }
                && during.allSatisfy { abs(self.turn($0)) < 2 * Limits.stepTurn }
            return isStill
                ? MotionEvent(
                    step: .blink, startMs: blink.startMs, endMs: blink.endMs,
                    extent: (1 - blink.depth) / (1 - BlinkDetector.closed)) : nil
        }
    }

    private var mouths: [MotionEvent] {
        let smiles = self.spans(.smile, enter: 1, leave: 0.5) { face in
            // If the line between the lips was not found at rest, nothing can be said of its growth.
            self.rest.mouthWidth >= Limits.leastMouth
                ? (face.mouthWidth / self.rest.mouthWidth - 1) / (Limits.smileWidening - 1) : nil
        }
        let open = self.spans(.mouthOpen, enter: 1, leave: 0.5) { face in
            let grown = (face.mouthOpening - self.rest.mouthOpening) / Limits.mouthOpeningGrowth
            return min(grown, face.mouthOpening / Limits.mouthOpening)
        }
        return smiles + open
    }

    /// Spans in which a measure stays above `leave` and reaches `enter` for the dwell time.
    private func spans(
        _ step: LivenessChallenge.Step, enter: Double, leave: Double, _ extent: (CaptureFacts.Face) -> Double?
    ) -> [MotionEvent] {
        var events: [MotionEvent] = []
        var startMs: Double?
        var enteredMs: Double?
        var dwellMs = 0.0
        var most = 0.0
        func close(at endMs: Double) {
            if let startMs, dwellMs >= Self.dwellMs {
                events.append(MotionEvent(step: step, startMs: startMs, endMs: endMs, extent: most))
            }
            (startMs, enteredMs, dwellMs, most) = (nil, nil, 0, 0)
        }
        for (timeMs, face) in zip(self.timesMs, self.faces) {
            guard let face, let value = extent(face), value >= leave,
                abs(self.turn(face)) < 2 * Limits.stepTurn
            else {
                close(at: timeMs)
                continue
            }
            if startMs == nil { startMs = timeMs }
            if value >= enter {
                if enteredMs == nil { enteredMs = timeMs }
                dwellMs = max(dwellMs, timeMs - (enteredMs ?? timeMs))
            } else {
                enteredMs = nil
            }
            most = max(most, value)
        }
        if let last = self.timesMs.last { close(at: last) }
        return events
    }

    /// To one side and then to the other, each far enough, without nodding.
    private var shakes: [MotionEvent] {
        var events: [MotionEvent] = []
        var side: (sign: Double, timeMs: Double, extent: Double)?
        var startMs: Double?
        var calmSinceMs: Double?
        for (timeMs, face) in zip(self.timesMs, self.faces) {
            guard let face else { continue }
            let turn = self.turn(face)
            guard abs(turn) >= Limits.shakeTurn else {
                calmSinceMs = abs(turn) < Limits.shakeTurn / 2 ? calmSinceMs ?? timeMs : nil
                // A head that came to rest begins again: the last side of one shake is not the first of the next.
                if let calmSinceMs, timeMs - calmSinceMs >= Self.calmMs { side = nil }
                if calmSinceMs != nil, side == nil { startMs = timeMs }
                continue
            }
            calmSinceMs = nil
            let sign: Double = turn < 0 ? -1 : 1
            if let seen = side, seen.sign != sign, timeMs - seen.timeMs <= Self.crossingMs {
                events.append(
                    MotionEvent(
                        step: .shake, startMs: startMs ?? seen.timeMs, endMs: timeMs,
                        extent: min(seen.extent, abs(turn)) / Limits.shakeTurn))
                side = nil
                startMs = timeMs
            } else {
                side = (sign, timeMs, max(abs(turn), side?.sign == sign ? side?.extent ?? 0 : 0))
            }
        }
        // Continued shaking is one motion.
        return events.reduce(into: []) { merged, event in
            if let last = merged.last, event.startMs - last.endMs <= Self.calmMs {
                merged[merged.count - 1].endMs = event.endMs
                merged[merged.count - 1].extent = max(last.extent, event.extent)
            } else {
                merged.append(event)
            }
        }
    }

    /// Down and back: the nose drops, and goes down with the eyes as the head does. A plane shows neither without growing or
    /// turning, and lids that close shift the eyes' points alone.
    private var nods: [MotionEvent] {
        var events: [MotionEvent] = []
        var start: (timeMs: Double, eyes: Double, nose: Double)?
        var most = (drop: 0.0, sunk: 0.0)
        var isStraight = true
        for ((timeMs, face), drop) in zip(zip(self.timesMs, self.faces), self.drops) {
            guard let face, let drop else { continue }
            if drop < Limits.nodDrop / 2 {
                if let from = start, most.drop >= Limits.nodDrop, most.sunk >= Limits.nodSink, isStraight,
                    timeMs - from.timeMs <= Self.nodMs
                {
                    events.append(
                        MotionEvent(
                            step: .nod, startMs: from.timeMs, endMs: timeMs, extent: most.drop / Limits.nodDrop))
                }
                start = (timeMs, face.eyeCentre.y, face.noseBase.y)
                (most, isStraight) = ((0, 0), true)
                continue
            }
            guard let from = start else { continue }
            most.drop = max(most.drop, drop)
            let sunk = min(face.eyeCentre.y - from.eyes, face.noseBase.y - from.nose)
            most.sunk = max(most.sunk, sunk / self.rest.eyeDistance)
            // A plane that is turned brings the eyes together, which looks like a longer nose.
            if abs(self.turn(face)) >= Limits.stepTurn || face.eyeDistance < Limits.nodShrinking * self.rest.eyeDistance
            {
                isStraight = false
            }
        }
        return events
    }
}
