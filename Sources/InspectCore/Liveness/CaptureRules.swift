/// Rules for every capture, with or without a challenge: one person, one take, no repetition.
package enum CaptureRules {
    /// `nil` if every rule holds.
    ///
    /// - Parameter isChallenge: Whether the frames answer a challenge. Without one, a lost face is no failure, since the
    ///   person was not asked to stay in the frame.
    package static func fault(
        of capture: CaptureFacts, isChallenge: Bool
    ) -> (outcome: LivenessVerdict.Outcome, reason: LivenessVerdict.Reason)? {
        if capture.frames.dropFirst().contains(where: { !Limits.sceneCorrelation.allows($0.scene) }) {
            return (.fail, .cut)
        }
        let distances = capture.keyFrames.map { max($0.distance, $0.distanceToFace ?? 0) }
        if let worst = distances.max(), !Limits.otherPersonDistance.allows(worst) { return (.fail, .severalPeople) }
        let isFrozen = !Limits.repeatedFrames.allows(self.repeatedShare(capture))
        if isFrozen { return (.fail, .repeatedFrames) }
        guard isChallenge else { return nil }
        guard capture.keyFrames.count >= 2 else { return (.inconclusive, .faceLost) }
        if !Limits.framesWithFace.allows(self.faceShare(capture)) { return (.inconclusive, .faceLost) }
        if self.jumps(capture) { return (.fail, .faceLost) }
        if let worst = distances.max(), !Limits.samePersonDistance.allows(worst) {
            return (.inconclusive, .severalPeople)
        }
        return nil
    }

    static func faceShare(_ capture: CaptureFacts) -> Double {
        guard !capture.frames.isEmpty else { return 0 }
        return Double(capture.frames.count { $0.face != nil }) / Double(capture.frames.count)
    }

    /// Share of the frames that repeat the previous one bit for bit, which camera noise rules out.
    static func repeatedShare(_ capture: CaptureFacts) -> Double {
        guard capture.frames.count > 1 else { return 0 }
        return Double(capture.frames.dropFirst().count(where: \.isRepeated)) / Double(capture.frames.count - 1)
    }

    /// Median movement of the eyes from frame to frame in eye distances: a living head is never still.
    static func movement(_ capture: CaptureFacts) -> Double? {
        let faces = capture.frames.compactMap(\.face)
        return Statistics.median(
            zip(faces, faces.dropFirst()).map { before, after in
                let (a, b) = (before.eyeCentre, after.eyeCentre)
                let (dx, dy) = (b.x - a.x, b.y - a.y)
                return (dx * dx + dy * dy).squareRoot() / max(before.eyeDistance, 1)
            })
    }

    /// Whether the box of the face jumps between two frames.
    private static func jumps(_ capture: CaptureFacts) -> Bool {
        zip(capture.frames, capture.frames.dropFirst()).contains { before, after in
            guard let a = before.face?.box, let b = after.face?.box else { return false }
            return !Limits.boxOverlap.allows(self.overlap(a, b))
        }
    }

    /// Intersection over union.
    static func overlap(_ a: Box, _ b: Box) -> Double {
        let width = min(a.x + a.width, b.x + b.width) - max(a.x, b.x)
        let height = min(a.y + a.height, b.y + b.height) - max(a.y, b.y)
        guard width > 0, height > 0 else { return 0 }
        let common = width * height
        return common / (a.width * a.height + b.width * b.height - common)
    }
}
