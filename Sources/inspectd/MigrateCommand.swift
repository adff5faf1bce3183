import Foundation
import Postgres

extension Command {
    static let migrate = Command(
        name: "migrate",
        summary: "brings the database's schema up to date; safe when run by many at once",
        synopsis: "[--migrations DIR]",
        options: [.value("migrations", "DIR", "folder of the migrations [INSPECTD_MIGRATIONS]")]
            + Configuration.databaseOptions + Configuration.commonOptions,
        run: { arguments in
            let configuration = try Configuration(arguments)
            let connection = try await PostgresConnection.connect(
                configuration.databaseURL, options: ConnectionOptions(name: "inspectd migrate"))
            let applied = try await Migrator(directory: configuration.migrations).run(on: connection)
            await connection.close()
            Output.line(ResultEnvelope.json(["applied": applied]))
        }
    )
}
