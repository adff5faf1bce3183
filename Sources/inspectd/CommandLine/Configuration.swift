import Analyzer
import Callbacks
import Foundation
import Inspection

/// Settings from the environment, each with a flag that overrides it. The only place that reads the environment.
struct Configuration: Sendable {
    /// A libpq connection string or URL; empty means libpq's own `PG…` variables. Never logged: it may hold a password.
    var databaseURL: String
    /// The key store's connection string or URL; empty: none. Never logged.
    var keysURL: String
    /// Sources of wrapping keys, separated by white space (`WrappingKeySource`); empty: none.
    var wrappingKeys: String
    /// Where sealed parts are stored instead of in the database (`ObjectStoreAddress`); empty: in the database.
    var objectStore: String
    var models: String
    /// Folder of the migrations.
    var migrations: String
    /// Analyzer executable; by default this program itself.
    var analyzer: String
    var faces: FaceModelFiles
    /// Files and folders with the CSCA certificates that verify chips.
    var trustAnchors: [String]
    /// PEM files with the private keys that parts are encrypted for.
    var decryptionKeys: [String]
    /// File of the key that signs checkpoints of the record.
    var auditKey: String?
    /// The region whose jobs a worker claims.
    var region: String?
    /// How callbacks leave: a proxy's URL, which may contain a login and is never logged, and source addresses.
    var callbackProxy: String
    var callbackSources: [String]
    /// The address for probes and scrapes; `nil`: none.
    var health: String?
    /// Liveness vendors' servers; only from the environment, since their keys are secrets.
    var vendor: VendorConfiguration
    /// `TERM`: the type of the terminal.
    var terminal: String?
    var log: Log

    /// For commands with a database.
    static let databaseOptions: [Arguments.Option] = [
        .value("database-url", "URL", "connection string [INSPECTD_DATABASE_URL; libpq's PG… variables work too]")
    ]
    /// For commands with the key store.
    static let keyStoreOptions: [Arguments.Option] = [
        .value("keys-url", "URL", "connection string of the key store [INSPECTD_KEYS_URL]")
    ]
    /// For commands that open keys.
    static let keyOptions: [Arguments.Option] =
        keyStoreOptions + [
            .list(
                "wrapping-keys", "SOURCE",
                "file:FILE, pkcs11:… or vault:… (SEALING.md); may be repeated [INSPECTD_WRAPPING_KEYS]")
        ]
    /// For commands that start analyzers.
    static let modelOptions: [Arguments.Option] = [
        .value("models", "DIR", "folder of the face models [INSPECTD_MODELS]")
    ]
    /// For every command with a ``Configuration``.
    static let logOptions: [Arguments.Option] = [
        .value("log-level", "LEVEL", "debug, info, warning or error [INSPECTD_LOG_LEVEL]")
    ]

