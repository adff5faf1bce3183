internal import CSystem

/// What this machine gives to confine analyzers with.
package enum Confinement {
    /// Whether the kernel filters system calls, without which no analyzer starts.
    package static var hasFilters: Bool { csys_seccomp_available() == 0 }

    /// The version of Landlock's interface; `nil` where the kernel has none or something forbids its use.
    package static var landlockVersion: Int? {
        let version = csys_landlock_version()
        return version > 0 ? Int(version) : nil
    }
}
