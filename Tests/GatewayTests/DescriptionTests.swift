import Foundation
import InspectCore
import Testing

@testable import Gateway

/// What `/openapi.json` says beside its schemas: headers, refusals and the bodies of callbacks.
@Suite struct DescriptionTests {
    private typealias Members = [String: Any]

    private static func document() throws -> Members {
        let text = OpenAPIDocument.text(longestWaitSeconds: 60)
        return try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? Members)
    }

    private static func at(_ path: String..., in document: Members) -> Members {
        path.reduce(document) { $0[$1] as? Members ?? [:] }
    }

    @Test func `Every answer to a credential has the headers of its rate, and refusals have them as well`() throws {
        let document = try Self.document()
        let rate: Set = ["RateLimit", "RateLimit-Policy"]
        let all = rate.union(["Deprecation", "Sunset", "Link"])
        for route in GatewayRoute.all {
            let call = Self.at("paths", route.path, route.method.lowercased(), in: document)
            for answer in route.operation.answers {
                let described = Self.at("responses", "\(answer.status)", "headers", in: call)
                switch route.access {
                case .scope: #expect(all.isSubset(of: described.keys), "\(route.path) \(answer.status)")
                case .link: #expect(rate.isDisjoint(with: described.keys), "\(route.path)")
                case .everyone: #expect(rate.isSubset(of: described.keys) == route.operation.takesCredential)
                }
            }
            // The server's own refusals are possible anywhere.
            for status in ["400", "405", "417", "429", "431"] {
                #expect(Self.at("responses", in: call)[status] != nil, "\(route.path) \(status)")
            }
        }
        for name in ["Problem", "Later"] {
            #expect(all.isSubset(of: Self.at("components", "responses", name, "headers", in: document).keys))
        }
        #expect(Set(Self.at("components", "headers", in: document).keys) == all)
    }

    @Test func `A callback to a partner with a key is described as what it is, and so is what no key opens`() throws {
        let document = try Self.document()
        for name in ["jobEvent", "endpointEvent"] {
            let content = Self.at("webhooks", name, "post", "requestBody", "content", in: document)
            #expect(Set(content.keys) == ["application/json", "application/jose"])
        }
        let entry = Self.at("components", "schemas", "Export", "properties", "jobs", "items", in: document)
        #expect(
            Self.at("properties", "unreadable", in: entry)["enum"] as? [String]
                == [ErrorCode.keyUnknown.rawValue, ErrorCode.keyDestroyed.rawValue])
        for route in GatewayRoute.all where route.operation.detail.contains("KEY_DESTROYED") {
            let call = Self.at("paths", route.path, route.method.lowercased(), "responses", in: document)
            #expect(call["\(ErrorCode.keyDestroyed.httpStatus)"] != nil, "\(route.path)")
        }
        let named = GatewayRoute.all.filter { $0.operation.detail.contains("KEY_DESTROYED") }.map(\.path)
        #expect(
            Set(named) == [
                "/inspectionjob/{id}", "/inspectionjob/{id}/parts/{kind}", "/inspectionjob/{id}/report",
                "/facetec/session/{id}",
            ])
    }

    @Test func `The table of errors has a status only for codes that refuse requests`() throws {
        struct Row: Decodable { var status: Int? }
        let description = Data(OpenAPIDocument.text(longestWaitSeconds: 60).utf8)
        let judge = try #require(SchemaJudge(try JSONDecoder().decode(JSONValue.self, from: description)))
        var entries: [JSONValue] = []
        for code in ErrorCode.allCases {
            let entry = try JSONEncoder().encode(ErrorEntry(code))
            #expect(try JSONDecoder().decode(Row.self, from: entry).status == code.row.httpStatus, "\(code)")
            entries.append(try JSONDecoder().decode(JSONValue.self, from: entry))
        }
        #expect(judge.faults(.object(["errors": .list(entries)]), "ErrorTable") == [])
        #expect(entries.contains { $0["status"] == nil })
        #expect(entries.filter { $0["status"] == .number(500) }.map { $0["code"] } == [.text("INTERNAL_ERROR")])
    }

    @Test func `Every answer to a test's credential is described as one that may say so`() throws {
        let schemas = Self.at("components", "schemas", in: try Self.document())
        for route in GatewayRoute.all {
            guard case .scope = route.access else { continue }
            for schema in route.operation.answers.compactMap(\.schema) where schema != "PublicKey" {
                #expect(Self.at(schema, "properties", in: schemas)["test"] != nil, "\(route.path) \(schema)")
            }
        }
        for schema in ["Token", "JobEvent", "EndpointEvent"] {
            #expect(Self.at(schema, "properties", in: schemas)["test"] != nil, "\(schema)")
        }
    }

    @Test func `A form takes each text and number that JSON takes, and the rest in one field`() throws {
        let schemas = Self.at("components", "schemas", in: try Self.document())
        let json = Self.at("CreateRequest", "properties", in: schemas)
        let form = Self.at("CreateForm", "properties", in: schemas)
        let single = json.filter { name, schema in
            let type = (schema as? Members)?["type"] as? String
            return type != "object" && type != "array" && !name.hasPrefix("encoded")
        }
        #expect(Set(form.keys) == Set(single.keys).union(PartKind.allCases.map(\.rawValue)).union(["request"]))
        #expect(Set(CreateRequest.members) == Set(json.keys.filter { !$0.hasPrefix("encoded") }))
        func request(_ name: String, _ value: String) throws -> CreateRequest {
            let body =
                "--cut\r\nContent-Disposition: form-data; name=\"\(name)\"\r\n\r\n\(value)\r\n--cut--\r\n"
            return try CreateRequest(FormData(Data(body.utf8), boundary: "cut"), idempotencyKey: nil)
        }
        for (name, schema) in single {
            let payload = try JSONSerialization.jsonObject(with: try request(name, "1").payload) as? Members
            let isNumber = (schema as? Members)?["type"] as? String == "number"
            #expect(isNumber ? payload?[name] as? Double == 1 : payload?[name] as? String == "1", "\(name)")
        }
        #expect(try request("request", #"{"encodedFrontImage":"YQ=="}"#).parts == [.front: [Data("a".utf8)]])
    }

    @Test func `A call whose wait needs a second scope says so, and each that creates a job continues a trace`() throws
    {
        let document = try Self.document()
        for path in ["/inspectionjob/create", "/faces/{faceId}"] {
            let call = Self.at("paths", path, "post", in: document)
            #expect((call["description"] as? String)?.contains("requires the scope read") == true, "\(path)")
            let names = (call["parameters"] as? [Members] ?? []).compactMap { $0["name"] as? String }
            #expect(names.contains("traceparent"), "\(path)")
        }
    }

    @Test func `A parameter that is taken is one that is described`() throws {
        let document = try Self.document()
        for route in GatewayRoute.all {
            let call = Self.at("paths", route.path, route.method.lowercased(), in: document)
            let named = (call["parameters"] as? [Members] ?? []).compactMap { given -> String? in
                let name = (given["$ref"] as? String)?.split(separator: "/").last.map(String.init)
                let whole = name.map { Self.at("components", "parameters", $0, in: document) } ?? given
                return whole["in"] as? String == "query" ? whole["name"] as? String : nil
            }
            #expect(route.operation.parameters.compactMap(\.query) == named, "\(route.path)")
        }
    }

    @Test func `A partner is sent to its own calls, and to nothing in the database`() {
        let text = OpenAPIDocument.text(longestWaitSeconds: 60)
        #expect(!text.contains("insp."))
    }
}
