import TestSupport
import Testing

@testable import HTTPClient

struct TLSTests {
    private func code(_ receiver: CallbackReceiver, trusted: Bool = true, host: String = "localhost") async -> HTTPError
        .Code?
    {
        let client = HTTPClient(certificateAuthorities: trusted ? receiver.certificate?.path : nil)
        do throws(HTTPError) {
            let response = try await client.send(
                HTTPRequest(
                    method: .post(body: []), url: receiver.url("/ok", host: host),
                    limits: .init(totalMilliseconds: 60_000, bodyBytes: 1024)),
                policy: .privateAllowed)
            #expect(response.status == 200)
            return nil
        } catch {
            return error.code
        }
    }

    @Test func `A trusted certificate is accepted`() async throws {
        let receiver = try CallbackReceiver(certificateName: "localhost")
        #expect(await self.code(receiver) == nil)
        #expect(try receiver.received().count == 1)
    }

    @Test func `A certificate of an unknown authority is refused`() async throws {
        let receiver = try CallbackReceiver(certificateName: "localhost")
        #expect(await self.code(receiver, trusted: false) == .certificateInvalid)
        #expect(try receiver.received().isEmpty)
    }

    @Test func `A certificate of another host is refused`() async throws {
        let receiver = try CallbackReceiver(certificateName: "partner.example")
        #expect(await self.code(receiver) == .certificateInvalid)
        #expect(try receiver.received().isEmpty)
    }

    @Test func `A server with TLS 1.1 at most is refused`() async throws {
        let receiver = try CallbackReceiver(certificateName: "localhost", maximumTLS: "1.1")
        #expect(await self.code(receiver) == .tlsFailed)
        #expect(try receiver.received().isEmpty)
    }

    @Test func `A missing file of authorities is a fault on our side`() async throws {
        let receiver = try CallbackReceiver(certificateName: "localhost")
        let client = HTTPClient(certificateAuthorities: "/nonexistent/authorities.pem")
        let request = HTTPRequest(
            method: .get, url: receiver.url("/ok", host: "localhost"),
            limits: .init(totalMilliseconds: 60_000, bodyBytes: 1024))
        let error = await #expect(throws: HTTPError.self) { try await client.send(request, policy: .privateAllowed) }
        #expect(error?.code == .localFault)
    }
}
