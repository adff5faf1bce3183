package import InspectCore

/// The code that runs in an analyzer process: the only code of inspectd that parses images.
///
/// The engine is created once, in the warm parent, and every analyzer process gets a copy by fork. It must not start threads (a
/// fork copies one thread only) and must load everything it will need: the analyzer can open no file. It should therefore run
/// each kind of analysis once while it is created, so that what libraries initialise at first use (OpenCV's processor count,
/// OpenBLAS's 128 MB work area, whose allocation it would retry for ever under a memory limit) exists and is shared by all
/// processes. Calls are strictly sequential and belong to one attempt at one job: what is kept between them, such as decoded
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
