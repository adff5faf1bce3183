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
                   inspectd endpoint authorize NUMBER|--partner NAME --authorization NAME
                            [--client-id ID] [--token-url URL] [--client-secret FILE] [--assertion FILE]
                            [--grant-type URI] [--revocation-url URL] [--parameters FILE]
                            [--scope SCOPES] [--method M] [--provider P]
                   inspectd endpoint authorize NUMBER --authorization NAME
                   inspectd endpoint seal NUMBER|--partner NAME --authorization NAME
                            (--secret FILE | --signing-key FILE | --api-key FILE
                            | --client-key FILE | --client-secret FILE | --assertion FILE)
            """,
        words: ["create", "rotate", "set", "authorize", "seal"],
        takesOperands: true,
        options: [
            .value("partner", "NAME", "create: the endpoint's partner; authorize, seal: the authorization's partner"),
            .value("url", "URL", "create: where callbacks go; pull: the partner pulls its events"),
            .flag("new-partner", "create: adds the partner as well; the endpoint is its default one"),
            .flag("allow-http", "create: plain http is allowed"),
            .flag("allow-private", "create: private addresses and ports are allowed"),
            .value("overlap", "TIME", "rotate: how long the old key also signs, such as '7 days' [24 hours]"),
            .value("secret", "FILE", "rotate, seal: this key (whsec_, whsk_), not a new one; - is standard input"),
            .flag("ed25519", "rotate: creates an Ed25519 key (whsk_) and prints its public half"),
            .value("settings", "FILE", "set: JSON as insp.set_endpoint takes it; - is standard input"),
            .value("signing-key", "FILE", "set, seal: Ed25519 key (whsk_)"),
            .value("api-key", "FILE", "set, seal: value of the header apiKeyHeader; deprecated"),
            .value("client-certificate", "FILE", "set: certificate chain for mutual TLS, in PEM"),
            .value("client-key", "FILE", "set, seal: its private key, in PEM"),
            .value(
                "authorization", "NAME",
                "authorize, seal: a named authorization of the partner; with NUMBER: the endpoint uses it"),
            .value("client-id", "ID", "authorize: the OAuth 2.0 client"),
            .value("client-secret", "FILE", "authorize, seal: its secret; - is standard input"),
            .value("assertion", "FILE", "authorize, seal: the assertion that the partner issued"),
            .value("grant-type", "URI", "authorize: grant type of the assertion [that of JSON Web Tokens]"),
            .value("token-url", "URL", "authorize: the token endpoint of the authorization server"),
            .value("revocation-url", "URL", "authorize: where tokens are revoked when the authorization is removed"),
            .value(
                "parameters", "FILE", "authorize: further fields of the request, a JSON object; - is standard input"),
            .value("scope", "SCOPES", "authorize: scopes, separated by spaces"),
            .value("method", "M", "authorize: basic, post, tls or none [basic]"),
            .value("provider", "P", "authorize: client_credentials, or assertion [client_credentials]"),
        ] + Configuration.databaseOptions + Configuration.keyOptions + Configuration.logOptions,
        body: { arguments in
            let configuration = try Configuration(arguments)
            let words = arguments.operands
            if words == ["create"] { return try await Self.create(configuration, arguments) }
            if words == ["authorize"] { return try await Self.setAuthorization(configuration, arguments) }
            if words == ["seal"] { return try await Self.seal(nil, configuration, arguments) }
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
        if let name = arguments["authorization"] {
            guard arguments["client-id"] == nil, arguments["token-url"] == nil, arguments["partner"] == nil else {
                throw UsageError("with --authorization, an endpoint takes the settings that the authorization has")
            }
            let store = try await Self.store(configuration)
            return Output.line(ResultEnvelope.json(try await store.use(name, for: number)))
        }
        let client = try Self.client(arguments)
        let store = try await Self.store(configuration)
        Output.line(ResultEnvelope.json(try await store.authorize(number, client)))
    }

    /// A named authorization of a partner.
    private static func setAuthorization(_ configuration: Configuration, _ arguments: Arguments) async throws {
        let (authorization, client) = (try Self.authorization(arguments), try Self.client(arguments))
        let store = try await Self.store(configuration)
        Output.line(ResultEnvelope.json(try await store.set(authorization, client)))
    }

    private static func authorization(_ arguments: Arguments) throws -> EndpointStore.AuthorizationName {
        guard let partner = arguments["partner"], let name = arguments["authorization"] else {
            throw UsageError("'endpoint' needs an endpoint's number, or --partner and --authorization")
        }
        return EndpointStore.AuthorizationName(partner: partner, name: name)
    }

    private static func client(_ arguments: Arguments) throws -> EndpointStore.Client {
        var client = EndpointStore.Client()
        client.id = arguments["client-id"]
        client.secret = try arguments["client-secret"].map { try Self.secret($0, of: "--client-secret") }
        client.assertion = try arguments["assertion"].map { try Self.secret($0, of: "--assertion") }
        client.grantType = arguments["grant-type"]
        client.tokenURL = arguments["token-url"]
        client.revocationURL = arguments["revocation-url"]
        client.scope = arguments["scope"]
        client.method = arguments["method"] ?? client.method
        client.provider = arguments["provider"] ?? client.provider
        client.parameters = try arguments["parameters"].map { try Self.read($0, of: "--parameters") }
        if let parameters = client.parameters,
            (try? JSONSerialization.jsonObject(with: parameters)) as? [String: Any] == nil
        {
            throw UsageError("--parameters: the file must contain a JSON object")
        }
        return client
    }

    /// For a secret that a second login must approve first: sealing it again would give a different text.
    ///
    /// - Parameter number: The endpoint; `nil`: a named authorization.
    private static func seal(_ number: Int64?, _ configuration: Configuration, _ arguments: Arguments) async throws {
        let settings: [(String, String?)] = [
            ("secret", nil), ("signing-key", "signingKey"), ("api-key", "apiKey"), ("client-key", "clientKey"),
            ("client-secret", "clientSecret"), ("assertion", "assertion"),
        ].filter { arguments[$0.0] != nil }
        guard settings.count == 1, let (option, setting) = settings.first, let path = arguments[option],
            number != nil || ["clientSecret", "assertion"].contains(setting)
        else {
            throw UsageError(
                "'endpoint seal' needs one of --secret, --signing-key, --api-key, --client-key, --client-secret and --assertion; of an authorization one of the last two"
            )
        }
        let authorization = number == nil ? try Self.authorization(arguments) : nil
        // The private key is PEM of many lines.
        let secret =
            setting == "clientKey"
            ? String(decoding: try Self.read(path, of: "--\(option)"), as: UTF8.self)
            : try Self.secret(path, of: "--\(option)")
        let store = try await Self.store(configuration)
        if let authorization {
            Output.line(ResultEnvelope.json(try await store.sealed(secret, as: setting, of: authorization)))
        } else if let number {
            Output.line(ResultEnvelope.json(try await store.sealed(secret, as: setting, of: number)))
        }
    }

    /// A file of one line.
    private static func secret(_ path: String, of option: String) throws -> String {
        let text = String(decoding: try Self.read(path, of: option), as: UTF8.self)
        return text.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private static func read(_ path: String, of option: String) throws -> Data {
        try InputFile.readOrInput(path, of: option, limit: 1 << 16, isSetting: true)
    }
}
