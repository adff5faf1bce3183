import Foundation
import InspectCore

/// Many requests, a JSON object a line: answered side by side, printed in the order in which they came.
enum Batch {
    /// Reads `path` (`-` is standard input) and prints one answer for every line that is not blank.
    static func run(
        _ path: String, slots: Int, answer: @escaping @Sendable (Data) async -> Data
    ) async throws {
        let handle = path == "-" ? FileHandle.standardInput : FileHandle(forReadingAtPath: path)
        guard let handle else { throw InspectError(.partNotFound, "the list cannot be read") }
        let text = try handle.readToEnd() ?? Data()
        let lines = text.split(separator: 0x0A).filter { line in line.contains { $0 != 0x20 && $0 != 0x0D } }
        await withTaskGroup(of: (Int, Data).self) { group in
            var answers: [Int: Data] = [:]
            var started = 0
            var printed = 0
            func startNext() {
                guard started < lines.count else { return }
                let index = started
                let line = Data(lines[index])
                group.addTask { (index, await answer(line)) }
                started += 1
            }
            // One more than the analyzers, so that none waits while a file is read.
            for _ in 0...slots { startNext() }
            while let (index, data) = await group.next() {
                answers[index] = data
                startNext()
                while let next = answers.removeValue(forKey: printed) {
                    Output.line(next)
                    printed += 1
                }
            }
        }
    }
}
