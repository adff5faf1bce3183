internal import CCurl
internal import Foundation

/// Sets options and keeps the first error, so that the caller needs no check after each.
struct CurlOptions {
    let easy: UnsafeMutableRawPointer
    var failure: CURLcode?

    func finish() throws(HTTPError) {
        guard let failure = self.failure else { return }
        throw HTTPError(.localFault, "libcurl refused an option: \(String(cString: curl_easy_strerror(failure)))")
    }

    mutating func check(_ code: CURLcode) {
        if code != CURLE_OK, self.failure == nil { self.failure = code }
    }
    mutating func set(_ option: CURLoption, _ value: Int) { self.check(ccurl_set_long(self.easy, option, value)) }
    mutating func set(_ option: CURLoption, _ value: String) { self.check(ccurl_set_string(self.easy, option, value)) }
    mutating func set(_ option: CURLoption, blob: String) {
        self.check(
            Array(blob.utf8).withUnsafeBufferPointer { bytes in
                bytes.baseAddress.map { ccurl_set_blob(self.easy, option, $0, bytes.count) }
                    ?? CURLE_BAD_FUNCTION_ARGUMENT
            })
    }
    mutating func set(_ option: CURLoption, pointer: UnsafeRawPointer?) {
        self.check(ccurl_set_pointer(self.easy, option, pointer))
    }
}
