package import InspectCore

/// What runs inside an analyzer process: the only code of inspectd that parses images.
///
/// The engine is made once, in the warm parent, and every analyzer process gets its copy by fork. It must not start
/// threads (a fork copies one thread only) and must have loaded everything it will need: the analyzer can open no
/// file. So it should run each kind of analysis once while it is made: what libraries set up at first use (OpenCV's
/// processor count, OpenBLAS's 128 MB work area, which it would seek for ever under a memory limit) is then there, and
/// shared by all processes. Calls are strictly sequential, and all of one attempt at one job: what is kept between them, such
/// as decoded images, ends with the process.
package protocol AnalyzerEngine {
    /// Runs one stage of the current job.
    ///
    /// - Parameters:
    ///   - stage: The stage's name.
    ///   - request: What the worker passed to ``AnalyzerSession/perform(stage:request:deadline:)``.
    ///   - parts: The job's parts, the same at every stage.
    /// - Returns: The reply.
    /// - Throws: An error that the worker gets as it is; the process goes on.
    mutating func handle(stage: String, request: [UInt8], parts: [PartView]) throws(InspectError) -> [UInt8]
}

/// One part of a job, lying in the memory that the worker shares with the analyzer.
package struct PartView {
    /// The part's name (`FRONT`, `BACK`, `FACE`, …), as the worker gave it.
    package let kind: String
    private let bytes: UnsafeRawBufferPointer

    init(kind: String, bytes: UnsafeRawBufferPointer) {
        self.kind = kind
        self.bytes = bytes
    }

    /// The part's size in bytes.
    package var byteCount: Int { self.bytes.count }

    /// Lends the part's bytes. They are gone when the job ends.
    package func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(self.bytes)
    }
}
