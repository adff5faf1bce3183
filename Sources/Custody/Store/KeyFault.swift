internal import InspectCore

/// Why a key does not open.
enum KeyFault: Error {
    /// The key store has no row for it, or for a key above it.
    case absent
    /// It was destroyed with its person.
    case destroyed
    /// Its bytes are damaged, or were moved from another row.
    case damaged
    /// The process has a different wrapping key of that name, or the key is damaged: only the right wrapping key could show which.
    case foreign
    case failure(InspectError)

    var error: InspectError {
        switch self {
        case .absent: InspectError(.keyUnknown)
        case .destroyed: InspectError(.keyDestroyed)
        // The key store may be repaired.
        case .damaged: InspectError(.keyUnknown, "the key above it does not open it")
        // Other processes may have the right one, so jobs wait for them.
        case .foreign:
            InspectError(
                .keyMismatch, "a wrapping key of this process is a different one with that name, or a key is damaged")
        case .failure(let error): error
        }
    }
}
