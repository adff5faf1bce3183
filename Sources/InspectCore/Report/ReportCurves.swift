/// Measurements over the frames of a capture as curves over time, with the challenge underneath.
struct ReportCurves {
    let capture: CaptureFacts
    let challenge: LivenessChallenge
    let steps: [LivenessVerdict.Step]

    private static let width = 760.0
    private static let height = 74.0
    private static let margin = 150.0

    /// `nil` if the numbers of times and frames differ.
    init?(capture: CaptureFacts, challenge: LivenessChallenge, steps: [LivenessVerdict.Step]) {
        guard capture.frames.count > 1, challenge.frameTimesMs.count == capture.frames.count,
            challenge.fault(frames: capture.frames.count) == nil
        else { return nil }
        self.capture = capture
        self.challenge = challenge
        self.steps = steps
    }

    var markup: Markup {
        let curves = self.curves
        let total = Double(curves.count) * Self.height + 44
        var shapes = [self.bands(height: total - 24)]
        for (index, curve) in curves.enumerated() {
            shapes.append(self.panel(curve, top: Double(index) * Self.height + 6))
        }
        shapes.append(
            "<text x='\(Self.margin)' y='\(total - 4)' font-size='12' fill='currentColor'>\(self.firstMs.rounded()) ms</text>\n"
        )
        shapes.append(
            """
            <text x='\(Self.width)' y='\(total - 4)' font-size='12' text-anchor='end' fill='currentColor'>\
            \(self.lastMs.rounded()) ms</text>

            """)
        return """
            <figure>
            <svg viewBox='0 0 \(Self.width) \(total)' role='img' aria-label='measurements over time'>
            \(shapes)</svg>
            <figcaption>\(self.capture.frames.count) frames; the challenge underneath</figcaption>
            </figure>

            """
    }

    private struct Curve {
        var name: String
        var values: [Double?]
        var colour: String
        /// The minimum range of the panel's height, so that the noise of a face at rest looks small.
        var leastSpan: Double
    }

    private var firstMs: Double { self.challenge.frameTimesMs.first ?? 0 }
    private var lastMs: Double { max(self.challenge.frameTimesMs.last ?? 1, self.firstMs + 1) }

    private var curves: [Curve] {
        let faces = self.capture.frames.map(\.face)
        func curve(
            _ name: String, _ colour: String, leastSpan: Double, _ value: (CaptureFacts.Face) -> Double?
        ) -> Curve {
            Curve(name: name, values: faces.map { $0.flatMap(value) }, colour: colour, leastSpan: leastSpan)
        }
        var curves: [Curve] = []
        if !self.challenge.colours.isEmpty {
            curves.append(
                curve("light, red − green", "#d1242f", leastSpan: 0.1) { ColourFlashRules.signal(of: $0).redGreen })
            curves.append(
                curve("light, yellow − blue", "#b08800", leastSpan: 0.1) { ColourFlashRules.signal(of: $0).yellowBlue })
        }
        curves.append(curve("eye opening", "#2f81f7", leastSpan: 0.2) { $0.eyeOpening })
        if !self.challenge.steps.isEmpty {
            curves.append(curve("head turn, degrees", "#8957e5", leastSpan: 2 * Limits.shakeTurn) { $0.yaw })
            curves.append(curve("nose below eyes", "#2da44e", leastSpan: 4 * Limits.nodDrop) { $0.noseDrop })
            curves.append(curve("mouth opening", "#e85aad", leastSpan: 2 * Limits.mouthOpening) { $0.mouthOpening })
            curves.append(curve("mouth width", "#e09b00", leastSpan: 0.5) { $0.mouthWidth })
        }
        return curves
    }

    private func x(_ timeMs: Double) -> Double {
        let share = min(max((timeMs - self.firstMs) / (self.lastMs - self.firstMs), 0), 1)
        return Self.margin + share * (Self.width - Self.margin)
    }

    private func panel(_ curve: Curve, top: Double) -> Markup {
        let seen = curve.values.compactMap { $0 }.filter(\.isFinite)
        guard let low = seen.min(), let high = seen.max() else {
            return "<text x='0' y='\(top + 34)' font-size='13' fill='currentColor'>\(curve.name): not measured</text>\n"
        }
        let span = max(high - low, curve.leastSpan)
        let bottom = (low + high - span) / 2
        // A frame without a face is a gap.
        var pieces: [[String]] = [[]]
        for (time, value) in zip(self.challenge.frameTimesMs, curve.values) {
            guard let value, value.isFinite else {
                pieces.append([])
                continue
            }
            let y = top + (Self.height - 14) * (1 - (value - bottom) / span)
            pieces[pieces.count - 1].append("\(Markup.number(self.x(time))),\(Markup.number(y))")
        }
        let lines = pieces.filter { $0.count > 1 }.map { points -> Markup in
            """
            <polyline points='\(points.joined(separator: " "))' fill='none' stroke='\(curve.colour)' stroke-width='1.6'/>

            """
        }
        return """
            <text x='0' y='\(top + 24)' font-size='13' fill='currentColor'>\(curve.name)</text>
            <text x='0' y='\(top + 42)' font-size='11' fill='currentColor'>\(low) to \(high)</text>
            \(lines)
            """
    }

    /// The colours as they were shown, and the motions where they were seen.
    private func bands(height: Double) -> Markup {
        var bands: [Markup] = []
        for (index, colour) in self.challenge.colours.enumerated() {
            let start = self.x(Double(index) * self.challenge.colourMs)
            let width = self.x(Double(index + 1) * self.challenge.colourMs) - start
            bands.append(
                """
                <rect x='\(start)' y='0' width='\(width)' height='\(height)' fill='\(colour.rawValue.lowercased())' \
                fill-opacity='0.18'><title>\(colour.rawValue)</title></rect>

                """)
        }
        let asked = Set(self.challenge.steps.map(\.rawValue))
        for step in self.steps where asked.contains(step.name) {
            guard let from = step.startMs, let to = step.endMs, to >= from else { continue }
            let start = self.x(from)
            let colour = step.outcome == .pass ? "#2da44e" : "#ff3b30"
            bands.append(
                """
                <rect x='\(start)' y='0' width='\(max(self.x(to) - start, 2))' height='\(height)' fill='\(colour)' \
                fill-opacity='0.15'><title>\(step.name)</title></rect>
                <text x='\(start + 2)' y='\(height + 4)' font-size='11' fill='currentColor'>\(step.name)</text>

                """)
        }
        return "\(bands)"
    }

    /// The steps of a challenge with their outcomes.
    static func table(_ steps: [LivenessVerdict.Step]) -> Markup {
        ReportPage.table(
            ["asked for", "outcome", "from ms", "to ms", "score"],
            steps.map { step in
                func text(_ value: Double?) -> String { value.map { Markup.number($0) } ?? "—" }
                return """
                    <tr><td>\(step.name)</td><td>\(ReportPage.verdict(self.outcome(step.outcome)))</td>\
                    <td class='number'>\(text(step.startMs))</td><td class='number'>\(text(step.endMs))</td>\
                    <td class='number'>\(text(step.score))</td></tr>

                    """
            })
    }

    private static func outcome(_ outcome: LivenessVerdict.Outcome) -> Measurement.Outcome {
        switch outcome {
        case .pass: .pass
        case .fail: .fail
        case .inconclusive: .inconclusive
        }
    }
}
