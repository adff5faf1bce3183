import Foundation
import Postgres
import Synchronization
import TestSupport
import Testing

@Suite struct PostgresConnectionTests {
    @Test func `Values keep their type and their bytes on the way there and back`() async throws {
        let connection = try await ScratchDatabase.empty().connect()
        let bytes = Data([0, 1, 255, 92, 39])
        let row = try await connection.query(
            """
            SELECT $1::bool AS flag, $2::bigint AS big, $3::int AS small, $4::float8 AS real, $5::text AS text,
                $6::bytea AS bytes, $7::jsonb AS json, $8::bigint[] AS ints, $9::text[] AS texts, $10::bytea[] AS blobs,
                NULL::text AS nothing, timestamptz '2000-01-02 00:00:00.5+00' AS moment,
                '00112233-4455-6677-8899-aabbccddeeff'::uuid AS uuid, $11::smallint AS negative, ''::bytea AS empty
            """,
            [
                true, .int(Int64.min), 42, 0.25, "naïve \"quoted\" \\ ☃", .bytes(bytes), #"{"a":[1]}"#,
                .intArray([1, -2, .max]), .textArray(["a,b", "\"{}\\", nil].compactMap { $0 }),
                .byteas([bytes, Data()]), -7,
            ])[0]
        #expect(try row.bool("flag"))
        #expect(try row.int("big") == .min)
        #expect(try row.int("small") == 42)
        #expect(try row.double("real") == 0.25)
        #expect(try row.string("text") == "naïve \"quoted\" \\ ☃")
        #expect(try row.data("bytes") == bytes)
        #expect(try row.string("json") == #"{"a": [1]}"#)
        #expect(try row.intArray("ints") == [1, -2, .max])
        #expect(try row.textArray("texts") == ["a,b", "\"{}\\"])
        #expect(try row.optionalString("nothing") == nil)
        #expect(try row.date("moment") == Date(timeIntervalSince1970: 946_684_800 + 86_400.5))
        #expect(try row.string("uuid") == "00112233-4455-6677-8899-aabbccddeeff")
        #expect(try row.int("negative") == -7)
        #expect(try row.data("empty").isEmpty)
        #expect(throws: PostgresError.self) { try row.int("text") }
        #expect(throws: PostgresError.self) { try row.string("absent") }
        // By position, in another way.
        #expect(try row.bool(0) && row.int(1) == .min && row.int(2) == 42 && row.int(13) == -7)
        #expect(try row.string(4) == "naïve \"quoted\" \\ ☃" && row.string(6) == #"{"a": [1]}"#)
        #expect(try row.string(12) == "00112233-4455-6677-8899-aabbccddeeff")
        #expect(try row.isNull(10) && row.optionalString(10) == nil && !row.isNull(14))
        #expect(throws: PostgresError.self) { try row.int(4) }
        #expect(throws: PostgresError.self) { try row.bool(1) }
        #expect(throws: PostgresError.self) { try row.string(10) }
        #expect(throws: PostgresError.self) { try row.isNull(15) }
        #expect(throws: PostgresError.self) { try row.optionalString(-1) }
        // The message has the column's name, however it is read.
        for error in [
            #expect(throws: PostgresError.self) { try row.int("nothing") },
            #expect(throws: PostgresError.self) { try row.int(10) },
        ] { #expect(error?.message.hasPrefix("column nothing is NULL") == true) }
    }

    @Test func `Arrays in binary arrive as those in text`() async throws {
        let connection = try await ScratchDatabase.empty().connect()
        let numbers: [Int64] = [0, -1, .min, .max]
        let texts: [String?] = ["", "a,b", #"{"k": "\\\"☃"}"#, nil, "NULL"]
        let jsonbs: [String?] = [#"{"k": "\"☃"}"#, "[1]", nil]
        let row = try await connection.query(
            """
            SELECT $1::bigint[] = $2::bigint[] AND $3::text[] IS NOT DISTINCT FROM $4::text[]
                AND $5::jsonb[] IS NOT DISTINCT FROM $6::jsonb[] AND $7::bigint[] = '{}' AND $8::text[] = '{}',
                array_to_string($3::text[], '|', '-')
            """,
            [
                .bigints(numbers), .intArray(numbers), .texts(texts), .textArray(texts), .jsonbs(jsonbs),
                .textArray(jsonbs), .bigints([]), .texts([]),
            ])[0]
        #expect(try row.bool(0))
        #expect(try row.string(1) == texts.map { $0 ?? "-" }.joined(separator: "|"))
        await #expect(throws: PostgresError.self) {
            try await connection.query("SELECT $1::text[]", [.texts(["a\0b"])])
        }
    }

    @Test func `A text with U+0000 is refused before anything is sent`() async throws {
        let connection = try await ScratchDatabase.empty().connect()
        let error = await #expect(throws: PostgresError.self) {
            try await connection.query("SELECT $1::text", ["a\0b"])
        }
        #expect(error?.code == .invalidParameter)
        #expect(try await connection.query("SELECT 1")[0].int(0) == 1)
    }

    @Test(arguments: ["repeatable read", "serializable"])
    func `Each statement sees what others have committed, whatever the database begins with`(isolation: String)
        async throws
    {
        let database = try await ScratchDatabase.empty()
        let admin = try await database.connect()
        let name = try await admin.query("SELECT current_database()")[0].string(0)
        try await admin.execute(
            "CREATE TABLE t (n int); ALTER DATABASE \(name) SET default_transaction_isolation = '\(isolation)'")
        let connection = try await database.connect()
        let level = PostgresStatement("SELECT current_setting('transaction_isolation')")
        let add = PostgresStatement("INSERT INTO t VALUES (1)")
        let fail = PostgresStatement("SELECT 1 / 0")
        for _ in 0..<2 {
            #expect(try await connection.query(level.sql)[0].string(0) == "read committed")
            let rows = try await connection.pipeline([level, add, level])
            #expect(try rows.map { try $0.first?.string(0) } == ["read committed", nil, "read committed"])
            // What fails leaves nothing behind, neither rows nor its transaction.
            await #expect(throws: PostgresError.self) { try await connection.pipeline([add, fail, add]) }
        }
        #expect(try await admin.query("SELECT count(*) FROM t")[0].int(0) == 2)
        let inside = try await connection.transaction { try $0.query(level.sql)[0].string(0) }
        #expect(inside == "read committed")
        // Who asks for another level has it, to the end of the transaction.
        try await connection.execute("BEGIN ISOLATION LEVEL SERIALIZABLE")
        #expect(try await connection.query(level.sql)[0].string(0) == "serializable")
        await #expect(throws: PostgresError.self) { try await connection.query(fail.sql) }
        let aborted = await #expect(throws: PostgresError.self) { try await connection.query(level.sql) }
        #expect(aborted?.sqlState == "25P02")
        try await connection.execute("ROLLBACK")
        #expect(try await connection.query(level.sql)[0].string(0) == "read committed")
    }

    @Test func `Details and hints are kept of the schema's own errors alone`() async throws {
        let connection = try await ScratchDatabase.empty().connect()
        func error(_ sql: String) async throws -> PostgresError {
            try #require(await #expect(throws: PostgresError.self) { try await connection.query(sql) })
        }
        try await connection.execute(
            """
            CREATE FUNCTION pg_temp.fail(state text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
                RAISE EXCEPTION 'said' USING ERRCODE = state, DETAIL = 'the detail', HINT = 'The hint.'; END $$
            """)
        let ours = try await error("SELECT pg_temp.fail('IN001')")
        #expect(ours.message == "said" && ours.detail == "the detail" && ours.hint == "The hint.")
        #expect("\(ours)" == "server error IN001: said (the detail). The hint.")
        let theirs = try await error("SELECT pg_temp.fail('23505')")
        #expect(theirs.detail == nil && theirs.hint == nil)
    }

    @Test func `A row that is missing is an error`() async throws {
        let connection = try await ScratchDatabase.empty().connect()
        #expect(try await connection.query("SELECT 1").single().int(0) == 1)
        let none = try await connection.query("SELECT 1 WHERE false")
        #expect(throws: PostgresError.self) { try none.single() }
    }

    @Test func `An array of records is read as rows`() async throws {
        let connection = try await ScratchDatabase.empty().connect()
        try await connection.execute("CREATE TYPE pair AS (n bigint, words text[], ok boolean)")
        let rows = try await connection.query(
            """
            SELECT ARRAY[(1, ARRAY['a', 'b'], true)::pair, (-2, NULL, NULL)::pair] AS pairs, ARRAY[]::pair[] AS none,
                NULL::pair[] AS nothing, ARRAY[1] AS numbers, '7'::xid8 AS transaction
            """)
        let pairs = try rows[0].records("pairs", "n", "words", "ok")
        #expect(pairs.count == 2)
        #expect(try pairs[0].int("n") == 1 && pairs[0].textArray("words") == ["a", "b"] && pairs[0].bool("ok"))
        #expect(try pairs[1].int("n") == -2 && pairs[1].isNull("words") && pairs[1].optionalBool("ok") == nil)
        #expect(try rows[0].records("none", "n").isEmpty && rows[0].records("nothing", "n").isEmpty)
        #expect(throws: PostgresError.self) { try rows[0].records("numbers", "n") }
        #expect(throws: PostgresError.self) { try rows[0].records("pairs", "n") }
        #expect(try rows[0].int("transaction") == 7)
        #expect(try rows[0].position(of: "numbers") == 3)
        #expect(throws: PostgresError.self) { try rows[0].position(of: "absent") }
    }

    @Test func `A pipeline happens whole or not at all, and the connection stays usable`() async throws {
        let connection = try await ScratchDatabase.empty().connect()
        try await connection.execute("CREATE TEMP TABLE t (n int PRIMARY KEY)")
        let insert = "INSERT INTO t VALUES ($1::int) RETURNING n"
        let rows = try await connection.pipeline([
            PostgresStatement(insert, [1]), PostgresStatement(insert, [2]),
            PostgresStatement("SELECT count(*) FROM t"),
        ])
        #expect(try rows[1][0].int("n") == 2)
        #expect(try rows[2][0].int(0) == 2)
        let error = await #expect(throws: PostgresError.self) {
            try await connection.pipeline([
                PostgresStatement(insert, [3]), PostgresStatement(insert, [1]), PostgresStatement(insert, [4]),
            ])
        }
        #expect(error?.sqlState == "23505")
        #expect(try await connection.query("SELECT count(*) FROM t")[0].int(0) == 2)
    }

