import Dispatch
import Foundation
import InspectCore
import JobQueue
import Postgres

extension Command {
    static let top = Command(
        name: "top",
        summary: "shows the queue and its workers, and refreshes every few seconds",
        synopsis: "[--interval S] | --once",
        options: [
            .value("interval", "SECONDS", "time between two refreshes [2]"),
            .flag("once", "prints the view once as plain text and exits"),
        ] + Configuration.databaseOptions + Configuration.logOptions,
        body: { arguments in
            let configuration = try Configuration(arguments)
            let interval = try arguments.integer("interval", in: 1...3600) ?? 2
            let view = TopView(databaseURL: configuration.databaseURL, interval: .seconds(interval))
            if arguments.has("once") {
                do { try await view.printOnce() } catch let error as PostgresError { throw error.meaning }
            } else {
                guard Terminal.isUsable(configuration.terminal) else {
                    throw UsageError("'top' needs a terminal; --once prints plain text")
                }
                await view.run()
            }
        }
    )
}

/// Polls the queue and shows its state.
private struct TopView {
    let observer: QueueObserver
    let interval: Duration

    init(databaseURL: String, interval: Duration) {
        self.observer = QueueObserver(databaseURL: databaseURL)
        self.interval = interval
    }

    func printOnce() async throws {
        // Two polls, since a rate requires two.
        let first = try await self.observer.snapshot(rateOver: .seconds(10))
        try await Task.sleep(for: .seconds(1))
        let second = try await self.observer.snapshot(rateOver: .seconds(10))
        await self.observer.close()
        let page = TopPage(snapshot: second, acceptedPerSecond: Self.rate(first, second))
        for line in page.lines { Output.line(Terminal.harmless(line.text)) }
    }

    private enum Event: Sendable {
        case seen(QueueSnapshot)
        case failed(String)
        case key(UInt8)
        case resized
        case suspended
        case ended
    }

    /// The data shown.
    private struct State {
        var last: QueueSnapshot?
        var accepted: Double?
        var failure: String?
        var order = TopPage.Order.waiting
        var isPaused = false
        var showsKeys = false
    }

    func run() async {
        let (events, sink) = AsyncStream.makeStream(of: Event.self)
        // Set before full screen, so that no signal ends the program without restoring the terminal.
        let sources = Self.signals(sink)
        var terminal = Terminal()
        let keys = Self.keys(sink)
        var polling: Task<Void, Never>? = self.poll(sink)
        defer {
            polling?.cancel()
            sources.forEach { $0.cancel() }
            keys?.cancel()
        }
        var state = State()
        self.draw(state, &terminal)
        for await event in events {
            switch event {
            case .seen(let snapshot):
                state.accepted = state.last.flatMap { Self.rate($0, snapshot) }
                state.last = snapshot
                state.failure = nil
            case .failed(let reason): state.failure = reason
            case .key(UInt8(ascii: "q")), .ended: return
            case .key(UInt8(ascii: "p")), .key(UInt8(ascii: " ")):
                state.isPaused.toggle()
                polling?.cancel()
                polling = state.isPaused ? nil : self.poll(sink)
            case .key(UInt8(ascii: "?")): state.showsKeys.toggle()
            case .key(let key):
                let orders = TopPage.Order.allCases
                guard let index = (0..<orders.count).first(where: { key == UInt8(ascii: "1") + UInt8($0) }) else {
                    continue
                }
                state.order = orders[index]
            case .resized: terminal.invalidate()
            case .suspended:
                terminal.leave()
                kill(getpid(), SIGSTOP)
                // Resumed by SIGCONT.
                terminal.enter()
                terminal.invalidate()
            }
            self.draw(state, &terminal)
        }
    }

    private func draw(_ state: State, _ terminal: inout Terminal) {
        let remark =
            (state.isPaused ? "paused" : "every \(Int(self.interval.seconds)) s")
            + " · by \(state.order.rawValue) · ? keys"
        let size = Terminal.size
        var lines: [Terminal.Line]
        if state.showsKeys {
            lines = [Terminal.Line(text: "inspectd · \(remark)", style: .title)] + TopPage.keys
        } else if let last = state.last {
            lines =
                TopPage(
                    snapshot: last, acceptedPerSecond: state.accepted, order: state.order, rows: size.rows,
                    columns: size.columns, remark: remark
                ).lines
        } else {
            lines = [Terminal.Line(text: "inspectd · \(remark)", style: .title)]
        }
        if let failure = state.failure {
            lines.insert(Terminal.Line(text: "database unavailable: \(failure)", style: .warning), at: 1)
        }
        terminal.draw(lines)
    }

    private func poll(_ sink: AsyncStream<Event>.Continuation) -> Task<Void, Never> {
        Task {
            while !Task.isCancelled {
                do {
                    sink.yield(.seen(try await self.observer.snapshot(rateOver: max(.seconds(2), self.interval))))
                } catch {
                    sink.yield(.failed("\(error)"))
                }
                try? await Task.sleep(for: self.interval)
            }
        }
    }

    private static func rate(_ first: QueueSnapshot, _ second: QueueSnapshot) -> Double? {
        second.atSeconds > first.atSeconds
            ? Double(second.accepted - first.accepted) / (second.atSeconds - first.atSeconds) : nil
    }

    private static func signals(_ sink: AsyncStream<Event>.Continuation) -> [any DispatchSourceSignal] {
        let meanings: [(CInt, Event)] = [
            (SIGINT, .ended), (SIGTERM, .ended), (SIGHUP, .ended), (SIGQUIT, .ended), (SIGWINCH, .resized),
            (SIGTSTP, .suspended),
        ]
        return meanings.map { number, event in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { sink.yield(event) }
            source.activate()
            return source
        }
    }

    private static func keys(_ sink: AsyncStream<Event>.Continuation) -> (any DispatchSourceRead)? {
        guard isatty(STDIN_FILENO) == 1 else { return nil }
        let source = DispatchSource.makeReadSource(fileDescriptor: STDIN_FILENO, queue: .global())
        source.setEventHandler {
            var bytes = [UInt8](repeating: 0, count: 64)
            let count = read(STDIN_FILENO, &bytes, bytes.count)
            if count > 0 {
                for byte in bytes.prefix(count) { sink.yield(.key(byte)) }
            } else if count == 0 || errno != EINTR && errno != EAGAIN {
                // Hung up.
                sink.yield(.ended)
            }
        }
        source.activate()
        return source
    }
}
