import Foundation

/// A file of lines that may be large: it is read piece by piece.
struct LineFile {
    /// - Parameter path: `-` is standard input.
    let path: String

    /// Calls the body with each line, without its line feed.
    func forEach(_ body: (UnsafeRawBufferPointer) -> Void) throws {
        if self.path != "-" { try InputFile.check(self.path, of: "FILE") }
        guard let handle = self.path == "-" ? .standardInput : FileHandle(forReadingAtPath: self.path) else {
            throw InputFile.Failure(description: "FILE: \(self.path) cannot be read")
        }
        // A line may cross pieces; the rest of one piece begins the next.
        var rest: [UInt8] = []
        while let piece = try handle.read(upToCount: 1 << 20), !piece.isEmpty {
            piece.withUnsafeBytes { bytes in
                var from = 0
                while let found = memchr(bytes.baseAddress! + from, 0x0A, bytes.count - from) {
                    let end = UnsafeRawPointer(found) - bytes.baseAddress!
                    let line = UnsafeRawBufferPointer(rebasing: bytes[from..<end])
                    if rest.isEmpty {
                        body(line)
                    } else {
                        rest.append(contentsOf: line)
                        rest.withUnsafeBytes { body($0) }
                        rest.removeAll(keepingCapacity: true)
                    }
                    from = end + 1
                    if from == bytes.count { break }
                }
                rest.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[from...]))
            }
        }
        if !rest.isEmpty { rest.withUnsafeBytes { body($0) } }
    }
}