    @Test func `A pipeline that fails only as it is committed says so, and the connection stays usable`() async throws {
        let connection = try await ScratchDatabase.empty().connect()
        try await connection.execute("CREATE TABLE t (n integer UNIQUE DEFERRABLE INITIALLY DEFERRED)")
        let insert = PostgresStatement("INSERT INTO t VALUES (1)")
        let error = await #expect(throws: PostgresError.self) { try await connection.pipeline([insert, insert]) }
        #expect(error?.sqlState == "23505")
        #expect(try await connection.query("SELECT count(*) FROM t")[0].int(0) == 0)
    }

    @Test func `A large pipeline does not deadlock on full buffers`() async throws {
        let connection = try await ScratchDatabase.empty().connect()
        let big = Data(repeating: 7, count: 4_000_000)
        let statements = (0..<8).map { _ in PostgresStatement("SELECT $1::bytea AS b", [.bytes(big)]) }
        let rows = try await connection.pipeline(statements)
        #expect(rows.count == 8)
        #expect(try rows[7][0].data("b") == big)
    }

    @Test func `A transaction that throws leaves nothing behind`() async throws {
        let connection = try await ScratchDatabase.empty().connect()
        try await connection.execute("CREATE TEMP TABLE t (n int)")
        struct Stop: Error {}
        await #expect(throws: Stop.self) {
            try await connection.transaction { connection in
                _ = try connection.query("INSERT INTO t VALUES (1)")
                throw Stop()
            }
        }
        #expect(try await connection.query("SELECT count(*) FROM t")[0].int(0) == 0)
    }

    @Test func `A statement that is too slow closes the connection at its deadline`() async throws {
        let connection = try await ScratchDatabase.empty().connect()
        let error = await #expect(throws: PostgresError.self) {
            try await connection.query("SELECT pg_sleep(90)", timeout: .milliseconds(200))
        }
        #expect(error?.code == .timeout)
        #expect(await !connection.isOpen)
    }

    @Test func `A statement that is given up ends on the server, too`() async throws {
        let database = try await ScratchDatabase.empty()
        let (holder, observer) = (try await database.connect(), try await database.connect())
        try await holder.execute("CREATE TABLE t (n int)")
        try await holder.execute("BEGIN; LOCK TABLE t")
        for _ in 0..<3 {
            let waiting = try await database.connect()
            let error = await #expect(throws: PostgresError.self) {
                try await waiting.pipeline(
                    [PostgresStatement("SELECT 1"), PostgresStatement("SELECT count(*) FROM t")],
                    timeout: .milliseconds(200))
            }
            #expect(error?.code == .timeout)
        }
        try await waitUntil("no statement waits for the table") {
            try await observer.query(
                """
                SELECT count(*) = 0 FROM pg_stat_activity
                WHERE datname = current_database() AND wait_event_type = 'Lock'
                """)[0].bool(0)
        }
        try await holder.execute("COMMIT")
    }

    @Test func `Limits that a transaction sets for itself hold for what follows in it, and no longer`() async throws {
        let connection = try await ScratchDatabase.empty().connect()
        let limits = PostgresStatement("SELECT set_config('statement_timeout', '100ms', true)")
        let error = await #expect(throws: PostgresError.self) {
            try await connection.pipeline([limits, PostgresStatement("SELECT pg_sleep(90)")], timeout: .seconds(60))
        }
        #expect(error?.sqlState == "57014")
        #expect(
            try await connection.query("SELECT pg_sleep(0.2), current_setting('statement_timeout')")[0].string(1) == "0"
        )
    }

    @Test func `A terminated backend is a lost connection`() async throws {
        let database = try await ScratchDatabase.empty()
        let victim = try await database.connect()
        let killer = try await database.connect()
        _ = try await killer.query("SELECT pg_terminate_backend($1::int)", [.int(Int64(await victim.backend))])
        let error = await #expect(throws: PostgresError.self) { try await victim.query("SELECT 1") }
        #expect(error?.isTransient == true)
        #expect(await !victim.isOpen)
    }

    @Test func `Notifications arrive, and their stream ends with the connection`() async throws {
        let database = try await ScratchDatabase.empty()
        let listener = try await database.connect()
        let stream = try await listener.listen("a \"channel\"")
        let sender = try await database.connect()
        try await sender.execute("NOTIFY \"a \"\"channel\"\"\", 'hello'")
        let received = Mutex<[String]>([])
        let reading = Task { for await one in stream { received.withLock { $0.append(one.payload) } } }
        try await waitUntil("the notification arrives") { received.withLock { $0 } == ["hello"] }
        _ = try await sender.query("SELECT pg_terminate_backend($1::int)", [.int(Int64(await listener.backend))])
        try await reading.value(within: .seconds(60))
        #expect(received.withLock { $0.count } == 1)
        #expect(await !listener.isOpen)
    }

    @Test func `An unreachable server is reported without the password`() async throws {
        let error = await #expect(throws: PostgresError.self) {
            try await PostgresConnection.connect("host=/nonexistent password=hunter2 dbname=x")
        }
        #expect(error?.code == .connectionFailed)
        #expect(error.map { !"\($0)".contains("hunter2") } == true)
    }

    @Test(arguments: [
        "postgres:/user:hunter2@localhost/x", "postgre://user:hunter2@localhost/x", "postgresql://user:hunter2@[::1/x",
        "postgresql://user:hunter2/rest@localhost/x", "postgresql://user:p@hunter2@localhost/x",
        "postgresql://user:hunter2?x=1@localhost/x", "postgresql://user:a/b@hunter2/x",
        "host=localhost password=a hunter2", "host=localhost passwort=x hunter2=1", "postgresql://localhost/x?hunter2",
        "postgresql://user:%hunter2@localhost/x", "postgresql://localhost/x?passwort=hunter2",
    ])
    func `A connection string that libpq misreads is not repeated`(text: String) async throws {
        let error = await #expect(throws: PostgresError.self) { try await PostgresConnection.connect(text) }
        let shown = error.map { "\($0) \($0.reason)" } ?? "hunter2"
        #expect(!shown.contains("hunter2") && !shown.contains("rest@"), "\(shown)")
    }

    @Test func `A session that forgets prepared statements is spoken to without them`() async throws {
        let connection = try await ScratchDatabase.empty().connect()
        #expect(try await connection.query("SELECT $1::int + 1", [41])[0].int(0) == 42)
        #expect(try await connection.query("SELECT count(*) FROM pg_prepared_statements")[0].int(0) > 0)
        // As a pooler does that lends another session for each transaction.
        try await connection.execute("DEALLOCATE ALL")
        #expect(try await connection.query("SELECT $1::int + 1", [1])[0].int(0) == 2)
        #expect(try await connection.query("SELECT count(*) FROM pg_prepared_statements")[0].int(0) == 0)
        // Inside a transaction only its owner can repeat what failed.
        let other = try await ScratchDatabase.empty().connect()
        _ = try await other.query("SELECT $1::int + 1", [41])
        let error = await #expect(throws: PostgresError.self) {
            try await other.transaction { connection in
                try connection.execute("DEALLOCATE ALL")
                _ = try connection.query("SELECT $1::int + 1", [1])
            }
        }
        #expect(error?.sqlState == "26000")
        #expect(error?.isTransient == true)
        let sum = try await other.transaction { try $0.query("SELECT $1::int + 1", [1])[0].int(0) }
        #expect(sum == 2)
    }

    @Test func `Without prepared statements everything works the same`() async throws {
        var options = ConnectionOptions(name: "unprepared")
        options.preparesStatements = false
        let connection = try await ScratchDatabase.empty().connect(options)
        for number in 0..<3 {
            #expect(
                try await connection.query("SELECT $1::int + 1", [.int(Int64(number))])[0].int(0) == Int64(number) + 1)
        }
    }
}
