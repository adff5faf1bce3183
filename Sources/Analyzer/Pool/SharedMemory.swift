internal import CSystem
internal import Foundation

/// The memory through which one analyzer process gets its parts. The worker writes it, the analyzer only reads.
///
/// Not shared between two processes, not even one after the other: a new process gets a new one.
///
/// `@unchecked Sendable`: the address never changes; the content is only touched on the queue of the slot that owns it.
final class SharedMemory: @unchecked Sendable {
    private let descriptor: FileDescriptor
    private let address: UnsafeMutableRawPointer
    private let size: Int
    /// The bytes from the start that may hold something.
    private var used = 0

    /// Above this many bytes the pages go back to the kernel; below, they are overwritten and stay, which is faster.
    private static let keptPages = 16 << 20

    init(size: Int) throws(SystemError) {
        self.descriptor = FileDescriptor(
            owning: try SystemError.check("memfd_create", csys_memfd_create("inspectd parts", UInt64(size))))
        var address: UnsafeMutableRawPointer?
        try SystemError.check("mmap", csys_map(self.descriptor.raw, size, 1, &address))
        guard let address else { throw SystemError(call: "mmap", code: EFAULT) }
        self.address = address
        self.size = size
    }

    deinit {
        self.wipe()
        csys_unmap(self.address, self.size)
    }

    /// A second descriptor of the same memory that can only read: the analyzer's.
    func readOnlyDescriptor() throws(SystemError) -> FileDescriptor {
        FileDescriptor(owning: try SystemError.check("open", csys_reopen_read_only(self.descriptor.raw)))
    }

    /// Copies the parts to where the table says. The table must fit.
    func write(_ parts: [AnalyzerPart], at table: PartTable) {
        precondition(table.span <= self.size, "the pool checks the sum of the parts")
        self.used = max(self.used, table.span)
        for (part, entry) in zip(parts, table.entries) where entry.byteCount > 0 {
            part.bytes.copyBytes(
                to: UnsafeMutableRawBufferPointer(start: self.address + entry.offset, count: entry.byteCount))
        }
    }

    /// Leaves zeros where parts were.
    func wipe() {
        if self.used <= Self.keptPages || csys_discard_pages(self.descriptor.raw, UInt64(self.size)) != 0 {
            memset(self.address, 0, self.used)
        }
        self.used = 0
    }

    /// Whether every byte is zero.
    var isBlank: Bool {
        self.address.load(as: UInt8.self) == 0 && memcmp(self.address, self.address + 1, self.size - 1) == 0
    }
}
