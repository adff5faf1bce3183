internal import COpenSSL
internal import Glibc

/// A reader of the exact lines that the database makes from the record (`insp.record_rows`, `insp.record_checkpoints`).
///
/// Stricter than JSON: members come in one order with one spacing, as `jsonb` prints values, so a line that is accepted contains
/// nothing that was not hashed or signed. It works on pointers, so that a million lines take only seconds even in debug builds.
struct LineReader {
    private let base: UnsafePointer<UInt8>
    private let count: Int
    private(set) var place = 0

    init(_ line: UnsafeRawBufferPointer) {
        let bytes = line.assumingMemoryBound(to: UInt8.self)
        // Nothing is read from an empty line.
        self.base = bytes.baseAddress ?? UnsafePointer(bitPattern: 1)!
        self.count = bytes.count
    }

    var isAtEnd: Bool { self.place == self.count }

    func bytes(_ range: Range<Int>) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: self.base + range.lowerBound, count: range.count)
    }

    func text(_ range: Range<Int>) -> String { String(decoding: self.bytes(range), as: UTF8.self) }

    mutating func takes(_ text: StaticString) -> Bool {
        let length = text.utf8CodeUnitCount
        guard self.count - self.place >= length, memcmp(self.base + self.place, text.utf8Start, length) == 0 else {
            return false
        }
        self.place += length
        return true
    }

    /// A whole number without sign.
    mutating func number() -> Int64? {
        var value: Int64 = 0
        let start = self.place
        while self.place < self.count {
            let digit = self.base[self.place] &- 0x30
            guard digit < 10 else { break }
            guard self.place - start < 18 else { return nil }
            value = value &* 10 &+ Int64(digit)
            self.place &+= 1
        }
        return self.place > start ? value : nil
    }

    /// A string with its quotes.
    mutating func string() -> Range<Int>? {
        guard self.place < self.count, self.base[self.place] == 0x22 else { return nil }
        let start = self.place
        var from = start + 1
        while from < self.count, let found = memchr(self.base + from, 0x22, self.count - from) {
            let quote = UnsafeRawPointer(found) - UnsafeRawPointer(self.base)
            var slash = quote
            while slash > start + 1, self.base[slash - 1] == 0x5c { slash -= 1 }
            if (quote - slash) & 1 == 0 {
                self.place = quote + 1
                return start..<self.place
            }
            from = quote + 1
        }
        return nil
    }

    /// A string, or null.
    mutating func optionalString() -> Range<Int>? {
        let start = self.place
        return self.takes("null") ? start..<self.place : self.string()
    }

    /// An object, with everything in it.
    mutating func object() -> Range<Int>? {
        let start = self.place
        if self.takes("{}") { return start..<self.place }
        guard self.place < self.count, self.base[self.place] == 0x7b else { return nil }
        var depth = 0
        while self.place < self.count {
            switch self.base[self.place] {
            case 0x22:
                guard self.string() != nil else { return nil }
                continue
            case 0x7b, 0x5b: depth += 1
            case 0x7d, 0x5d: depth -= 1
            default: break
            }
            self.place += 1
            if depth == 0 { return start..<self.place }
        }
        return nil
    }

    /// A quoted row of bytes in lower-case hexadecimal digits.
    mutating func hexadecimal(_ length: Int, into target: UnsafeMutablePointer<UInt8>) -> Bool {
        guard self.count - self.place >= 2 * length + 2, self.base[self.place] == 0x22,
            self.base[self.place + 2 * length + 1] == 0x22
        else { return false }
        var source = self.base + self.place + 1
        for index in 0..<length {
            let (high, low) = (digits[Int(source[0])], digits[Int(source[1])])
            guard high | low < 16 else { return false }
            target[index] = high &<< 4 | low
            source += 2
        }
        self.place += 2 * length + 2
        return true
    }
}

/// The value of each character as a lower-case hexadecimal digit; 255: it is not one.
private nonisolated(unsafe) let digits: UnsafePointer<UInt8> = {
    let table = UnsafeMutablePointer<UInt8>.allocate(capacity: 256)
    table.initialize(repeating: 255, count: 256)
    for (value, character) in "0123456789abcdef".utf8.enumerated() { table[Int(character)] = UInt8(value) }
    return UnsafePointer(table)
}()

/// One row of the record, read from its line.
struct RecordRow {
    var chain: String
    var seq: Int64
    /// When it was written, by the database's clock, since 1970.
    var atMicroseconds: Int64
    /// Whether the stated hash is that of the row's values and of the hash before it.
    var isIntact: Bool
    /// Whether there are words that do not match the digest.
    var hasOtherWords: Bool
    /// The digest of words that were removed.
    var erased: String?
    /// The digests of words that this row says an erasure removed.
    var forgotten: [String]
}

/// Reads rows into buffers that are used again for each.
final class RecordRowReader {
    /// The hash before the row that was read last; 32 bytes.
    let prev = UnsafeMutablePointer<UInt8>.allocate(capacity: 32)
    /// The hash of the row that was read last; 32 bytes.
    let hash = UnsafeMutablePointer<UInt8>.allocate(capacity: 32)
    private let wordsHash = UnsafeMutablePointer<UInt8>.allocate(capacity: 32)
    private let computed = UnsafeMutablePointer<UInt8>.allocate(capacity: 32)
    private var text = UnsafeMutablePointer<UInt8>.allocate(capacity: 1 << 12)
    private var room = 1 << 12
    private var length = 0
    /// The chain of the row before: most rows are of the same.
    private var lastChain = (bytes: [UInt8](), name: "")
    private let context = EVP_MD_CTX_new()
    private let algorithm = EVP_MD_fetch(nil, "SHA256", nil)

