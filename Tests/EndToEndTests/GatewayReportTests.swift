import Foundation
import FoundationXML
import Postgres
import TestSupport
import Testing

/// The reviewer's page by HTTP.
@Suite struct GatewayReportTests {
    @Test(.timeLimit(.minutes(5)), arguments: [false, true])
    func `A partner gets the page of its finished job, and each reading is recorded with its purpose`(
        isSealed: Bool
    ) async throws {
        let scopes = "{create,read,images,report,persons,keys}"
        let gateway: Gateway
        let environment: [String: String]
        if isSealed {
            let service = try await SealedService(try await KeySetting())
            environment = service.setting.environment
            gateway = try await Gateway.start(service.connection, environment: environment, scopes: scopes)
        } else {
            gateway = try await Gateway.start(scopes: scopes)
            environment = gateway.service.environment
        }
        let passport = try await TestInputs.specimen("passport.jpg")
        let selfie = try await TestInputs.face("obama2.jpg")
        let created = try await gateway.form([
            ("FRONT", passport), ("FACE", selfie), ("workflow", Data("id_identity".utf8)),
            ("userReference", Data("jane".utf8)),
        ])
        let id = try #require(created.id)
        let path = "/inspectionjob/\(id)/report"
        let early = try await gateway.call("GET", path)
        #expect(early.status == 409 && early.code == "JOB_NOT_FINISHED")
        let worker = try Program(["worker", "--slots", "1"], environment: environment)
        let result = try await gateway.finished(id)
        #expect(result["error"] == nil, "\(result)")

        var page = try await gateway.call("GET", path + "?purpose=support")
        // Until an analyzer has started, there is no page rather than one without images.
        for _ in 0..<50 where page.status == 503 { page = try await gateway.call("GET", path + "?purpose=support") }
        #expect(page.status == 200 && page.headers["Content-Type"] == "text/html; charset=utf-8", "\(page.document)")
        #expect(page.headers["Cache-Control"] == "no-store" && page.headers["Referrer-Policy"] == "no-referrer")
        let policy = try #require(page.headers["Content-Security-Policy"])
        #expect(policy.hasPrefix("default-src 'none'; img-src data:; style-src 'sha256-"))
        #expect(policy.contains("frame-ancestors 'none'") && policy.contains("sandbox") && !policy.contains("unsafe"))
        let html = String(decoding: page.body, as: UTF8.self)
        #expect(XMLParser(data: page.body).parse())
        let truth = try await TestInputs.manifest.first { $0.file == "passport.jpg" }
        let number = try #require(truth?.mrzLines?.last?.prefix(9)).replacing("<", with: "")
        #expect(html.contains("<b>\(number)</b>"))
        for value in [id, "bank"] { #expect(html.contains("<td class='number'>\(value)</td>"), "\(value)") }
        #expect(html.components(separatedBy: "href='data:image/jpeg;base64,/9j/").count - 1 == 2)
        #expect(html.components(separatedBy: " cell' points=").count - 1 == 88)
        #expect(!html.contains("http://") && !html.contains("https://") && !html.contains("<script"))

        let reader = try await Gateway.credential(gateway.connection, "bank", "{create,read,images}")
        #expect(try await gateway.call("GET", path, bearer: reader).code == "SCOPE_MISSING")
        let stranger = try await gateway.stranger("{report}")
        #expect(try await gateway.call("GET", path, bearer: stranger).code == "JOB_UNKNOWN")
        #expect(try await gateway.call("GET", path + "?purpose=curiosity").code == "PARAMETER_INVALID")
        #expect(try await gateway.call("GET", path).status == 200)
        let accesses = try await gateway.accesses(id)
        #expect(accesses.contains("report support") && accesses.contains("report review"))
        // Each image is on record with the report's purpose.
        #expect(accesses.count { $0 == "image support" } == 2 && accesses.count { $0 == "image review" } == 2)

        // Encrypted as a result is.
        let pair = try PartnerKeyPair(["kty": "EC", "crv": "P-256"])
        let key = try members(pair.publicKey)
        #expect(try await gateway.call("POST", "/encryption-key", key).status == 200)
        let sealed = try await gateway.call("GET", path)
        #expect(sealed.headers["Content-Type"] == "application/jose")
        let opened = try pair.open(sealed.body)
        #expect(opened.content == page.body && opened.header["cty"] == "text/html; charset=utf-8")
        #expect(try await gateway.call("DELETE", "/encryption-key").status == 200)

        #expect(try await gateway.call("DELETE", "/persons/jane").status == 200)
        let gone = try await gateway.call("GET", path)
        #expect(gone.status == 409 && gone.code == "RESULT_PURGED", "\(gone.document)")
        worker.send(SIGTERM)
        #expect(try await worker.wait() == 0)
        #expect(try await gateway.stop() == 0)
    }

    @Test(.timeLimit(.minutes(3)))
    func `A job that failed has a page that says why, without images where no analyzer is kept`() async throws {
        let gateway = try await Gateway.start(["--analyzers", "0"], scopes: "{create,read,report}")
        let created = try await gateway.form([("FACE", Data("no image".utf8)), ("workflow", Data("liveness".utf8))])
        let id = try #require(created.id)
        _ = try await gateway.call("DELETE", "/inspectionjob/\(id)")
        let page = try await gateway.call("GET", "/inspectionjob/\(id)/report")
        #expect(page.status == 200, "\(page.document)")
        #expect(String(decoding: page.body, as: UTF8.self).contains("<code>CANCELLED</code>"))
        #expect(try await gateway.stop() == 0)
    }
}
