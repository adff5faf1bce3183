internal import CPostgres
internal import Dispatch
internal import Glibc
internal import Synchronization

/// A statement with its parameters, for ``PostgresConnection/pipeline(_:timeout:)``.
package struct PostgresStatement: Sendable {
    /// One statement, with `$1` and so on for the parameters.
    package var sql: String
    /// Sent separately from the statement, never as part of its text.
    package var parameters: [PostgresValue]

    package init(_ sql: String, _ parameters: [PostgresValue] = []) {
        self.sql = sql
        self.parameters = parameters
    }
}

/// One message of `NOTIFY`.
package struct PostgresNotification: Sendable, Equatable {
    /// The name given to `LISTEN`.
    package var channel: String
    /// Shorter than 8,000 bytes (PostgreSQL, "NOTIFY"); empty if none was given.
    package var payload: String
}

/// The settings of a connection.
package struct ConnectionOptions: Sendable {
    /// Shown as `application_name` in `pg_stat_activity`.
    package var name = "inspectd"
    /// For the TCP connection and the login together.
    package var connectTimeout: Duration = .seconds(10)
    /// The default time-out of a statement.
    package var timeout: Duration = .seconds(30)
    /// Whether statements are prepared once and kept. Behind a pooler in transaction mode they cannot be; a connection
    /// that detects one stops preparing.
    package var preparesStatements = true

    package init() {}

    package init(name: String) { self.name = name }
}

