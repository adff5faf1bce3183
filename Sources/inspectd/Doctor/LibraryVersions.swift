import Callbacks
import HTTPClient
import Postgres
import Vision

/// The versions of the native libraries in use.
enum LibraryVersions {
    static var all: [String: String] {
        VisionLibraries.versions.merging(["libpq": PostgresLibrary.version, "libcurl": HTTPLibrary.version]) { $1 }
    }
}
