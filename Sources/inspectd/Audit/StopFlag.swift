import Foundation

/// Set by SIGTERM or SIGINT.
final class StopFlag {
    let signals: StopSignals
    private let flag: Flag

    private final class Flag: @unchecked Sendable {
        // Protected by the lock.
        private var value = false
        private let lock = NSLock()
        var isSet: Bool { self.lock.withLock { self.value } }
        func set() { self.lock.withLock { self.value = true } }
    }

    init() {
        let flag = Flag()
        self.flag = flag
        self.signals = StopSignals { flag.set() }
    }

    var isSet: Bool { self.flag.isSet }
}
