import Foundation
import Postgres
import TestSupport
import Testing

/// Images on their way in and out: forms with files, and parts that partners get back.
@Suite struct GatewayImageTests {
    private static let image = PNG.noise(width: 64, height: 64)

    @Test func `Images come as they are and go back as they came`() async throws {
        let gateway = try await Gateway.start(scopes: "{create,read,images}")
        // Every octet, boundaries among them that are none.
        var front = Data((0..<70_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 2) })
        front += Data("\r\n--cu\r\n--\r\n\r\n".utf8) + Data([0, 255, 13, 10])
        let made = try await gateway.form(
            [
                ("FRONT", front), ("BACK", Self.image), ("documentFormat", Data("TD1".utf8)),
                ("userReference", Data("Jane Dö".utf8)), ("delaySeconds", Data("3600".utf8)),
                ("request", Data(#"{"countries":["DEU"],"documentTypes":["ID_CARD"],"digests":{}}"#.utf8)),
            ], headers: ["Idempotency-Key": "f1"])
        #expect(made.status == 201, "\(made.document)")
        let id = try #require(made.id)
        let stored = try await gateway.connection.query(
            "SELECT workflow, document_format, request -> 'countries' ->> 0 FROM insp.job")[0]
        #expect(try (stored.string(0), stored.string(1), stored.string(2)) == ("id", "TD1", "DEU"))
        let back = try await gateway.call("GET", "/inspectionjob/\(id)/parts/FRONT")
        #expect(back.status == 200 && back.body == front)
        #expect(back.headers["Content-Type"] == "application/octet-stream")
        #expect(back.headers["X-Content-Type-Options"] == "nosniff" && back.headers["Cache-Control"] == "no-store")
        #expect(back.headers["Content-Disposition"] == "attachment")
        // The same request as JSON is the same job: what differs is how it was sent.
        let json = try await gateway.call(
            "POST", "/inspectionjob/create",
            [
                "parts": ["FRONT": front.base64EncodedString(), "BACK": Self.image.base64EncodedString()],
                "documentFormat": "TD1", "userReference": "Jane Dö", "delaySeconds": 3600, "countries": ["DEU"],
                "documentTypes": ["ID_CARD"], "digests": [String: String](),
            ], headers: ["Idempotency-Key": "f1"])
        #expect(json.status == 200 && json.id == id, "\(json.document)")
        let head = try await gateway.call("HEAD", "/inspectionjob/\(id)/parts/FRONT")
        #expect(head.status == 200 && head.body.isEmpty && head.headers["Content-Length"] == "\(front.count)")
        let absent = try await gateway.call("GET", "/inspectionjob/\(id)/parts/FACE")
        #expect(absent.status == 404 && absent.code == "PART_ABSENT")
        for path in ["parts/FRONT?ordinal=1", "parts/FRONT?ordinal=255"] {
            #expect(try await gateway.call("GET", "/inspectionjob/\(id)/\(path)").code == "PART_ABSENT")
        }
        for (path, code) in [
            ("parts/NOSE", "PART_UNKNOWN"), ("parts/front", "PART_UNKNOWN"),
            ("parts/FRONT?ordinal=256", "PARAMETER_INVALID"),
            ("parts/FRONT?ordinal=-1", "PARAMETER_INVALID"),
        ] {
            let refused = try await gateway.call("GET", "/inspectionjob/\(id)/\(path)")
            #expect(refused.status == 400 && refused.code == code, "\(path)")
        }
        let digest = String(repeating: "0", count: 64)
        let byURL = try await gateway.call(
            "POST", "/inspectionjob/create",
            ["workflow": "id", "parts": ["FRONT": ["url": "https://a.example.com/x", "sha256": digest]]])
        let elsewhere = try await gateway.call("GET", "/inspectionjob/\(try #require(byURL.id))/parts/FRONT")
        #expect(elsewhere.status == 404 && elsewhere.code == "PART_ABSENT")
        #expect(try await gateway.accesses(id).filter { $0 == "image delivery" }.count == 2)
        #expect(try await gateway.stop() == 0)
    }

    @Test func `A form that two readers could read differently is refused, and nothing is stored`() async throws {
        let gateway = try await Gateway.start(["--credential-rate", "10000"], scopes: "{create}")
        func post(_ body: String, type: String = "multipart/form-data; boundary=cut") async throws -> Gateway.Answer {
            try await gateway.send(
                "POST", "/inspectionjob/create", Data(body.utf8), headers: ["Content-Type": type])
        }
        let part = "Content-Disposition: form-data; name=\"FACE\"\r\n\r\nx\r\n"
        for type in [
            "multipart/form-data", "multipart/form-data; boundary=", "multipart/form-data; boundary=\"a b \"",
            "multipart/form-data; boundary=cut; boundary=cut2", "multipart/mixed; boundary=cut",
            "multipart/form-data; boundary=\(String(repeating: "c", count: 71))", "text/plain; boundary=cut",
        ] {
            #expect(try await post("--cut\r\n\(part)--cut--", type: type).status == 415, "\(type)")
        }
        for body in [
            "", "x", "--cut", "--cut\r\n", "--cut--x", "--cut\r\n\(part)", "--cut\r\n\(part)--cut",
            "--cut\n\(part)--cut--",
            "preamble\r\n--cut\r\n\(part)--cut--", "--cut\r\n\(part)--cut--\r\n--cut\r\n\(part)--cut--",
            "--cut\r\n\(part)--cutter\r\n\(part)--cut--", "--cut \r\n\(part)--cut--", "--cut\r\n\r\nx\r\n--cut--",
            "--cut\r\nContent-Type: image/jpeg\r\n\r\nx\r\n--cut--",
            "--cut\r\nContent-Disposition: form-data; name=\"FACE\"; name=\"BACK\"\r\n\r\nx\r\n--cut--",
            "--cut\r\nContent-Disposition: form-data; name=\"FACE\r\n\r\nx\r\n--cut--",
            "--cut\r\nContent-Disposition: attachment; name=\"FACE\"\r\n\r\nx\r\n--cut--",
            "--cut\r\nContent-Disposition: form-data; name=\"FACE\"\r\nContent-Transfer-Encoding: base64\r\n\r\nx\r\n--cut--",
            "--cut\r\nContent-Disposition: form-data; name=\"FACE\"\r\n\r\n--cut--",
            "--cut\r\nX: \(String(repeating: "x", count: 5000))\r\n\(part)--cut--",
            "--cut\r\n" + String(repeating: "\(part)--cut\r\n", count: 330) + "\(part)--cut--",
            "--cut\r\nContent-Disposition: form-data; name=\"request\"\r\n\r\n[]\r\n--cut--",
            "--cut\r\nContent-Disposition: form-data; name=\"threshold\"\r\n\r\nnan\r\n--cut--",
            "--cut\r\nContent-Disposition: form-data; name=\"userReference\"\r\n\r\n\u{0}\r\n--cut--",
            "--cut\r\nContent-Disposition: form-data; name=\"zqmark\"\r\n\r\nx\r\n--cut\r\n\(part)--cut--",
            "--cut\r\nContent-Disposition: form-data; name=\"partner\"\r\n\r\nshop\r\n--cut\r\n\(part)--cut--",
            "--cut\r\nContent-Disposition: form-data; name=\"workflow\"\r\n\r\nid\r\n--cut\r\nContent-Disposition: form-data; name=\"workflow\"\r\n\r\nid\r\n--cut\r\n\(part)--cut--",
        ] {
            let refused = try await post(body)
            #expect(
                refused.status == 400 && ["PAYLOAD_INVALID", "PART_UNEXPECTED"].contains(refused.code),
                "\(body.prefix(200)) \(refused.document)")
        }
        for (body, status, code) in [
            ("--cut\r\n\(part)--cut\r\n\(part)--cut--", 400, "PART_UNEXPECTED"),
            ("--cut\r\nContent-Disposition: form-data; name=\"FACE\"\r\n\r\n\r\n--cut--", 400, "PART_EMPTY"),
            (
                "--cut\r\nContent-Disposition: form-data; name=\"FACE\"\r\n\r\n\(String(repeating: "x", count: 20 << 20 + 1))\r\n--cut--",
                413, "PART_TOO_LARGE"
            ),
            (
                "--cut\r\nContent-Disposition: form-data; name=\"userReference\"\r\n\r\n\(String(repeating: "x", count: 20_000))\r\n--cut--",
                413, "PAYLOAD_TOO_LARGE"
            ),
        ] {
            let refused = try await post(body)
            #expect(refused.status == status && refused.code == code, "\(body.prefix(100)) \(refused.document)")
        }
        #expect(try await gateway.connection.query("SELECT count(*) FROM insp.job")[0].int(0) == 0)
        // As clients write it: other cases, spaces, a quoted boundary, a name without quotes.
        let loose =
            "--a b\r\ncontent-disposition:form-data;name=FACE ; filename=\"x; name=\\\"BACK\\\"\"\r\n\r\nx\r\n--a b--\r\n"
        #expect(try await post(loose, type: "Multipart/Form-Data; charset=utf-8; boundary=\"a b\"").status == 201)
        #expect(try await gateway.stop() == 0)
    }

