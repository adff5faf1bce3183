internal import HTTPServer
internal import InspectCore

/// The queue over time: by lane for those who may see every partner, or the sum of one's partners.
struct PlotsPage {
    static let periods = [
        (hours: 1, name: "1 hour"), (hours: 6, name: "6 hours"), (hours: 24, name: "1 day"),
        (hours: 168, name: "7 days"),
    ]

    var session: ConsoleSession
    var partner: String?
    var hours: Int
    var samples: [SampleRow]
    /// The stamp of what the page shows, or of what was before.
    var known: String?

    /// Between two points, as `insp.console_plots` has them.
    private var stepSeconds: Double { Double(max(60, self.hours * 30)) }

    var response: HTTPResponse {
        let periods = Self.periods.map { hours, name -> Markup in
            let selected: Markup = hours == self.hours ? " selected='selected'" : ""
            return "<option value='\(hours)'\(selected)>\(name)</option>\n"
        }
        return ConsolePage(
            title: "Plots", session: self.session, stream: "/live/plots", known: self.known,
            content: [
                """
                <form method='get' action='/plots' class='filter'>
                \(ConsolePage.partners(self.session, chosen: self.partner))
                <label>Period <select name='hours'>
                \(periods)</select></label>
                <button type='submit'>Show</button></form>
                <p class='soft'>Workers sample the queue once a minute; over 7 days, every seventh sample counts. Counts of long queues are \
                estimates.</p>
                <div id='live'>
                \(self.gaps)<div class='plots'>

                """, Markup(self.plots.map(\.markup)), "</div>\n</div>\n",
            ]
        ).response()
    }

    private var gaps: Markup {
        guard self.samples.contains(where: { $0.lane == nil && $0.waiting == nil }) else { return "" }
        return """
            <p>Each sample covers only the partners with the most work, and at times some of yours were not among them. A gap in a line \
            means that nothing was sampled.</p>

            """
    }

    private var plots: [Plot] {
        self.samples.contains { $0.lane != nil } ? self.byLane : self.sums
    }

    private var byLane: [Plot] {
        let times = Array(Set(self.samples.map(\.at))).sorted()
        func line(_ lane: String, _ value: KeyPath<SampleRow, Double?>, name: String? = nil) -> Plot.Line {
            let known = Dictionary(
                self.samples.filter { $0.lane == lane }.map { ($0.at, $0[keyPath: value]) }, uniquingKeysWith: { $1 })
            return Plot.Line(name: name ?? lane, values: times.map { known[$0] ?? nil })
        }
        func lanes(_ value: KeyPath<SampleRow, Double?>) -> [Plot.Line] {
            ["urgent", "normal", "bulk"].map { line($0, value) }
        }
        return [
            Plot(
                title: "Waiting jobs", unit: "jobs", times: times, stepSeconds: self.stepSeconds,
                lines: lanes(\.waiting)),
            Plot(
                title: "Age of the oldest waiting job", unit: "s", times: times, stepSeconds: self.stepSeconds,
                lines: lanes(\.oldestSeconds)
            ),
            Plot(
                title: "Running jobs", unit: "jobs", times: times, stepSeconds: self.stepSeconds,
                lines: lanes(\.running)),
            Plot(
                title: "Finished jobs", unit: "a minute", times: times, stepSeconds: self.stepSeconds,
                lines: lanes(\.finished)),
            Plot(
                title: "Dead-lettered jobs", unit: "a minute", times: times, stepSeconds: self.stepSeconds,
                lines: lanes(\.failed)),
            Plot(
                title: "Callbacks to be delivered", unit: "callbacks", times: times, stepSeconds: self.stepSeconds,
                lines: [line("callbacks", \.waiting)]),
            Plot(
                title: "Age of the oldest callback", unit: "s", times: times, stepSeconds: self.stepSeconds,
                lines: [line("callbacks", \.oldestSeconds)]),
            Plot(
                title: "Live workers", unit: "workers", times: times, stepSeconds: self.stepSeconds,
                lines: [line("callbacks", \.running, name: "workers")]),
        ]
    }

    private var sums: [Plot] {
        let times = self.samples.map(\.at)
        func line(_ name: String, _ value: KeyPath<SampleRow, Double?>) -> Plot.Line {
            Plot.Line(name: name, values: self.samples.map { $0[keyPath: value] })
        }
        return [
            Plot(
                title: "Jobs", unit: "jobs", times: times, stepSeconds: self.stepSeconds,
                lines: [line("waiting", \.waiting), line("running", \.running)]),
            Plot(
                title: "Age of the oldest waiting job", unit: "s", times: times, stepSeconds: self.stepSeconds,
                lines: [line("oldest", \.oldestSeconds)]),
            Plot(
                title: "Finished jobs", unit: "a minute", times: times, stepSeconds: self.stepSeconds,
                lines: [line("finished", \.finished), line("dead-lettered", \.failed)]),
            Plot(
                title: "Callback attempts", unit: "a minute", times: times, stepSeconds: self.stepSeconds,
                lines: [line("delivered", \.delivered), line("failed", \.undelivered)]),
        ]
    }
}
