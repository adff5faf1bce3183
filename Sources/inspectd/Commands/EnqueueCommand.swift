import Foundation
import InspectCore
import JobQueue

extension Command {
    static let enqueue = Command(
        name: "enqueue",
        summary: "enqueues files as a job and prints the job's id",
        synopsis: "--partner NAME --front FILE [--back FILE] [--face FILE] [--workflow W] [--wait]",
        options: [.value("partner", "NAME", "the partner that owns the job")] + PartFile.options(PartKind.allCases) + [
            .value("challenge", "FILE", "the challenge that the frames answer: JSON with token and frameTimes"),
            PartFile.workflowOption(Workflow.allCases),
            .value("face-id", "ID", "the partner's own name for the face to enrol or authenticate"),
            .value("threshold", "S", "similarity at which faces match, 0.5 to 0.999"),
            .flag("replace", "replaces the enrolled templates instead of adding one"),
            .value("format", "F", "expected document format: TD1, TD2 or TD3"),
            .list("country", "CODE", "accepted issuing country, ISO 3166-1 alpha-3; may be repeated"),
            .list("type", "TYPE", "accepted document type: PASSPORT, VISA, DRIVING_LICENSE, ID_CARD; may be repeated"),
            .value("customer-reference", "TEXT", "customerInternalReference, at most 100 characters").personal,
            .value("user-reference", "TEXT", "userReference, at most 100 characters").personal,
            .value("reporting-criteria", "TEXT", "reportingCriteria, at most 100 characters").personal,
            .value("callback-url", "URL", "where the callback goes, instead of the partner's default"),
            .value("idempotency-key", "KEY", "a repeated request with this key returns the first job's id"),
            .value("lane", "LANE", "urgent, normal or bulk"),
            .value("region", "REGION", "only workers of this region claim the job"),
            .flag("wait", "polls until status 128 and prints the result document"),
            .value("timeout", "SECONDS", "stops waiting after this time; the job continues [600]"),
        ] + Configuration.databaseOptions + Configuration.keyOptions + Configuration.objectStoreOptions
            + Configuration.logOptions,
        body: { arguments in
            let configuration = try Configuration(arguments)
            guard let partner = arguments["partner"] else { throw UsageError("'enqueue' needs --partner") }
            let timeout = try arguments.integer("timeout", in: 1...86_400) ?? 600
            let parts = try Self.parts(arguments)
            let payload = try Self.payload(arguments, partner: partner, parts: parts)
            let address = try configuration.objectStoreAddress()
            let keys = try await configuration.checkedKeyStore()
            let client = JobClient(
                databaseURL: configuration.databaseURL, keys: keys,
                objects: try configuration.openObjectStore(address, keys))
            let id = try await client.enqueue(payload: payload, parts: parts)
            guard arguments.has("wait") else { return Output.line(id) }
            let deadline = ContinuousClock.now + .seconds(timeout)
            while true {
                let result = try await client.result(of: id)
                if StatusProbe(result).isFinished { return Output.line(result) }
                guard ContinuousClock.now < deadline else {
                    Output.line(result)
                    throw Failure()
                }
                try await Task.sleep(for: .milliseconds(200))
            }
        }
    )

    private static func parts(_ arguments: Arguments) throws -> [PartKind: [Data]] {
        var parts: [PartKind: [Data]] = [:]
        for kind in PartKind.allCases {
            let option = kind.row.option
            guard let path = arguments[option] else { continue }
            parts[kind] = try PartFile.parts(kind, path, of: "--\(option)", allowsEmpty: true)
        }
        guard !parts.isEmpty else { throw UsageError("'enqueue' needs \(PartFile.choices(PartKind.allCases))") }
        return parts
    }

    private static func payload(
        _ arguments: Arguments, partner: String, parts: [PartKind: [Data]]
    ) throws -> Data {
        var payload: [String: Any] = ["partner": partner]
        payload["workflow"] = arguments["workflow"] ?? Workflow.usual(for: Set(parts.keys)).rawValue
        let texts = [
            "format": "documentFormat", "customer-reference": "customerInternalReference",
            "user-reference": "userReference", "reporting-criteria": "reportingCriteria",
            "callback-url": "callbackUrl", "idempotency-key": "idempotencyKey", "lane": "lane", "region": "region",
            "face-id": "faceId",
        ]
        for (option, key) in texts { payload[key] = arguments[option] }
        if let text = arguments["threshold"] {
            guard let value = Double(text), value.isFinite else { throw UsageError("--threshold takes a number") }
            payload["threshold"] = value
        }
        if arguments.has("replace") { payload["enrollmentMode"] = "replace" }
        if let path = arguments["challenge"] {
            let bytes = try InputFile.read(path, of: "--challenge")
            guard let challenge = try? JSONSerialization.jsonObject(with: bytes) as? [String: Any]
            else { throw PartFile.noChallenge }
            payload["challenge"] = challenge.filter { ["token", "frameTimes"].contains($0.key) }
        }
        if !arguments.all("country").isEmpty { payload["countries"] = arguments.all("country") }
        if !arguments.all("type").isEmpty { payload["documentTypes"] = arguments.all("type") }
        return try JSONSerialization.data(withJSONObject: payload)
    }
}

/// The only member of a result document that a poller needs.
struct StatusProbe: Decodable {
    var status: Int16?

    init(_ document: Data) {
        self = (try? JSONDecoder().decode(StatusProbe.self, from: document)) ?? StatusProbe(status: nil)
    }

    private init(status: Int16?) { self.status = status }

    /// Results are valid only from status 128 on.
    var isFinished: Bool { self.status == JobStatus.finished.rawValue }
}
