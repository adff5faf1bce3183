internal import CSystem
internal import InspectCore

/// Keeps memory off the disk and out of logs.
package enum CoreDumps {
    /// Makes this process undumpable: no core file, no backtrace with what registers point to, and no other process of the
    /// same user can read its memory.
    ///
    /// Analyzers do so from their fork on; every command calls this first.
    ///
    /// - Throws: `INTERNAL_ERROR` if the kernel refuses.
    package static func disable() throws {
        do {
            try SystemError.check("prctl", csys_disable_core_dumps())
        } catch {
            throw InspectError(.internalError, "core dumps cannot be switched off: \(error)")
        }
    }
}
