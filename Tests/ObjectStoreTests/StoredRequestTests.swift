import Foundation
import InspectCore
import JobQueue
import Postgres
import TestSupport
import Testing

@testable import Custody
@testable import ObjectStore

/// What becomes of a request's parts where an object store is configured.
@Suite struct StoredRequestTests {
    @Test func `The queue has location, digest and size, and the store alone the sealed bytes`() async throws {
        let site = try await ObjectSite()
        let id = try await site.enqueue()
        #expect(try await site.texts("SELECT 1::text FROM insp.content").isEmpty)
        let rows = try await site.admin.query(
            """
            SELECT p.kind, p.ordinal, p.location, p.sha256, p.size, j.key_id::text FROM insp.part p JOIN insp.job j ON j.id = p.job_id
            WHERE j.public_id = $1 ORDER BY p.kind, p.ordinal
            """, [.text(id)])
        #expect(rows.count == 7)
        let objects = try await site.objects()
        #expect(objects.count == 1 && site.stub.count("PUT", 200) == 1)
        for row in rows {
            let location = try #require(ObjectLocation(try row.string(2)))
            #expect(location.object == objects[0])
            #expect(location.object.contains("/\(try row.string(5))/"))
            let piece = ObjectStore.Piece(location, size: Int(try row.int(4)))
            let bytes = try await site.store.get([piece], until: .now + .seconds(30))[0]
            #expect(Data(SHA256.digest([UInt8](bytes))) == (try row.data(3)))
            let key = try await site.keys.key(try #require(KeyID(try row.string(5))))
            let kind = try #require(PartKind(rawValue: try row.string(0)))
            let ordinal = Int(try row.int(1))
            let plain = try JobSeal(key, partner: site.partner).open(bytes, part: kind, ordinal)
            #expect(plain == ObjectSite.parts[kind]?[ordinal])
        }
        // Nothing of the parts' text.
        let whole = try await site.store.get(
            [ObjectStore.Piece(ObjectLocation(object: objects[0], offset: 0), size: 200)], until: .now + .seconds(30))
        #expect(whole[0].range(of: Data("front".utf8)) == nil && whole[0].range(of: Data("frame".utf8)) == nil)
    }

    @Test func `Plain parts go to no object store`() async throws {
        let site = try await ObjectSite()
        let client = JobClient(databaseURL: site.main.url, objects: site.store)
        let code = await errorCode {
            _ = try await client.enqueue(
                payload: Data(#"{"partner":"acme","workflow":"id"}"#.utf8), parts: [.front: [Data("x".utf8)]])
        }
        #expect(code == .keyMissing)
        #expect(site.stub.requests.isEmpty)
        #expect(try await site.texts("SELECT id::text FROM insp.job").isEmpty)
    }

    @Test func `What was uploaded for a refused request is deleted at once`() async throws {
        let site = try await ObjectSite()
        // An invalid one is refused before.
        #expect(await errorCode { _ = try await site.enqueue(["documentFormat": "TD9"]) } == .documentFormatUnknown)
        #expect(site.stub.count("PUT", 200) == 0)
        _ = try await site.enqueue(["idempotencyKey": "k"])
        #expect(
            await errorCode { _ = try await site.enqueue(["idempotencyKey": "k", "delaySeconds": 1]) }
                == .idempotencyConflict)
        #expect(site.stub.count("PUT", 200) == 2 && site.stub.count("DELETE", 204) == 1)
        #expect(try await site.objects().count == 1)
    }

    @Test func `While the store is unavailable a request is refused, and no job exists`() async throws {
        let site = try await ObjectSite()
        try site.stub.behave("down")
        #expect(await errorCode { _ = try await site.enqueue() } == .objectStoreUnavailable)
        #expect(try await site.texts("SELECT id::text FROM insp.job").isEmpty)
        try site.stub.behave("ok")
        _ = try await site.enqueue()
    }

    @Test func `A request without an answer of the database leaves its object to the sweep`() async throws {
        let site = try await ObjectSite()
        // Accepted, but the answer is lost: the connection ends in the same transaction.
        try await site.admin.execute(
            """
            CREATE FUNCTION public.lose() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$;
            CREATE TRIGGER lose AFTER INSERT ON insp.part FOR EACH STATEMENT EXECUTE FUNCTION public.lose();
            """)
        #expect(await errorCode { _ = try await site.enqueue() } == .databaseUnavailable)
        #expect(try await site.objects().count == 1)
        #expect(site.stub.count("DELETE", 204) == 0)
    }

    @Test func `A repeated request leaves no second object`() async throws {
        let site = try await ObjectSite()
        let first = try await site.enqueue(["idempotencyKey": "k"])
        let kept = try await site.objects()
        #expect(try await site.enqueue(["idempotencyKey": "k"]) == first)
        #expect(try await site.objects().count == 2)
        try await site.maintain(until: "one object is left") { try await site.objects() == kept }
        // The same call again, as of a producer that lost the answer, with the first one's object.
        let request = try await RequestSealer(site.keys).seal(
            payload: Data(#"{"partner":"acme","workflow":"id","idempotencyKey":"k2"}"#.utf8),
            parts: [.front: [Data("x".utf8)]], partner: site.partner)
        func call(_ location: String) async throws -> String {
            try await site.admin.query(
                "SELECT insp.enqueue_parts($1, '{FRONT}', '{NULL}', $2, $3, $4, $5, $6)",
                [
                    .text(String(decoding: request.payload, as: UTF8.self)), .bytes(request.sealed),
                    .bytes(request.hmac),
                    .texts([location]), .byteas([Data(count: 32)]), .intArray([46]),
                ])[0].string(0)
        }
        let object = site.store.address.newObject(key: try Seal.keyID(of: request.sealed).text)
        try await site.store.put([1], at: object)
        let again = try await call(object)
        #expect(try await call(object) == again)
        #expect(try await site.texts("SELECT insp.objects_gone('s3:parts/inspectd/', 10)").isEmpty)
        #expect(try await site.texts("SELECT location FROM insp.object_gone").isEmpty)
        // With another one of its own, which has to go.
        let other = site.store.address.newObject(key: try Seal.keyID(of: request.sealed).text)
        #expect(try await call(other) == again)
        #expect(try await site.texts("SELECT insp.objects_gone('s3:parts/inspectd/', 10)") == [other])
    }

    @Test func `SQL refuses an invalid location of a sealed part`() async throws {
        let site = try await ObjectSite()
        let request = try await RequestSealer(site.keys).seal(
            payload: Data(#"{"partner":"acme","workflow":"id"}"#.utf8), parts: [.front: [Data("x".utf8)]],
            partner: site.partner)
        let key = try Seal.keyID(of: request.sealed).text
        let good = site.store.address.newObject(key: key)
        func code(
            _ location: String?, digest: Data? = Data(count: 32), size: Int64 = 46, sealed: Bool = true,
            content: Data? = nil
        ) async throws -> String? {
            do {
                _ = try await site.admin.query(
                    "SELECT insp.enqueue_parts($1, '{FRONT}', $2, $3, $4, $5, $6, $7)",
                    [
                        .text(String(decoding: request.payload, as: UTF8.self)), .byteas([content]),
                        .optional(sealed ? request.sealed : nil), .optional(sealed ? request.hmac : nil),
                        .texts([location]), .byteas([digest]), .intArray([size]),
                    ])
                return nil
            } catch let error as PostgresError {
                return error.refusal?.code.rawValue ?? error.reason
            }
        }
        #expect(try await code(good + "#17") == nil)
        // A valid location; the first job has the key.
        #expect(try await code(good) == "PAYLOAD_INVALID")
        let other = site.store.address.newObject(key: KeyID.new().text)
        for location in [
            nil, "", "https://s3.example/parts/x", other, good + "#", good + "#x", good + "/x",
            good.replacing("s3:parts", with: "s3:"), good.replacing("inspectd/", with: "../"), "s3:parts/\(key)/x",
        ] {
            #expect(try await code(location) == "PARAMETER_INVALID", "\(location ?? "none")")
        }
        #expect(try await code(good, digest: Data(count: 31)) == "PARAMETER_INVALID")
        #expect(try await code(good, digest: nil) == "PARAMETER_INVALID")
        for size in [0, 45, -1, 20 * 1024 * 1024 + 46] as [Int64] {
            #expect(try await code(good, size: size) == "PARAMETER_INVALID")
        }
        #expect(try await code(good, sealed: false) == "PARAMETER_INVALID")
        #expect(try await code(good, content: request.parts[.front]![0]) == "PARAMETER_INVALID")
        // Neither bytes nor a place.
        let empty = await errorCode {
            do {
                _ = try await site.admin.query(
                    "SELECT insp.enqueue_parts($1, '{FRONT}', '{NULL}', $2, $3)",
                    [
                        .text(String(decoding: request.payload, as: UTF8.self)), .bytes(request.sealed),
                        .bytes(request.hmac),
                    ])
            } catch let error as PostgresError { throw error.meaning }
        }
        #expect(empty == .partEmpty || empty == .sealBroken)
    }
}
