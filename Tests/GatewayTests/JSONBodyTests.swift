import Foundation
import InspectCore
import Testing

@testable import Gateway

/// One reader for all JSON bodies: RFC 8259, and no name twice.
@Suite struct JSONBodyTests {
    private static func refusal(_ body: Data) -> InspectError? {
        do throws(InspectError) {
            _ = try JSONBody.object(body)
            return nil
        } catch { return error }
    }

    private static func refusal(_ text: String) -> InspectError? { Self.refusal(Data(text.utf8)) }

    @Test(arguments: [
        (#"{"a":1,"a":1}"#, "a"), (#"{"a":1,"b":2,"\u0061":3}"#, "a"),
        (#"{"parts":{"BACK":1,"BACK":2}}"#, "parts.BACK"),
        (#"{"a":[{},{"b":{"c":1,"c":2}}]}"#, "a.1.b.c"), ("{\"\u{e9}\":1,\"e\u{301}\":2}", "e\u{301}"),
    ])
    func `A name that comes twice is refused at each level, however it is spelled`(text: String, field: String) {
        let refusal = Self.refusal(text)
        #expect(refusal?.code == .payloadInvalid && refusal?.field == field, "\(String(describing: refusal))")
    }

    @Test func `The same name in two objects is two names`() {
        #expect(Self.refusal(#"{"a":{"x":1},"b":{"x":1},"c":[{"x":1},{"x":1}],"x":1}"#) == nil)
    }

    @Test(arguments: [
        #"{"a":1,}"#, #"{"a":[1,]}"#, #"{"a":{"b":1,},"c":1}"#, "{,}", #"{"a":[,]}"#, #"{"a" 1}"#, #"{"a":1 "b":2}"#,
        "{a:1}",
        "{'a':1}", #"{"a":01}"#, #"{"a":+1}"#, #"{"a":.5}"#, #"{"a":1.}"#, #"{"a":0x10}"#, #"{"a":NaN}"#,
        #"{"a":Infinity}"#,
        #"{"a":-Infinity}"#, #"{"a":1e999}"#, #"{"a":True}"#, #"{"a":nul}"#, #"{"a":1}x"#, #"{"a":1}{}"#,
        #"{"a":1/**/}"#,
        "{\"a\":1} // said", "\u{feff}{}", "{\"a\":\"x\ny\"}", #"{"a":"\x"}"#, #"{"a":"\u12"}"#, #"{"a":"\u0000"}"#,
        #"{"a":"\ud800"}"#, #"{"a":"\udc00"}"#, #"{"a":"\ud800\u0041"}"#, #"{"\ud800":1}"#, #"{"a":"x}"#,
        #"{"a":"x\"}"#, "null",
        "", " ", "[{}]", "1", #"{"a":\#(String(repeating: "1", count: 101))}"#,
    ])
    func `What RFC 8259 does not allow, or no table can hold, is refused`(text: String) {
        #expect(Self.refusal(text)?.code == .payloadInvalid, "\(text)")
    }

    @Test func `Text in another encoding is refused`() throws {
        for encoding in [String.Encoding.utf16, .utf16LittleEndian, .utf16BigEndian, .utf32, .isoLatin1] {
            let body = try #require("{\"a\":\"\u{e9}\"}".data(using: encoding))
            #expect(Self.refusal(body)?.code == .payloadInvalid, "\(encoding)")
        }
        for octets: [UInt8] in [[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf5, 0x80, 0x80, 0x80], [0xe2, 0x82]] {
            let body = Data(#"{"a":""#.utf8) + Data(octets) + Data(#""}"#.utf8)
            #expect(Self.refusal(body)?.field == "a", "\(octets)")
        }
    }

    @Test func `What is allowed is read as it was written`() throws {
        struct Read: Decodable, Equatable {
            var a: Double
            var b: [Int]
            var c: [String: Int]
            var d: [Bool?]
            var e: Int
            var f: String
        }
        let text = #"""
             {"a" : -0.5E+2 , "b":[ ] , "c":{ }, "d":[true,false,null],
            "\u0065":9007199254740993, "f":"\u00e9\ud83d\ude00\/\"\\\b"}

            """#
        let (object, texts) = try JSONBody.object(Data(text.utf8))
        let read = try JSONDecoder().decode(Read.self, from: try JSONBody.data(object, texts))
        #expect(
            read
                == Read(
                    a: -50, b: [], c: [:], d: [true, false, nil], e: 9_007_199_254_740_993,
                    f: "\u{e9}\u{1f600}/\"\\\u{8}"))
    }

    @Test func `An action on an endpoint is done with the values that were checked`() throws {
        func options(_ text: String, _ action: EndpointAction = .replay) throws(InspectError) -> EndpointOptions {
            try EndpointOptions(Data(text.utf8), for: action)
        }
        let given = try options(#"{"since":"2026-01-31T12:00:00Z","delivered":true}"#)
        #expect(given.since == "2026-01-31T12:00:00Z" && given.delivered == true && given.until == nil)
        #expect(try options("", .pause).overlapSeconds == nil)
        #expect(try options(#"{"overlapSeconds":60}"#, .rotate).overlapSeconds == 60)
        for (text, field) in [
            (#"{"since":"2026-01-31T12:00:00Z","since":"1999-01-31T12:00:00Z"}"#, "since"),
            (#"{"since":"2026-01-31T12:00:00Z","delivered":false,"delivered":true}"#, "delivered"),
            (#"{"since":"2026-01-31T12:00:00Z","delivered":1}"#, "delivered"),
            (#"{"since":"2026-01-31T12:00:00Z","until":null}"#, "until"),
        ] {
            #expect { try options(text) } throws: { ($0 as? InspectError)?.field == field }
        }
        for number in ["1.5", "1e30", "true"] {
            #expect { try options(#"{"overlapSeconds":\#(number)}"#, .rotate) } throws: {
                ($0 as? InspectError)?.field == "overlapSeconds"
            }
        }
    }

    @Test func `A form's number is written as in JSON`() throws {
        func form(_ number: String) throws(InspectError) -> CreateRequest {
            let body = "--cut\r\nContent-Disposition: form-data; name=\"threshold\"\r\n\r\n\(number)\r\n--cut--\r\n"
            return try CreateRequest(try FormData(Data(body.utf8), boundary: "cut"), idempotencyKey: nil)
        }
        #expect(String(decoding: try form("5e-1").payload, as: UTF8.self).contains("0.5"))
        for wrong in ["0x1p-1", "+1", "01", "1 ", "inf", "nan", ""] {
            #expect { try form(wrong) } throws: { ($0 as? InspectError)?.field == "threshold" }
        }
    }

    @Test func `A long string where none is read is refused`() {
        let long = String(repeating: "A", count: 20_000)
        for text in [
            #"{"colour":"\#(long)"}"#, #"{"\#(long)":1}"#,
            #"{"workflowDefinition":{"key":2,"credentials":[{"category":"ID","label":"\#(long)"}]}}"#,
        ] {
            #expect {
                try CreateRequest(Data(text.utf8), idempotencyKey: nil)
            } throws: { ($0 as? InspectError)?.code == .payloadTooLarge }
        }
    }

    @Test(arguments: [
        (#"{"a":"LONG\u0000"}"#, true), (#"{"a":"\u0000LONG"}"#, true), (#"{"a":"LONG\\\u0000"}"#, true),
        (#"{"a":"LONG\\u0000"}"#, false), (#"{"a":"LONG\/u0000"}"#, false), (#"{"a":"LONG\u0041"}"#, false),
    ])
    func `A character that no table can hold is refused in a long string as well`(text: String, isRefused: Bool) {
        let body = text.replacing("LONG", with: String(repeating: "A", count: 20_000))
        #expect((Self.refusal(body)?.code == .payloadInvalid) == isRefused, "\(text)")
    }

    @Test func `A misspelt part is refused by its name, however large it is`() throws {
        let long = String(repeating: "A", count: 20_000)
        func refusal(_ body: () throws(InspectError) -> CreateRequest) -> InspectError? {
            do throws(InspectError) {
                _ = try body()
                return nil
            } catch { return error }
        }
        func json(_ text: String) -> InspectError? {
            refusal { () throws(InspectError) in
                try CreateRequest(Data(text.utf8), idempotencyKey: nil, members: CreateRequest.members)
            }
        }
        func form(_ name: String, _ value: String, _ members: [String]? = CreateRequest.members) -> InspectError? {
            let body = "--cut\r\nContent-Disposition: form-data; name=\"\(name)\"\r\n\r\n\(value)\r\n--cut--\r\n"
            return refusal { () throws(InspectError) in
                try CreateRequest(
                    try FormData(Data(body.utf8), boundary: "cut"), idempotencyKey: nil, members: members)
            }
        }
        for name in ["front", "colour"] {
            for refusal in [
                json(#"{"\#(name)":"\#(long)"}"#), json(#"{"\#(name)":{"x":["\#(long)"]}}"#), form(name, long),
                form(name, "\u{1}x"), form(name, long, nil), form("request", #"{"\#(name)":"\#(long)"}"#),
            ] {
                #expect(refusal?.code == .payloadInvalid && refusal?.field == name, "\(String(describing: refusal))")
                let hint = refusal?.hint ?? ""
                #expect(hint.contains("FRONT") || hint.contains("encodedFrontImage"))
                #expect(!hint.contains("partner"), "a client may not send it")
            }
        }
        // A member that exists is too large, and a name that is long itself is not repeated.
        #expect(json(#"{"userReference":"\#(long)"}"#)?.code == .payloadTooLarge)
        #expect(form("userReference", long)?.code == .payloadTooLarge)
        #expect(json(#"{"\#(long)":1}"#)?.code == .payloadTooLarge)
        // Of these the database says why a client may not send them.
        #expect(json(#"{"partner":"shop","lane":"bulk"}"#) == nil)
    }

    @Test func `A replay that fails counts as a large one`() async throws {
        let service = GatewayService(GatewayStore(databaseURL: "postgresql:///none", connections: 1))
        let credential = GatewayCredential(
            id: 1, partner: "shop", partnerID: 1, secretSHA256: Data(count: 32), scopes: ["callbacks"])
        var statuses: [Int] = []
        for _ in 0..<3 {
            do {
                _ = try await service.replaying(1, of: credential) { throw InspectError(.databaseUnavailable) }
            } catch { statuses.append(GatewayService.problem(error).status) }
        }
        #expect(statuses.count == 3 && statuses[0] == 503 && statuses[2] == 429, "\(statuses)")
    }

    @Test func `A replay takes as many tokens as it had events, and the next one waits for them`() {
        let limiter = RateLimiter()
        let start = ContinuousClock.now
        func take(_ seconds: Int) -> Double? {
            limiter.take("r", 10_000, rate: 1000, burst: 10_000, now: start + .seconds(seconds))
        }
        #expect(take(0) == nil)
        #expect((take(0) ?? 0) > 0, "one at a time")
        limiter.put("r", 10_000 - 1)
        #expect(take(0) == nil, "a small one leaves room for others")
        limiter.put("r", 10_000 - 50_000)
        #expect((take(1) ?? 0) > 30 && (take(30) ?? 0) > 0 && take(60) == nil)
    }
}