    deinit {
        for buffer in [self.prev, self.hash, self.wordsHash, self.computed, self.text] { buffer.deallocate() }
        EVP_MD_CTX_free(self.context)
        EVP_MD_free(self.algorithm)
    }

    /// - Returns: `nil` if the line is not one of a row.
    func read(_ line: UnsafeRawBufferPointer) -> RecordRow? {
        var reader = LineReader(line)
        guard reader.takes("{\"chain\": "), let chain = reader.string(), reader.takes(", \"seq\": ") else { return nil }
        let (seqStart, found) = (reader.place, reader.number())
        guard let seq = found else { return nil }
        let seqSpan = seqStart..<reader.place
        guard reader.takes(", \"at\": ") else { return nil }
        let atStart = reader.place
        guard let time = reader.number() else { return nil }
        let at = atStart..<reader.place
        guard reader.takes(", \"actor\": "), let actor = reader.string(),
            reader.takes(", \"action\": "), let action = reader.string(),
            reader.takes(", \"subject\": "), let subject = reader.string(),
            reader.takes(", \"purpose\": "), let purpose = reader.optionalString(),
            reader.takes(", \"detail\": "), let detail = reader.object(), reader.takes(", \"words_sha256\": ")
        else { return nil }
        let wordsStart = reader.place
        let hasWords = !reader.takes("null")
        if hasWords, !reader.hexadecimal(32, into: self.wordsHash) { return nil }
        let words = wordsStart..<reader.place
        guard reader.takes(", \"prev\": "), reader.hexadecimal(32, into: self.prev),
            reader.takes(", \"hash\": "), reader.hexadecimal(32, into: self.hash)
        else { return nil }
        var erased: String?
        var hasOtherWords = false
        if reader.takes(", \"words\": ") {
            if reader.takes("null") {
                erased = hasWords ? reader.text(words.dropFirst().dropLast()) : nil
                hasOtherWords = !hasWords
            } else {
                guard let said = reader.object(), reader.takes(", \"words_salt\": "), let salt = reader.string() else {
                    return nil
                }
                hasOtherWords = !hasWords || !self.matches(reader.bytes(said), salt: reader.text(salt))
            }
        }
        guard reader.takes("}"), reader.isAtEnd else { return nil }
        self.length = 0
        self.append(UnsafeRawBufferPointer(start: self.prev, count: 32))
        var isFirst = true
        for span in [chain, seqSpan, at, actor, action, subject, purpose, detail, words] {
            self.append(isFirst ? "[" : ", ")
            self.append(reader.bytes(span))
            isFirst = false
        }
        self.append("]")
        self.digest()
        return RecordRow(
            chain: self.name(reader.bytes(chain)), seq: seq, atMicroseconds: time,
            isIntact: memcmp(self.computed, self.hash, 32) == 0,
            hasOtherWords: hasOtherWords, erased: erased,
            forgotten: reader.bytes(action).elementsEqual("\"forget_words\"".utf8)
                ? Self.digests(reader.bytes(detail)) : [])
    }

    /// What `insp.forget_words` recorded: `{"words": ["DIGEST", …]}`.
    private static func digests(_ detail: UnsafeRawBufferPointer) -> [String] {
        var reader = LineReader(detail)
        var found: [String] = []
        guard reader.takes("{\"words\": [") else { return [] }
        while let digest = reader.string() {
            found.append(String(reader.text(digest).dropFirst().dropLast()))
            guard reader.takes(", ") else { break }
        }
        return reader.takes("]}") ? found : []
    }

    /// SHA-256 of salt and words, as `insp.words_digest` has it.
    private func matches(_ words: UnsafeRawBufferPointer, salt: String) -> Bool {
        let digits = salt.filter { $0 != "-" && $0 != "\"" }
        var bytes = [UInt8](repeating: 0, count: 16)
        let isSalt = "\"\(digits)\"".utf8CString.withUnsafeBytes { text in
            var reader = LineReader(UnsafeRawBufferPointer(rebasing: text.dropLast()))
            return bytes.withUnsafeMutableBufferPointer { reader.hexadecimal(16, into: $0.baseAddress!) }
                && reader.isAtEnd
        }
        guard isSalt else { return false }
        self.length = 0
        bytes.withUnsafeBytes { self.append($0) }
        self.append(words)
        self.digest()
        return memcmp(self.computed, self.wordsHash, 32) == 0
    }

    private func digest() {
        // Fails only without memory.
        precondition(
            EVP_DigestInit_ex(self.context, self.algorithm, nil) == 1
                && EVP_DigestUpdate(self.context, self.text, self.length) == 1
                && EVP_DigestFinal_ex(self.context, self.computed, nil) == 1, "libcrypto cannot hash")
    }

    private func append(_ text: StaticString) {
        self.append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    private func append(_ bytes: UnsafeRawBufferPointer) {
        guard let start = bytes.baseAddress else { return }
        if self.length + bytes.count > self.room {
            self.room = 2 * (self.length + bytes.count)
            let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: self.room)
            larger.update(from: self.text, count: self.length)
            self.text.deallocate()
            self.text = larger
        }
        memcpy(self.text + self.length, start, bytes.count)
        self.length += bytes.count
    }

    private func name(_ quoted: UnsafeRawBufferPointer) -> String {
        let isSame = self.lastChain.bytes.withUnsafeBytes {
            $0.count == quoted.count && memcmp($0.baseAddress!, quoted.baseAddress!, quoted.count) == 0
        }
        if !isSame {
            self.lastChain = (
                [UInt8](quoted), String(decoding: quoted.dropFirst().dropLast(), as: UTF8.self)
            )
        }
        return self.lastChain.name
    }
}
