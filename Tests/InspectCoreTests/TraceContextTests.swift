import InspectCore
import TestSupport
import Testing

@Suite struct TraceContextTests {
    private let valid = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    @Test func `A header of version 00 is parsed and written back unchanged`() throws {
        let trace = try #require(TraceContext(traceparent: self.valid))
        #expect(trace.traceID == "0af7651916cd43dd8448eb211c80319c")
        #expect(trace.spanID == "b7ad6b7169203331")
        #expect(trace.flags == "01")
        #expect(trace.traceparent == self.valid)
    }

    @Test(arguments: [
        "", "00", "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00-00000000000000000000000000000000-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
        "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-00",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333-011",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0g",
        "00-0af7651916cd43dd8448eb211c8031ü-b7ad6b7169203331-01",
        " 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    ])
    func `An invalid trace context is refused`(header: String) {
        #expect(TraceContext(traceparent: header) == nil)
    }

    /// Returns a constant.
    private struct Fixed: RandomNumberGenerator {
        var value: UInt64
        mutating func next() -> UInt64 { self.value }
    }

    @Test func `A child keeps the trace and gets its own span`() throws {
        let trace = try #require(TraceContext(traceparent: self.valid))
        var random = TestRandom("children of a trace")
        let children = (0..<100).map { _ in trace.child(using: &random) }
        #expect(Set(children.map(\.spanID)).count == 100)
        #expect(children.allSatisfy { TraceContext(traceparent: $0.traceparent) == $0 && $0.traceID == trace.traceID })
        // A small number keeps its leading zeros.
        var small = Fixed(value: 0x1234_0000_0000)
        let child = trace.child(using: &small)
        #expect(child.spanID.utf8.count == 16 && TraceContext(traceparent: child.traceparent) != nil)
    }
}