/// One connection to PostgreSQL on its own thread; calls run one after the other.
///
/// Every method blocks that thread, never Swift's cooperative pool. Values are sent in binary where that matters; all rows
/// of a statement are read before the call returns.
package actor PostgresConnection {
    private nonisolated let executor: QueueExecutor
    /// The connection's own thread, on which all its methods run.
    package nonisolated var unownedExecutor: UnownedSerialExecutor { self.executor.asUnownedSerialExecutor() }

    private let options: ConnectionOptions
    private var handle: ConnectionHandle?
    private var conninfo = ""
    private var preparesStatements = true
    /// Whether the database's default isolation level is stricter than READ COMMITTED, so that each transaction must set its own:
    /// code that locks rows and then reads again must see what others have committed meanwhile. Behind a pooler, a setting of the
    /// session would affect another client.
    private var setsIsolation = false
    private static let begin = "BEGIN ISOLATION LEVEL READ COMMITTED"
    /// Statements that this session has prepared.
    private var prepared: Set<String> = []
    /// Hashes of connection strings under which statements cannot be kept.
    private static let unprepared = Mutex<Set<Int>>([])
    private var watcher: (any DispatchSourceRead)?
    private var listeners: [AsyncStream<PostgresNotification>.Continuation] = []

    private init(_ options: ConnectionOptions) {
        self.options = options
        self.executor = QueueExecutor(label: "inspectd.postgres.\(options.name)")
    }

    /// Connects.
    ///
    /// - Parameter conninfo: A libpq connection string or URL; empty means libpq's `PG…` variables.
    /// - Throws: ``PostgresError`` with ``PostgresError/Code/connectionFailed`` or ``PostgresError/Code/timeout``.
    package static func connect(
        _ conninfo: String, options: ConnectionOptions = ConnectionOptions()
    ) async throws -> PostgresConnection {
        let connection = PostgresConnection(options)
        try await connection.open(conninfo)
        return connection
    }

    private func open(_ conninfo: String) throws {
        self.conninfo = conninfo
        self.preparesStatements = false
        self.handle = try ConnectionHandle(
            conninfo: conninfo, name: self.options.name, deadline: .now + self.options.connectTimeout)
        let isolation = try self.query("SHOW default_transaction_isolation", timeout: self.options.connectTimeout)
        self.setsIsolation = ["repeatable read", "serializable"].contains(try isolation[0].string(0))
        self.preparesStatements =
            self.options.preparesStatements && !Self.unprepared.withLock { $0.contains(conninfo.hashValue) }
    }

    /// Whether the connection is open: not closed, lost or abandoned.
    package var isOpen: Bool { self.handle?.socket != nil }

    /// The server process that serves the connection (`pg_backend_pid()`).
    package var backend: Int32 { self.handle?.backend ?? 0 }

    /// Closes the connection; streams of notifications end.
    package func close() {
        self.listeners.forEach { $0.finish() }
        self.listeners = []
        self.watcher?.cancel()
        self.watcher = nil
        self.handle?.close()
        self.handle = nil
    }

    // MARK: Statements

    /// Runs one statement with parameters and returns its rows.
    package func query(
        _ sql: String, _ parameters: [PostgresValue] = [], timeout: Duration? = nil
    ) throws -> [PostgresRow] {
        try self.pipeline([PostgresStatement(sql, parameters)], timeout: timeout)[0]
    }

    /// Runs a script of statements without parameters; unless it has its own `BEGIN`, the whole script is one transaction.
    package func execute(_ script: String, timeout: Duration? = nil) throws {
        let handle = try self.usable()
        let deadline = ContinuousClock.now + (timeout ?? self.options.timeout)
        try self.closingIfLost {
            try handle.check(PQsendQuery(try handle.open(), script))
            try handle.flush(deadline)
            var failure: PostgresError?
            while let result = try handle.nextResult(deadline) {
                if result.status == .error { failure = failure ?? result.error }
            }
            if let failure { throw failure }
        }
    }

    /// Runs statements in one round trip as one transaction: all of them happen, or none.
    ///
    /// - Returns: Each statement's rows.
    /// - Throws: The error of the first statement that failed.
    package func pipeline(_ statements: [PostgresStatement], timeout: Duration? = nil) throws -> [[PostgresRow]] {
        let handle = try self.usable()
        guard self.setsIsolation, PQtransactionStatus(try handle.open()) == PQTRANS_IDLE else {
            return try self.run(statements, on: handle, timeout)
        }
        let rows = try self.run(
            [PostgresStatement(Self.begin)] + statements + [PostgresStatement("COMMIT")], on: handle, timeout)
        return Array(rows.dropFirst().dropLast())
    }

    private func run(
        _ statements: [PostgresStatement], on handle: ConnectionHandle, _ timeout: Duration?
    ) throws -> [[PostgresRow]] {
        // Encoded before anything is sent: a bad parameter must not leave half a pipeline behind.
        let encoded = try statements.map { try EncodedParameters($0.parameters) }
        let deadline = ContinuousClock.now + (timeout ?? self.options.timeout)
        let wasIdle = PQtransactionStatus(try handle.open()) == PQTRANS_IDLE
        func send() throws -> [[PostgresRow]] {
            do {
                return try self.send(statements, encoded, on: handle, deadline)
            } catch {
                // A transaction that began here must end here.
                if wasIdle, let connection = try? handle.open(), PQtransactionStatus(connection) == PQTRANS_INERROR {
                    try self.execute("ROLLBACK")
                }
                throw error
            }
        }
        return try self.closingIfLost {
            do {
                return try send()
            } catch let error as PostgresError where self.preparesStatements && error.isLostPreparation {
                // Another session prepared the statement: a pooler lends a session for one transaction. From now on, statements
                // are sent in full.
                self.preparesStatements = false
                self.prepared = []
                Self.unprepared.withLock { _ = $0.insert(self.conninfo.hashValue) }
                // The pipeline had no effect, unless it was part of a transaction, which only its owner can repeat.
                guard PQtransactionStatus(try handle.open()) == PQTRANS_IDLE else { throw error }
                return try send()
            }
        }
    }

    private func send(
        _ statements: [PostgresStatement], _ encoded: [EncodedParameters],
        on handle: ConnectionHandle, _ deadline: ContinuousClock.Instant
    ) throws -> [[PostgresRow]] {
        try handle.check(PQenterPipelineMode(try handle.open()))
        var expected: [Expectation] = []
        var new: Set<String> = []
        for (statement, parameters) in zip(statements, encoded) {
            var name = ""
            if self.preparesStatements {
                name = Self.name(of: statement.sql)
                if !self.prepared.contains(statement.sql), new.insert(statement.sql).inserted {
                    try handle.check(PQsendPrepare(try handle.open(), name, statement.sql, 0, nil))
                    expected.append(.preparation(statement.sql))
                }
            }
            try Self.send(parameters, of: statement.sql, as: name, on: handle)
            expected.append(.rows)
            try handle.flush(deadline)
        }
        try handle.check(PQpipelineSync(try handle.open()))
        try handle.flush(deadline)
        return try self.collect(expected, from: handle, deadline)
    }

    /// A statement's name is a hash of its text (FNV-1a, 64 bits): behind a pooler, another client's statement of the same name must
    /// be the same statement.
    private static func name(of sql: String) -> String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in sql.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
        return "s" + String(hash, radix: 16)
    }

    /// Runs synchronous work on the connection inside a transaction: rolled back if `body` throws.
    package func transaction<Result: Sendable>(
        _ body: @Sendable (isolated PostgresConnection) throws -> Result
    ) throws -> Result {
        try self.execute(Self.begin)
        do {
            let result = try body(self)
            try self.execute("COMMIT")
            return result
        } catch {
            try? self.execute("ROLLBACK")
            throw error
        }
    }

    private enum Expectation {
        case preparation(String)
        case rows
    }

    /// A statement's parameters in one buffer.
    private struct EncodedParameters {
        var buffer: [UInt8] = []
        var values: [PostgresValue.Encoding?] = []

        init(_ parameters: [PostgresValue]) throws(PostgresError) {
            for parameter in parameters { self.values.append(try parameter.append(to: &self.buffer)) }
            // An empty value at the end still needs an address: a null pointer means SQL's NULL.
            self.buffer.append(0)
        }
    }

    private static func send(
        _ parameters: EncodedParameters, of sql: String, as name: String, on handle: ConnectionHandle
    ) throws {
        let connection = try handle.open()
        let lengths = parameters.values.map { CInt($0?.count ?? 0) }
        let formats: [CInt] = parameters.values.map { $0?.isBinary == true ? 1 : 0 }
        let sent = parameters.buffer.withUnsafeBytes { bytes in
            let base = bytes.baseAddress!.assumingMemoryBound(to: CChar.self)
            let pointers = parameters.values.map { $0.map { base + $0.offset } }
            let count = CInt(pointers.count)
            return name.isEmpty
                ? PQsendQueryParams(connection, sql, count, nil, pointers, lengths, formats, 1)
                : PQsendQueryPrepared(connection, name, count, pointers, lengths, formats, 1)
        }
        try handle.check(sent)
    }

    /// Reads every result up to the sync point, so that the connection remains usable even after an error.
    private func collect(
        _ expected: [Expectation], from handle: ConnectionHandle, _ deadline: ContinuousClock.Instant
    ) throws -> [[PostgresRow]] {
        var collected: [[PostgresRow]] = []
        var failure: PostgresError?
        for expectation in expected {
            var rows: [PostgresRow] = []
            while let result = try handle.nextResult(deadline) {
                switch result.status {
                case .rows: if rows.isEmpty { rows = result.rows() } else { rows += result.rows() }
                case .done:
                    if case .preparation(let sql) = expectation { self.prepared.insert(sql) }
                case .error: failure = failure ?? result.error
                case .aborted, .sync, .other: break
                }
            }
            if case .rows = expectation { collected.append(rows) }
        }
        // A failing COMMIT (a deferred constraint, a lock that notifications wait for) is reported here, at the sync point;
        // libpq puts an empty answer between it and the sync.
        var isSynced = false
        for _ in 0..<2 where !isSynced {
            while !isSynced, let result = try handle.nextResult(deadline) {
                if result.status == .error { failure = failure ?? result.error }
                isSynced = result.status == .sync
            }
        }
        try handle.check(PQexitPipelineMode(try handle.open()))
        if let failure { throw failure }
        return collected
    }

    private func usable() throws(PostgresError) -> ConnectionHandle {
        guard let handle = self.handle, handle.socket != nil else {
            throw PostgresError(.connectionLost, "the connection is closed")
        }
        return handle
    }

    /// After a lost connection or a missed deadline, this connection cannot be used again.
    private func closingIfLost<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            let result = try body()
            self.deliverNotifications()
            return result
        } catch let error as PostgresError {
            if error.code == .connectionLost || error.code == .timeout { self.close() }
            throw error
        }
    }

    // MARK: Notifications

    /// Subscribes to a channel.
    ///
    /// - Returns: The messages from now on; of unread ones, only the newest 64 are kept. The stream ends with the connection.
    ///   A message is a hint: one may be missed, so the caller must also poll.
    package func listen(_ channel: String) throws -> AsyncStream<PostgresNotification> {
        let quoted =
            "\"" + channel.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
        try self.execute("LISTEN \(quoted)")
        let (stream, continuation) = AsyncStream.makeStream(
            of: PostgresNotification.self, bufferingPolicy: .bufferingNewest(64))
        self.listeners.append(continuation)
        if self.watcher == nil, let socket = self.handle?.socket {
            // A duplicate descriptor: libpq may close the socket at any time, but what a source watches may be closed only
            // after the source is cancelled.
            let watched = dup(socket)
            guard watched >= 0 else { throw PostgresError(.connectionLost, "dup failed with errno \(errno)") }
            let watcher = DispatchSource.makeReadSource(fileDescriptor: watched, queue: self.executor.queue)
            watcher.setEventHandler { [weak self] in self?.assumeIsolated { $0.readable() } }
            watcher.setCancelHandler { Glibc.close(watched) }
            watcher.activate()
            self.watcher = watcher
        }
        return stream
    }

    /// Reads everything that has arrived. The end of the connection may come in the same event as the last message, without another
    /// event, so this continues until nothing is left.
    private func readable() {
        do {
            repeat {
                try self.usable().consume()
                self.deliverNotifications()
            } while try self.usable().isReadable
        } catch {
            self.close()
        }
    }

    private func deliverNotifications() {
        guard !self.listeners.isEmpty, let handle = self.handle else { return }
        while let notification = try? handle.nextNotification() {
            self.listeners.forEach { $0.yield(notification) }
        }
    }
}
