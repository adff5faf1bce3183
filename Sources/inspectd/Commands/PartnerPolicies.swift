import Foundation
import InspectCore
import JobQueue

/// The words of `inspectd partner` that set policies.
extension Command {
    static let policyWords = ["consent", "region", "regions", "callbacks", "capture", "decisions", "vendor"]

    static let policyOptions: [Arguments.Option] = [
        .flag("required", "each job needs a consent").of("consent"),
        .value("policy-url", "URL", "where people read what they consent to").of("consent"),
        .value("policy-version", "V", "the version that a consent must state").of("consent"),
        .list("purpose", "P", "a purpose that a consent must contain; may be repeated").of("consent"),
        .value("region", "REGION", "region of the partner's jobs; any: every worker may process them").of("region"),
        .flag("may-choose", "a job may specify another region").of("region"),
        .list(
            "host", "HOST",
            """
            a host that a job's callbackUrl, or the returnUrl of a capture link, may have, or *.DOMAIN; may be \
            repeated; none: every host for callbacks, no host for capture
            """
        ).of("callbacks", "capture"),
        .value("policy", "FILE", "the rules of its decisions: a JSON object; - is standard input").of("decisions"),
        .value(
            "server", "FILE", "the vendor's server of its sessions: a JSON object (OPERATING.md); - is standard input"
        ).of("vendor"),
    ]

    /// - Parameter words: One of ``policyWords``, and the names of regions after `regions`.
    static func setPolicy(_ words: [String], _ arguments: Arguments, _ configuration: Configuration) async throws {
        let client = JobClient(databaseURL: configuration.databaseURL)
        let outcome: String
        if words[0] == "regions" {
            outcome = try await client.setRegions(Array(words.dropFirst()))
        } else {
            guard words.count == 1, let partner = arguments["partner"] else {
                throw UsageError("'partner \(words[0])' needs --partner")
            }
            switch words[0] {
            case "consent":
                outcome = try await client.setConsentPolicy(
                    of: partner, isRequired: arguments.has("required"), url: arguments["policy-url"],
                    version: arguments["policy-version"], purposes: arguments.all("purpose"))
            case "region":
                guard let region = arguments["region"] else { throw UsageError("'partner region' needs --region") }
                outcome = try await client.setRegionPolicy(
                    of: partner, region: region, mayChoose: arguments.has("may-choose"))
            case "decisions":
                guard let path = arguments["policy"] else { throw UsageError("'partner decisions' needs --policy") }
                let policy = try InputFile.readOrInput(path, of: "--policy")
                outcome = "version \(try await client.setDecisionPolicy(policy, of: partner))"
            case "vendor":
                guard (arguments["server"] == nil) == arguments.has("remove") else {
                    throw UsageError("'partner vendor' needs --server or --remove")
                }
                let server = try arguments["server"].map { try InputFile.readOrInput($0, of: "--server") }
                outcome = try await client.setVendor(server, of: partner)
            case "capture":
                outcome = try await client.setReturnHosts(arguments.all("host"), of: partner)
            default:
                outcome = try await client.setCallbackHosts(arguments.all("host"), of: partner)
            }
        }
        await client.close()
        Output.line(outcome)
    }
}
