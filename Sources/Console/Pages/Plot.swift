internal import Foundation
internal import InspectCore

/// A line plot as SVG. Lines differ by their dashes as well as by their colours, and the figures stand below as a table.
struct Plot {
    struct Line {
        var name: String
        /// One for each time; `nil`: nothing was measured.
        var values: [Double?]
    }

    var title: String
    /// The unit of the values, such as `jobs` or `s`.
    var unit: String
    /// Rising.
    var times: [Date]
    /// From one to the next; if there is more, nothing was measured between them.
    var stepSeconds: Double
    var lines: [Line]

    private static let (width, height, left, top, bottom) = (560.0, 180.0, 56.0, 12.0, 24.0)

    var markup: Markup {
        guard let first = self.times.first, let last = self.times.last,
            self.lines.contains(where: { $0.values.contains { $0 != nil } })
        else {
            return "<section class='plot'><h2>\(self.title)</h2><p>Nothing was measured in this period.</p></section>\n"
        }
        let most = max(self.lines.flatMap(\.values).compactMap { $0 }.max() ?? 0, 0)
        let scale = Self.rounded(most)
        // "s" has no plural form.
        let isPlural = self.unit.count > 1 && self.unit.hasSuffix("s")
        let unit = most == 1 && isPlural ? String(self.unit.dropLast()) : self.unit
        let paths = self.lines.enumerated().map { place, line -> Markup in
            "<path class='line l\(place % 5)' d='\(self.path(line.values, first, last, scale))'/>\n"
        }
        let keys = self.lines.enumerated().map { place, line -> Markup in
            """
            <span class='entry'><svg viewBox='0 0 28 8' width='28' height='8' aria-hidden='true'><path class='line l\(place % 5)' \
            d='M0 4H28'/></svg> \(line.name)</span>

            """
        }
        let (right, floor) = (Self.width - 8, Self.height - Self.bottom)
        return """
            <section class='plot'><h2>\(self.title)</h2>
            <p class='soft'>\(keys)</p>
            <svg viewBox='0 0 560 180' role='img' aria-label='\(self.title): at most \(Markup.number(most)) \(unit)'>
            <path class='axis' d='M\(Self.left) \(Self.top)V\(floor)H\(right)'/>
            <text x='\(Self.left - 6)' y='\(Self.top + 4)' text-anchor='end'>\(Markup.number(scale))</text>
            <text x='\(Self.left - 6)' y='\(floor)' text-anchor='end'>0</text>
            <text x='\(Self.left)' y='\(Self.height - 6)'>\(Self.clock(first))</text>
            <text x='\(right)' y='\(Self.height - 6)' text-anchor='end'>\(Self.clock(last)) UTC</text>
            \(paths)</svg>
            \(self.table)</section>

            """
    }

    private func path(_ values: [Double?], _ first: Date, _ last: Date, _ scale: Double) -> String {
        var path = ""
        var before: Date?
        for (time, value) in zip(self.times, values) {
            guard let value, value.isFinite else {
                before = nil
                continue
            }
            let isBegun = before.map { time.timeIntervalSince($0) < self.stepSeconds * 1.5 } ?? false
            let span = Self.width - 8 - Self.left
            let share = last > first ? time.timeIntervalSince(first) / last.timeIntervalSince(first) : 0.5
            let x = Self.left + share * span
            let y = Self.height - Self.bottom - value / scale * (Self.height - Self.bottom - Self.top)
            path += "\(isBegun ? "L" : "M")\(Self.tenth(x)) \(Self.tenth(y))"
            // A single point is drawn as a short line.
            if !isBegun { path += "h0.5" }
            before = time
        }
        return path
    }

    /// At most twelve of the points, including the last.
    private var table: Markup {
        let step = max(1, (self.times.count + 11) / 12)
        let places = stride(from: self.times.count - 1, through: 0, by: -step).reversed()
        let rows = places.map { place -> Markup in
            let cells = self.lines.map { line -> Markup in
                "<td class='number'>\(line.values[place].map { Markup.number($0) } ?? "not sampled")</td>"
            }
            return "<tr><th scope='row'>\(Self.clock(self.times[place]))</th>\(cells)</tr>\n"
        }
        return """
            <details><summary>Figures</summary>
            \(ConsolePage.table("\(self.title), \(self.unit)", ["When"] + self.lines.map(\.name), rows, empty: ""))</details>

            """
    }

    /// The next of 1, 2, 5, 10, 20 ….
    static func rounded(_ most: Double) -> Double {
        guard most > 0, most.isFinite else { return 1 }
        let power = pow(10, most.logarithm)
        return ([1, 2, 5, 10].first { $0 * power >= most } ?? 10) * power
    }

    private static func tenth(_ value: Double) -> String { String(format: "%.1f", value) }

    static func clock(_ time: Date) -> String {
        // MM-DDTHH:MM
        String(time.formatted(.iso8601).dropFirst(5).prefix(11))
    }

    /// The stages of a job as bars, each from the previous stage's end to its own.
    static func stages(_ rows: [TimelineRow]) -> Markup {
        let marks = rows.filter { $0.kind == "accepted" || $0.kind == "finished" || $0.kind.hasPrefix("stage ") }
        guard let first = marks.first?.at, let last = marks.last?.at, marks.count > 1, last > first else { return "" }
        let span = last.timeIntervalSince(first)
        let bars = zip(marks, marks.dropFirst()).enumerated().map { place, pair -> Markup in
            let (from, to) = pair
            let x = 150 + from.at.timeIntervalSince(first) / span * 330
            let width = max(1.5, to.at.timeIntervalSince(from.at) / span * 330)
            let y = Double(place) * 20
            return """
                <text x='144' y='\(y + 14)' text-anchor='end'>\(to.kind)</text>
                <rect class='stage' x='\(Self.tenth(x))' y='\(y + 4)' width='\(Self.tenth(width))' height='12'/>
                <text x='\(Self.tenth(min(x + width + 4, 500)))' y='\(y + 14)'>\
                \(Markup.number(to.at.timeIntervalSince(from.at))) s</text>

                """
        }
        return """
            <div class='plot'><svg viewBox='0 0 560 \((marks.count - 1) * 20 + 4)' role='img' \
            aria-label='Stages, \(Markup.number(span)) s in all'>
            \(bars)</svg></div>

            """
    }
}

extension Double {
    /// The whole part of the logarithm to the base 10.
    fileprivate var logarithm: Double { log10(self).rounded(.down) }
}
