import Foundation
import Glibc

/// The memory of other processes, as someone would search it who could. Takes root where a process cannot be dumped.
package enum ProcessMemory {
    package struct Unreadable: Error {}

    /// The children of a process, of all its threads.
    package static func children(of parent: Int32) -> [Int32] {
        let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(parent)/task")) ?? []
        return tasks.flatMap { task in
            let list = try? String(contentsOfFile: "/proc/\(parent)/task/\(task)/children", encoding: .utf8)
            return (list ?? "").split(separator: " ").compactMap { Int32($0) }
        }
    }

    /// Whether any of the texts lies anywhere in what a process may write, or shares with others.
    package static func holds(_ texts: [String], in pid: Int32) throws -> Bool {
        let file = open("/proc/\(pid)/mem", O_RDONLY)
        guard file >= 0 else {
            // It has ended since it was listed.
            if errno == ENOENT || errno == ESRCH { return false }
            throw Unreadable()
        }
        defer { close(file) }
        guard let maps = try? String(contentsOfFile: "/proc/\(pid)/maps", encoding: .utf8) else { return false }
        let wanted = texts.map { Data($0.utf8) }
        let overlap = wanted.map(\.count).max() ?? 0
        var buffer = Data(count: 4 << 20)
        for line in maps.split(separator: "\n") {
            let range = line.prefix { $0 != " " }.split(separator: "-").compactMap { UInt64($0, radix: 16) }
            // What is mapped of a file for reading alone is the file's, but for the parts.
            guard range.count == 2, line.contains(" rw") || line.contains("memfd:") else { continue }
            var address = range[0]
            while address < range[1] {
                let size = min(Int(range[1] - address), buffer.count)
                let count = buffer.withUnsafeMutableBytes { pread(file, $0.baseAddress, size, off_t(address)) }
                guard count > 0 else { break }
                let piece = buffer.prefix(count)
                if wanted.contains(where: { piece.range(of: $0) != nil }) { return true }
                // A text may lie across two pieces.
                address += UInt64(
                    count == size && count > overlap && UInt64(size) < range[1] - address ? count - overlap : count)
            }
        }
        return false
    }
}
