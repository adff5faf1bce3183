import CSystem
import Glibc
import InspectCore
import TestSupport
import Testing

@testable import Analyzer

/// The protocol between worker and analyzer.
@Suite struct ProtocolTests {
    @Test func `Control messages decode to what was encoded, and cut ones are refused`() throws {
        let limits = ChildLimits(
            addressSpace: 1 << 40, cpuSeconds: 60, cpuSecondsInAll: 50, sharedMemory: 1 << 26, largestFrame: 5)
        let end = ProcessEnd(
            pid: 7, exitStatus: -1, signal: 11, dumpedCore: true, maxResidentBytes: 1 << 33, cpuMicroseconds: 9)
        for message in [
            ControlMessage.fork(child: .max, limits: limits), .kill(child: 3), .ready(microseconds: 12),
            .failed(InspectError(.modelUnavailable, "x")), .ended(child: 1, end: end),
        ] {
            let bytes = message.encoded()
            #expect(try ControlMessage(bytes).encoded() == bytes)
            for length in bytes.indices {
                #expect(throws: MalformedMessage.self) { try ControlMessage(Array(bytes.prefix(length))) }
            }
        }
    }

    @Test func `Random bytes crash no decoder of the protocol`() {
        var generator = TestRandom("random bytes")
        var refused = 0
        withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 64) { memory in
            let memory = UnsafeRawBufferPointer(memory)
            for _ in 0..<20_000 {
                var bytes = (0..<Int.random(in: 0..<40, using: &generator)).map { _ in
                    UInt8.random(in: 0...3, using: &generator)
                }
                if bytes.count > 12, Bool.random(using: &generator) { bytes[8] = 255 }
                if (try? PartTable.views(bytes, in: memory)) == nil { refused += 1 }
                if (try? ControlMessage(bytes)) == nil { refused += 1 }
                if (try? InspectError(encoded: bytes)) == nil { refused += 1 }
            }
        }
        #expect(refused > 40_000)
    }

    @Test func `A table with a part outside the shared memory is refused`() throws {
        var table = PartTable()
        table.append(kind: "FRONT", byteCount: 100)
        table.append(kind: "BACK", byteCount: 28)
        #expect(table.entries.map(\.offset) == [0, 128])
        #expect(table.span == 156)
        try withUnsafeTemporaryAllocation(byteCount: 156, alignment: 64) { memory in
            let memory = UnsafeRawBufferPointer(memory)
            let views = try PartTable.views(table.encoded(), in: memory)
            #expect(views.map(\.kind) == ["FRONT", "BACK"])
            #expect(views.map(\.byteCount) == [100, 28])
            let shorter = UnsafeRawBufferPointer(rebasing: memory[..<155])
            #expect(throws: MalformedMessage.self) { try PartTable.views(table.encoded(), in: shorter) }
        }
    }

    @Test func `Frames cross a socket unchanged, and its end is noticed`() throws {
        var near: CInt = -1
        var far: CInt = -1
        try #require(csys_socket_pair(0, &near, &far) == 0)
        defer { close(near) }
        let payload = (0..<5000).map { UInt8(truncatingIfNeeded: $0) }
        try Frame(kind: .perform, sequence: 77, payload: payload).send(to: far, deadlineNanoseconds: 0)
        let frame = try Frame.receive(from: near, limit: 5000, deadlineNanoseconds: 0)
        #expect(frame.kind == .perform && frame.sequence == 77 && frame.payload == payload)

        try Frame(kind: .reply, sequence: 1, payload: payload).send(to: far, deadlineNanoseconds: 0)
        #expect(throws: Frame.Failure.self) { try Frame.receive(from: near, limit: 4999, deadlineNanoseconds: 0) }
        close(far)
        #expect(throws: Frame.Failure.self) {
            while true { _ = try Frame.receive(from: near, limit: 9, deadlineNanoseconds: 0) }
        }
    }

    @Test func `Shared memory cannot be written by its reader, nor resized`() throws {
        let memory = try SharedMemory(size: 1 << 16)
        let reader = try memory.readOnlyDescriptor()
        var address: UnsafeRawPointer?
        #expect(mmap(nil, 1 << 16, PROT_READ | PROT_WRITE, MAP_SHARED, reader.raw, 0) == MAP_FAILED)
        #expect(csys_write_at(reader.raw, "x", 1, 0) == -EBADF)
        #expect(ftruncate(reader.raw, 0) != 0)
        #expect(csys_map(reader.raw, 1 << 16, &address) == 0)
        let descriptor = csys_memfd_create("test", 4096)
        #expect(ftruncate(descriptor, 0) != 0)
        #expect(ftruncate(descriptor, 8192) != 0)
        close(descriptor)
    }
}
