/// Decides whether a person made exactly the requested motions, in order.
enum MotionRules {
    /// Compares the motions that were seen with those that were requested.
    package static func decide(_ challenge: LivenessChallenge, _ capture: CaptureFacts) -> LivenessVerdict {
        let nothing = challenge.steps.map { LivenessVerdict.Step(name: $0.rawValue, outcome: .inconclusive) }
        guard let track = MotionTrack(timesMs: challenge.frameTimesMs, faces: capture.frames.map(\.face)) else {
            return LivenessVerdict(outcome: .inconclusive, reason: .tooFewFrames, steps: nothing)
        }
        let first = challenge.frameTimesMs.first ?? 0
        let last = challenge.frameTimesMs.last ?? 0
        let rate = last > first ? 1000 * Double(challenge.frameTimesMs.count - 1) / (last - first) : 0
        var scores = ["framesPerSecond": rate]
        let all = track.events
        for event in all { scores["seen \(event.step.rawValue)", default: 0] += 1 }
        guard Limits.frameRate.allows(rate) else {
            return LivenessVerdict(outcome: .inconclusive, reason: .tooFewFrames, steps: nothing, scores: scores)
        }
        var steps: [LivenessVerdict.Step] = []
        var cursor = challenge.stepsBeginMs
        var events = all[...]
        for step in challenge.steps {
            let deadline = cursor + challenge.stepTimeoutMs
            var found: MotionEvent?
            while let event = events.popFirst() {
                // A motion that began before the instruction does not answer it; people take longer than this to react.
                guard event.startMs >= cursor + Self.reactionMs else { continue }
                if event.step == step {
                    found = event
                    break
                }
                if Self.accompanies(event.step, step) { continue }
                let other = LivenessVerdict.Step(
                    name: step.rawValue, outcome: .fail, startMs: event.startMs, endMs: event.endMs, score: 0)
                return LivenessVerdict(
                    outcome: .fail, reason: .wrongMotion,
                    steps: steps + [other] + nothing.dropFirst(steps.count + 1), scores: scores)
            }
            guard let found, found.endMs <= deadline else {
                let late = LivenessVerdict.Step(
                    name: step.rawValue, outcome: .inconclusive, startMs: found?.startMs, endMs: found?.endMs)
                return LivenessVerdict(
                    outcome: .inconclusive, reason: .timeout,
                    steps: steps + [late] + nothing.dropFirst(steps.count + 1), scores: scores)
            }
            steps.append(
                LivenessVerdict.Step(
                    name: step.rawValue, outcome: .pass, startMs: found.startMs, endMs: found.endMs,
                    score: found.extent))
            cursor = found.endMs
            // Motions that overlap with the requested one belong to it.
            while let next = events.first, next.startMs < cursor { events.removeFirst() }
        }
        // The recording continues with another motion.
        if let further = events.first(where: { event in
            !Self.accompanies(event.step, challenge.steps.last ?? event.step)
                && event.startMs > cursor + Self.reactionMs
        }) {
            let other = LivenessVerdict.Step(
                name: further.step.rawValue, outcome: .fail, startMs: further.startMs, endMs: further.endMs, score: 0)
            return LivenessVerdict(outcome: .fail, reason: .wrongMotion, steps: steps + [other], scores: scores)
        }
        return LivenessVerdict(outcome: .pass, steps: steps, scores: scores)
    }

    /// How often frames made up for a guessed sequence are accepted: one sequence against another, both drawn at random,
    /// assuming that blinks count as seen whenever they are asked for, since people blink all the time.
    package static func guessRate(steps: Int, motions: [LivenessChallenge.Step]) -> Double {
        var sequences: [[LivenessChallenge.Step]] = [[]]
        for _ in 0..<steps {
            sequences = sequences.flatMap { sequence in motions.filter { $0 != sequence.last }.map { sequence + [$0] } }
        }
        var counts: [[LivenessChallenge.Step]: Double] = [:]
        for sequence in sequences { counts[sequence.filter { $0 != .blink }, default: 0] += 1 }
        let total = Double(sequences.count)
        return counts.values.map { $0 * $0 }.reduce(0, +) / (total * total)
    }

    /// The shortest human reaction time.
    static let reactionMs = 100.0

    /// Motions that people make without being asked: they blink at any time, a smile shows teeth, and an open mouth is wide.
    private static func accompanies(_ seen: LivenessChallenge.Step, _ asked: LivenessChallenge.Step) -> Bool {
        switch (seen, asked) {
        case (.blink, _): true
        case (.mouthOpen, .smile), (.smile, .mouthOpen): true
        default: false
        }
    }
}
