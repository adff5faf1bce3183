import Custody
import Foundation
import Glibc
import InspectCore
import Postgres

extension Command {
    static let keys = Command(
        name: "keys",
        summary: "creates, lists, rotates, verifies and escrows the keys of stored data",
        synopsis: """
            list|verify
                   inspectd keys init [--to NAME] [--in-place-of ID] [--migrations DIR]
                   inspectd keys init --roles [--migrations DIR]
                   inspectd keys rewrap [--all] [--to NAME]
                   inspectd keys sweep [--now] [--rewrite] [--accept-older] [--confirm NUMBERS]
                   inspectd keys make --key-file FILE [--name NAME]
                   inspectd keys rotate --to NAME
                   inspectd keys escrow --public-key FILE > ESCROW
                   inspectd keys restore --escrow ESCROW --private-key FILE --to NAME
                   inspectd keys abandon --lost NAME [--to NAME] [--confirm NAME --reason TEXT]
                   inspectd keys abandon --partner NAME [--confirm NAME --reason TEXT]
            """,
        words: ["init", "list", "make", "rotate", "rewrap", "sweep", "verify", "escrow", "restore", "abandon"],
        takesOperands: true,
        options: [
            .value(
                "to", "NAME", "the wrapping key for new keys; init: if several exist; rewrap: if another is recorded"
            ).of("init", "rotate", "rewrap", "restore", "abandon"),
            .value("key-file", "FILE", "the file that gets a new wrapping key").of("make"),
            .value("name", "NAME", "the new key's name [date and four digits]").of("make"),
            .flag("all", "also rewraps keys of the current wrapping key, for its new version in the KMS").of("rewrap"),
            .flag("now", "also keys of unknown partners that are younger than an hour; create no partner meanwhile").of(
                "sweep"),
            .flag("rewrite", "also removes destroyed keys from the key store's files; run by its owner").of("sweep"),
            .value(
                "in-place-of", "ID", "the id of the main database that this one replaces, from the error KEY_MISMATCH"
            ).of("init"),
            .flag("roles", "creates only the missing roles; run by an administrator, once for a cluster").of("init"),
            .value("public-key", "FILE", "PEM file with an RSA key of 3072 bits or more").of("escrow"),
            .value("private-key", "FILE", "PEM of its private half").of("restore"),
            .value("escrow", "FILE", "the output of keys escrow").of("restore"),
            .value("lost", "NAME", "the wrapping key that is lost").of("abandon"),
            .value("partner", "NAME", "the partner whose key is unusable").of("abandon"),
            .flag(
                "accept-older",
                "accepts an older or copied main database: keys of jobs that it lacks are destroyed"
            ).of("sweep"),
            .value(
                "confirm", "NAME", "abandon: the name again; sweep: numbers of unknown partners with keys below"
            ).of("abandon", "sweep"),
            .value("reason", "TEXT", "the reason, for the record; must name no person").of("abandon"),
            .value("migrations", "DIR", "folder of the migrations [INSPECTD_MIGRATIONS]").of("init"),
        ] + Configuration.keyOptions + Configuration.databaseOptions + Configuration.logOptions,
        body: { arguments in
            let configuration = try Configuration(arguments)
            guard arguments.operands.count == 1 else {
                throw UsageError(
                    "'keys' needs init, list, make, rotate, rewrap, sweep, verify, escrow, restore or abandon")
            }
            switch arguments.operands[0] {
            case "init": try await Self.initialize(configuration, arguments)
            case "list": try await Self.list(configuration)
            case "make": try Self.make(arguments)
            case "rotate": try await Self.rotate(configuration, arguments)
            case "rewrap": try await Self.rewrap(configuration, arguments)
            case "sweep": try await Self.sweep(configuration, arguments)
            case "verify": try await Self.verify(configuration)
            case "escrow": try await Self.escrow(configuration, arguments)
            case "restore": try await Self.restore(configuration, arguments)
            case "abandon": try await Self.abandon(configuration, arguments)
            default:
                throw UsageError(
                    "'keys' needs init, list, make, rotate, rewrap, sweep, verify, escrow, restore or abandon")
            }
        }
    )

    private struct InitAnswer: Encodable {
        var applied: [String]
        var keyStore: String
        var wrappingKey: String
    }

    private struct RotationAnswer: Encodable {
        var wrappingKey: String
        var formerKey: String?
        var rewrapped: Int
        var unreadable: Int
        var damagedLines: Int?
        var unknownPartners: [Int64]?
    }

