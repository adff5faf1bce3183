package import Foundation
internal import JobQueue

extension QueueBenchmark.HeldXmin.Report {
    /// The two series as an SVG image: jobs a second over the seconds since the transaction was opened.
    package var plot: Data {
        let width = 720.0
        let height = 360.0
        let left = 70.0
        let top = 30.0
        let right = 20.0
        let bottom = 50.0
        let lines = [("inspectd", "#1a6fb0", self.series), ("state column", "#c0392b", self.conventionalSeries ?? [])]
            .filter { !$0.2.isEmpty }
        let all = lines.flatMap(\.2)
        let first = all.map(\.second).min() ?? 0
        let last = max(all.map(\.second).max() ?? 1, first + 1)
        let highest = Self.round(up: all.map(\.rate).max() ?? 1)
        func x(_ second: Double) -> String {
            Self.number(left + (second - first) / (last - first) * (width - left - right))
        }
        func y(_ rate: Double) -> String { Self.number(height - bottom - rate / highest * (height - top - bottom)) }
        var svg = [
            #"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \#(Int(width)) \#(Int(height))" font-family="sans-serif" font-size="12">"#,
            #"<rect width="100%" height="100%" fill="white"/>"#,
        ]
        for part in 0...4 {
            let rate = highest * Double(part) / 4
            svg.append(
                #"<line x1="\#(x(first))" x2="\#(x(last))" y1="\#(y(rate))" y2="\#(y(rate))" stroke="lightgray"/>"#)
            svg.append(
                #"<text x="\#(Self.number(left - 6))" y="\#(y(rate))" dy="4" text-anchor="end">\#(Int(rate))</text>"#)
            let second = first + (last - first) * Double(part) / 4
            svg.append(
                #"<text x="\#(x(second))" y="\#(Self.number(height - bottom + 18))" text-anchor="middle">\#(Int(second))</text>"#
            )
        }
        // The moment from which nothing can be vacuumed.
        svg.append(
            #"<line x1="\#(x(0))" x2="\#(x(0))" y1="\#(y(0))" y2="\#(y(highest))" stroke="gray" stroke-dasharray="4 3"/>"#
        )
        svg.append(#"<text x="\#(x(0))" y="\#(Self.number(top - 8))" text-anchor="middle">snapshot held</text>"#)
        for (index, (name, color, samples)) in lines.enumerated() {
            let points = samples.map { "\(x($0.second)),\(y($0.rate))" }.joined(separator: " ")
            svg.append(#"<polyline points="\#(points)" fill="none" stroke="\#(color)" stroke-width="2"/>"#)
            svg.append(
                #"<text x="\#(Self.number(width - right))" y="\#(Self.number(top + 16 * Double(index)))" text-anchor="end" fill="\#(color)">\#(name)</text>"#
            )
        }
        svg.append(
            #"<text x="\#(Self.number(left + (width - left - right) / 2))" y="\#(Self.number(height - 12))" text-anchor="middle">seconds since the snapshot was taken; jobs per second</text>"#
        )
        svg.append("</svg>")
        return Data((svg.joined(separator: "\n") + "\n").utf8)
    }

    private static func number(_ value: Double) -> String { String((value * 10).rounded() / 10) }

    /// The next number of the form 1, 2, 4 or 8 times a power of ten, or the value if that is 0.
    private static func round(up value: Double) -> Double {
        guard value > 0 else { return 1 }
        let power = pow(10, floor(log10(value)))
        return ([1, 2, 4, 8, 10].first { $0 * power >= value } ?? 10) * power
    }
}
