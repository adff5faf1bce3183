import Foundation
import InspectCore
import TestSupport
import Testing

@testable import Custody

@Suite struct SealTests {
    private static let context = SealContext.part(.front, of: 7)

    private static func key(partner: Int64 = 7) -> CustodyKey {
        CustodyKey(id: .new(), kind: .job, partner: partner, parent: nil, secret: .random())
    }

    private static func code(_ body: () throws -> Data) -> ErrorCode? {
        do { _ = try body() } catch { return (error as? InspectError)?.code }
        return nil
    }

    @Test(arguments: [0, 1, 15, 16, 17, 3_000_000]) func `What is sealed opens again`(count: Int) throws {
        var random = TestRandom("seal \(count)")
        let text = Data((0..<count).map { _ in UInt8.random(in: .min ... .max, using: &random) })
        let key = Self.key()
        let sealed = Seal.seal(text, under: key, for: Self.context)
        #expect(sealed.count == count + Seal.overhead)
        #expect(try Seal.keyID(of: sealed) == key.id)
        #expect(try Seal.open(sealed, under: key, for: Self.context) == text)
        // Also a part of other bytes, whose indices begin elsewhere.
        #expect(try Seal.open((Data([1, 2, 3]) + sealed).dropFirst(3), under: key, for: Self.context) == text)
        #expect(Seal.seal(text, under: key, for: Self.context) != sealed, "each has a nonce of its own")
    }

    @Test func `Any changed bit is noticed`() throws {
        let key = Self.key()
        let sealed = Seal.seal(Data("Hello, world".utf8), under: key, for: Self.context)
        for bit in 0..<sealed.count * 8 {
            var changed = sealed
            changed[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(Self.code { try Seal.open(changed, under: key, for: Self.context) } == .sealBroken, "bit \(bit)")
            // Even if a key of the changed name had the same bytes.
            if let id = try? Seal.keyID(of: changed), id != key.id {
                let other = CustodyKey(id: id, kind: .job, partner: 7, parent: nil, secret: key.secret)
                #expect(
                    Self.code { try Seal.open(changed, under: other, for: Self.context) } == .sealBroken, "bit \(bit)")
            }
        }
    }