    private struct Verification: Encodable {
        var opened: Int
        var unreadable: Int
        var destroyed: Int
        var examples: [String]
        var unknownPartners: [Int64]?
        var idlePartners: [String]?
    }

    private static func make(_ arguments: Arguments) throws {
        guard let path = arguments["key-file"] else { throw UsageError("'keys make' needs --key-file") }
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        guard access(folder, F_OK) == 0 else {
            throw InputFile.Failure(description: "--key-file: the folder \(folder) does not exist")
        }
        let name = try KeyFile.add(to: path, name: arguments["name"])
        Output.line(ResultEnvelope.json(["wrappingKey": name]))
    }

    private static func initialize(_ configuration: Configuration, _ arguments: Arguments) async throws {
        try InputFile.check(configuration.migrations, of: "--migrations")
        if arguments.has("roles") {
            return Output.line(ResultEnvelope.json(["created": try await KeyStoreSchema.createRoles(configuration)]))
        }
        let keys = try configuration.openWrappingKeys()
        let store = try Self.keyStore(configuration, keys)
        let unclear = UsageError("several wrapping keys are configured: choose the one for new keys with --to")
        if let name = arguments["to"] {
            _ = try keys.key(name)
        } else if keys.ids.count > 1, (try? await store.state()) == nil {
            // Before anything is applied: without a schema, there is no state either.
            throw unclear
        }
        await store.close()
        let done = try await KeyStoreSchema.setUp(
            configuration, keys, first: arguments["to"], inPlaceOf: arguments["in-place-of"])
        guard let state = done.state else { throw unclear }
        Output.line(
            ResultEnvelope.json(
                InitAnswer(applied: done.applied, keyStore: state.keyStore, wrappingKey: state.wrappingKey)))
    }

    private static func list(_ configuration: Configuration) async throws {
        struct Answer: Encodable {
            var keyStore: String
            var wrappingKey: String
            var formerKey: String?
            var configured: [String]
            var keys: [KeyStore.Tally]
        }
        let keys = try configuration.openWrappingKeys(isNeeded: false)
        let store = try Self.keyStore(configuration, keys)
        guard let state = try await store.state() else {
            throw InspectError(.keyMissing, "the key store has no wrapping key", hint: "Run inspectd keys init.")
        }
        let answer = Answer(
            keyStore: state.keyStore, wrappingKey: state.wrappingKey, formerKey: state.formerKey, configured: keys.ids,
            keys: try await store.tallies())
        await store.close()
        // Only counts, which must be available even when the main database is not.
        try? await Self.record("list", nil, configuration)
        Output.line(ResultEnvelope.json(answer))
    }

    private static func rotate(_ configuration: Configuration, _ arguments: Arguments) async throws {
        guard let name = arguments["to"] else { throw UsageError("'keys rotate' needs --to") }
        let store = try Self.keyStore(configuration)
        // The process must have the current keys as well; the database may have recorded newer ones than a restored key store has.
        try await store.checkPair(try await Self.noted(configuration))
        try await store.checkWrappingKeys()
        try await Self.note(try await store.beginRotation(to: name), configuration)
        try await Self.finish(try await Self.rewrap(store, all: false, configuration), store, configuration)
    }

    private static func rewrap(_ configuration: Configuration, _ arguments: Arguments) async throws {
        let store = try Self.keyStore(configuration)
        let noted = try await Self.noted(configuration)
        try await store.checkPair(noted)
        let state = try await store.checkWrappingKeys()
        // One that neither wraps new keys nor did before this rotation may be retired, because it was stolen, and an older key store would
        // bring it back.
        if let noted, ![state.wrappingKey, state.formerKey].contains(noted.wrappingKey),
            arguments["to"] != state.wrappingKey
        {
            throw KeyStore.mismatch(noted, state)
        }
        // A rotator that was killed may not have got this far.
        try await Self.note(state, configuration)
        try await Self.record("rewrap_begin", nil, configuration)
        let outcome = try await Self.rewrap(store, all: arguments.has("all"), configuration)
        try await Self.record("rewrap", outcome.rewrapped, configuration)
        try await Self.finish(outcome, store, configuration)
    }

    private static func rewrap(
        _ store: KeyStore, all: Bool, _ configuration: Configuration
    ) async throws -> KeyStore.Rotation {
        try await Self.waiting(configuration) {
            try await store.rewrap(all: all) {
                configuration.log.info(
                    "keys are rewrapped",
                    ["rewrapped": .integer(Int64($0.rewrapped)), "unreadable": .integer(Int64($0.unreadable))])
            }
        }
    }

