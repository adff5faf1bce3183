import Callbacks
import HTTPClient
import Postgres
import Vision

/// The versions of the native libraries that this program runs with.
enum LibraryVersions {
    static var all: [String: String] {
        VisionLibraries.versions.merging(["libpq": PostgresLibrary.version, "libcurl": HTTPLibrary.version]) { $1 }
    }
}