    @Test func `Any missing or added byte is noticed`() throws {
        let key = Self.key()
        let sealed = Seal.seal(Data("Hello, world".utf8), under: key, for: Self.context)
        for count in 0..<sealed.count {
            #expect(Self.code { try Seal.open(sealed.prefix(count), under: key, for: Self.context) } == .sealBroken)
            #expect(
                Self.code { try Seal.open(sealed.dropFirst(count + 1), under: key, for: Self.context) } == .sealBroken)
        }
        #expect(Self.code { try Seal.open(sealed + [0], under: key, for: Self.context) } == .sealBroken)
    }

    @Test func `Another row, purpose, partner or key does not open`() throws {
        let key = Self.key()
        let text = Data("Hello, world".utf8)
        let sealed = Seal.seal(text, under: key, for: Self.context)
        let others = [
            SealContext.part(.back, of: 7), .part(.front, 1, of: 7),
            SealContext(partner: 7, .step, row: ["FRONT", "0"]),
            SealContext(partner: 7, .part, row: ["FRONT"]), SealContext(partner: 7, .part, row: ["FRONT", "0", ""]),
            SealContext(partner: 7, .part, row: ["FRONT0", ""]), SealContext(partner: 7, .part), .part(.front, of: 8),
        ]
        for other in others {
            #expect(Self.code { try Seal.open(sealed, under: key, for: other) } == .sealBroken, "\(other)")
        }
        let namesake = CustodyKey(id: key.id, kind: .job, partner: 7, parent: nil, secret: .random())
        #expect(Self.code { try Seal.open(sealed, under: namesake, for: Self.context) } == .sealBroken)
        let twin = CustodyKey(id: .new(), kind: .job, partner: 7, parent: nil, secret: key.secret)
        #expect(Self.code { try Seal.open(sealed, under: twin, for: Self.context) } == .sealBroken)
        #expect(try Seal.open(sealed, under: key, for: Self.context) == text)
    }

    // MARK: The published format

    private static func guide() throws -> String {
        try String(contentsOfFile: "\(ScratchDatabase.root)/deploy/SEALING.md", encoding: .utf8)
    }

    /// A value of the guide's example.
    private static func example(_ name: String) throws -> String {
        let line = try #require(try Self.guide().split(separator: "\n").first { $0.hasPrefix("| \(name) | `") })
        return String(try #require(line.firstMatch(of: /`([^`]+)`/)).1)
    }

    /// The guide's code in a language.
    private static func code(in language: String) throws -> String {
        let rest = try #require(try Self.guide().components(separatedBy: "\n```\(language)\n").dropFirst().first)
        return try #require(rest.components(separatedBy: "\n```").first)
    }

    @Test func `The guide's example is what the program seals`() throws {
        let id = try #require(KeyID(try Self.example("key id")))
        let key = CustodyKey(
            id: id, kind: .job, partner: 7, parent: nil, secret: try #require(SecretKey(hex(try Self.example("key")))))
        let sealed = Seal.seal(
            Data("Hello, world".utf8), under: key, for: Self.context, nonce: hex(try Self.example("nonce")))
        #expect(try hex(sealed) == Self.example("sealed bytes"))
    }

    @Test func `The guide's wrapped key is what the program wraps`() throws {
        let above = CustodyKey(
            id: try #require(KeyID("fedcba98-7654-7210-8fed-cba987654321")), kind: .person, partner: 7, parent: nil,
            secret: try #require(SecretKey(Array(64..<96))))
        let id = try #require(KeyID(try Self.example("key id")))
        let secret = try #require(SecretKey(hex(try Self.example("key"))))
        let associated = KeyWrap.associated(id, .job, partner: 7, parent: above.id.text)
        let wrapped = KeyWrap.wrap(secret, under: above.secret, associated, nonce: hex(try Self.example("nonce")))
        #expect(try Self.guide().contains("`\(hex(wrapped))`"))
        let opened = try above.child(.job, id: id, wrapped: wrapped)
        #expect(opened.secret.withBytes { Data($0) } == secret.withBytes { Data($0) })
        #expect(throws: InspectError.self) { try above.child(.person, id: id, wrapped: wrapped) }
        #expect(throws: InspectError.self) { try above.child(.job, id: .new(), wrapped: wrapped) }
        for index in wrapped.indices {
            var changed = wrapped
            changed[index] ^= 0x10
            #expect(throws: InspectError.self) { try above.child(.job, id: id, wrapped: changed) }
        }
    }

    private static let python = """

        import sys
        key, key_id, nonce = bytes.fromhex(sys.argv[2]), uuid.UUID(sys.argv[3]), bytes.fromhex(sys.argv[4])
        data = bytes.fromhex(sys.stdin.read())
        if sys.argv[1] == "seal":
            print(seal(data, key, key_id, 7, "part", ["FRONT", "0"], nonce or None).hex())
        else:
            print(open_sealed(data, key, 7, "part", ["FRONT", "0"]).hex())
        """
    private static let php = """

        [, $action, $key, $id, $nonce] = $argv;
        $data = hex2bin(trim(stream_get_contents(STDIN)));
        $id = hex2bin(str_replace('-', '', $id));
        $done = $action === 'seal'
            ? seal($data, hex2bin($key), $id, 7, 'part', ['FRONT', '0'], $nonce === '' ? null : hex2bin($nonce))
            : open_sealed($data, hex2bin($key), 7, 'part', ['FRONT', '0']);
        if ($done === false) {
            exit(1);
        }
        echo bin2hex($done);
        """

    /// Runs the guide's code.
    ///
    /// - Returns: What it printed; `nil`: it failed.
    private static func run(_ language: String, _ action: String, _ data: Data, _ key: CustodyKey, nonce: String = "")
        throws -> Data?
    {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("seal-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let script = folder.appendingPathComponent("script")
        let input = folder.appendingPathComponent("input")
        try (Self.code(in: language) + (language == "php" ? Self.php : Self.python)).write(
            to: script, atomically: true, encoding: .utf8)
        try hex(data).write(to: input, atomically: true, encoding: .utf8)
        let output = folder.appendingPathComponent("output")
        let status = try ChildProcess.spawn(
            "/bin/sh",
            [
                "-c", "exec \"$@\" <'\(input.path)' >'\(output.path)'", "sh",
                language == "php" ? "/usr/bin/php" : "/usr/bin/python3", script.path, action,
                key.secret.withBytes { hex($0) }, key.id.text, nonce,
            ], isQuiet: true
        ).blockingExitStatus()
        guard status == 0 else { return nil }
        let text = try String(contentsOf: output, encoding: .utf8)
        return Data(hex(text.trimmingCharacters(in: .whitespacesAndNewlines)))
    }

    @Test(arguments: ["python", "php"]) func `The program opens what the guide's code seals, and vice versa`(
        language: String
    ) throws {
        let key = Self.key()
        var random = TestRandom("guide \(language)")
        for count in [0, 1, 12, 100_000] {
            let text = Data((0..<count).map { _ in UInt8.random(in: .min ... .max, using: &random) })
            let theirs = try #require(try Self.run(language, "seal", text, key))
            #expect(try Seal.open(theirs, under: key, for: Self.context) == text)
            var ours = Seal.seal(text, under: key, for: Self.context)
            #expect(try Self.run(language, "open", ours, key) == text)
            for index in [0, 5, 20, ours.count - 1] {
                ours[index] ^= 1
                #expect(try Self.run(language, "open", ours, key) == nil, "byte \(index)")
                ours[index] ^= 1
            }
        }
        let example = CustodyKey(
            id: try #require(KeyID(try Self.example("key id"))), kind: .job, partner: 7, parent: nil,
            secret: try #require(SecretKey(hex(try Self.example("key")))))
        let sealed = try Self.run(
            language, "seal", Data("Hello, world".utf8), example, nonce: try Self.example("nonce"))
        #expect(try hex(#require(sealed)) == Self.example("sealed bytes"))
    }

    @Test func `PHP opens what Python seals, and vice versa`() throws {
        let key = Self.key()
        let text = Data("Erika Mustermann".utf8)
        for (first, second) in [("python", "php"), ("php", "python")] {
            let sealed = try #require(try Self.run(first, "seal", text, key))
            #expect(try Self.run(second, "open", sealed, key) == text)
        }
    }

    @Test func `A secret opens for its endpoint and purpose alone, and its text is the published format`() throws {
        let key = CustodyKey(id: .new(), kind: .partner, partner: 7, parent: nil, secret: .random())
        let seal = SecretSeal(key, endpoint: 12)
        let text = seal.seal("whsec_ü", for: .signingSecret)
        #expect(SecretSeal.isSealed(text) && !SecretSeal.isSealed("whsec_ü"))
        #expect(try SecretSeal.keyID(of: text) == key.id)
        #expect(try seal.open(text, for: .signingSecret) == "whsec_ü")
        let bytes = try #require(Data(base64Encoded: String(text.dropFirst("sealed:".count))))
        let context = SealContext(partner: 7, .secret, row: ["endpoint 12", "signing_secret"])
        #expect(try Seal.open(bytes, under: key, for: context) == Data("whsec_ü".utf8))
        let others = [
            SecretSeal(key, endpoint: 1),
            SecretSeal(
                CustodyKey(id: key.id, kind: .partner, partner: 7, parent: nil, secret: .random()), endpoint: 12),
        ]
        for other in others {
            #expect(throws: InspectError(.sealBroken)) { try other.open(text, for: .signingSecret) }
        }
        for purpose in SecretSeal.Purpose.allCases where purpose != .signingSecret {
            #expect(throws: InspectError(.sealBroken)) { try seal.open(text, for: purpose) }
        }
        for wrong in ["", "whsec_ü", "sealed:", "sealed:?", "sealed:AQ==", String(text.dropLast(4))] {
            #expect(throws: InspectError.self) { try seal.open(wrong, for: .signingSecret) }
        }
    }

    @Test func `A blind index depends on partner, use and value alone`() throws {
        let key = CustodyKey(id: .new(), kind: .partner, partner: 7, parent: nil, secret: .random())
        let index = BlindIndex(key)
        #expect(index.index("1234", use: "user") == BlindIndex(key).index("1234", use: "user"))
        let other = CustodyKey(id: .new(), kind: .partner, partner: 8, parent: nil, secret: .random())
        let indexes = [
            index.index("1234", use: "user"), index.index("1234", use: "customer"), index.index("1235", use: "user"),
            index.index("234", use: "user1"), BlindIndex(other).index("1234", use: "user"),
        ]
        #expect(Set(indexes).count == indexes.count && indexes.allSatisfy { $0.count == 32 })
    }
}
