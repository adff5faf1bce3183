internal import InspectCore

/// Why a key does not open.
enum KeyFault: Error {
    /// The key store has no row of it, or of a key above it.
    case absent
    /// It was destroyed with its person.
    case destroyed
    /// Its bytes are damaged, or not where they were made.
    case damaged
    /// The process has another wrapping key of the name, or the key is damaged: only the right key could show which.
    case foreign
    case failure(InspectError)

    var error: InspectError {
        switch self {
        case .absent: InspectError(.keyUnknown)
        case .destroyed: InspectError(.keyDestroyed)
        // The key store may be mended.
        case .damaged: InspectError(.keyUnknown, "the key above it does not open it")
        // Others may have the right one, so jobs wait for them.
        case .foreign:
            InspectError(
                .keyMismatch, "a wrapping key of this process is a different one with that name, or a key is damaged")
        case .failure(let error): error
        }
    }
}
