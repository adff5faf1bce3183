internal import CSystem

/// What this machine gives to confine analyzers with.
public enum Confinement {
    /// Whether the kernel filters system calls, without which no analyzer starts.
    public static var hasFilters: Bool { csys_seccomp_available() == 0 }

    /// The version of Landlock's interface; `nil` where the kernel has none or something forbids its use.
    public static var landlockVersion: Int? {
        let version = csys_landlock_version()
        return version > 0 ? Int(version) : nil
    }
}
