internal import CPostgres
internal import Dispatch
internal import Glibc
internal import Synchronization

/// The sole owner of one libpq connection.
///
/// libpq forbids concurrent use of a `PGconn`: ``PostgresConnection`` keeps the handle on its executor. Every wait has a
/// deadline; after a missed one the connection's state is unknown, so it is closed.
final class ConnectionHandle {
    private var connection: OpaquePointer?

    /// Connects, blocking the calling thread until the server answers or the deadline passes.
    ///
    /// - Parameter conninfo: A libpq connection string or URL. Never logged: it may hold a password.
    init(conninfo: String, name: String, deadline: ContinuousClock.Instant) throws(PostgresError) {
        guard Self.isReadable(conninfo) else {
            throw PostgresError(.connectionFailed, "the connection string is not one that libpq reads")
        }
        // The string comes last and so overrides. A vanished peer is detected in about 20 s.
        let settings: [(String, String)] = [
            ("application_name", name), ("client_encoding", "UTF8"), ("keepalives_idle", "10"),
            ("keepalives_interval", "5"), ("keepalives_count", "2"), ("tcp_user_timeout", "20000"),
            ("dbname", conninfo),
        ]
        let started = Self.withCStrings(settings.map(\.0)) { keywords in
            Self.withCStrings(settings.map(\.1)) { values in PQconnectStartParams(keywords, values, 1) }
        }
        guard let connection = started else { throw PostgresError(.connectionFailed, "out of memory") }
        self.connection = connection
        do {
            try self.finishConnecting(deadline)
        } catch {
            self.close()
            throw error
        }
        cpg_silence_notices(connection)
        PQsetnonblocking(connection, 1)
    }

