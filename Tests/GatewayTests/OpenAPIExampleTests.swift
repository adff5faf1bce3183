import Foundation
import Testing

@testable import Gateway

@Suite struct OpenAPIExampleTests {
    private static func document() throws -> JSONValue {
        try JSONDecoder().decode(JSONValue.self, from: Data(OpenAPIDocument.text(longestWaitSeconds: 60).utf8))
    }

    private static func value(_ example: OpenAPIExample) throws -> JSONValue {
        try JSONDecoder().decode(JSONValue.self, from: Data(example.value.utf8))
    }

    @Test(arguments: OpenAPIExample.all.map(\.name))
    func `Each example is what its schema says, with no member that the schema lacks`(name: String) throws {
        let document = try Self.document()
        let example = try #require(OpenAPIExample.all.first { $0.name == name })
        let judge = try #require(SchemaJudge(document))
        #expect(judge.faults(try Self.value(example), example.schema) == [])
        #expect(document["components"]?["examples"]?[name]?["value"] == (try Self.value(example)))
    }

    @Test func `Each example stands beside the schema that it was judged by, and no reference leads nowhere`() throws {
        var uses: [String: Set<String>] = [:]
        func walk(_ node: JSONValue) {
            switch node {
            case .object(let members):
                if case .object(let examples)? = members["examples"],
                    case .text(let schema)? = members["schema"]?["$ref"]
                {
                    for case .text(let target)? in examples.values.map({ $0["$ref"] }) {
                        uses[target, default: []].insert(schema)
                    }
                }
                members.values.forEach(walk)
            case .list(let elements): elements.forEach(walk)
            default: break
            }
        }
        walk(try Self.document())
        let expected = OpenAPIExample.all.map {
            ("#/components/examples/\($0.name)", Set(["#/components/schemas/\($0.schema)"]))
        }
        #expect(uses == Dictionary(uniqueKeysWithValues: expected))
    }

    @Test func `The results that are shown are a passed, a rejected and a liveness check, each at 128`() throws {
        let (passed, rejected, liveness) = (
            try Self.value(.passed), try Self.value(.rejected), try Self.value(.liveness)
        )
        for (result, type, workflow) in [
            (passed, "PASSED", "id_identity"), (rejected, "REJECTED", "id"), (liveness, "PASSED", "liveness"),
        ] {
            #expect(result["status"] == .number(128) && result["decision"]?["type"] == .text(type))
            #expect(result["workflow"]?["key"] == .text(workflow))
        }
        guard case .list(let reasons)? = rejected["reasons"] else { throw SchemaJudge.NoSuchMember() }
        #expect(reasons.count == 1 && reasons[0]["advice"] != nil)
        // The callback is the one of the first.
        #expect(try Self.value(.finished)["data"]?["id"] == passed["id"])
    }

    @Test func `The judge finds what does not fit a schema`() throws {
        let judge = try #require(SchemaJudge(try Self.document()))
        guard case .object(let good) = try Self.value(.finished) else { throw SchemaJudge.NoSuchMember() }
        #expect(judge.faults(.object(good), "JobEvent") == [])
        for (name, wrong) in [
            ("type", JSONValue.text("job.begun")), ("timestamp", .text("yesterday")), ("userReference", .number(7)),
            ("data", .object(["id": good["data"]?["id"] ?? .null])), ("extra", .null), ("workflowExecution", .null),
        ] {
            #expect(judge.faults(.object(good.merging([name: wrong]) { $1 }), "JobEvent").count >= 1, "\(name)")
        }
        for name in ["type", "timestamp", "data"] {
            #expect(judge.faults(.object(good.filter { $0.key != name }), "JobEvent") == [": no \(name)"])
        }
    }
}
