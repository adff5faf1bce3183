import Foundation
import Glibc
import InspectCore
import Synchronization

/// Many requests, one JSON object a line: processed concurrently, answered in order.
enum Batch {
    /// Reads `path` (`-` is standard input) and prints one answer for every line that is not blank, as soon as it and all
    /// earlier ones are known: the writer may wait for an answer before it sends the next line.
    static func run(
        _ path: String, count analyzers: Int, answer: @escaping @Sendable (Data) async -> Data
    ) async throws {
        let printer = OrderedPrinter()
        try await withThrowingTaskGroup(of: Void.self) { group in
            var count = 0
            for try await line in try Self.lines(path) {
                let index = count
                // One more than the analyzers, so that none is idle while a file is read.
                if index > analyzers { try await group.next() }
                group.addTask { printer.print(await answer(line), at: index) }
                count += 1
            }
            try await group.waitForAll()
        }
    }

    private static func lines(_ path: String) throws -> AsyncThrowingStream<Data, any Error> {
        guard path != "-" else { return self.arrivingLines() }
        let lines = try InputFile.read(path, of: "--batch", isSetting: true).split(separator: 0x0A)
        return AsyncThrowingStream { continuation in
            lines.lazy.filter(self.isRequest).forEach { continuation.yield(Data($0)) }
            continuation.finish()
        }
    }

    /// The lines of standard input as they arrive, read on a separate thread, since reading blocks.
    private static func arrivingLines() -> AsyncThrowingStream<Data, any Error> {
        AsyncThrowingStream { continuation in
            Thread.detachNewThread {
                var pending = Data()
                var buffer = [UInt8](repeating: 0, count: 1 << 16)
                while true {
                    let count = read(STDIN_FILENO, &buffer, buffer.count)
                    if count < 0, errno == EINTR { continue }
                    guard count >= 0 else {
                        continuation.finish(
                            throwing: InputFile.Failure(description: "--batch: standard input cannot be read"))
                        return
                    }
                    pending.append(contentsOf: buffer[..<count])
                    // Bytes after the last line feed are a line only at the end of the file.
                    var lines = pending.split(separator: 0x0A, omittingEmptySubsequences: false)
                    pending = count > 0 ? Data(lines.removeLast()) : Data()
                    lines.lazy.filter(self.isRequest).forEach { continuation.yield(Data($0)) }
                    if count == 0 { return continuation.finish() }
                }
            }
        }
    }

    private static func isRequest(_ line: Data.SubSequence) -> Bool { line.contains { $0 != 0x20 && $0 != 0x0D } }
}

/// Prints answers in the order of their numbers, whatever order they arrive in.
private final class OrderedPrinter: Sendable {
    private struct Waiting {
        var answers: [Int: Data] = [:]
        var printed = 0
    }
    private let waiting = Mutex(Waiting())

    func print(_ answer: Data, at index: Int) {
        self.waiting.withLock { waiting in
            waiting.answers[index] = answer
            while let next = waiting.answers.removeValue(forKey: waiting.printed) {
                Output.line(next)
                waiting.printed += 1
            }
        }
    }
}
