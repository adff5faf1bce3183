package import Foundation
internal import Postgres

/// Settings that operators make for a partner's jobs, or for the whole deployment. Each call sets everything of its kind, and returns a sentence
/// on what changed.
extension JobClient {
    /// The consent that a partner's jobs need.
    package func setConsentPolicy(
        of partner: String, isRequired: Bool, url: String?, version: String?, purposes: [String]
    ) async throws -> String {
        try await self.set(
            "SELECT insp.set_consent_policy($1, $2, $3, $4, $5)",
            [.text(partner), .bool(isRequired), .optional(url), .optional(version), .texts(purposes)])
    }

    /// The region of a partner's jobs.
    ///
    /// - Parameter region: `any`: workers of every region may process them.
    package func setRegionPolicy(of partner: String, region: String, mayChoose: Bool) async throws -> String {
        try await self.set(
            "SELECT insp.set_region_policy($1, $2, $3)", [.text(partner), .text(region), .bool(mayChoose)])
    }

    /// The regions of the deployment; empty: none.
    package func setRegions(_ regions: [String]) async throws -> String {
        try await self.set("SELECT insp.set_regions($1)", [.texts(regions)])
    }

    /// The hosts that a job's `callbackUrl` may have; empty: any.
    package func setCallbackHosts(_ hosts: [String], of partner: String) async throws -> String {
        try await self.set(
            "SELECT insp.set_callback_policy($1, nullif($2::text[], '{}'))", [.text(partner), .texts(hosts)])
    }

    /// The hosts to which a partner's capture links may send the person back; empty: none.
    package func setReturnHosts(_ hosts: [String], of partner: String) async throws -> String {
        try await self.set(
            "SELECT insp.set_capture_policy($1, nullif($2::text[], '{}'))", [.text(partner), .texts(hosts)])
    }

    /// What a partner's decisions accept.
    ///
    /// - Parameter policy: A JSON object, as `insp.set_decision_policy` describes it.
    /// - Returns: The version, which results state.
    package func setDecisionPolicy(_ policy: Data, of partner: String) async throws -> Int {
        let text = try PostgresValue.json(policy)
        return try await self.translating {
            Int(
                try await $0.query(
                    "SELECT insp.set_decision_policy($1, $2::jsonb)", [.text(partner), .text(text)]
                ).single().int(0))
        }
    }

    /// The liveness vendor's server of a partner's sessions.
    ///
    /// - Parameter vendor: A JSON object, as `insp.set_vendor` describes it; `nil`: the workers' own server.
    package func setVendor(_ vendor: Data?, of partner: String) async throws -> String {
        try await self.set(
            "SELECT insp.set_vendor($1, $2::jsonb)",
            [.text(partner), .optional(try vendor.map { try PostgresValue.json($0) })])
    }

    private func set(_ statement: String, _ parameters: [PostgresValue]) async throws -> String {
        try await self.translating { try await $0.query(statement, parameters).single().string(0) }
    }
}
