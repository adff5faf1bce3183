import Foundation
import InspectCore
import JobQueue

/// Lays out `inspectd top` as lines of text, without I/O.
struct TopPage {
    /// The order of partners.
    enum Order: String, CaseIterable {
        case waiting = "waiting"
        case oldest = "oldest"
        case running = "running"
        case delayed = "delayed"
    }

    var snapshot: QueueSnapshot
    /// Jobs accepted a second since the previous poll; `nil` at the first.
    var acceptedPerSecond: Double?
    var order = Order.waiting
    /// Available lines; `nil`: unlimited.
    var rows: Int?
    /// The window's width, which lines stay below; `nil`: unlimited.
    var columns: Int?
    /// Text at the end of the first line.
    var remark = ""

    typealias Line = Terminal.Line

    var lines: [Line] {
        var lines = self.head
        lines += self.lanes
        // The other sections share the remaining lines: partners and errors get some, workers the rest.
        let room = self.rows.map { max(0, $0 - lines.count) }
        let partners = self.partners(limit: room.map { max(2, $0 / 3 - 2) })
        let errors = self.errors(limit: room.map { max(2, $0 / 5 - 2) })
        let workers = self.workers(limit: room.map { max(2, $0 - partners.count - errors.count) })
        return lines + partners + errors + workers
    }

    private var head: [Line] {
        let snapshot = self.snapshot
        let finished = snapshot.finished
        let callbacks = snapshot.callbacks
        // Without the date, to save columns.
        let stamp = Date(timeIntervalSince1970: snapshot.atSeconds).formatted(Date.ISO8601FormatStyle())
        let time = self.rows == nil ? stamp : String(stamp.drop { $0 != "T" }.dropFirst().dropLast() + " UTC")
        let states = ["live", "draining", "silent", "dead"].compactMap { state -> String? in
            let count = snapshot.workers.count { $0.state == state }
            return count > 0 ? "\(count) \(state)" : nil
        }
        // The database's name may be long, and a narrow window can omit it.
        let title = ["inspectd", time, self.remark, snapshot.database].filter { !$0.isEmpty }.joined(separator: " · ")
        return [Line(text: title, style: .title)]
            + self.wrapped([
                "accepted \(self.acceptedPerSecond.map(Self.rate) ?? "–")", "finished \(Self.rate(finished.perSecond))",
                "callbacks \(Self.rate(callbacks.deliveredPerSecond)), failed \(Self.rate(callbacks.failedPerSecond))",
                "workers \(states.isEmpty ? "none" : states.joined(separator: ", "))",
            ])
            + self.wrapped([
                "wait p50 \(Self.time(finished.waitMedianSeconds)) p95 \(Self.time(finished.wait95Seconds))",
                "run p50 \(Self.time(finished.runMedianSeconds)) p95 \(Self.time(finished.run95Seconds))",
                "of \(Self.count(finished.count)) jobs finished within 5 min",
            ])
            + self.wrapped(
                [
                    "callbacks: pending \(Self.count(callbacks.pending))\(callbacks.isMore ? "+" : ""),"
                        + " retrying \(Self.count(callbacks.retrying)), dead \(Self.count(callbacks.dead)),"
                        + " held \(Self.count(callbacks.held)), oldest \(Self.time(callbacks.oldestSeconds))",
                    "attempt p50 \(Self.time(callbacks.medianSeconds)) p95 \(Self.time(callbacks.p95Seconds))",
                ], callbacks.dead > 0 || callbacks.held > 0 ? .warning : .plain)
    }

    /// Pieces in a row, on as many lines as the window's width requires.
    private func wrapped(_ pieces: [String], _ style: Line.Style = .plain) -> [Line] {
        var lines: [String] = []
        for piece in pieces {
            if let last = lines.last, last.count + 2 + piece.count < self.columns ?? .max {
                lines[lines.count - 1] = last + "  " + piece
            } else {
                lines.append((lines.isEmpty ? "" : "  ") + piece)
            }
        }
        return lines.map { Line(text: $0, style: style) }
    }

    private var lanes: [Line] {
        self.table(
            ["LANE", "REGION", "WAITING", "OLDEST", "RUNNING", "DELAYED", ""], right: [2, 3, 4, 5],
            self.snapshot.lanes.map { lane in
                (
                    [
                        lane.lane, lane.region, Self.count(lane.waiting, lane.isEstimate),
                        Self.time(lane.oldestSeconds),
                        Self.count(lane.running), Self.count(lane.delayed), lane.paused ? "paused" : "",
                    ], lane.paused ? .warning : .plain
                )
            })
    }

    private func partners(limit: Int?) -> [Line] {
        let sorted = self.snapshot.partners.sorted { left, right in
            switch self.order {
            case .waiting: left.waiting > right.waiting
            case .oldest: left.oldestSeconds ?? -1 > right.oldestSeconds ?? -1
            case .running: left.running > right.running
            case .delayed: left.delayed > right.delayed
            }
        }
        let shown = limit.map { Array(sorted.prefix($0)) } ?? sorted
        return self.table(
            ["PARTNER", "WAITING", "OLDEST", "RUNNING", "DELAYED", ""], right: [1, 2, 3, 4],
            shown.map { partner in
                (
                    [
                        partner.name, Self.count(partner.waiting, partner.isEstimate), Self.time(partner.oldestSeconds),
                        Self.count(partner.running), Self.count(partner.delayed), partner.paused ? "paused" : "",
                    ], partner.paused ? .warning : .plain
                )
            }, more: sorted.count - shown.count)
    }

