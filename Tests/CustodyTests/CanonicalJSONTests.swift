import Foundation
import InspectCore
import Postgres
import TestSupport
import Testing

@testable import Custody

/// RFC 8785 in the program and in the guide's code: a digest is the same whoever makes it.
@Suite struct CanonicalJSONTests {
    /// RFC 8785, appendix B: the bits of a double, and how it is written.
    private static let numbers: [(UInt64, String)] = [
        (0x0000_0000_0000_0000, "0"), (0x8000_0000_0000_0000, "0"), (0x0000_0000_0000_0001, "5e-324"),
        (0x8000_0000_0000_0001, "-5e-324"), (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
        (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"), (0x4340_0000_0000_0000, "9007199254740992"),
        (0xc340_0000_0000_0000, "-9007199254740992"), (0x4430_0000_0000_0000, "295147905179352830000"),
        (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"), (0x44b5_2d02_c7e1_4af6, "1e+23"),
        (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"), (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
        (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"), (0x444b_1ae4_d6e2_ef50, "1e+21"),
        (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"), (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
        (0x41b3_de43_5555_5553, "333333333.3333332"), (0x41b3_de43_5555_5554, "333333333.33333325"),
        (0x41b3_de43_5555_5555, "333333333.3333333"), (0x41b3_de43_5555_5556, "333333333.3333334"),
        (0x41b3_de43_5555_5557, "333333333.33333343"), (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
        (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
    ]

    /// Documents in other spellings, and their one form. The second and the third are those of RFC 8785, sections 3.2.2 and 3.2.3.
    private static let documents: [(String, String)] = [
        (
            #" [1.0, 1e2, -0, -0.0, 1E-7, 100000000000000000000000, 9007199254740993, 0.1e1 , true,null] "#,
            "[1,100,0,0,1e-7,1e+23,9007199254740992,1,true,null]"
        ),
        (
            #"""
            { "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
              "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/", "literals": [null, true, false] }
            """#,
            #"{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}"#
        ),
        (
            #"""
            {"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One",
             "\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}
            """#,
            #"{"\r":"Carriage Return","1":"One","\#u{80}":"Control","ö":"Latin Small Letter O With Diaeresis","€":"Euro Sign","😀":"Emoji: Grinning Face","\#u{FB33}":"Hebrew Letter Dalet With Dagesh"}"#
        ),
        (
            #"{"b":{"z":[],"a":{}},"":"\u2028\u007f\b\f\t\u0001\u001f","a b":"/"}"#,
            #"{"":"\#u{2028}\#u{7F}\b\f\t\u0001\u001f","a b":"/","b":{"a":{},"z":[]}}"#
        ),
    ]

    @Test func `Numbers are written as RFC 8785 shows`() {
        for (bits, text) in Self.numbers { #expect(CanonicalJSON.write(Double(bitPattern: bits)) == text) }
    }

    @Test func `Documents have one form`() throws {
        for (spelling, form) in Self.documents {
            #expect(try CanonicalJSON(parsing: Data(spelling.utf8)).text == form)
            #expect(try CanonicalJSON(parsing: Data(form.utf8)).text == form)
        }
        for wrong in ["[1e400]", #"["\ud800"]"#, "[NaN]", ""] {
            #expect(throws: InspectError.self, "\(wrong)") { try CanonicalJSON(parsing: Data(wrong.utf8)) }
        }
    }

    /// The guide's code in a language, followed by more, with lines as input.
    private static func run(_ language: String, _ more: String, _ lines: [String]) async throws -> [String] {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("canonical-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = { (name: String) in folder.appendingPathComponent(name).path }
        let guide = try String(contentsOfFile: "\(ScratchDatabase.root)/deploy/SEALING.md", encoding: .utf8)
        let blocks = guide.components(separatedBy: "\n```\(language)\n").dropFirst()
            .compactMap { $0.components(separatedBy: "\n```").first }
        try (blocks + [more]).joined(separator: "\n").write(toFile: file("code"), atomically: true, encoding: .utf8)
        try lines.joined(separator: "\n").write(toFile: file("input"), atomically: true, encoding: .utf8)
        let interpreter = language == "python" ? "/usr/bin/python3" : "/usr/bin/php"
        let status = try await ChildProcess.spawn(
            "/bin/sh", ["-c", "exec \(interpreter) '\(file("code"))' <'\(file("input"))' >'\(file("output"))'"],
            isQuiet: true
        ).exitStatus()
        #expect(status == 0, "\(language)")
        return try String(contentsOfFile: file("output"), encoding: .utf8).split(separator: "\n").map(String.init)
    }

    private static let forms = [
        "python": "import sys\nfor line in sys.stdin:\n    print(canonical(json.loads(line)))",
        "php": #"while (($line = fgets(STDIN)) !== false) { echo canonical(json_decode($line)), "\n"; }"#,
    ]

    @Test(arguments: ["python", "php"]) func `The guide's code has the same form`(language: String) async throws {
        var random = TestRandom("doubles")
        var cases = Self.documents.map { ($0.0.replacing("\n", with: " "), $0.1) }
        cases += Self.numbers.map { ("[\(Double(bitPattern: $0.0))]", "[\($0.1)]") }
        for _ in 0..<3_000 {
            let value = Double(bitPattern: .random(in: .min ... .max, using: &random))
            if value.isFinite { cases.append(("[\(value)]", "[\(CanonicalJSON.write(value))]")) }
        }
        // Where the gap below a double is half of the one above it.
        for exponent in -1_022...1_023 {
            let value = Double(sign: .plus, exponent: exponent, significand: 1)
            cases.append(("[\(value)]", "[\(CanonicalJSON.write(value))]"))
        }
        let answers = try await Self.run(language, try #require(Self.forms[language]), cases.map(\.0))
        #expect(answers.count == cases.count)
        for (answer, one) in zip(answers, cases) { #expect(answer == one.1, "\(one.0)") }
    }

    private static let digests = [
        "python": """
        import sys
        for line in sys.stdin:
            secret, request = line.split(" ", 1)
            parts = [("FRONT", b"an image"), ("BACK", b"another")]
            print(request_digest(index_key(bytes.fromhex(secret)), json.loads(request), parts).hex())
        """,
        "php": #"""
        while (($line = fgets(STDIN)) !== false) {
            [$secret, $request] = explode(' ', $line, 2);
            $parts = [['FRONT', 'an image'], ['BACK', 'another']];
            echo bin2hex(request_digest(hex2bin($secret), json_decode($request), $parts)), "\n";
        }
        """#,
    ]

    /// One request, as different programs write it; the gateway's has no partner.
    private static let spellings = [
        #"{"partner":"acme","workflow":"id","threshold":0.70,"delaySeconds":100,"idempotencyKey":"k","userReference":"J\u00fcrgen \ud83d\ude00/"}"#,
        #"{ "userReference":"Jürgen 😀\/", "idempotencyKey":"\u006b", "delaySeconds":1e2,"threshold":7E-1, "workflow":"id"}"#,
        #"{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","workflow":"id","threshold":0.7,"delaySeconds":100.0,"idempotencyKey":"k","userReference":"J\u00FCrgen \uD83D\uDE00/"}"#,
    ]

    @Test func `A request has the same digest, whichever program seals it`() async throws {
        let site = try await SealedRequestTests.Site()
        let secret = try await site.store.partnerKey(site.partner).secret.withBytes { hex($0) }
        let parts: [PartKind: [Data]] = [.front: [Data("an image".utf8)], .back: [Data("another".utf8)]]
        var found: Set<String> = []
        for spelling in Self.spellings {
            found.insert(
                hex(
                    [UInt8](
                        try await RequestSealer(site.store).draft(
                            payload: Data(spelling.utf8), parts: parts, partner: site.partner
                        ).hmac)))
        }
        for (language, code) in Self.digests {
            found.formUnion(try await Self.run(language, code, Self.spellings.map { "\(secret) \($0)" }))
        }
        #expect(found.count == 1, "\(found)")
    }

    @Test func `A request that another program repeats in another spelling is the same job`() async throws {
        let site = try await SealedRequestTests.Site()
        let first = #"{"partner":"acme","workflow":"id","delaySeconds":100,"idempotencyKey":"k","userReference":"x"}"#
        let again =
            #"{"userReference":"\u0078","delaySeconds":1.0e2,"idempotencyKey":"k","partner":"acme","workflow":"id"}"#
        let other = first.replacing("100", with: "101")
        let id = try await site.enqueue(first, SealedRequestTests.front, isSealed: true)
        #expect(UUID(uuidString: id) != nil, "\(id)")
        #expect(try await site.enqueue(again, SealedRequestTests.front, isSealed: true) == id)
        #expect(try await site.enqueue(other, SealedRequestTests.front, isSealed: true) == "IDEMPOTENCY_CONFLICT")
        let image: [PartKind: [Data]] = [.front: [Data("another image".utf8)]]
        #expect(try await site.enqueue(first, image, isSealed: true) == "IDEMPOTENCY_CONFLICT")
    }
}
