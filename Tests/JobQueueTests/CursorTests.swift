import Foundation
import InspectCore
import JobQueue
import Postgres
import TestSupport
import Testing

/// The cursors of `GET /events`, as partners hold them.
@Suite struct CursorTests {
    private static func cancel(_ job: Int64) -> String {
        "SELECT insp.cancel(public_id) FROM insp.job WHERE id = \(job)"
    }

    @Test func `A cursor shows nothing of the places, and only the one that was given out is taken`() async throws {
        let fixture = try await QueueFixture()
        let puller = try await PullTests.Puller(fixture)
        let jobs = try await puller.enqueue(3)
        try await fixture.admin.execute(Self.cancel(jobs[0]))
        let first = try await puller.page()
        #expect(try await puller.page(after: first.next).next == first.next, "the same place is the same cursor")
        try await fixture.admin.execute(Self.cancel(jobs[1]))
        let second = try await puller.page(after: first.next)
        #expect(second.jobs == [jobs[1]])
        // Neither numbers nor their lengths: adjacent places have nothing in common, and all cursors are equally long.
        let far = try await puller.sealed("123456789,987654321,5,4,3,2,1,0")
        #expect(Set([first.next, second.next, far].map(\.count)) == [107])
        func bytes(_ cursor: String) throws -> [UInt8] {
            let text = cursor.replacing("-", with: "+").replacing("_", with: "/") + "="
            return [UInt8](try #require(Data(base64Encoded: text)))
        }
        let (one, two) = (try bytes(first.next), try bytes(second.next))
        #expect(one.count == 80 && zip(one, two).filter { $0 == $1 }.count < 8)
        #expect(try await fixture.count("insp.secret WHERE purpose = 'cursor_key'") == 1)
        // One that was changed, guessed or made for another endpoint.
        for position in [0, 15, 16, 31, 79] {
            var changed = one
            changed[position] ^= 1
            let cursor = Data(changed).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
                .replacing("=", with: "")
            #expect(await puller.refusal(after: cursor) == .eventsGone, "\(position)")
        }
        let foreign = try await puller.sealed("0,1", endpoint: puller.endpoint + 1)
        #expect(await puller.refusal(after: foreign) == .eventsGone)
        for text in ["0.1", "", String(first.next.dropLast()), first.next + "A"] {
            #expect(await puller.refusal(after: text) == .parameterInvalid, "\(text)")
        }
        // Two gateways that began at the same moment: each one's cursors are read.
        _ = try await fixture.admin.query(
            "INSERT INTO insp.secret (owner, purpose, value) VALUES ('inspectd', 'cursor_key', insp.random_key())")
        #expect(try await puller.page(after: first.next).jobs == [jobs[1]])
        _ = try await fixture.admin.query(
            "UPDATE insp.secret SET id = DEFAULT WHERE id = (SELECT min(id) FROM insp.secret WHERE purpose = 'cursor_key')"
        )
        #expect(try await puller.page(after: first.next).jobs == [jobs[1]])
    }
}