    init(_ arguments: Arguments, environment: [String: String] = ProcessInfo.processInfo.environment)
        throws(UsageError)
    {
        func setting(_ flag: String, _ variable: String, default value: String) -> String {
            arguments[flag] ?? environment[variable] ?? value
        }
        self.databaseURL = setting("database-url", "INSPECTD_DATABASE_URL", default: "")
        self.keysURL = setting("keys-url", "INSPECTD_KEYS_URL", default: "")
        let sources = arguments.all("wrapping-keys")
        self.wrappingKeys =
            sources.isEmpty ? environment["INSPECTD_WRAPPING_KEYS"] ?? "" : sources.joined(separator: " ")
        self.objectStore = setting("object-store", "INSPECTD_OBJECT_STORE", default: "")
        self.models = setting("models", "INSPECTD_MODELS", default: Self.shipped("models"))
        self.migrations = setting(
            "migrations", "INSPECTD_MIGRATIONS", default: Self.shipped("Migrations", inCheckout: true))
        self.analyzer = setting("analyzer", "INSPECTD_ANALYZER", default: "/proc/self/exe")
        func file(_ flag: String, _ variable: String) -> String? {
            let path = setting(flag, variable, default: "")
            return path.isEmpty ? nil : path
        }
        self.faces = FaceModelFiles(
            engine: file("face-engine", "INSPECTD_FACE_ENGINE"), contour: file("face-contour", "INSPECTD_FACE_CONTOUR"),
            liveness: file("liveness-engine", "INSPECTD_LIVENESS_ENGINE"))
        let anchors = arguments.all("csca")
        self.trustAnchors =
            anchors.isEmpty
            ? (environment["INSPECTD_CSCA"] ?? "").split(separator: ":").map(String.init) : anchors + arguments.operands
        let keys = arguments.all("decryption-key")
        self.decryptionKeys =
            keys.isEmpty ? (environment["INSPECTD_DECRYPTION_KEYS"] ?? "").split(separator: ":").map(String.init) : keys
        self.auditKey = file("audit-key", "INSPECTD_AUDIT_KEY_FILE")
        self.region = environment["INSPECTD_REGION"]
        self.callbackProxy = setting("callback-proxy", "INSPECTD_CALLBACK_PROXY", default: "")
        let origins = arguments.all("callback-source")
        self.callbackSources =
            origins.isEmpty
            ? (environment["INSPECTD_CALLBACK_SOURCE"] ?? "").split(separator: ",").map(String.init) : origins
        self.health = arguments["health"] ?? environment["INSPECTD_HEALTH"].flatMap { $0.isEmpty ? nil : $0 }
        self.vendor = Self.vendor(environment)
        self.terminal = environment["TERM"]
        let level = setting("log-level", "INSPECTD_LOG_LEVEL", default: "info")
        guard let threshold = Log.Level(name: level) else {
            throw UsageError("--log-level or INSPECTD_LOG_LEVEL takes debug, info, warning or error, not \(level)")
        }
        self.log = Log(threshold: threshold)
    }

    private static func vendor(_ environment: [String: String]) -> VendorConfiguration {
        var vendor = VendorConfiguration()
        func list(_ name: String) -> [String] { (environment[name] ?? "").split(separator: ",").map(String.init) }
        func seconds(_ name: String) -> Duration? { environment[name].flatMap(Int.init).map { .seconds($0) } }
        if let url = environment["INSPECTD_VENDOR_URL"], !url.isEmpty {
            vendor.server = VendorServer(
                url: url, deviceKey: environment["INSPECTD_VENDOR_KEY"], pins: list("INSPECTD_VENDOR_PINS"),
                allowsPrivate: environment["INSPECTD_VENDOR_PRIVATE"] == "yes")
        }
        let prefix = "INSPECTD_VENDOR_KEY_"
        for (name, key) in environment where name.hasPrefix(prefix) {
            vendor.keys[String(name.dropFirst(prefix.count))] = key
        }
        vendor.certificateAuthorities = environment["INSPECTD_VENDOR_CA"]
        vendor.timeout = seconds("INSPECTD_VENDOR_TIMEOUT") ?? vendor.timeout
        vendor.patience = seconds("INSPECTD_VENDOR_PATIENCE") ?? vendor.patience
        return vendor
    }

    /// A folder that came with the program: in the checkout that it was built in, or in `share/inspectd` next to
    /// the `bin` or `lib` that it is installed in.
    private static func shipped(_ name: String, inCheckout: Bool = false) -> String {
        let program = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        var folder = URL(fileURLWithPath: program ?? "/").deletingLastPathComponent()
        let names = (inCheckout ? [name] : []) + ["share/inspectd/\(name)"]
        while folder.path != "/" {
            for name in names {
                let candidate = folder.appendingPathComponent(name).path
                if FileManager.default.fileExists(atPath: candidate) { return candidate }
            }
            folder.deleteLastPathComponent()
        }
        return "/usr/local/share/inspectd/\(name)"
    }
}
