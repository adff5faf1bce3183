internal import CPostgres

/// The libpq that this program uses.
package enum PostgresLibrary {
    /// `major.minor`.
    package static var version: String {
        let number = PQlibVersion()
        return "\(number / 10_000).\(number % 10_000)"
    }
}
