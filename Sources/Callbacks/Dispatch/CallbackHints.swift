internal import Postgres

/// Wakes a dispatcher's loops: now and then, and when the database says that something is due.
struct CallbackHints: Sendable {
    let configuration: CallbackConfiguration
    let claims: Wakeup
    let records: Wakeup

    func tick() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: self.configuration.poll * Double.random(in: 0.8...1.2))
            self.claims.wake()
            self.records.wake()
        }
    }

    /// LISTEN only wakes; polling finds what no hint told of.
    func listen() async {
        guard let url = self.configuration.listenURL else { return }
        let options = ConnectionOptions(name: "inspectd callbacks listen")
        await NotificationListener(url, options: options, channels: ["insp_callback"]).run { event in
            switch event {
            case .listening: self.claims.wake()
            case .notification:
                self.claims.wake()
                // One announcement stands for 50 ms (insp.callback_announce): look again behind it.
                try? await Task.sleep(for: .milliseconds(60))
                self.claims.wake()
            case .lost: break
            }
        }
    }
}

/// Wakes a loop: many calls before its next round are one.
struct Wakeup: Sendable {
    let stream: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    init() {
        (self.stream, self.continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    func wake() { self.continuation.yield() }
}

/// How long a loop lets what it was woken for come together with more.
struct Patience {
    private let wakeup: Wakeup
    private var until: ContinuousClock.Instant?
    private var timer: Task<Void, Never>?

    init(_ wakeup: Wakeup) { self.wakeup = wakeup }

    /// Whether the time that was set first is over; else the loop is woken then.
    mutating func isOver(at deadline: ContinuousClock.Instant) -> Bool {
        let until = self.until ?? deadline
        guard until > .now else { return true }
        if self.timer == nil {
            self.until = until
            self.timer = Task { [wakeup] in
                if (try? await Task.sleep(until: until, clock: .continuous)) != nil { wakeup.wake() }
            }
        }
        return false
    }

    mutating func end() {
        self.timer?.cancel()
        self.timer = nil
        self.until = nil
    }
}
