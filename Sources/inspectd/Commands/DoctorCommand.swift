import Analyzer
import Foundation
import InspectCore
import Postgres
import Vision

extension Command {
    static let doctor = Command(
        name: "doctor",
        summary:
            "checks models, BLAS, libraries, analyzer, database, migrations, keys and object store, and says how to fix each fault",
        synopsis: "[OPTION...]",
        options: Configuration.databaseOptions + [
            .value("migrations", "DIR", "folder of the migrations [INSPECTD_MIGRATIONS]"),
            .flag("no-database", "skips the database and the key store"),
        ] + Configuration.keyOptions + Configuration.objectStoreOptions + Configuration.analyzerOptions
            + Configuration.logOptions,
        body: { arguments in
            let configuration = try Configuration(arguments)
            var findings = [Self.blas(), Self.libraries(), Self.arithmetic()]
            findings.append(Self.confinement())
            findings.append(await Self.analyzer(configuration, arguments))
            if !arguments.has("no-database") { findings += await Self.database(configuration) }
            findings += await KeyExamination.findings(configuration, asksStore: !arguments.has("no-database"))
            findings += await ObjectStoreExamination.findings(configuration)
            for finding in findings { Output.line(ResultEnvelope.json(finding)) }
            if findings.contains(where: { $0.outcome == .fail }) { throw Failure() }
        }
    )

    /// One check: its subject, its outcome and the remedy.
    struct Finding: Encodable {
        enum Outcome: String, Encodable {
            case pass = "pass"
            /// It works, but should be changed.
            case warning = "warning"
            case fail = "fail"
            case inconclusive = "inconclusive"
        }

        var check: String
        var outcome: Outcome
        var detail: String
        /// The command or the step that fixes it; absent when there is no fault.
        var fix: String?
    }

    /// The reference BLAS gives the same results fifteen times slower, which nothing else reveals.
    private static func blas() -> Finding {
        // A file in /proc reports no size, so it is read to its end.
        let bytes = (try? FileHandle(forReadingAtPath: "/proc/self/maps")?.readToEnd()) ?? Data()
        let maps = String(decoding: bytes, as: UTF8.self)
        let files = Set(
            maps.split(separator: "\n").compactMap { line in
                line.split(separator: " ").last.map(String.init).flatMap { $0.contains("blas") ? $0 : nil }
            }
        ).sorted()
        guard !files.isEmpty else {
            return Finding(
                check: "blas", outcome: .inconclusive, detail: "no BLAS library is loaded into this process",
                fix: "run deploy/install-deps.sh")
        }
        // dlib calls the library behind libblas.so.3; OpenBLAS loaded for another library does not help.
        let chosen = files.filter { $0.contains("/libblas.so") }
        let isOpenBLAS = !chosen.isEmpty && !chosen.contains { !$0.contains("openblas") }
        return Finding(
            check: "blas", outcome: isOpenBLAS ? .pass : .fail, detail: files.joined(separator: ", "),
            fix: isOpenBLAS
                ? nil
                : "apt-get install libopenblas0-serial; update-alternatives --config libblas.so.3-x86_64-linux-gnu")
    }

    private static func libraries() -> Finding {
        let versions = LibraryVersions.all.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
        return Finding(check: "libraries", outcome: .pass, detail: versions.joined(separator: ", "))
    }

    /// Arithmetic for particular processors must give the same results as plain arithmetic.
    private static func arithmetic() -> Finding {
        do {
            let check = try PixelArithmetic.check(seed: UInt64.random(in: .min ... .max), rounds: 20)
            switch check.outcome {
            case .pass:
                return Finding(
                    check: "arithmetic", outcome: .pass,
                    detail: "\(check.compared) sums equal plain ones, with registers of \(check.lanes) floats",
                    fix: nil)
            case .inconclusive(let reason):
                return Finding(
                    check: "arithmetic", outcome: .inconclusive, detail: reason,
                    fix: "nothing is wrong; a processor with AVX2 would be faster")
            case .fail(let reason):
                return Finding(
                    check: "arithmetic", outcome: .fail, detail: reason,
                    fix: "report the processor and OpenCV's version; do not use this machine")
            }
        } catch {
            return Finding(check: "arithmetic", outcome: .fail, detail: "\(error)")
        }
    }

