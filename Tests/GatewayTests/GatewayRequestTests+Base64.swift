import Foundation
import InspectCore
import Testing

@testable import Gateway

extension GatewayRequestTests {
    @Test func `Long strings are read in place, with the escapes that encoders write`() throws {
        let bytes = Data((0..<60_000).map { UInt8(truncatingIfNeeded: ($0 &* $0 &* 31) >> 5) })
        let plain = bytes.base64EncodedString()
        let broken = bytes.base64EncodedString(options: [
            .lineLength76Characters, .endLineWithCarriageReturn, .endLineWithLineFeed,
        ])
        .replacing("\r\n", with: #"\r\n"#)
        let escaped = plain.replacing("+", with: #"\u002B"#).replacing("/", with: #"\u002f"#) + #"\u000D\u000a"#
        #expect(escaped.contains(#"\u002B"#) && escaped.contains(#"\u002f"#))
        for text in [plain, plain.replacing("/", with: #"\/"#), broken, escaped] {
            let request = try Self.create(#"{"encodedFrontImage":"\#(text)","userReference":"a\"b"}"#)
            #expect(request.parts[.front] == [bytes])
            #expect(String(decoding: request.payload, as: UTF8.self).contains(#"a\"b"#))
            let part = try Self.create(#"{"parts":{"FRAMES":["\#(text)",{"content":"YQ=="}]}}"#)
            #expect(part.parts[.frames] == [bytes, Data("a".utf8)])
        }
        let long = String(repeating: "x", count: 20_000)
        let wrongs = [
            "?" + plain, plain + #"\u0041"#, plain + #"\\"#, long.dropLast() + "*", plain + #"\u"#, plain + #"\u00"#,
            plain + #"\u00+1"#, plain.dropLast(4) + #"AAA\u00c1"#, plain.dropLast() + #"\u0009"#,
        ]
        for wrong in wrongs {
            #expect(Self.code { _ = try Self.create(#"{"encodedFrontImage":"\#(wrong)"}"#) } == .payloadInvalid)
        }
        // No image of the permitted size is so long, so it need not be decoded, nor be Base64.
        let endless = String(repeating: "*", count: 32_000_000)
        #expect(Self.code { _ = try Self.create(#"{"encodedFrontImage":"\#(endless)"}"#) } == .partTooLarge)
        // Where no image belongs, a payload of that size is too large.
        for text in [#"{"userReference":"\#(long)"}"#, #"{"\#(long)":1}"#, #"{"parts":{"FRONT":{"url":"\#(long)"}}}"#] {
            #expect(Self.code { _ = try Self.create(text) } == .payloadTooLarge, "\(text.prefix(30))")
        }
        for text in [#"{"a":"\#(long)"#, #"{"a":"\#(long)\"}"#, #"{"a":"\#(long)" "b"}"#] {
            #expect(Self.code { _ = try Self.create(text) } == .payloadInvalid)
        }
        let blob = try SessionRequest(Data(#"{"sessionRequestBlob":"\#(long)\u00e4\/"}"#.utf8))
        #expect(blob.blob == Data((long + "ä/").utf8))
    }

    @Test func `Padding of Base64 is accepted only at its end`() throws {
        for (text, content) in [("YQ==", "a"), ("YWI=", "ab"), ("YWJj", "abc"), (#"YWJj\r\nYQ=\n=\r\n"#, "abca")] {
            for before in ["", String(repeating: "AAAA", count: 5_000)] {
                let request = try Self.create(#"{"encodedFrontImage":"\#(before)\#(text)"}"#)
                #expect(request.parts[.front] == [Data(count: before.count / 4 * 3) + Data(content.utf8)])
            }
        }
        let wrongs = [
            "====", "AA=A", "AAAA====", "AAA=AAAA", "A===", "AA==AA==", "=AAA", "YWI", "YQ", "YQ=", "YQ===", "YWJj=",
            "AAAAA",
        ]
        for wrong in wrongs {
            for text in [wrong, String(repeating: "AAAA", count: 5_000) + wrong] {
                #expect(
                    Self.code { _ = try Self.create(#"{"encodedFrontImage":"\#(text)"}"#) } == .payloadInvalid,
                    "\(wrong), \(text.count)")
            }
        }
    }
}