    /// Whether libpq parses a connection string as it was meant. Its messages, and the server's, repeat what they do not
    /// understand, such as the rest of a password that contains a character that had to be encoded.
    private static func isReadable(_ conninfo: String) -> Bool {
        let isURL = ["postgresql://", "postgres://"].contains { conninfo.hasPrefix($0) }
        // Anything else without an equals sign is the name of a database.
        guard isURL || conninfo.contains("=") else { return !conninfo.contains("://") }
        if isURL {
            let parts = conninfo.split(separator: "?", maxSplits: 1)[0].split(separator: "/", maxSplits: 3)
            guard (parts.dropFirst().first ?? "").count(where: { $0 == "@" }) <= 1,
                !(parts.dropFirst(2).contains { $0.contains("@") })
            else { return false }
        }
        var message: UnsafeMutablePointer<CChar>?
        let options = PQconninfoParse(conninfo, &message)
        defer {
            PQfreemem(message)
            PQconninfoFree(options)
        }
        guard var option = options else { return false }
        while let keyword = option.pointee.keyword {
            if String(cString: keyword) == "port", let value = option.pointee.val,
                !String(cString: value).utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == 0x2c })
            {
                return false
            }
            option += 1
        }
        return true
    }

    deinit { self.close() }

    func close() {
        if let connection = self.connection { PQfinish(connection) }
        self.connection = nil
    }

    /// The socket to watch for readability, or `nil` once the connection is closed.
    var socket: CInt? {
        guard let connection = self.connection else { return nil }
        let descriptor = PQsocket(connection)
        return descriptor >= 0 ? descriptor : nil
    }

    /// Whether there is something to read now, including the end of the connection.
    var isReadable: Bool {
        guard let socket = self.socket else { return false }
        var descriptor = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
        return poll(&descriptor, 1, 0) > 0
    }

    /// The server process that serves the connection.
    var backend: Int32 { self.connection.map { PQbackendPID($0) } ?? 0 }

    private func finishConnecting(_ deadline: ContinuousClock.Instant) throws(PostgresError) {
        var state = PGRES_POLLING_WRITING
        while state != PGRES_POLLING_OK {
            guard let connection = self.connection, state != PGRES_POLLING_FAILED,
                PQstatus(connection) != CONNECTION_BAD
            else { throw PostgresError(.connectionFailed, self.message) }
            try self.wait(state == PGRES_POLLING_READING ? POLLIN : POLLOUT, deadline)
            state = PQconnectPoll(connection)
        }
    }

    /// The connection's last error, first line only: the following ones are hints and positions.
    private var message: String {
        guard let connection = self.connection else { return "the connection is closed" }
        let text = String(cString: PQerrorMessage(connection))
        return text.split(separator: "\n").first.map(String.init) ?? "unknown error"
    }

    /// Waits until the socket is readable or writable.
    ///
    /// - Returns: Which of the two.
    @discardableResult
    private func wait(_ events: Int32, _ deadline: ContinuousClock.Instant) throws(PostgresError) -> Int32 {
        while true {
            guard let socket = self.socket else { throw PostgresError(.connectionLost, "the connection is closed") }
            let left = ContinuousClock.now.duration(to: deadline)
            guard left > .zero else {
                self.cancelStatement()
                self.close()
                throw PostgresError(.timeout, "the server did not answer in time")
            }
            let (seconds, attoseconds) = left.components
            let milliseconds = seconds > 86_400 ? 86_400_000 : seconds * 1000 + attoseconds / 1_000_000_000_000_000 + 1
            var descriptor = pollfd(fd: socket, events: Int16(events), revents: 0)
            let count = poll(&descriptor, 1, CInt(milliseconds))
            if count > 0 { return Int32(descriptor.revents) }
            if count < 0 && errno != EINTR {
                self.close()
                throw PostgresError(.connectionLost, "poll failed with errno \(errno)")
            }
        }
    }

    /// Cancellation requests under way in this process.
    private static let cancellations = Mutex(0)

    /// Asks the server to cancel the unanswered statement: a back-end that waits for a lock does not notice that its client
    /// has gone, and each attempt would leave another back-end waiting.
    ///
    /// `PQcancel` makes its own connection, without a time-out, so it runs on its own thread and is awaited for at most a second.
    /// If too many are under way, the server is unreachable, and this one is skipped.
    private func cancelStatement() {
        guard let connection = self.connection, PQtransactionStatus(connection) == PQTRANS_ACTIVE,
            Self.cancellations.withLock({ count in
                guard count < 8 else { return false }
                count += 1
                return true
            })
        else { return }
        guard let request = PQgetCancel(connection) else {
            Self.cancellations.withLock { $0 -= 1 }
            return
        }
        nonisolated(unsafe) let cancel = request
        let isSent = DispatchSemaphore(value: 0)
        DispatchQueue(label: "inspectd.postgres.cancel").async {
            var message = [CChar](repeating: 0, count: 256)
            PQcancel(cancel, &message, CInt(message.count))
            PQfreeCancel(cancel)
            Self.cancellations.withLock { $0 -= 1 }
            isSent.signal()
        }
        // Before the socket is closed, since a pooler finds the request's server by the connection.
        _ = isSent.wait(timeout: .now() + 1)
    }

    /// Sends libpq's buffer, reading meanwhile: a server that waits for its answers to be read would never read the rest.
    func flush(_ deadline: ContinuousClock.Instant) throws(PostgresError) {
        while true {
            let left = PQflush(try self.open())
            if left == 0 { return }
            guard left > 0 else { throw self.lost() }
            if try self.wait(POLLIN | POLLOUT, deadline) & POLLIN != 0 { try self.consume() }
        }
    }

    /// Reads what has arrived, without waiting.
    func consume() throws(PostgresError) {
        guard PQconsumeInput(try self.open()) == 1 else { throw self.lost() }
    }

    func open() throws(PostgresError) -> OpaquePointer {
        guard let connection = self.connection else {
            throw PostgresError(.connectionLost, "the connection is closed")
        }
        return connection
    }

    private func lost() -> PostgresError {
        let error = PostgresError(.connectionLost, self.message)
        self.close()
        return error
    }

    /// The next result, or `nil` at the end of a statement's results.
    func nextResult(_ deadline: ContinuousClock.Instant) throws(PostgresError) -> QueryResult? {
        while PQisBusy(try self.open()) == 1 {
            try self.wait(POLLIN, deadline)
            try self.consume()
        }
        guard let result = PQgetResult(try self.open()) else {
            // At the end of results libpq also returns nothing when the connection broke.
            if PQstatus(try self.open()) == CONNECTION_BAD { throw self.lost() }
            return nil
        }
        return QueryResult(result)
    }

    /// The next notification that has arrived.
    func nextNotification() throws(PostgresError) -> PostgresNotification? {
        guard let notification = PQnotifies(try self.open()) else { return nil }
        defer { PQfreemem(notification) }
        return PostgresNotification(
            channel: String(cString: notification.pointee.relname),
            payload: notification.pointee.extra.map { String(cString: $0) } ?? "")
    }

    /// Throws for a libpq call's 0.
    func check(_ result: CInt) throws(PostgresError) {
        guard result == 1 else { throw self.lost() }
    }

    private static func withCStrings<Result>(
        _ texts: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Result
    ) -> Result {
        let copies = texts.map { strdup($0) }
        defer { copies.forEach { free($0) } }
        let pointers: [UnsafePointer<CChar>?] = copies.map { $0.map { UnsafePointer($0) } } + [nil]
        return pointers.withUnsafeBufferPointer { body($0.baseAddress!) }
    }
}

