package import InspectCore

/// The code that runs in an analyzer process: the only code of inspectd that parses images.
///
/// The engine is created once, in the warm parent, and every analyzer process gets a copy by fork. It must not start threads (a
/// fork copies one thread only) and must load everything it will need: the analyzer can open no file. It should therefore run
/// each kind of analysis once while it is created, so that what libraries initialise at first use (OpenCV's processor count,
/// OpenBLAS's 128 MB work area, whose allocation it would retry for ever under a memory limit) exists and is shared by all
/// processes. Calls are strictly sequential and belong to one attempt at one job: data kept between them, such as decoded
/// images, ends with the process.
package protocol AnalyzerEngine {
    /// Runs one stage of the current job.
    ///
    /// - Parameters:
    ///   - stage: The stage's name.
    ///   - request: What the worker passed to ``AnalyzerSession/perform(stage:request:deadline:)``.
    ///   - parts: The job's parts, the same at every stage.
    /// - Returns: The reply.
    /// - Throws: An error that is passed to the worker unchanged; the process continues.
    mutating func handle(stage: String, request: [UInt8], parts: [PartView]) throws(InspectError) -> [UInt8]
}

/// An engine's error, on its way to the worker.
extension InspectError {
    /// The longest detail that is sent, in UTF-8 bytes.
    private static let longestDetail = 512

    var encoded: [UInt8] {
        var writer = ByteWriter()
        writer.append(self.code.rawValue)
        writer.append(self.detail.utf8.prefix(Self.longestDetail))
        return writer.bytes
    }

    init(encoded: [UInt8]) throws(MalformedMessage) {
        var reader = ByteReader(encoded)
        guard let code = ErrorCode(rawValue: try reader.readString()) else { throw MalformedMessage() }
        self.init(code, printable(try reader.readBytes(), limit: Self.longestDetail))
    }
}

/// One part of a job, in the memory that the worker shares with the analyzer.
package struct PartView {
    /// The part's name (`FRONT`, `BACK`, `FACE`, …), from the worker.
    package let kind: String
    private let bytes: UnsafeRawBufferPointer

    init(kind: String, bytes: UnsafeRawBufferPointer) {
        self.kind = kind
        self.bytes = bytes
    }

    /// The part's size in bytes.
    package var byteCount: Int { self.bytes.count }

    /// Lends the part's bytes, which are valid until the job ends.
    package func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(self.bytes)
    }
}
