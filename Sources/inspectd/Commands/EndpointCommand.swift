import Callbacks
import Foundation
import InspectCore
import Postgres

extension Command {
    static let endpoint = Command(
        name: "endpoint",
        summary: "creates and changes callback endpoints, and seals their secrets",
        synopsis: """
            create --partner NAME --url URL [--new-partner] [--allow-http] [--allow-private]
                   inspectd endpoint rotate NUMBER [--overlap TIME] [--secret FILE | --ed25519]
                   inspectd endpoint set NUMBER [--settings FILE] [--signing-key FILE]
                            [--api-key FILE] [--client-certificate FILE --client-key FILE]
                   inspectd endpoint authorize NUMBER --client-id ID [--token-url URL] [--client-secret FILE]
                            [--scope SCOPES] [--method M] [--provider P]
                   inspectd endpoint seal NUMBER (--secret FILE | --signing-key FILE | --api-key FILE
                            | --client-key FILE | --client-secret FILE)
            """,
        words: ["create", "rotate", "set", "authorize", "seal"],
        takesOperands: true,
        options: [
            .value("partner", "NAME", "create: whose endpoint it is"),
            .value("url", "URL", "create: where callbacks go; pull: the partner pulls its events"),
            .flag("new-partner", "create: adds the partner as well; the endpoint is its default one"),
            .flag("allow-http", "create: plain http is allowed"),
            .flag("allow-private", "create: private addresses and ports are allowed"),
            .value("overlap", "TIME", "rotate: how long the old key also signs, such as '7 days' [24 hours]"),
            .value("secret", "FILE", "rotate, seal: this key (whsec_ or whsk_), not a new one; - is standard input"),
            .flag("ed25519", "rotate: creates an Ed25519 key (whsk_) and prints its public half"),
            .value("settings", "FILE", "set: JSON as insp.set_endpoint takes it; - is standard input"),
            .value("signing-key", "FILE", "set, seal: key of Ed25519 (whsk_)"),
            .value("api-key", "FILE", "set, seal: value of the header apiKeyHeader; deprecated"),
            .value("client-certificate", "FILE", "set: certificate chain for mutual TLS, in PEM"),
            .value("client-key", "FILE", "set, seal: its private key, in PEM"),
            .value("client-id", "ID", "authorize: the OAuth 2.0 client"),
            .value("client-secret", "FILE", "authorize, seal: its secret; - is standard input"),
            .value("token-url", "URL", "authorize: the token endpoint of the authorization server"),
            .value("scope", "SCOPES", "authorize: scopes, separated by spaces"),
            .value("method", "M", "authorize: basic, post or tls [basic]"),
            .value("provider", "P", "authorize: what gets the tokens [client_credentials]"),
        ] + Configuration.databaseOptions + Configuration.keyOptions + Configuration.logOptions,
        body: { arguments in
            let configuration = try Configuration(arguments)
            let words = arguments.operands
            if words == ["create"] { return try await Self.create(configuration, arguments) }
            guard words.count == 2, ["rotate", "set", "authorize", "seal"].contains(words[0]) else {
                throw UsageError(
                    "'endpoint' needs create, or rotate, set, authorize or seal with the endpoint's number")
            }
            guard let number = Int64(words[1]), number > 0 else {
                throw UsageError("the endpoint must be a number, as in insp.v_callbacks")
            }
            switch words[0] {
            case "rotate": try await Self.rotate(number, configuration, arguments)
            case "set": try await Self.set(number, configuration, arguments)
            case "seal": try await Self.seal(number, configuration, arguments)
            default: try await Self.authorize(number, configuration, arguments)
            }
        }
    )

    /// - Throws: ``InspectError`` with ``ErrorCode/keyMissing`` if the database has sealed data and no key store is configured.
    private static func store(_ configuration: Configuration) async throws -> EndpointStore {
        let keys = try await configuration.checkedKeyStore()
        do {
            let connection = try await PostgresConnection.connect(
                configuration.databaseURL, options: ConnectionOptions(name: "inspectd endpoint"))
            return EndpointStore(connection, keys)
        } catch let error as PostgresError {
            throw error.meaning
        }
    }

