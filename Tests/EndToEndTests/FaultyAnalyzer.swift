import Foundation
import TestSupport

/// The faulty analyzer as an executable without its own options, since a worker passes those of the real one.
enum FaultyAnalyzer {
    /// A face image in which no face was found: REJECTED.
    static let noFace = {
        let image =
            #"{"format": "PNG", "width": 96, "height": 96, "orientation": 1, "storedWidth": 96, "storedHeight": 96}"#
        return (
            acquired: #"{"images": {"FACE": \#(image)}, "cpuMs": 0}"#,
            face: #"{"images": {"FACE": {"faces": [], "image": \#(image)}}, "cpuMs": 0}"#
        )
    }()

    /// Writes a script that starts `faulty-analyzer` with options; stages without a fault answer with these facts, by
    /// default that the images are empty.
    static func script(
        _ options: String,
        facts: (acquired: String, face: String) = (#"{"images": {}, "cpuMs": 0}"#, #"{"images": {}, "cpuMs": 0}"#)
    ) throws -> String {
        try ChildProcess.program(
            """
            #!/bin/sh
            exec '\(Program.faultyAnalyzer)' \(options) \\
                --reply 'acquired=\(facts.acquired)' --reply 'face=\(facts.face)'

            """
        ).path
    }
}
