package import Foundation

/// An ONNX file written by hand, small enough to know what it must answer: a 1×1 convolution of the colours, averaged over
/// squares, laid out as one row.
package struct SmallNetwork: Sendable {
    /// Side of the input in pixels.
    package var side: Int
    /// Side of the squares that are averaged; divides ``side``.
    package var square: Int
    /// Per output channel the weight of each input channel.
    package var weights: [[Float]]

    package init(side: Int, square: Int, weights: [[Float]]) {
        self.side = side
        self.square = square
        self.weights = weights
    }

    /// How many numbers it answers.
    package var outputs: Int { self.weights.count * (self.side / self.square) * (self.side / self.square) }

    /// The file's bytes: a `ModelProto` (ONNX IR version 7, operator set 11).
    package var file: Data {
        let graph = Message()
            .message(
                1, self.node("Conv", ["image", "weights"], "mixed", ["kernel_shape": [1, 1], "strides": [1, 1]])
            )
            .message(
                1,
                self.node(
                    "AveragePool", ["mixed"], "squares",
                    ["kernel_shape": [self.square, self.square], "strides": [self.square, self.square]])
            )
            .message(1, Message().text(1, "squares").text(2, "row").text(4, "Flatten"))
            .text(2, "small")
            .message(
                5,
                Message().numbers(1, [self.weights.count, 3, 1, 1]).number(2, 1).text(8, "weights")
                    .bytes(
                        9,
                        self.weights.flatMap { $0 }.reduce(into: Data()) { data, value in
                            withUnsafeBytes(of: value.bitPattern.littleEndian) { data.append(contentsOf: $0) }
                        })
            )
            .message(11, self.value("image", [1, 3, self.side, self.side]))
            .message(12, self.value("row", [1, self.outputs]))
        return Message().number(1, 7).message(7, graph).message(8, Message().text(1, "").number(2, 11)).data
    }

    /// By a program of the system, so that the product's own digest is not its own witness.
    package static func sha256(_ file: URL) throws -> String {
        let pipe = popen("sha256sum '\(file.path)'", "r")
        defer { pclose(pipe) }
        var line = [CChar](repeating: 0, count: 256)
        guard fgets(&line, 256, pipe) != nil else { throw CocoaError(.fileReadUnknown) }
        return String(decoding: line.prefix(64).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private func node(_ operation: String, _ inputs: [String], _ output: String, _ attributes: [String: [Int]])
        -> Message
    {
        var node = inputs.reduce(Message()) { $0.text(1, $1) }.text(2, output).text(4, operation)
        for (name, values) in attributes.sorted(by: { $0.key < $1.key }) {
            node = node.message(5, Message().text(1, name).numbers(8, values).number(20, 7))
        }
        return node
    }

    private func value(_ name: String, _ shape: [Int]) -> Message {
        let dimensions = shape.reduce(Message()) { $0.message(1, Message().number(1, $1)) }
        return Message().text(1, name).message(2, Message().message(1, Message().number(1, 1).message(2, dimensions)))
    }

    /// Fields in protocol buffers' wire format.
    private struct Message {
        var data = Data()

        private func varint(_ value: Int) -> Data {
            var rest = UInt64(value)
            var bytes = Data()
            while rest >= 128 {
                bytes.append(UInt8(rest & 127) | 128)
                rest >>= 7
            }
            bytes.append(UInt8(rest))
            return bytes
        }

        func number(_ field: Int, _ value: Int) -> Message {
            Message(data: self.data + self.varint(field << 3) + self.varint(value))
        }

        func numbers(_ field: Int, _ values: [Int]) -> Message { values.reduce(self) { $0.number(field, $1) } }

        func bytes(_ field: Int, _ value: Data) -> Message {
            Message(data: self.data + self.varint(field << 3 | 2) + self.varint(value.count) + value)
        }

        func text(_ field: Int, _ value: String) -> Message { self.bytes(field, Data(value.utf8)) }

        func message(_ field: Int, _ value: Message) -> Message { self.bytes(field, value.data) }
    }
}
