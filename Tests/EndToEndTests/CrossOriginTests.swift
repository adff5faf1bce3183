import Foundation
import Postgres
import TestSupport
import Testing

/// A browser's requests before a page of another origin may read an answer.
@Suite struct CrossOriginTests {
    private static let page = "https://app.example.com"
    private static let asked = [
        "Access-Control-Request-Method": "GET", "Access-Control-Request-Headers": "authorization",
    ]

    private static func credential(_ gateway: Gateway, _ origins: String) async throws -> String {
        try await gateway.connection.query(
            "SELECT bearer FROM insp.create_credential('bank', '{create,read}', origins => $1)", [.text(origins)])[0]
            .string(0)
    }

    private static func names(_ answer: Gateway.Answer) -> [String] {
        answer.headers.keys.filter { $0.hasPrefix("Access-Control-") }.sorted()
    }

    @Test func `Pages of an origin that a credential allows read the answers to its calls, and no others`() async throws
    {
        let gateway = try await Gateway.start(scopes: "{create,read}")
        let bearer = try await Self.credential(gateway, "{\(Self.page),http://localhost:3000}")
        let path = "/inspectionjob/\(UUID().uuidString)"

        // The preflight has no credential.
        for origin in [Self.page, "http://localhost:3000"] {
            let answer = try await gateway.send(
                "OPTIONS", path, nil, bearer: "", headers: Self.asked.merging(["Origin": origin]) { $1 })
            #expect(answer.status == 204 && answer.headers["Access-Control-Allow-Origin"] == origin)
            #expect(answer.headers["Access-Control-Allow-Methods"] == "GET, DELETE, HEAD, OPTIONS")
            #expect(answer.headers["Access-Control-Allow-Headers"]?.contains("Authorization") == true)
            #expect(answer.headers["Vary"] == "Origin" && answer.headers["Access-Control-Allow-Credentials"] == nil)
        }
        for origin in [
            "https://evil.example.com", "null", "*", "https://app.example.com.evil.com", "http://app.example.com",
            "https://app.example.com:8443", "https://app.example.com/",
        ] {
            let answer = try await gateway.send(
                "OPTIONS", path, nil, bearer: "", headers: Self.asked.merging(["Origin": origin]) { $1 })
            #expect(answer.status == 204 && Self.names(answer) == [], "\(origin)")
            #expect(try await Self.names(gateway.call("GET", path, bearer: bearer, headers: ["Origin": origin])) == [])
        }

        // Answers and refusals alike, so that the page learns why.
        let found = try await gateway.call("GET", path, bearer: bearer, headers: ["Origin": Self.page])
        #expect(found.status == 404 && found.headers["Access-Control-Allow-Origin"] == Self.page)
        #expect(found.headers["Access-Control-Expose-Headers"]?.contains("Retry-After") == true)
        let list = try await gateway.call(
            "GET", "/inspectionjob?userReference=u", bearer: bearer, headers: ["Origin": Self.page])
        #expect(list.status == 200 && list.headers["Access-Control-Allow-Origin"] == Self.page)
        let scope = try await gateway.call("GET", "/endpoints", bearer: bearer, headers: ["Origin": Self.page])
        #expect(scope.status == 403 && scope.headers["Access-Control-Allow-Origin"] == Self.page)
        let expired = try await gateway.call(
            "GET", path, bearer: "it_0123456789abcdef.x", headers: ["Origin": Self.page])
        #expect(expired.status == 401 && expired.headers["Access-Control-Allow-Origin"] == Self.page)
        // Another credential allows nothing, whatever this one does.
        let other = try await gateway.call("GET", path, headers: ["Origin": Self.page])
        #expect(other.status == 404 && Self.names(other) == [])
        #expect(try await Self.names(gateway.call("GET", path, bearer: bearer)) == [])
        // No request for a method: no preflight.
        let options = try await gateway.send("OPTIONS", path, nil, bearer: "", headers: ["Origin": Self.page])
        #expect(options.headers["Access-Control-Allow-Methods"] == nil && options.headers["Allow"] != nil)
        #expect(try await gateway.stop() == 0)
    }

    @Test func `No page reads anything where no credential allows an origin`() async throws {
        let gateway = try await Gateway.start(scopes: "{read}")
        for (method, path) in [("OPTIONS", "/errors"), ("GET", "/errors"), ("GET", "/inspectionjob"), ("GET", "/x")] {
            let answer = try await gateway.send(
                method, path, nil, headers: Self.asked.merging(["Origin": Self.page]) { $1 })
            #expect(Self.names(answer) == [], "\(method) \(path)")
        }
        #expect(try await gateway.stop() == 0)
    }

    @Test func `An origin is written as browsers write it`() async throws {
        let service = try await Service.start()
        for origins in [
            "{https://APP.example.com}", "{https://app.example.com/}", "{https://app.example.com:443}", "{*}", "{\"\"}",
            "{http://app.example.com}", "{https://a b}", "{NULL}", "{{https://a.b},{https://c.d}}",
        ] {
            await #expect(throws: PostgresError.self, "\(origins)") {
                try await service.connection.query(
                    "SELECT insp.create_credential('bank', origins => $1)", [.text(origins)])
            }
        }
        let key = try await service.connection.query(
            "SELECT key_id FROM insp.create_credential('bank', origins => '{https://app.example.com,https://[::1]:8443}')"
        )[0]
        .string(0)
        let set = try await service.connection.query(
            "SELECT insp.set_origins($1, '{https://b.example.com,https://b.example.com}')", [.text(key)])
        #expect(try set[0].textArray(0) == ["https://b.example.com"])
        let listed = try await service.connection.query(
            "SELECT origins FROM insp.v_credential WHERE key_id = $1", [.text(key)])
        #expect(try listed[0].textArray("origins") == ["https://b.example.com"])
    }
}