    /// Repeats what an unavailable key store or KMS interrupts, for up to ten minutes.
    private static func waiting<Result>(
        _ configuration: Configuration, _ body: () async throws -> Result
    ) async throws -> Result {
        let deadline = ContinuousClock.now + .seconds(600)
        while true {
            do { return try await body() } catch let error as InspectError
                where error.code == .keysUnavailable && .now < deadline
            {
                configuration.log.warning("waiting for the keys", ["reason": .string(error.text)])
                try await Task.sleep(for: .seconds(1))
            }
        }
    }

    /// - Parameter damagedLines: Lines of the escrow that contain no key.
    static func finish(
        _ outcome: KeyStore.Rotation, _ store: KeyStore, _ configuration: Configuration, damagedLines: Int = 0
    ) async throws {
        let suspects = try await Self.suspects(store, configuration)
        await store.close()
        try await Self.note(outcome.state, configuration)
        Output.line(
            ResultEnvelope.json(
                RotationAnswer(
                    wrappingKey: outcome.state.wrappingKey, formerKey: outcome.state.formerKey,
                    rewrapped: outcome.rewrapped, unreadable: outcome.unreadable,
                    damagedLines: damagedLines > 0 ? damagedLines : nil, unknownPartners: suspects.unknown)))
        guard outcome.isDone, outcome.unreadable == 0 else { throw Failure() }
    }

    private static func verify(_ configuration: Configuration) async throws {
        let store = try Self.keyStore(configuration)
        try await store.check(try await Self.noted(configuration))
        let found = try await Self.waiting(configuration) { try await store.verify() }
        let suspects = try await Self.suspects(store, configuration)
        await store.close()
        try await Self.record("verify", nil, configuration)
        Output.line(
            ResultEnvelope.json(
                Verification(
                    opened: found.opened, unreadable: found.unreadable, destroyed: found.destroyed,
                    examples: found.examples, unknownPartners: suspects.unknown, idlePartners: suspects.idle)))
        guard found.unreadable == 0 else { throw Failure() }
    }

    private static func escrow(_ configuration: Configuration, _ arguments: Arguments) async throws {
        guard let path = arguments["public-key"] else { throw UsageError("'keys escrow' needs --public-key") }
        let recipient = try KeyEscrow.Recipient(pem: try InputFile.read(path, of: "--public-key", isSetting: true))
        let store = try Self.keyStore(configuration)
        try await store.check(try await Self.noted(configuration))
        // Before anything is written.
        try await Self.record("escrow", nil, configuration)
        _ = try await store.escrow(to: recipient) { Output.line(ResultEnvelope.json($0)) }
        await store.close()
    }

    // MARK: Settings

    /// The key store, for a subcommand that needs it.
    static func keyStore(_ configuration: Configuration, _ keys: WrappingKeys? = nil) throws -> KeyStore {
        guard !configuration.keysURL.isEmpty else {
            throw InspectError(.keyMissing, "no key store is configured", hint: "Set --keys-url or INSPECTD_KEYS_URL.")
        }
        return KeyStore(configuration.keysURL, wrappingKeys: try keys ?? configuration.openWrappingKeys())
    }

    static func noted(_ configuration: Configuration) async throws -> CustodyState? {
        let connection = try await Self.mainDatabase(configuration)
        let state = try await CustodyState.noted(on: connection)
        await connection.close()
        return state
    }

    private static func note(_ state: CustodyState, _ configuration: Configuration) async throws {
        let connection = try await Self.mainDatabase(configuration)
        try await state.note(on: connection)
        await connection.close()
    }

    static func record(_ action: String, _ keys: Int?, _ configuration: Configuration) async throws {
        let connection = try await Self.mainDatabase(configuration)
        try await KeyUse.record(action, keys: keys, on: connection)
        await connection.close()
    }

    private static func suspects(_ store: KeyStore, _ configuration: Configuration) async throws -> KeySuspects {
        let connection = try await Self.mainDatabase(configuration)
        let suspects = try await KeySuspects(store, connection)
        await connection.close()
        return suspects
    }

    static func mainDatabase(_ configuration: Configuration) async throws -> PostgresConnection {
        try await PostgresConnection.connect(
            configuration.databaseURL, options: ConnectionOptions(name: "inspectd keys"))
    }
}
