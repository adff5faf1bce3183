/// A position in a distributed trace, as in the header `traceparent` of W3C Trace Context.
package struct TraceContext: Sendable, Equatable {
    /// 32 hexadecimal digits: the whole trace.
    package let traceID: String
    /// 16 hexadecimal digits: the operation within it that caused this one.
    package let spanID: String
    /// Two hexadecimal digits; bit 0 says that the trace is recorded.
    package let flags: String

    /// Parses a header of version 00.
    ///
    /// - Returns: `nil` for any other version or form, and for all-zero ids, which the recommendation declares invalid.
    package init?(traceparent: String) {
        let bytes = Array(traceparent.utf8)
        guard bytes.count == 55, [2, 35, 52].allSatisfy({ bytes[$0] == UInt8(ascii: "-") }) else { return nil }
        let fields = traceparent.split(separator: "-", omittingEmptySubsequences: false).map(String.init)
        guard fields.map(\.utf8.count) == [2, 32, 16, 2], fields[0] == "00", fields.allSatisfy(Self.isHexadecimal),
            fields[1].contains(where: { $0 != "0" }), fields[2].contains(where: { $0 != "0" })
        else { return nil }
        self.traceID = fields[1]
        self.spanID = fields[2]
        self.flags = fields[3]
    }

    private init(traceID: String, spanID: String, flags: String) {
        self.traceID = traceID
        self.spanID = spanID
        self.flags = flags
    }

    /// The header's value.
    package var traceparent: String { "00-\(self.traceID)-\(self.spanID)-\(self.flags)" }

    /// A new operation of the same trace.
    package func child(using generator: inout some RandomNumberGenerator) -> TraceContext {
        let number = UInt64.random(in: 1...UInt64.max, using: &generator)
        let digits = String(number, radix: 16)
        return TraceContext(
            traceID: self.traceID, spanID: String(repeating: "0", count: 16 - digits.count) + digits, flags: self.flags)
    }

    /// Only lower case, as the recommendation requires.
    private static func isHexadecimal(_ text: String) -> Bool {
        text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }
}
