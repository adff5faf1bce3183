import Custody
import Foundation
import TestSupport
import Testing

/// What a link's page says about what it sends and keeps, and whether that is true.
@Suite struct CaptureTextTests {
    /// Of each version of the consent's text that a record may name, the SHA-256 of its words.
    private static let versions = ["2": "1d1dd619e9a70a7961198449d80b317f1d96c1197fc35ea3c3d264f87703192f"]

    @Test(.timeLimit(.minutes(3)))
    func `A version names one text of the consent, for ever`() async throws {
        let gateway = try await Gateway.start()
        let table = try members(try await gateway.send("GET", "/capture/assets/v1/texts.json", nil, bearer: "").body)
        let version = try #require(table["version"] as? String)
        let lines = try ["de", "en"].flatMap { language in
            let texts = try #require(table[language] as? [String: String], "\(language)")
            return texts.keys.filter { ["consent", "purpose"].contains($0.split(separator: ".").first) }.sorted().map {
                "\(language) \($0) \(texts[$0] ?? "")"
            }
        }
        let digest = Array(SHA256.digest(Array(lines.joined(separator: "\n").utf8))).hexadecimal
        #expect(Self.versions[version] == digest, "\(version) names another text: raise the version for \(digest)")
        #expect(try await gateway.stop() == 0)
    }

    @Test(.timeLimit(.minutes(3)))
    func `Once everything was sent, the cookie lasts ten minutes, and shows the end until then`() async throws {
        let gateway = try await Gateway.start(scopes: "{capture,read,create}")
        let secret = String(repeating: "b", count: 43)
        let cookie = ["Cookie": "capture=\(secret)"]
        let made = try await gateway.call("POST", "/capture/sessions", ["workflow": "id", "documentFormat": "TD3"])
        let path = try #require(made.document["url"] as? String, "\(made.document)")
        let opening: [String: Any] = ["browser": secret, "policyVersion": NSNull(), "text": "2 en"]
        let begun = try await gateway.call("POST", path + "/open", opening, bearer: "")
        #expect(begun.headers["Set-Cookie"]?.contains("Max-Age=") == true, "\(begun.headers)")
        let open = try await gateway.send("GET", path + "/state", nil, bearer: "", headers: cookie)
        #expect(open.status == 200 && open.headers["Set-Cookie"] == nil, "\(open.headers)")
        let sent = try await gateway.form(
            [("FRONT", PNG.noise(width: 64, height: 64))], path: path + "/submit", bearer: "", headers: cookie)
        #expect(sent.status == 201, "\(sent.document)")
        let end = try await gateway.send("GET", path + "/state", nil, bearer: "", headers: cookie)
        #expect(end.document["state"] as? String == "submitted", "\(end.document)")
        // The same cookie in both, which the browser then keeps for ten minutes.
        let repeated = try await gateway.call("POST", path + "/open", opening, bearer: "")
        for answer in [sent, end, repeated] {
            #expect(
                answer.headers["Set-Cookie"] == "capture=\(secret); Max-Age=600; Secure; HttpOnly; SameSite=Lax",
                "\(answer.headers)"
            )
        }
        let stranger = try await gateway.send("GET", path + "/state", nil, bearer: "")
        #expect(stranger.code == "LINK_TAKEN" && stranger.headers["Set-Cookie"] == nil, "\(stranger.headers)")
        #expect(try await gateway.stop() == 0)
    }
}
