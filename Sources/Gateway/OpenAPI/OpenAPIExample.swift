/// An example body in the description, from a real run: `Tests/partner.sh --renew` writes the files.
struct OpenAPIExample: Sendable {
    var name: String
    /// Name of the schema that it fits.
    var schema: String
    var summary: String
    /// JSON.
    var value: String

    private init(_ name: String, _ schema: String, _ summary: String, _ file: [UInt8]) {
        self.name = name
        self.schema = schema
        self.summary = summary
        self.value = String(decoding: file, as: UTF8.self)
    }

    static let all = [specimen, created, passed, rejected, liveness, finished, pulled, refused]

    static let specimen = Self(
        "specimen", "CreateRequest", "A test job: a specimen instead of the image",
        PackageResources.specimen_json)
    static let created = Self("created", "Job", "A new job", PackageResources.created_json)
    static let passed = Self(
        "passed", "Job", "id_identity: a passport, and frames that answer a challenge", PackageResources.passed_json)
    static let rejected = Self(
        "rejected", "Job", "id: a name that differs between the MRZ and the VIZ", PackageResources.rejected_json)
    static let liveness = Self(
        "liveness", "Job", "liveness: frames that answer a challenge", PackageResources.liveness_json)
    static let finished = Self("finished", "JobEvent", "A job is finished", PackageResources.finished_json)
    static let pulled = Self("pulled", "EventPage", "A page with one event", PackageResources.pulled_json)
    static let refused = Self("refused", "Problem", "A member with a wrong value", PackageResources.refused_json)

    /// The description's `components/examples`.
    static var components: String {
        self.all.map { #""\#($0.name)": { "summary": "\#($0.summary)", "value": \#($0.value) }"# }
            .joined(separator: ",\n")
    }

    /// The JSON after the schema of a body that has these examples.
    static func member(_ examples: [OpenAPIExample]) -> String {
        guard !examples.isEmpty else { return "" }
        let references = examples.map { ##""\##($0.name)": { "$ref": "#/components/examples/\##($0.name)" }"## }
        return #", "examples": { \#(references.joined(separator: ", ")) }"#
    }
}
