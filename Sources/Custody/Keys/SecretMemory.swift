internal import Glibc
internal import Synchronization

/// Memory for keys: locked if the system allows that, in no core file, zeros in a forked child, overwritten when freed.
enum SecretMemory {
    /// Bytes of a cell: those of every key.
    static let cell = 32
    /// Bytes that are mapped at once, half of the smallest limit for locked memory that is in use (64 KiB).
    private static let arena = 32_768

    private struct State {
        /// Addresses of free cells.
        var free: [UInt] = []
        var isLocked = true
    }

    private static let state = Mutex(State())

    /// Whether no key can reach the swap space so far.
    static var isLocked: Bool { self.state.withLock { $0.isLocked } }

    /// The address of a cell of zeros.
    static func allocate() -> UInt {
        self.state.withLock { state in
            if let address = state.free.popLast() { return address }
            guard
                let base = mmap(
                    nil, self.arena, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
                base != MAP_FAILED
            else { preconditionFailure("no memory for keys") }
            if mlock(base, self.arena) != 0 { state.isLocked = false }
            madvise(base, self.arena, MADV_DONTDUMP)
            madvise(base, self.arena, MADV_WIPEONFORK)
            let first = UInt(bitPattern: base)
            state.free = stride(from: first + UInt(self.cell), to: first + UInt(self.arena), by: self.cell).reversed()
            return first
        }
    }

    static func free(_ address: UInt) {
        explicit_bzero(UnsafeMutableRawPointer(bitPattern: address)!, self.cell)
        self.state.withLock { $0.free.append(address) }
    }
}
