internal import CVision

/// The native libraries that analysis uses.
package enum VisionLibraries {
    /// Name to version, for example `OpenCV` to `4.6.0`.
    package static var versions: [String: String] {
        let text = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
            cv_versions(buffer.baseAddress!, buffer.count)
            return String(cString: buffer.baseAddress!)
        }
        let pairs = text.split(separator: " ").compactMap { entry -> (String, String)? in
            let sides = entry.split(separator: "=")
            return sides.count == 2 ? (String(sides[0]), String(sides[1])) : nil
        }
        return Dictionary(pairs) { $1 }
    }

    /// What `OPENBLAS_CORETYPE` should be in a process that multiplies matrices; `nil`: OpenBLAS's own choice.
    package static var blasCore: String? { cv_blas_core().map { String(cString: $0) } }
}
