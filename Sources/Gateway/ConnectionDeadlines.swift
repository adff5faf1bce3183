internal import Glibc
internal import Synchronization

/// When each open connection must have got further. libmicrohttpd's own time-out begins anew with every byte, so a client
/// that drips would never meet it.
final class ConnectionDeadlines: Sendable {
    private struct Entry {
        var descriptor: CInt
        /// `nil` while the request is being worked on: that is not the client's time.
        var deadline: ContinuousClock.Instant?
    }

    private let entries = Mutex<[UInt: Entry]>([:])

    var count: Int { self.entries.withLock { $0.count } }

    func open(_ connection: OpaquePointer, _ descriptor: CInt, seconds: Double) {
        self.entries.withLock { entries in
            entries[UInt(bitPattern: connection)] = Entry(descriptor: descriptor, deadline: .now + .seconds(seconds))
        }
    }

    /// Sets the time for the connection's next phase; `nil`: it has none.
    func set(_ connection: OpaquePointer, seconds: Double?) {
        self.entries.withLock { entries in
            entries[UInt(bitPattern: connection)]?.deadline = seconds.map { .now + .seconds($0) }
        }
    }

    /// Forgets a connection, before its descriptor is closed.
    func close(_ connection: OpaquePointer) {
        self.entries.withLock { _ = $0.removeValue(forKey: UInt(bitPattern: connection)) }
    }

    /// Shuts down connections that are late; their server notices as if the client had hung up.
    func sweep() {
        let now = ContinuousClock.now
        self.entries.withLock { entries in
            for (connection, entry) in entries {
                guard let deadline = entry.deadline, deadline < now else { continue }
                // Under the lock: the descriptor cannot have become another connection's meanwhile.
                shutdown(entry.descriptor, CInt(SHUT_RDWR))
                entries[connection]?.deadline = nil
            }
        }
    }

    /// Shuts down every connection whose request is not being worked on.
    func expireAll() {
        self.entries.withLock { entries in
            for entry in entries.values where entry.deadline != nil { shutdown(entry.descriptor, CInt(SHUT_RDWR)) }
        }
    }
}
