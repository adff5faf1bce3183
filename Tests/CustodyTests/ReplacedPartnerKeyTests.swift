import Foundation
import InspectCore
import Testing

@testable import Custody

/// A partner's key that another process has replaced.
@Suite struct ReplacedPartnerKeyTests {
    @Test(arguments: [KeyKind.job, .person])
    func `A request is sealed with the pseudonyms of the key that is above its own`(level: KeyKind) async throws {
        let fixture = try await KeyStoreFixture()
        let (old, other) = (try fixture.store(), try fixture.store())
        let sealer = RequestSealer(old, level: level)
        let payload = Data(#"{"workflow":"id","userReference":"u","idempotencyKey":"k"}"#.utf8)
        let first = try await sealer.draft(payload: payload, parts: [.front: [Data("f".utf8)]], partner: 7)
        let former = try await old.partnerKey(7)
        try await other.destroyPartner(7)
        let present = try await other.partnerKey(7)
        #expect(present.id != former.id)
        let sealed = try await sealer.seal(first)
        let values = try #require(try JSONSerialization.jsonObject(with: sealed.payload) as? [String: Any])
        let index = BlindIndex(present)
        #expect(values["userReference"] as? String == index.pseudonym("u", use: "user"))
        #expect(values["idempotencyKey"] as? String == index.pseudonym("k", use: "idempotency"))
        // A repeated request has the same digest, whichever program seals it.
        let again = try await RequestSealer(other, level: level).seal(
            payload: payload, parts: [.front: [Data("f".utf8)]], partner: 7)
        #expect(again.hmac == sealed.hmac && first.hmac != sealed.hmac)
        _ = try await other.key(try Seal.keyID(of: sealed.sealed))
    }

    @Test func `Each call for a partner's key, and each that destroys a person's, gets the present one`() async throws {
        let fixture = try await KeyStoreFixture()
        let (old, other) = (try fixture.store(), try fixture.store())
        _ = try await old.jobKeys([KeyOwner(partner: 7, .user("u"))])
        try await other.destroyPartner(7)
        let person = try await other.jobKeys([KeyOwner(partner: 7, .user("u"))])[0]
        #expect(try await old.destroyPerson(.user("u"), of: 7))
        #expect(await errorCode { _ = try await other.key(person.id) } == .keyDestroyed)
        #expect(try await old.partnerKey(7).id == other.partnerKey(7).id)
    }
}
