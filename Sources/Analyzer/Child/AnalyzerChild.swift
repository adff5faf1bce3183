internal import CSystem
internal import Glibc
internal import InspectCore

/// One analyzer process, from fork to exit.
enum AnalyzerChild {
    /// Confines the process, then answers requests until the worker closes the socket.
    static func run(
        engine: any AnalyzerEngine, limits: ChildLimits, parent: pid_t, socket: CInt, memory: CInt, error: CInt
    ) -> Never {
        do {
            var job = try JobLoop(
                engine: engine, limits: limits, parent: parent, socket: socket, memory: memory, error: error)
            try job.serve()
        } catch Frame.Failure.closed {
            csys_exit_now(0)
        } catch {
            complain("\(error)")
        }
        csys_exit_now(70)  // EX_SOFTWARE of sysexits.h
    }
}

private struct JobLoop {
    var engine: any AnalyzerEngine
    let socket: CInt
    let memory: UnsafeRawBufferPointer
    let cpuSeconds: UInt64
    let largestFrame: Int
    var parts: [PartView] = []
    var hasBegun = false

    init(
        engine: any AnalyzerEngine, limits: ChildLimits, parent: pid_t, socket: CInt, memory: CInt, error: CInt
    ) throws {
        self.engine = engine
        self.socket = socket
        self.cpuSeconds = limits.cpuSeconds
        self.largestFrame = Int(limits.largestFrame)
        var address: UnsafeRawPointer?
        let size = Int(limits.sharedMemory)
        try SystemError.check("mmap", csys_map(memory, size, &address))
        self.memory = UnsafeRawBufferPointer(start: address, count: size)
        close(memory)
        try SystemError.check(
            "limit", csys_prepare_child(parent, error, limits.addressSpace, limits.cpuSecondsInAll))
        close(error)
        try SystemError.check("landlock", csys_forbid_files())
        try SystemError.check("seccomp", csys_enter_sandbox())
    }

    mutating func serve() throws {
        try Frame(kind: .hello, sequence: UInt32(bitPattern: getpid()), payload: []).send(
            to: self.socket, deadlineNanoseconds: 0)
        while true {
            let frame = try Frame.receive(from: self.socket, limit: self.largestFrame, deadlineNanoseconds: 0)
            switch frame.kind {
            // One attempt's parts, once: a second table would belong to another job.
            case .begin where !self.hasBegun:
                self.parts = try PartTable.views(frame.payload, in: self.memory)
                self.hasBegun = true
            case .perform: try self.perform(frame).send(to: self.socket, deadlineNanoseconds: 0)
            default: throw MalformedMessage()
            }
        }
    }

    private mutating func perform(_ frame: Frame) throws -> Frame {
        // The soft limit counts from the process's start, so it is raised for each stage.
        try SystemError.check("setrlimit", csys_renew_cpu_limit(self.cpuSeconds))
        var reader = ByteReader(frame.payload)
        let stage = try reader.readString()
        let request = Array(try reader.readBytes())
        do throws(InspectError) {
            let reply = try self.engine.handle(stage: stage, request: request, parts: self.parts)
            return Frame(kind: .reply, sequence: frame.sequence, payload: reply)
        } catch {
            return Frame(kind: .failure, sequence: frame.sequence, payload: error.encoded)
        }
    }
}