    @Test func `Sealed jobs are found by their references, and their images come back open`() async throws {
        let setting = try await KeySetting()
        let service = try await SealedService(setting)
        let gateway = try await Gateway.start(
            service.connection, environment: setting.environment, scopes: "{create,read,images}")
        let made = try await gateway.form([
            ("FACE", Self.image), ("FRAMES", Self.image), ("FRAMES", Data("zqmark".utf8)),
            ("workflow", Data("liveness".utf8)), ("userReference", Data("zqmark u".utf8)),
            ("reportingCriteria", Data("zqmark r".utf8)),
        ])
        #expect(made.status == 201, "\(made.document)")
        let id = try #require(made.id)
        #expect(
            try await service.count(
                "insp.content c WHERE position(convert_to('zqmark', 'UTF8') IN c.bytes) > 0 OR c.bytes = sha256('')")
                == 0)
        for query in ["userReference=zqmark+u", "reportingCriteria=zqmark+r&userReference=zqmark+u"] {
            let found = try await gateway.call("GET", "/inspectionjob?\(query)")
            #expect((found.document["jobs"] as? [[String: Any]])?.first?["id"] as? String == id, "\(query)")
        }
        let face = try await gateway.call("GET", "/inspectionjob/\(id)/parts/FACE")
        #expect(face.body == Self.image)
        let frame = try await gateway.call("GET", "/inspectionjob/\(id)/parts/FRAMES?ordinal=1")
        #expect(frame.body == Data("zqmark".utf8))
        // Another row's bytes do not open.
        _ = try await service.connection.query(
            """
            UPDATE insp.content c SET bytes = (SELECT x.bytes FROM insp.content x WHERE x.kind = 'FACE')
            WHERE c.kind = 'FRAMES' AND c.ordinal = 1
            """)
        let moved = try await gateway.call("GET", "/inspectionjob/\(id)/parts/FRAMES?ordinal=1")
        #expect(moved.status == 500 && moved.code == "SEAL_BROKEN")
        #expect(try await gateway.stop() == 0)
    }
}
