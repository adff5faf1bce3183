import Foundation
import InspectCore
import Postgres
import Testing

/// Secrets that were sealed before they came.
extension SecretTests {
    /// What has the form of sealed bytes; the database sees no more of them.
    private static func sealed(_ number: UInt8, count: Int = 80) -> String {
        "sealed:" + Data([1] + [UInt8](repeating: number, count: count - 1)).base64EncodedString()
    }

    @Test func `A sealed secret is stored and returned as it is wherever a plain one is`() async throws {
        let secrets = (0..<7).map { Self.sealed($0) }
        #expect(try await self.rotate(", '0', '\(secrets[0])'") == secrets[0])
        #expect(try await self.rotate(", '1 hour', '\(secrets[1])', 'signing_secret'") == secrets[1])
        _ = try await self.rotate(", '1 hour', '\(secrets[2])', 'signing_key'")
        #expect(try await self.claimed().keys == [secrets[1], secrets[0], secrets[2]])
        try await self.set(
            #"{"apiKeyHeader": "X-Key", "apiKey": "\#(secrets[3])", "clientCertificate": "C", "clientKey": "\#(secrets[4])", "signingKey": "\#(secrets[5])"}"#
        )
        try await self.authorize(secrets[6])
        let claimed = try await self.claimed()
        #expect(claimed.keys == [secrets[1], secrets[0], secrets[5]])
        #expect(claimed.options["apiKey"] as? String == secrets[3] && claimed.options["key"] as? String == secrets[4])
        #expect((claimed.options["authorization"] as? [String: Any])?["clientSecret"] as? String == secrets[6])
        try await self.store(Self.sealed(9))
        #expect(try await self.take().token == Self.sealed(9))
        let partner = try await self.query(
            """
            SELECT t.partner = e.partner_id AND e.partner_id = insp.endpoint_partner(e.id)
            FROM insp.endpoint e, insp.token_take(e.id) t WHERE e.id = $1
            """, [.int(self.endpoint)])
        #expect(try partner[0].bool(0))
        #expect(try await self.query("SELECT count(*) FROM insp.secret WHERE seal <> 1")[0].int(0) == 0)
        // A plain one may follow, and beside it the sealed ones stay in their overlap.
        let plain = try await self.rotate()
        #expect(try await Set(self.claimed().keys) == [plain, secrets[1], secrets[0], secrets[5]])
        #expect(try await self.query("SELECT count(*) FROM insp.secret WHERE seal = 0")[0].int(0) == 1)
    }

    @Test func `What looks like a sealed secret but is not one is refused everywhere`() async throws {
        _ = try await self.query("SELECT insp.token_take($1)", [.int(self.endpoint)])
        let wrong = [
            "sealed:", "sealed:AQ==", "sealed:" + Data([1] + [UInt8](repeating: 7, count: 44)).base64EncodedString(),
            Self.sealed(1) + "=", Self.sealed(1).replacing("sealed:AQ", with: "sealed:Ag"), "sealed:whsec_AAAA",
            Self.sealed(1, count: 90_000),
        ]
        for text in wrong {
            for sql in [
                "callback_rotate_secret(\(self.endpoint), '0', '\(text)')",
                "set_endpoint(\(self.endpoint), '{\"signingKey\": \"\(text)\"}')",
                "set_endpoint(\(self.endpoint), '{\"apiKeyHeader\": \"X-Key\", \"apiKey\": \"\(text)\"}')",
                "set_endpoint(\(self.endpoint), '{\"clientCertificate\": \"C\", \"clientKey\": \"\(text)\"}')",
                "callback_authorize(\(self.endpoint), 'https://login.example.com/token', 'client', '\(text)')",
                "token_store(\(self.endpoint), (SELECT t.permit FROM insp.access_token t), '\(text)', 100, 10)",
            ] {
                let error = try await self.refusal("SELECT insp.\(sql)")
                #expect(error?.sqlState == ErrorCode.sealBroken.sqlState, "\(sql.prefix(60))")
                #expect(text.count < 10 || error?.message.contains(text.dropFirst(7)) != true)
            }
        }
        for purpose in ["'api_key'", "''"] {
            let error = try await self.refusal(
                "SELECT insp.callback_rotate_secret(\(self.endpoint), '0', '\(Self.sealed(1))', \(purpose))")
            #expect(error?.sqlState == "IN088")
        }
        // A plain one says itself what it is.
        let plain = try await self.refusal(
            "SELECT insp.callback_rotate_secret(\(self.endpoint), '0', '\(Self.signingKey)', 'signing_secret')")
        #expect(plain?.sqlState == "IN088")
        #expect(try await self.held() == ["endpoint \(self.endpoint) signing_secret"])
    }

    @Test func `An endpoint may begin without a secret, so that the first one is never plain`() async throws {
        let urls = [
            "create_partner('other', 'https://hooks.example.com/y'",
            "create_endpoint('other', 'https://hooks.example.com/z'",
        ]
        for call in urls {
            let row = try await self.query("SELECT endpoint_id, secret FROM insp.\(call), p_make_secret => false)")[0]
            #expect(try row.isNull(1))
            let number = try row.int(0)
            #expect(try await !self.held().contains { $0.hasPrefix("endpoint \(number) ") })
            _ = try await self.query(
                "SELECT insp.callback_rotate_secret($1, '0', $2)", [.int(number), .text(Self.sealed(1))])
            #expect(try await self.held().contains("endpoint \(number) signing_secret"))
        }
    }
}