    /// The kernel features that confine analyzers.
    private static func confinement() -> Finding {
        guard Confinement.hasFilters else {
            return Finding(
                check: "confinement", outcome: .fail, detail: "no system-call filters: analyzers do not start",
                fix: "use a kernel with CONFIG_SECCOMP_FILTER, and allow seccomp(2) where the service is confined")
        }
        guard let version = Confinement.landlockVersion else {
            return Finding(
                check: "confinement", outcome: .inconclusive, detail: "system-call filters, but no Landlock",
                fix: "Linux 5.13 or newer has it, if lsm= names landlock and no filter forbids landlock_create_ruleset"
            )
        }
        return Finding(
            check: "confinement", outcome: .pass, detail: "system-call filters, Landlock ABI \(version)", fix: nil)
    }

    /// Starts one analyzer and has it analyse a small image: this covers models, fork, sandbox and shared memory.
    private static func analyzer(_ configuration: Configuration, _ arguments: Arguments) async -> Finding {
        do {
            var settings = try configuration.analyzerConfiguration(arguments)
            settings.serveOneJob()
            let time = try await configuration.withAnalyzers(settings) { pool in
                let start = ContinuousClock.now
                _ = try await pool.withAnalyzer(parts: [(kind: "FACE", bytes: SampleImage.png)]) { session in
                    try await session.perform(
                        stage: JobStatus.face.stageName, request: Data(), deadline: .seconds(30))
                }
                return start.duration(to: .now).milliseconds
            }
            return Finding(
                check: "analyzer", outcome: .pass,
                detail: "models in \(configuration.models) load; an image without a face took \(time) ms", fix: nil)
        } catch {
            return Finding(
                check: "analyzer", outcome: .fail, detail: "\(error)",
                fix: "run deploy/install-models.sh, or name the folder with INSPECTD_MODELS")
        }
    }

    private static func database(_ configuration: Configuration) async -> [Finding] {
        do {
            let connection = try await PostgresConnection.connect(configuration.databaseURL)
            let (version, encoding) = try await connection.versionAndEncoding()
            var findings = [
                Finding(
                    check: "database", outcome: version >= 150_000 ? .pass : .fail,
                    detail: "PostgreSQL \(version / 10_000).\(version % 10_000)",
                    fix: version >= 150_000 ? nil : "PostgreSQL 15 or newer is required"),
                Finding(
                    check: "encoding", outcome: encoding == "UTF8" ? .pass : .fail, detail: encoding,
                    fix: encoding == "UTF8" ? nil : "create the database with ENCODING 'UTF8'"),
            ]
            // Closed by the end of the process.
            findings.append(try await Self.migrations(configuration, connection))
            let loggers = try await connection.parameterLoggers()
            if !loggers.isEmpty {
                findings.append(
                    Finding(
                        check: "databaseLog", outcome: .warning,
                        detail: "its server logs parameters of statements: \(loggers.joined(separator: ", "))",
                        fix: "unload the module, or reset these settings: deploy/DEPLOYING.md, \"Keys\""))
            }
            return findings
        } catch {
            return [
                Finding(
                    check: "database", outcome: .fail, detail: "\(error)",
                    fix: "set INSPECTD_DATABASE_URL or libpq's PG… variables, and check that the server is running")
            ]
        }
    }

    /// Whether the schema matches the folder's migrations.
    private static func migrations(_ configuration: Configuration, _ connection: PostgresConnection) async throws
        -> Finding
    {
        do {
            let (pending, unknown) = try await Migrator(directory: configuration.migrations).examine(on: connection)
            if pending.isEmpty, !unknown.isEmpty {
                return Finding(
                    check: "migrations", outcome: .warning,
                    detail: "all applied, but no migration makes \(unknown.joined(separator: ", "))",
                    fix: "find out who made it; a trigger or a function in this schema can change what every call does")
            }
            return Finding(
                check: "migrations", outcome: pending.isEmpty ? .pass : .fail,
                detail: pending.isEmpty
                    ? "all applied" : "not applied, or changed since: \(pending.joined(separator: ", "))",
                fix: pending.isEmpty ? nil : "run inspectd migrate")
        } catch let error as PostgresError where [.migration, .firstVersion].contains(error.code) {
            return Finding(
                check: "migrations", outcome: .fail, detail: error.message,
                fix: "use the database and the folder (--migrations) of this version")
        } catch let error as PostgresError where error.isForbidden {
            return Finding(
                check: "migrations", outcome: .inconclusive, detail: error.message,
                fix: "also run it as the schema's owner")
        }
    }
}
