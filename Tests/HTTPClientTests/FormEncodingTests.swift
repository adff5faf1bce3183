import HTTPClient
import Testing

struct FormEncodingTests {
    /// As the URL standard's serializer writes them, which RFC 6749 demands of a client's id and secret.
    @Test(arguments: [
        (" ", "+"), ("+", "%2B"), ("%", "%25"), ("~", "%7E"), ("*", "*"), ("&", "%26"), ("ü", "%C3%BC"), ("=", "%3D"),
        ("\n", "%0A"), ("AZaz09-._", "AZaz09-._"), ("", ""),
    ])
    func `Each character is written as in a form`(text: String, encoded: String) {
        #expect(FormEncoding.encode(text) == encoded)
    }

    @Test func `Names and values are encoded, in their order`() {
        #expect(FormEncoding.encode([("b c", "1&2"), ("a", ""), ("b c", "ü")]) == "b+c=1%262&a=&b+c=%C3%BC")
        #expect(FormEncoding.encode([(String, String)]()) == "")
    }
}