    private func errors(limit: Int?) -> [Line] {
        let errors = self.snapshot.errors
        guard !errors.isEmpty else { return [] }
        let shown = limit.map { Array(errors.prefix($0)) } ?? errors
        return self.table(
            ["ERROR", "PARTNER", "DEAD IN 1 H", "TO BE RETRIED"], right: [2, 3],
            shown.map { error in
                (
                    [error.code, error.partner, Self.count(error.deadLettered), Self.count(error.retrying)],
                    error.deadLettered > 0 ? .warning : .plain
                )
            }, more: errors.count - shown.count)
    }

    /// Each worker with its current jobs below.
    private func workers(limit: Int?) -> [Line] {
        let jobs = Dictionary(grouping: self.snapshot.running, by: \.worker)
        var rows: [([String], Line.Style)] = []
        for worker in self.snapshot.workers {
            rows.append(
                (
                    [
                        "\(worker.id)", "\(worker.host):\(worker.process)",
                        worker.region.isEmpty ? "any" : worker.region,
                        worker.version,
                        worker.state == "live" ? "live" : "\(worker.state), \(Self.time(worker.silentSeconds))",
                        "\(worker.busy)/\(worker.slots)", Self.time(worker.upSeconds),
                    ], worker.state == "live" ? .good : .warning
                ))
            for job in jobs[worker.id] ?? [] { rows.append((Self.row(of: job), .plain)) }
        }
        // Jobs of a worker that is gone, which are about to be rescued.
        let known = Set(self.snapshot.workers.map(\.id))
        for job in self.snapshot.running where !known.contains(job.worker) {
            rows.append((Self.row(of: job), .warning))
        }
        let shown = limit.map { Array(rows.prefix(max(0, $0 - 2))) } ?? rows
        return self.table(
            ["WORKER", "PROCESS/JOB", "REGION/PARTNER", "VERSION/WORKFLOW", "STATE", "BUSY/TRY", "FOR"],
            right: [0, 5, 6], whole: 1, shown, more: rows.count - shown.count)
    }

    /// The end of a job's id, which identifies it; `insp.explain_job` and `inspectd status` accept it.
    private static let idDigits = 12

    private static func row(of job: QueueSnapshot.Running) -> [String] {
        [
            "", "  " + job.job.suffix(Self.idDigits), job.partner, job.workflow ?? "", Self.status(job.status),
            "\(job.attempt)",
            Self.time(job.seconds),
        ]
    }

    // MARK: Text

    /// An empty line, a header and rows, with columns as wide as their widest cell. In a narrower window, the widest text
    /// columns shrink, but never below the width of a job's id.
    private func table(
        _ head: [String], right: Set<Int>, whole: Int? = nil, _ rows: [([String], Line.Style)], more: Int = 0
    ) -> [Line] {
        var widths = head.indices.map { column in
            max(head[column].count, rows.map { $0.0[column].count }.max() ?? 0)
        }
        let texts = head.indices.filter { !right.contains($0) }
        func least(_ column: Int) -> Int { column == whole ? Self.idDigits + 2 : 6 }
        while let columns = self.columns, widths.reduce(2 * (widths.count - 1), +) >= columns,
            let widest = texts.filter({ widths[$0] > least($0) }).max(by: { widths[$0] < widths[$1] })
        {
            widths[widest] -= 1
        }
        func line(_ cells: [String]) -> String {
            var text = zip(cells, widths).enumerated().map { column, cell in
                let text = Terminal.shortened(cell.0, to: cell.1)
                let space = String(repeating: " ", count: cell.1 - text.count)
                return right.contains(column) ? space + text : text + space
            }.joined(separator: "  ")
            while text.last == " " { text.removeLast() }
            return text
        }
        var lines = [Line(text: ""), Line(text: line(head), style: .title)]
        lines += rows.map { Line(text: line($0.0), style: $0.1) }
        if more > 0 { lines.append(Line(text: "… and \(Self.count(more)) more")) }
        return lines
    }

    /// The help that `?` shows.
    static let keys: [Line] = [
        "", "  q  quit", "  p  pause, and go on; the space bar does the same", "  1  partners with most waiting first",
        "  2  those whose jobs have waited longest first", "  3  those with most running first",
        "  4  those with most delayed first", "  ?  this list, and back", "",
        "A job's id is shown by its last twelve digits, which are enough for", "  inspectd status ID --explain",
        "  SELECT * FROM insp.explain_job('ID');", "  SELECT insp.cancel(insp.find_job('ID'));",
    ].map { Line(text: $0) }

    private static func status(_ number: Int16) -> String {
        JobStatus(rawValue: number)?.name ?? "\(number)"
    }

    private static func rate(_ perSecond: Double) -> String {
        perSecond >= 100 ? "\(Self.count(Int(perSecond.rounded())))/s" : String(format: "%.1f/s", perSecond)
    }

    /// With thousands separators. An estimate is marked and rounded to three digits.
    static func count(_ number: Int, _ isEstimate: Bool = false) -> String {
        var number = number
        if isEstimate {
            var unit = 1
            while number / unit >= 1000 { unit *= 10 }
            number = number / unit * unit
        }
        var digits = String(number)
        var end = digits.count - 3
        while end > 0 {
            digits.insert(",", at: digits.index(digits.startIndex, offsetBy: end))
            end -= 3
        }
        return isEstimate ? "~\(digits)" : digits
    }

    static func time(_ seconds: Double?) -> String {
        guard let seconds = seconds.map({ max(0, $0) }) else { return "–" }
        switch seconds {
        case ..<1: return String(format: "%.0f ms", seconds * 1000)
        case ..<10: return String(format: "%.1f s", seconds)
        case ..<120: return String(format: "%.0f s", seconds)
        case ..<7200: return String(format: "%.0f min", seconds / 60)
        case ..<172_800: return String(format: "%.0f h", seconds / 3600)
        default: return String(format: "%.0f d", seconds / 86_400)
        }
    }
}
