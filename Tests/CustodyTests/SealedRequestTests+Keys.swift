import Foundation
import InspectCore
import Postgres
import TestSupport
import Testing

@testable import Custody

/// What opens what is not the request itself: URLs of parts, templates, and others' bytes.
extension SealedRequestTests {
    @Test func `Of a part by URL the database sees the origin, and its worker finds the rest`() async throws {
        let site = try await Site()
        let sum = String(repeating: "ab", count: 32)
        let url = "https://img.example.com/zqmark/a.jpg?signature=zqmark"
        let frames = (0..<3).map { #"{"url":"\#(url)&n=\#($0)","sha256":"\#(sum.uppercased())"}"# }.joined(
            separator: ",")
        let front = #""parts":{"FRONT":{"url":"\#(url)","sha256":"\#(sum)"}}"#
        let ids = [
            try await site.enqueue(Self.payload(front), [:], isSealed: true),
            try await site.enqueue(
                Self.payload(#""parts":{"FRAMES":[\#(frames)]}"#, workflow: "liveness"), [:], isSealed: true),
        ]
        var places: Set<String> = []
        for (id, count) in zip(ids, [1, 3]) {
            let rows = try await site.admin.query(
                """
                SELECT p.kind, p.ordinal, p.location, encode(p.sha256, 'hex'), j.sealed, j.key_id::text
                FROM insp.part p JOIN insp.job j ON j.id = p.job_id WHERE j.public_id = $1 ORDER BY p.ordinal
                """, [.text(id)])
            #expect(rows.count == count)
            for row in rows {
                let (location, ordinal) = (try row.string(2), Int(try row.int(1)))
                #expect(location.hasPrefix("https://img.example.com/") && !location.contains("zqmark"))
                #expect(try row.string(3) != sum)
                places.insert(location)
                let seal = try JobSeal(
                    try await site.store.key(try #require(KeyID(try row.string(5)))), partner: site.partner)
                let values = try seal.values(try row.data(4))
                let kind = try #require(PartKind(rawValue: try row.string(0)))
                let source = try #require(values.source(of: kind, ordinal, inPlaceOf: location))
                #expect(source.url == (count == 1 ? url : "\(url)&n=\(ordinal)"))
                #expect(source.sha256.lowercased() == sum)
                // Where the row leads elsewhere, somebody changed one of the two.
                #expect(values.source(of: kind, ordinal, inPlaceOf: "https://other.example.com/x") == nil)
                #expect(values.source(of: kind, 7, inPlaceOf: location) == nil)
            }
        }
        #expect(places.count == 4)
        // Another URL under the same idempotency key is another request.
        let keyed = #","idempotencyKey":"k""#
        let first = try await site.enqueue(Self.payload(front + keyed), [:], isSealed: true)
        #expect(try await site.enqueue(Self.payload(front + keyed), [:], isSealed: true) == first)
        let other = front.replacing("a.jpg", with: "b.jpg") + keyed
        #expect(try await site.enqueue(Self.payload(other), [:], isSealed: true) == "IDEMPOTENCY_CONFLICT")
        let large = #""consent":{"zqmark":"\#(String(repeating: "x", count: 70_000))"}"#
        #expect(try await site.enqueue(Self.payload(large), Self.front, isSealed: true) == "PAYLOAD_TOO_LARGE")
    }

    @Test func `Each template has a key of its own, which goes alone or with its person's`() async throws {
        let site = try await Site()
        let keys = try await site.store.jobKeys([
            KeyOwner(partner: site.partner, .user("u")), KeyOwner(partner: site.partner, .face("f")),
        ])
        let plain = FaceEmbedding(
            engine: "e", modelSHA256: String(repeating: "a", count: 64), hex: String(repeating: "01ab", count: 256))
        let user = try await site.store.templateKey(of: JobSeal(keys[0], partner: site.partner))
        let face = try await site.store.templateKey(of: JobSeal(keys[1], partner: site.partner))
        #expect(user.kind == .template && user.parent == keys[0].parent && face.parent == keys[1].parent)
        let next = try await site.store.templateKey(of: JobSeal(keys[0], partner: site.partner))
        #expect(next.id != user.id && next.parent == user.parent)
        let sealed = TemplateSeal.seal(plain, under: user)
        let later = TemplateSeal.seal(plain, under: next)
        #expect(sealed.hex.count == 1114 && TemplateSeal.keyID(of: plain) == nil)
        #expect(try await site.store.open([plain, sealed], of: site.partner) == [plain, plain])
        #expect(throws: InspectError.self) { try TemplateSeal.open(sealed, under: face) }
        var other = sealed
        other.engine = "another"
        #expect(throws: InspectError.self) { try TemplateSeal.open(other, under: user) }
        #expect(try await site.store.destroyJobs([user.id], of: [site.partner]) == [true])
        #expect(try await site.store.open([later], of: site.partner) == [plain])
        try await site.store.destroyPerson(.user("u"), of: site.partner)
        for (gone, code) in [(sealed, ErrorCode.keyUnknown), (later, .keyDestroyed)] {
            let error = await #expect(throws: InspectError.self) { try await site.store.open([gone], of: site.partner) }
            #expect(error?.code == code)
        }
        // The database's name for a face leads to its key.
        let index = BlindIndex(try await site.store.partnerKey(site.partner))
        #expect(
            try await site.store.destroyPerson(pseudonym: index.pseudonym("f", use: "face"), of: site.partner))
        #expect(try await !site.store.destroyPerson(pseudonym: "f", of: site.partner))
        await #expect(throws: InspectError.self) { try await site.store.key(face.id) }
    }

    @Test func `Another partner's sealed bytes open for nobody, and its keys are not destroyed`() async throws {
        let site = try await Site()
        _ = try await site.admin.query("SELECT insp.create_partner('other', 'https://hooks.example.com/o')")
        let other = try await site.admin.query("SELECT insp.custody_partner('other')")[0].int(0)
        let victim = try await RequestSealer(site.store).seal(
            payload: Data(Self.payload(#""userReference":"zqmark u""#).utf8), parts: Self.front, partner: site.partner)
        let id = try Seal.keyID(of: victim.sealed)
        let key = try await site.store.key(id)
        #expect(throws: InspectError.self) { try JobSeal(key, partner: other) }
        // Replayed as the other partner's own job, and with the names of the keys above.
        let partnerKey = try await site.store.partnerKey(site.partner)
        for name in [id, try #require(key.parent), partnerKey.id] {
            let sealed = Data([1] + name.bytes) + victim.sealed.dropFirst(17)
            let job = try await site.admin.query(
                "SELECT insp.enqueue_parts($1, '{FRONT}', $2, $3, sha256('x'))",
                [
                    .text(#"{"partner":"other","workflow":"id"}"#),
                    .byteas([Data([1] + name.bytes) + Data(count: 40)]), .bytes(sealed),
                ])[0].string(0)
            let row = try await site.admin.query(
                "SELECT document, sealed, body, partner_id FROM insp.sealed_result($1)", [.text(job)]
            ).single()
            let error = await #expect(throws: InspectError.self) {
                try await SealedResult(row).document(opening: site.store)
            }
            #expect([.sealBroken, .keyUnknown].contains(error?.code))
            _ = try await site.admin.query("SELECT insp.cancel($1)", [.text(job)])
            _ = try await site.admin.query("SELECT insp.erase($1)", [.text(job)])
        }
        let gone = try await site.admin.query("SELECT * FROM insp.keys_gone(10)")
        #expect(gone.count == 3)
        let existed = try await site.store.destroyJobs(
            gone.map { try #require(KeyID(try $0.string(0))) }, of: gone.map { try $0.int(1) })
        #expect(existed == [false, false, false])
        _ = try await site.store.key(id)
        // Its own partner may. Nothing that the other one listed counts as its own.
        let replayed = gone.map { (try! $0.string(0), try! $0.int(1)) } + [(id.text, site.partner)]
        try await site.admin.execute(
            "INSERT INTO insp.key_gone (key_id, partner_id) VALUES ('\(id.text)', \(site.partner))")
        let all = try await site.store.destroyJobs(
            replayed.map { KeyID($0.0)! }, of: replayed.map(\.1))
        #expect(all == [false, false, false, true])
        #expect(
            try await site.store.destroyJobs([id, partnerKey.id], of: [site.partner, site.partner]) == [false, false])
        _ = try await site.admin.query(
            "SELECT insp.keys_destroyed($1::uuid[], $2::integer[], $3::boolean[])",
            [
                .textArray(replayed.map(\.0)), .intArray(replayed.map(\.1)),
                .textArray(all.map { $0 ? "t" : "f" }),
            ])
        #expect(try await site.admin.query("SELECT * FROM insp.keys_gone(10)").isEmpty)
        let counted = try await site.admin.query(
            "SELECT subject || ' ' || (detail ->> 'keys') FROM insp.record WHERE action = 'destroy_keys'")
        #expect(try counted.map { try $0.string(0).hasSuffix("1") } == [true])
        #expect(try !counted[0].string(0).hasPrefix("partner other"))
    }
}
