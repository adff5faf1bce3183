import Custody
import Foundation
import InspectCore
import Postgres

extension Command {
    static let migrate = Command(
        name: "migrate",
        summary:
            "updates the schema of the database and, if one is configured, of the key store; safe to run several times at once",
        synopsis: "[--roles | --make-key] [--migrations DIR]",
        options: [
            .value("migrations", "DIR", "folder of the migrations [INSPECTD_MIGRATIONS]"),
            .flag("roles", "creates only the missing roles; run by an administrator, once for a cluster"),
            .flag("make-key", "creates a missing file of wrapping keys even if the database is on another host"),
        ] + Configuration.databaseOptions + Configuration.keyOptions + Configuration.logOptions,
        body: { arguments in
            let configuration = try Configuration(arguments)
            try InputFile.check(configuration.migrations, of: "--migrations")
            let connection = try await PostgresConnection.connect(
                configuration.databaseURL, options: ConnectionOptions(name: "inspectd migrate"))
            let migrator = Migrator(
                directory: configuration.migrations, version: Version.current, previous: Version.previous)
            if arguments.has("roles") {
                var created = try await migrator.createRoles(on: connection)
                await connection.close()
                if !configuration.keysURL.isEmpty { created += try await KeyStoreSchema.createRoles(configuration) }
                return Output.line(ResultEnvelope.json(["created": created]))
            }
            let outcome = try await migrator.run(on: connection) {
                configuration.log.warning("waiting for the database", ["reason": .string($0)])
            }
            let isLocal = try await connection.isLocal()
            await connection.close()
            var answer = [
                "applied": outcome.applied, "different": outcome.different, "forgotten": outcome.forgotten,
                "unknown": outcome.unknown,
            ]
            if !configuration.keysURL.isEmpty {
                try Self.makeKey(configuration, mayMake: isLocal || arguments.has("make-key"))
                let keys = try configuration.openWrappingKeys(isNeeded: false)
                answer["keyStore"] = try await KeyStoreSchema.setUp(configuration, keys).applied
            }
            Output.line(ResultEnvelope.json(answer))
        }
    )

    /// Makes the file of wrapping keys that the settings name, if it is missing. A deployment of several hosts must not get a key on
    /// each of them.
    private static func makeKey(_ configuration: Configuration, mayMake: Bool) throws {
        for source in configuration.wrappingKeys.split(whereSeparator: \.isWhitespace) where source.hasPrefix("file:") {
            let path = String(source.dropFirst("file:".count))
            guard !FileManager.default.fileExists(atPath: path) else { continue }
            guard mayMake else {
                throw InspectError(
                    .keyMissing, "\(path) does not exist",
                    hint: "Copy the file from another host; for the first host, run inspectd migrate --make-key.")
            }
            // Another process may have made it in the meantime.
            guard let name = try KeyFile.make(path) else { continue }
            configuration.log.info("wrapping key made", ["file": .string(path), "key": .string(name)])
        }
    }
}
