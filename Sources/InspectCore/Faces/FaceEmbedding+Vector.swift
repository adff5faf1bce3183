/// Decoding and comparison of embeddings.
extension FaceEmbedding {
    /// Numbers of an embedding.
    package static let length = 128

    /// The space of this version's embeddings: network, alignment and averaging. A change of any of the three requires a
    /// new name, since distances between spaces mean nothing.
    package static let currentEngine = "dlib-resnet-v1/5pt/mirror2"

    /// Norms that the descriptor of a face can have: 1.28–1.66 over 212 images of 49 persons, widened on both sides. A
    /// vector outside this range does not come from the network.
    package static let norms = 1.2...1.75

    /// - Parameters:
    ///   - values: The network's output: ``length`` numbers.
    ///   - engine: The space that they belong to.
    package init(values: some Collection<Float>, engine: String = Self.currentEngine, modelSHA256: String) {
        let bytes = values.flatMap { value in
            stride(from: 0, to: 32, by: 8).map { UInt8(truncatingIfNeeded: value.bitPattern >> UInt32($0)) }
        }
        self.init(engine: engine, modelSHA256: modelSHA256, hex: bytes.hexadecimal)
    }

    /// The numbers.
    ///
    /// - Parameter norms: The norms that the network produces.
    /// - Throws: `PAYLOAD_INVALID` unless there are exactly 1,024 hexadecimal digits whose numbers are finite and whose
    ///   norm is one of these.
    package func values(norms: ClosedRange<Double> = Self.norms) throws(InspectError) -> [Float] {
        let digits = self.hex.utf8.count
        guard digits == Self.length * 8 else {
            throw InspectError(.payloadInvalid, "an embedding has 1024 hexadecimal digits, not \(digits)")
        }
        guard let bytes = [UInt8](hexadecimal: self.hex.lowercased()) else {
            throw InspectError(.payloadInvalid, "an embedding has a character that is not a hexadecimal digit")
        }
        var values: [Float] = []
        values.reserveCapacity(Self.length)
        for start in stride(from: 0, to: bytes.count, by: 4) {
            let bits = bytes[start..<start + 4].reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            let value = Float(bitPattern: bits)
            guard value.isFinite else {
                throw InspectError(.payloadInvalid, "an embedding contains a number that is not finite")
            }
            values.append(value)
        }
        let norm = values.reduce(0) { $0 + Double($1) * Double($1) }.squareRoot()
        guard norms.contains(norm) else {
            throw InspectError(.payloadInvalid, "an embedding has a norm that no face has")
        }
        return values
    }

    /// Distance of two embeddings by the metric of their engine; 0 for the same image.
    ///
    /// The default engine does not use the cosine: its vectors share a large common component, and the usual cosine limit
    /// of 0.85 accepts every fourth impostor.
    ///
    /// - Throws: `PAYLOAD_INVALID` if one is malformed or they come from different engines or models.
    package func distance(
        to other: FaceEmbedding, calibration: FaceCalibration = .dlib
    ) throws(InspectError) -> Double {
        guard self.engine == other.engine, self.modelSHA256 == other.modelSHA256 else {
            throw InspectError(.payloadInvalid, "embeddings of different engines or models cannot be compared")
        }
        let (mine, theirs) = (
            try self.values(norms: calibration.norms), try other.values(norms: calibration.norms)
        )
        switch calibration.metric {
        case .euclidean:
            return zip(mine, theirs).reduce(0) { sum, pair in
                let difference = Double(pair.0) - Double(pair.1)
                return sum + difference * difference
            }.squareRoot()
        case .cosine:
            let (product, a, b) = zip(mine, theirs).reduce((0.0, 0.0, 0.0)) { sum, pair in
                let (x, y) = (Double(pair.0), Double(pair.1))
                return (sum.0 + x * y, sum.1 + x * x, sum.2 + y * y)
            }
            guard a > 0, b > 0 else { throw InspectError(.payloadInvalid, "an embedding has the norm 0") }
            return 1 - product / (a * b).squareRoot()
        }
    }
}
