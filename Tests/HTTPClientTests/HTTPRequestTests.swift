import Testing

@testable import HTTPClient

struct HTTPRequestTests {
    private func request(_ url: String, headers: [HTTPRequest.Header] = [], allowsHTTP: Bool = false) -> HTTPRequest {
        HTTPRequest(
            method: .get, url: url, headers: headers, limits: .init(totalMilliseconds: 1, bodyBytes: 1),
            allowsHTTP: allowsHTTP)
    }

    @Test(arguments: ["https://partner.example/hook", "https://partner.example:8443/a?b=c", "https://[2606:4700::1]/"])
    func `A plain HTTPS URL is accepted`(_ url: String) throws {
        try self.request(url).validate()
    }

    @Test func `An HTTP URL is accepted only where it is allowed`() throws {
        try self.request("http://partner.example/", allowsHTTP: true).validate()
        #expect(throws: HTTPError.self) { try self.request("http://partner.example/").validate() }
    }

    @Test(arguments: [
        "", "partner.example", "//partner.example/", "https://", "ftp://partner.example/",
        "file:///etc/passwd", "gopher://partner.example/", "https://user:pass@partner.example/",
        "https://user@partner.example/", "https://partner.example/#top", "https://partner.example/a b",
        "https://partner.example/\r\nX: y", "https://partner.example/\0", "https://pärtner.example/",
        "https://partner.example:99999/", "https://" + String(repeating: "a", count: 2048),
    ])
    func `Other URLs are refused`(_ url: String) {
        let error = #expect(throws: HTTPError.self) { try self.request(url, allowsHTTP: true).validate() }
        #expect(error?.code == .requestInvalid)
    }

    @Test(arguments: [
        HTTPRequest.Header(name: "x", value: "a\r\nwebhook-id: forged"), .init(name: "x", value: "a\nb"),
        .init(name: "x", value: "a\0b"), .init(name: "x\r\ny", value: "a"), .init(name: "", value: "a"),
        .init(name: "x:y", value: "a"), .init(name: "x y", value: "a"), .init(name: "x", value: "ä"),
    ])
    func `A header that would forge another is refused`(_ header: HTTPRequest.Header) {
        let error = #expect(throws: HTTPError.self) {
            try self.request("https://partner.example/", headers: [header]).validate()
        }
        #expect(error?.code == .requestInvalid)
    }
}
