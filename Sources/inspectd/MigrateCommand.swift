import Foundation
import InspectCore
import Postgres

extension Command {
    static let migrate = Command(
        name: "migrate",
        summary:
            "brings the schema of the database, and of the key store if one is given, up to date; safe when run by many at once",
        synopsis: "[--roles] [--migrations DIR]",
        options: [
            .value("migrations", "DIR", "folder of the migrations [INSPECTD_MIGRATIONS]"),
            .flag("roles", "creates only the missing roles; run by an administrator, once for a cluster"),
        ] + Configuration.databaseOptions + Configuration.keyStoreOptions + Configuration.logOptions,
        body: { arguments in
            let configuration = try Configuration(arguments)
            try InputFile.check(configuration.migrations, of: "--migrations")
            let connection = try await PostgresConnection.connect(
                configuration.databaseURL, options: ConnectionOptions(name: "inspectd migrate"))
            let migrator = Migrator(directory: configuration.migrations, version: Version.current)
            if arguments.has("roles") {
                var created = try await migrator.createRoles(on: connection)
                await connection.close()
                if !configuration.keysURL.isEmpty { created += try await KeyStoreSchema.createRoles(configuration) }
                return Output.line(ResultEnvelope.json(["created": created]))
            }
            let outcome = try await migrator.run(on: connection) {
                configuration.log.warning("waiting for the database", ["reason": .string($0)])
            }
            await connection.close()
            var answer = [
                "applied": outcome.applied, "different": outcome.different, "forgotten": outcome.forgotten,
                "unknown": outcome.unknown,
            ]
            if !configuration.keysURL.isEmpty { answer["keyStore"] = try await KeyStoreSchema.migrate(configuration) }
            Output.line(ResultEnvelope.json(answer))
        }
    )
}