/// One result of libpq, freed when it goes out of scope.
struct QueryResult: ~Copyable {
    private let result: OpaquePointer

    init(_ result: OpaquePointer) { self.result = result }

    deinit { PQclear(self.result) }

    enum Status { case rows, done, error, aborted, sync, other }

    var status: Status {
        switch PQresultStatus(self.result) {
        case PGRES_TUPLES_OK, PGRES_SINGLE_TUPLE: .rows
        case PGRES_COMMAND_OK, PGRES_EMPTY_QUERY: .done
        case PGRES_FATAL_ERROR, PGRES_BAD_RESPONSE: .error
        case PGRES_PIPELINE_ABORTED: .aborted
        case PGRES_PIPELINE_SYNC: .sync
        default: .other
        }
    }

    var error: PostgresError {
        func field(_ code: Unicode.Scalar) -> String? {
            PQresultErrorField(self.result, CInt(code.value)).map { String(cString: $0) }
        }
        // PG_DIAG_SQLSTATE, _MESSAGE_PRIMARY, _CONSTRAINT_NAME, _MESSAGE_DETAIL, _MESSAGE_HINT and _COLUMN_NAME, which are macros.
        let state = field("C")
        let isRefusal = state.map(PostgresError.isRefusal) ?? false
        return PostgresError(
            state == nil ? .connectionLost : .server, sqlState: state, field("M") ?? "no message",
            constraint: field("n"), detail: isRefusal ? field("D") : nil, hint: isRefusal ? field("H") : nil,
            // Empty if a refusal concerns no member.
            column: isRefusal ? field("c").flatMap { $0.isEmpty ? nil : $0 } : nil)
    }

    /// Copies the rows out, so that nothing of libpq's memory is used after this result is freed.
    func rows() -> [PostgresRow] {
        let columns = PQnfields(self.result)
        let count = PQntuples(self.result)
        var names: [String] = []
        var types: [UInt32] = []
        for column in 0..<columns {
            names.append(String(cString: PQfname(self.result, column)))
            types.append(PQftype(self.result, column))
        }
        var values: [Range<Int>?] = []
        values.reserveCapacity(Int(columns) * Int(count))
        let result = self.result
        // Growing step by step would copy half a megabyte several times, each time to new pages. libpq's own size is enough, and
        // what is not written takes no memory.
        let bytes = [UInt8](unsafeUninitializedCapacity: PQresultMemorySize(result)) { bytes, end in
            for row in 0..<count {
                for column in 0..<columns {
                    let length = Int(PQgetlength(result, row, column))
                    guard length > 0 || PQgetisnull(result, row, column) == 0 else {
                        values.append(nil)
                        continue
                    }
                    precondition(length <= bytes.count - end, "libpq's result is larger than it says")
                    if length > 0 { memcpy(bytes.baseAddress! + end, PQgetvalue(result, row, column), length) }
                    values.append(end..<end + length)
                    end += length
                }
            }
        }
        let set = ResultSet(names: names, types: types, bytes: bytes, values: values)
        return (0..<Int(count)).map { PostgresRow(set: set, index: $0) }
    }
}
