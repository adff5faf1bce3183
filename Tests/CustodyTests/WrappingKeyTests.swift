import Foundation
import InspectCore
import TestSupport
import Testing

@testable import Custody

@Suite struct WrappingKeyTests {
    private static let associated = KeyWrap.associated(
        KeyID("01234567-89ab-7cde-8123-456789abcdef")!, .partner, partner: 7, parent: "x")

    private static func code(_ body: () async throws -> Void) async -> ErrorCode? {
        do { try await body() } catch { return (error as? InspectError)?.code }
        return nil
    }

    private static func bytes(_ key: SecretKey) -> Data { key.withBytes { Data($0) } }

    /// The duties of every holder of a wrapping key.
    private static func check(_ key: any WrappingKey, _ other: any WrappingKey) async throws {
        let secret = SecretKey.random()
        let wrapped = try await key.wrap(secret, Self.associated)
        #expect(try await key.wrap(secret, Self.associated) != wrapped)
        #expect(Data(wrapped).range(of: Self.bytes(secret)) == nil)
        #expect(Self.bytes(try await key.unwrap(wrapped, Self.associated)) == Self.bytes(secret))
        let again = try await key.rewrap(wrapped, Self.associated)
        #expect(again != wrapped)
        #expect(Self.bytes(try await key.unwrap(again, Self.associated)) == Self.bytes(secret))
        #expect(await Self.code { _ = try await key.unwrap(wrapped, Self.associated + [0]) } == .sealBroken)
        #expect(await Self.code { _ = try await other.unwrap(wrapped, Self.associated) } == .sealBroken)
        for index in wrapped.indices {
            var changed = wrapped
            changed[index] ^= 1
            // In base64 a last digit has bits that say nothing.
            guard let code = await Self.code({ _ = try await key.unwrap(changed, Self.associated) }) else {
                #expect(wrapped[0] == UInt8(ascii: "v"), "byte \(index)")
                continue
            }
            #expect(code == .sealBroken, "byte \(index)")
        }
        for count in [0, 1, wrapped.count - 1] {
            #expect(
                await Self.code { _ = try await key.unwrap(Array(wrapped.prefix(count)), Self.associated) }
                    == .sealBroken)
        }
        #expect(
            Self.bytes(try await key.unwrap(wrapped, Self.associated)) == Self.bytes(secret),
            "refusals leave it working")
    }

    // MARK: A file

    private static func file(_ text: String, mode: Int = 0o600) throws -> String {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("keys-\(UUID().uuidString)").path
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        return path
    }

    private static let digits = String(repeating: "0123456789abcdef", count: 4)

    @Test func `Keys of a file wrap and unwrap, each its own`() async throws {
        let path = try Self.file(
            "# two\n\na \(Self.digits)\nb.2-c_\t\(Self.digits.uppercased().replacing("0", with: "1"))\r\n")
        let keys = try KeyFile.read(path)
        #expect(keys.map(\.id) == ["a", "b.2-c_"])
        try await Self.check(keys[0], keys[1])
    }

    @Test(arguments: [0o640, 0o604, 0o660, 0o644, 0o601]) func `A file that others may read or change is refused`(
        mode: Int
    ) async throws {
        let path = try Self.file("a \(Self.digits)\n", mode: mode)
        #expect(await Self.code { _ = try KeyFile.read(path) } == .keyFileInvalid)
        for fine in [0o600, 0o400] {
            try FileManager.default.setAttributes([.posixPermissions: fine], ofItemAtPath: path)
            #expect(try KeyFile.read(path).count == 1)
        }
    }

    @Test func `A line that is not a key is refused with its number and nothing else`() async throws {
        for line in [
            "a", "a \(Self.digits)0", "a \(Self.digits.dropLast(2))", "a \(Self.digits.dropLast())g",
            "a b \(Self.digits)",
            "-a \(Self.digits)", "a/b \(Self.digits)", "\(String(repeating: "a", count: 65)) \(Self.digits)",
        ] {
            let path = try Self.file("ok \(Self.digits)\n\(line)\n")
            let error = #expect(throws: InspectError.self) { try KeyFile.read(path) }
            #expect(error?.code == .keyFileInvalid && error?.detail.contains("line 2") == true, "\(line)")
            #expect(error?.detail.contains(Self.digits.prefix(16)) == false)
        }
        #expect(await Self.code { _ = try KeyFile.read(try Self.file("# nothing\n")) } == .keyMissing)
        #expect(await Self.code { _ = try KeyFile.read("/nonexistent/keys") } == .keyMissing)
        #expect(await Self.code { _ = try KeyFile.read("/tmp") } == .keyFileInvalid)
    }

    @Test func `A key is added to a file, whose other keys stay`() async throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("keys-\(UUID().uuidString)").path
        let first = try KeyFile.add(to: path)
        #expect(first.wholeMatch(of: /\d{4}-\d{2}-\d{2}-[0-9a-f]{4}/) != nil)
        let before = try String(contentsOfFile: path, encoding: .utf8)
        #expect(try KeyFile.add(to: path, name: "second") == "second")
        #expect(try String(contentsOfFile: path, encoding: .utf8).hasPrefix(before))
        #expect(try KeyFile.read(path).map(\.id) == [first, "second"])
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        #expect(await Self.code { _ = try KeyFile.add(to: path, name: "second") } == .keyFileInvalid)
        #expect(await Self.code { _ = try KeyFile.add(to: path, name: "a b") } == .keyFileInvalid)
        #expect(try KeyFile.read(path).count == 2)
    }

    @Test func `Keys that are added at the same time are all there`() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("keys-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let path = folder.appendingPathComponent("keys").path
        let names = (0..<60).map { "key-\($0)" }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for name in names { group.addTask { _ = try KeyFile.add(to: path, name: name) } }
            try await group.waitForAll()
        }
        #expect(try Set(KeyFile.read(path).map(\.id)) == Set(names))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["keys"])
        // One that is needed alone is made by one.
        let other = folder.appendingPathComponent("other").path
        let made = try await withThrowingTaskGroup(of: String?.self) { group in
            for _ in 0..<20 { group.addTask { try KeyFile.make(other) } }
            return try await group.compactMap(\.self).reduce(into: []) { $0.append($1) }
        }
        #expect(try KeyFile.read(other).map(\.id) == made && made.count == 1)
        #expect(await Self.code { _ = try KeyFile.add(to: "/nonexistent/keys") } == .keyFileInvalid)
    }

    @Test func `A process without a key that is needed says whether it has none or others`() async throws {
        let path = try Self.file("a \(Self.digits)\n")
        let keys = try WrappingKeySource.open("file:\(path)")
        #expect(try keys.ids == ["a"] && keys.key("a").id == "a")
        #expect(await Self.code { _ = try keys.key("b") } == .keyMismatch)
        #expect(await Self.code { _ = try WrappingKeySource.open("").key("b") } == .keyMissing)
        #expect(await Self.code { _ = try WrappingKeySource.open("file:\(path) file:\(path)") } == .keyMismatch)
        for source in [
            "x", "x:y", "pkcs11:token=a;object=b", "pkcs11:token=a;object=b?module-path=/nonexistent&pin-source=/x",
            "vault:https://localhost/v1/transit/keys/a", "vault:http://localhost/v1/transit/keys/a?token-file=/x",
            "vault:https://localhost/v1/transit/a?token-file=/x",
            "vault:https://localhost/v1/transit/keys/a/b?token-file=/x",
        ] { #expect(await Self.code { _ = try WrappingKeySource.open(source) } == .keyMissing, "\(source)") }
    }

    @Test func `A holder that fails is left alone for a while that doubles up to 30 seconds`() {
        var breather = Breather()
        var now = ContinuousClock.now
        #expect(breather.isOver(now))
        for pause in [0.5, 1, 2, 4, 8, 16, 30, 30] {
            breather.fail(now)
            breather.fail(now)
            #expect(!breather.isOver(now + .seconds(pause) - .milliseconds(1)), "\(pause)")
            #expect(breather.isOver(now + .seconds(pause)), "\(pause)")
            now += .seconds(pause)
        }
        breather.succeed()
        breather.fail(now)
        #expect(breather.isOver(now + .milliseconds(500)))
    }

    // MARK: A PKCS#11 token

    @Test func `A token wraps with a key that never leaves it`() async throws {
        try SoftToken.make("one", key: "wrap-1")
        try SoftToken.make("two", key: "wrap-2")
        try await Self.check(try SoftToken.key("one", "wrap-1"), try SoftToken.key("two", "wrap-2"))
        let source =
            "pkcs11:token=one;object=wrap-1?module-path=\(SoftToken.module)&pin-source=file:\(SoftToken.pinFile)"
        let keys = try WrappingKeySource.open(source)
        #expect(keys.ids == ["wrap-1"])
        let wrapped = try await keys.key("wrap-1").wrap(.random(), Self.associated)
        _ = try await SoftToken.key("one", "wrap-1").unwrap(wrapped, Self.associated)
    }

    @Test func `An unavailable token, a missing key and a missing PIN are temporary faults`()
        async throws
    {
        // Not there yet.
        let key = try SoftToken.key("three", "wrap-3")
        #expect(await Self.code { _ = try await key.wrap(.random(), Self.associated) } == .keysUnavailable)
        // Refused at once, without asking the token.
        #expect(await Self.code { _ = try await key.wrap(.random(), Self.associated) } == .keysUnavailable)
        try SoftToken.make("three", key: "wrap-3")
        try await waitUntil("the token is used") {
            await Self.code { _ = try await key.wrap(.random(), Self.associated) } == nil
        }
        let wrapped = try await key.wrap(.random(), Self.associated)
        let other = try SoftToken.key("three", "wrap-4")
        #expect(await Self.code { _ = try await other.unwrap(wrapped, Self.associated) } == .keysUnavailable)
        let missing = try SoftToken.key("three", "wrap-3", pinFile: "/nonexistent/pin")
        #expect(await Self.code { _ = try await missing.unwrap(wrapped, Self.associated) } == .keysUnavailable)
        _ = try await key.unwrap(wrapped, Self.associated)
    }

    @Test func `A wrong PIN is shown to the token once, and works once its file is mended`() async throws {
        try SoftToken.make("five", key: "wrap-5")
        let file = SoftToken.tokens.appendingPathComponent("pin-5")
        try Data("4321".utf8).write(to: file)
        let key = try SoftToken.key("five", "wrap-5", pinFile: file.path)
        #expect(await Self.code { _ = try await key.wrap(.random(), Self.associated) } == .keysUnavailable)
        var details: Set<String> = []
        try await waitUntil("the token is left alone") {
            do {
                _ = try await key.wrap(.random(), Self.associated)
            } catch {
                details.insert("\(error)")
            }
            return details.contains { $0.contains("has refused the PIN") }
        }
        #expect(!details.contains { $0.contains("4321") })
        try Data("1234".utf8).write(to: file)
        try await waitUntil("the PIN is used") {
            await Self.code { _ = try await key.wrap(.random(), Self.associated) } == nil
        }
    }

    // MARK: A KMS

    @Test func `A KMS wraps and unwraps over HTTPS, and moves to a new version of its key`() async throws {
        let kms = try StubKMS()
        try await Self.check(try kms.key(), try kms.key("other"))
        #expect(Set(kms.actions) == ["encrypt", "decrypt", "rewrap"])
        let keys = try WrappingKeySource.open(kms.source())
        #expect(keys.ids == ["inspectd"])
        let wrapped = try await keys.key("inspectd").wrap(.random(), Self.associated)
        #expect(String(decoding: wrapped, as: UTF8.self).hasPrefix("vault:v1:"))
        try kms.rotate()
        _ = try await kms.key().unwrap(wrapped, Self.associated)
        let moved = try await kms.key().rewrap(wrapped, Self.associated)
        #expect(String(decoding: moved, as: UTF8.self).hasPrefix("vault:v2:"))
        _ = try await kms.key().unwrap(moved, Self.associated)
        // Restored to before: the bytes are whole, and wait for the newer version. Others' keys are not kept waiting.
        let key = try kms.key()
        let newer = Array(String(decoding: moved, as: UTF8.self).replacing("vault:v2:", with: "vault:v3:").utf8)
        #expect(await Self.code { _ = try await key.unwrap(newer, Self.associated) } == .keyUnknown)
        _ = try await key.unwrap(wrapped, Self.associated)
    }

    @Test(arguments: ["sealed", "busy", "forbidden", "missing", "html", "torn", "hang", "drop", "bad"])
    func `A KMS that is unavailable or broken costs no key`(mode: String) async throws {
        let kms = try StubKMS()
        // Only the request that hangs is given up soon.
        let wrapped = try await kms.key(timeout: .seconds(60)).wrap(.random(), Self.associated)
        let key = try kms.key(timeout: mode == "hang" ? .seconds(4) : .seconds(20))
        try kms.behave(mode)
        #expect(await Self.code { _ = try await key.unwrap(wrapped, Self.associated) } == .keysUnavailable)
        let asked = kms.actions.count
        #expect(await Self.code { _ = try await key.unwrap(wrapped, Self.associated) } == .keysUnavailable)
        #expect(kms.actions.count == asked, "it is left alone for a moment")
        try kms.behave("ok")
        try await waitUntil("it is asked again") {
            await Self.code { _ = try await key.unwrap(wrapped, Self.associated) } == nil
        }
    }

    @Test func `A KMS with another token, an unknown certificate or no key of the name passes as well`() async throws {
        let kms = try StubKMS()
        let wrapped = try await kms.key().wrap(.random(), Self.associated)
        #expect(await Self.code { _ = try await kms.key("third").unwrap(wrapped, Self.associated) } == .keyUnknown)
        let strange = try VaultWrappingKey(url: "\(kms.mount)/keys/inspectd", tokenFile: kms.path("token"))
        #expect(await Self.code { _ = try await strange.unwrap(wrapped, Self.associated) } == .keysUnavailable)
        try Data("s.other".utf8).write(to: URL(fileURLWithPath: kms.path("token")))
        let key = try kms.key()
        #expect(await Self.code { _ = try await key.unwrap(wrapped, Self.associated) } == .keysUnavailable)
        // An agent has renewed it.
        try Data("s.token".utf8).write(to: URL(fileURLWithPath: kms.path("token")))
        try await waitUntil("the new token is used") {
            await Self.code { _ = try await key.unwrap(wrapped, Self.associated) } == nil
        }
    }

    @Test func `A copy of the keys that a killed process left is removed, and no other file`() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("drafts-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("keys").path
        _ = try KeyFile.add(to: path, name: "one")
        let others = ["keys.old", "other.\(KeyID.new().text)"]
        for name in others + ["keys.\(KeyID.new().text)"] {
            try FileManager.default.copyItem(atPath: path, toPath: folder.appendingPathComponent(name).path)
        }
        _ = try KeyFile.add(to: path, name: "two")
        #expect(try Set(FileManager.default.contentsOfDirectory(atPath: folder.path)) == Set(others + ["keys"]))
        #expect(try KeyFile.read(path).map(\.id) == ["one", "two"])
    }
}
