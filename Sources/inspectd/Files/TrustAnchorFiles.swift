import Foundation
import InspectCore

/// CSCA files: certificates, revocation lists, master lists.
///
/// They are read here but parsed in the analyzer, as chips are.
enum TrustAnchorFiles {
    /// The largest file, in bytes; Germany's master list has 0.9 MB.
    private static let limit = 8_000_000
    /// All files together, in bytes: they share an analyzer's memory with images.
    private static let totalLimit = 24_000_000

    /// The content of files, and of the files in folders, in the order of their names.
    ///
    /// - Throws: ``ErrorCode/partNotFound`` or ``ErrorCode/partTooLarge``.
    static func read(_ paths: [String]) throws(InspectError) -> [Data] {
        var files: [Data] = []
        var total = 0
        for path in paths.flatMap(self.expand) {
            let bytes: Data
            do {
                bytes = try InputFile.read(path, of: "--csca", limit: self.limit + 1, isSetting: true)
            } catch {
                throw InspectError(.partNotFound, error.description)
            }
            total += bytes.count
            guard bytes.count <= self.limit, total <= self.totalLimit else {
                throw InspectError(.partTooLarge, "--csca: \(path)")
            }
            if !bytes.isEmpty { files.append(bytes) }
        }
        return files
    }

    private static func expand(_ path: String) -> [String] {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), isFolder.boolValue else {
            return [path]
        }
        let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
        return names.filter { !$0.hasPrefix(".") }.sorted().map { "\(path)/\($0)" }.filter { file in
            var isFolder: ObjCBool = false
            return FileManager.default.fileExists(atPath: file, isDirectory: &isFolder) && !isFolder.boolValue
        }
    }
}
