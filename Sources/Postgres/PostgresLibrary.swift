internal import CPostgres

/// The libpq that this program runs with.
public enum PostgresLibrary {
    /// `major.minor`.
    public static var version: String {
        let number = PQlibVersion()
        return "\(number / 10_000).\(number % 10_000)"
    }
}
