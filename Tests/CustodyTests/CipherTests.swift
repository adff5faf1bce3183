import Foundation
import TestSupport
import Testing

@testable import Custody

/// The ciphers against their specifications' own examples.
@Suite struct CipherTests {
    /// McGrew and Viega, "The Galois/Counter Mode of Operation (GCM)", appendix B, test cases 13 to 16.
    private static let gcm: [(key: String, nonce: String, text: String, associated: String, sealed: String)] = [
        (
            String(repeating: "00", count: 32), "000000000000000000000000", "", "", "530f8afbc74536b9a963b4f1c4cb738b"
        ),
        (
            String(repeating: "00", count: 32), "000000000000000000000000", String(repeating: "00", count: 16), "",
            "cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919"
        ),
        (
            "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308", "cafebabefacedbaddecaf888",
            "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
                + "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
            "feedfacedeadbeeffeedfacedeadbeefabaddad2",
            "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
                + "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f66276fc6ece0f4e1768cddf8853bb2d551b"
        ),
    ]

    @Test(arguments: 0..<3) func `AES-256-GCM gives the published results`(number: Int) throws {
        let example = Self.gcm[number]
        let key = try #require(SecretKey(hex(example.key)))
        let (nonce, text, associated) = (hex(example.nonce), hex(example.text), hex(example.associated))
        var sealed = [UInt8](repeating: 0, count: text.count + 16)
        sealed.withUnsafeMutableBytes { sealed in
            text.withUnsafeBytes { text in
                nonce.withUnsafeBytes {
                    AES256GCM.seal(text, under: key, nonce: $0, associated: associated, into: sealed)
                }
            }
        }
        #expect(hex(sealed) == example.sealed)
        var opened = [UInt8](repeating: 1, count: text.count)
        let isGenuine = opened.withUnsafeMutableBytes { opened in
            sealed.withUnsafeBytes { sealed in
                nonce.withUnsafeBytes {
                    AES256GCM.open(sealed, under: key, nonce: $0, associated: associated, into: opened)
                }
            }
        }
        #expect(isGenuine && opened == text)
    }

    @Test func `What does not open leaves no text behind`() throws {
        let key = SecretKey.random()
        var sealed = [UInt8](repeating: 0, count: 1_016)
        let nonce = AES256GCM.nonce()
        sealed.withUnsafeMutableBytes { sealed in
            [UInt8](repeating: 7, count: 1_000).withUnsafeBytes { text in
                nonce.withUnsafeBytes { AES256GCM.seal(text, under: key, nonce: $0, associated: [], into: sealed) }
            }
        }
        sealed[1_015] ^= 1
        var opened = [UInt8](repeating: 1, count: 1_000)
        let isGenuine = opened.withUnsafeMutableBytes { opened in
            sealed.withUnsafeBytes { sealed in
                nonce.withUnsafeBytes { AES256GCM.open(sealed, under: key, nonce: $0, associated: [], into: opened) }
            }
        }
        #expect(!isGenuine && opened.allSatisfy { $0 == 0 })
    }

    /// RFC 4231, cases 1, 2 and 6.
    @Test(arguments: [
        (
            String(repeating: "0b", count: 20), "4869205468657265",
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        ),
        (
            "4a656665", "7768617420646f2079612077616e7420666f72206e6f7468696e673f",
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        ),
        (
            String(repeating: "aa", count: 131),
            "54657374205573696e67204c6172676572205468616e20426c6f636b2d53697a65204b6579202d2048617368204b6579204669727374",
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        ),
    ])
    func `HMAC-SHA-256 gives the results of RFC 4231`(key: String, text: String, code: String) {
        #expect(hex(hex(key).withUnsafeBytes { HMACSHA256.code(of: hex(text), under: $0) }) == code)
    }

    /// RFC 5869, appendix A, cases 1 and 3.
    @Test(arguments: [
        (
            "000102030405060708090a0b0c", "f0f1f2f3f4f5f6f7f8f9",
            "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"
        ),
        ("", "", "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"),
    ])
    func `HKDF-SHA-256 gives the results of RFC 5869`(salt: String, info: String, output: String) {
        let pseudorandom = [UInt8](repeating: 0x0b, count: 22).withUnsafeBytes { HKDF.extract($0, salt: hex(salt)) }
        #expect(hex(HKDF.expand(pseudorandom, info: hex(info), count: 42)) == output)
    }

    @Test func `A key's memory is out of core files and forks, and zeros once the key is gone`() throws {
        var address: UInt = 0
        do {
            let key = SecretKey.random()
            key.withBytes { bytes in
                address = UInt(bitPattern: bytes.baseAddress!)
                #expect(bytes.contains { $0 != 0 })
            }
            // A file in /proc reports no size, so it is read to its end.
            let file = try #require(FileHandle(forReadingAtPath: "/proc/self/smaps"))
            let maps = String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
            let lines = maps.split(separator: "\n")
            let at = try #require(
                lines.firstIndex { line in
                    let ends = line.split(separator: " ")[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
                    return ends.count == 2 && ends[0] <= address && address < ends[1]
                })
            let flags = try #require(lines[at...].first { $0.hasPrefix("VmFlags:") }).split(separator: " ")
            #expect(flags.contains("dd") && flags.contains("wf"), "\(flags)")
            #expect(flags.contains("lo") == KeyStore.isMemoryLocked)
        }
        // Another test may have the cell already, and nobody gets the same key.
        let again = (0..<2_000).map { _ in SecretKey.random() }
        #expect(Set(again.map { $0.withBytes { Data($0) } }).count == 2_000)
        let cell = SecretMemory.allocate()
        #expect(UnsafeRawBufferPointer(start: UnsafeRawPointer(bitPattern: cell), count: 32).allSatisfy { $0 == 0 })
        SecretMemory.free(cell)
        #expect(address != 0)
    }

    @Test func `Associated data of different fields are different`() {
        let lists = [["ab", "c"], ["a", "bc"], ["abc"], ["abc", ""], ["", "abc"], ["a", "b", "c"], []]
        #expect(Set(lists.map { AssociatedData.encode($0) }).count == lists.count)
        #expect(hex(AssociatedData.encode(["ab", ""])) == "00000002616200000000")
    }

    @Test func `Names of keys are UUIDs of version 7 and ascend with time`() throws {
        let first = KeyID.new(at: Date(timeIntervalSince1970: 1_000_000)),
            second = KeyID.new(at: Date(timeIntervalSince1970: 1_000_001))
        #expect(first.text < second.text)
        #expect(first.text.wholeMatch(of: /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/) != nil)
        #expect(KeyID(first.text) == first && KeyID(first.bytes) == first && KeyID("x") == nil && KeyID([1]) == nil)
        #expect(Set((0..<1_000).map { _ in KeyID.new() }).count == 1_000)
    }
}
