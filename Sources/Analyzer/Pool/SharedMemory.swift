internal import CSystem
internal import Foundation

/// The memory that passes the parts to one analyzer process. The worker writes; the analyzer only reads.
///
/// It belongs to one process, and so to one attempt: the kernel frees its pages when both ends are closed. The worker does not
/// map it, so that no data remains in its own memory, and a shortage of memory is an error rather than SIGBUS.
final class SharedMemory: Sendable {
    private let descriptor: FileDescriptor
    private let size: Int

    init(size: Int) throws(SystemError) {
        self.descriptor = FileDescriptor(
            owning: try SystemError.check("memfd_create", csys_memfd_create("inspectd parts", UInt64(size))))
        self.size = size
    }

    /// A second, read-only descriptor of the same memory, for the analyzer.
    func readOnlyDescriptor() throws(SystemError) -> FileDescriptor {
        FileDescriptor(owning: try SystemError.check("open", csys_reopen_read_only(self.descriptor.raw)))
    }

    /// Copies the parts to where the table says. The table must fit.
    func write(_ parts: [AnalyzerPart], at table: PartTable) throws(SystemError) {
        precondition(table.span <= self.size, "the pool checks the sum of the parts")
        for (part, entry) in zip(parts, table.entries) where entry.byteCount > 0 {
            let result = part.bytes.withUnsafeBytes {
                csys_write_at(self.descriptor.raw, $0.baseAddress!, entry.byteCount, UInt64(entry.offset))
            }
            try SystemError.check("pwrite", result)
        }
    }
}
