internal import CSystem

/// The means of this machine to confine analyzers.
package enum Confinement {
    /// Whether the kernel filters system calls, without which no analyzer starts.
    package static var hasFilters: Bool { csys_seccomp_available() == 0 }

    /// The version of Landlock's interface; `nil` if the kernel has none or its use is forbidden.
    package static var landlockVersion: Int? {
        let version = csys_landlock_version()
        return version > 0 ? Int(version) : nil
    }
}