    private static func create(_ configuration: Configuration, _ arguments: Arguments) async throws {
        guard let partner = arguments["partner"], let url = arguments["url"] else {
            throw UsageError("'endpoint create' needs --partner and --url")
        }
        let store = try await Self.store(configuration)
        let made = try await store.create(
            partner: partner, isNew: arguments.has("new-partner"), url: url,
            allowsHTTP: arguments.has("allow-http"), allowsPrivate: arguments.has("allow-private"))
        Output.line(ResultEnvelope.json(made))
    }

    private static func rotate(_ number: Int64, _ configuration: Configuration, _ arguments: Arguments) async throws {
        guard !arguments.has("ed25519") || arguments["secret"] == nil else {
            throw UsageError("--ed25519 and --secret exclude each other")
        }
        let source: EndpointStore.SigningSource =
            if let path = arguments["secret"] {
                .given(try Self.secret(path, of: "--secret"))
            } else {
                arguments.has("ed25519") ? .newSigningKey : .newSecret
            }
        let store = try await Self.store(configuration)
        let overlap = arguments["overlap"] ?? "24 hours"
        do {
            Output.line(ResultEnvelope.json(try await store.rotate(number, to: source, overlap: overlap)))
        } catch let error as InspectError where error.code == .parameterInvalid {
            throw UsageError("--overlap takes a time such as '7 days' or '12 hours', not '\(overlap)'")
        }
    }

    private static func set(_ number: Int64, _ configuration: Configuration, _ arguments: Arguments) async throws {
        var settings: [String: Any] = [:]
        if let path = arguments["settings"] {
            let text = try Self.read(path, of: "--settings")
            guard let object = (try? JSONSerialization.jsonObject(with: text)) as? [String: Any] else {
                throw UsageError("--settings: the file must contain a JSON object")
            }
            settings = object
        }
        // A client certificate is no secret, and PEM stays as it is.
        for (option, key) in [("client-certificate", "clientCertificate"), ("client-key", "clientKey")] {
            guard let path = arguments[option] else { continue }
            settings[key] = String(decoding: try Self.read(path, of: "--\(option)"), as: UTF8.self)
        }
        for (option, key) in [("signing-key", "signingKey"), ("api-key", "apiKey")] {
            guard let path = arguments[option] else { continue }
            settings[key] = try Self.secret(path, of: "--\(option)")
        }
        guard !settings.isEmpty else {
            throw UsageError("'endpoint set' needs --settings, or a file with a key or certificate")
        }
        let store = try await Self.store(configuration)
        Output.line(ResultEnvelope.json(try await store.set(number, to: settings)))
    }

    private static func authorize(_ number: Int64, _ configuration: Configuration, _ arguments: Arguments) async throws
    {
        let secret = try arguments["client-secret"].map { try Self.secret($0, of: "--client-secret") }
        let store = try await Self.store(configuration)
        let client = EndpointStore.Client(
            id: arguments["client-id"], secret: secret, tokenURL: arguments["token-url"], scope: arguments["scope"],
            method: arguments["method"] ?? "basic", provider: arguments["provider"] ?? "client_credentials")
        Output.line(ResultEnvelope.json(try await store.authorize(number, client)))
    }

    /// For a secret that a second login must allow first: sealing it again would give another text.
    private static func seal(_ number: Int64, _ configuration: Configuration, _ arguments: Arguments) async throws {
        let settings: [(String, String?)] = [
            ("secret", nil), ("signing-key", "signingKey"), ("api-key", "apiKey"), ("client-key", "clientKey"),
            ("client-secret", "clientSecret"),
        ].filter { arguments[$0.0] != nil }
        guard settings.count == 1, let (option, setting) = settings.first, let path = arguments[option] else {
            throw UsageError(
                "'endpoint seal' needs one of --secret, --signing-key, --api-key, --client-key and --client-secret")
        }
        // The private key is PEM of many lines.
        let secret =
            setting == "clientKey"
            ? String(decoding: try Self.read(path, of: "--\(option)"), as: UTF8.self)
            : try Self.secret(path, of: "--\(option)")
        let store = try await Self.store(configuration)
        Output.line(ResultEnvelope.json(try await store.sealed(secret, as: setting, of: number)))
    }

    /// A file of one line.
    private static func secret(_ path: String, of option: String) throws -> String {
        let text = String(decoding: try Self.read(path, of: option), as: UTF8.self)
        return text.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private static func read(_ path: String, of option: String) throws -> Data {
        try InputFile.read(path == "-" ? "/dev/stdin" : path, of: option, limit: 1 << 16, isSetting: true)
    }
}
