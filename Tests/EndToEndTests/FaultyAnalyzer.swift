import Foundation

/// The misbehaving analyzer as an executable without options of its own, since a worker passes it the real one's.
enum FaultyAnalyzer {
    /// Writes a script that starts `faulty-analyzer` with options; stages without a fault find nothing in the pictures.
    static func script(_ options: String) throws -> String {
        let script = FileManager.default.temporaryDirectory.appendingPathComponent("analyzer-\(UUID().uuidString)")
        let text = """
            #!/bin/sh
            exec '\(Program.faultyAnalyzer)' \(options) \\
                --reply 'acquired={"images": {}, "cpuMs": 0}' --reply 'face={"pictures": {}, "cpuMs": 0}'

            """
        try Data(text.utf8).write(to: script)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: script.path)
        return script.path
    }
}
