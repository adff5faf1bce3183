import InspectCore
import Testing

struct FaceEmbeddingTests {
    private static let model = String(repeating: "a", count: 64)

    /// An embedding of norm 1.46, a typical one.
    static func embedding(_ edit: (inout [Float]) -> Void = { _ in }) -> FaceEmbedding {
        var values = [Float](repeating: 1.46 / Float(128).squareRoot(), count: 128)
        edit(&values)
        return FaceEmbedding(values: values, modelSHA256: Self.model)
    }

    private func message(_ embedding: FaceEmbedding) -> String? {
        do {
            _ = try embedding.values()
            return nil
        } catch {
            #expect(error.code == .payloadInvalid)
            return error.detail
        }
    }

    @Test func `An embedding is written as little-endian numbers in lower-case hex`() throws {
        let embedding = Self.embedding {
            $0[0] = 0.1  // 0x3DCCCCCD
            $0[1] = -1
        }
        #expect(embedding.hex.count == 1024)
        #expect(embedding.hex.hasPrefix("cdcccc3d000080bf"))
        #expect(embedding.engine == FaceEmbedding.currentEngine)
    }

    @Test func `An embedding is read back exactly as it was written`() throws {
        var values = (0..<128).map { Float($0 - 64) * 0.0037 }
        values[3] = -.leastNormalMagnitude
        let embedding = FaceEmbedding(values: values, modelSHA256: Self.model)
        #expect(try embedding.values() == values)
        var upper = embedding
        upper.hex = embedding.hex.uppercased()
        #expect(try upper.values() == values)
    }

    @Test func `Text that is no embedding is refused with a reason`() {
        var embedding = Self.embedding()
        embedding.hex.removeLast()
        #expect(self.message(embedding) == "an embedding has 1024 hexadecimal digits, not 1023")
        embedding.hex += "é"
        #expect(self.message(embedding) == "an embedding has 1024 hexadecimal digits, not 1025")
        embedding = Self.embedding()
        embedding.hex = "g" + embedding.hex.dropFirst()
        #expect(self.message(embedding) == "an embedding has a character that is not a hexadecimal digit")
        #expect(self.message(Self.embedding { $0[5] = .nan }) == "an embedding contains a number that is not finite")
        #expect(
            self.message(Self.embedding { $0[5] = -.infinity }) == "an embedding contains a number that is not finite")
        embedding.hex = String(repeating: "0", count: 1024)
        #expect(self.message(embedding) == "an embedding has a norm that no face has")
        #expect(self.message(Self.embedding { $0[0] = 1.5 }) == "an embedding has a norm that no face has")
        #expect(self.message(Self.embedding { $0[0] = 3e38 }) == "an embedding has a norm that no face has")
    }

    @Test func `The distance of embeddings is Euclidean`() throws {
        let one = Self.embedding()
        let other = Self.embedding {
            $0[0] += 0.3
            $0[1] -= 0.4
        }
        #expect(try one.distance(to: one) == 0)
        #expect(abs(try one.distance(to: other) - 0.5) < 1e-6)
        #expect(try one.distance(to: other) == other.distance(to: one))
    }

    @Test func `Embeddings of different engines or models are not compared`() {
        let one = Self.embedding()
        var other = one
        other.modelSHA256 = String(repeating: "b", count: 64)
        #expect(throws: InspectError.self) { try one.distance(to: other) }
        other = one
        other.engine = "another-engine"
        #expect(throws: InspectError.self) { try one.distance(to: other) }
        // The same foreign engine on both sides: comparable in principle, but without a calibration.
        #expect(throws: InspectError.self) { try FaceMatch.compare(other, other) }
    }
}

struct CalibratedScaleTests {
    @Test func `The calibration has the documented points`() {
        #expect(abs(FaceCalibration.dlib.similarity(distance: 0.60) - 0.50) < 1e-9)
        #expect(abs(FaceCalibration.dlib.similarity(distance: 0.52) - 0.85) < 0.001)
        #expect(abs(FaceCalibration.dlib.similarity(distance: 0.45) - 0.96) < 0.005)
        #expect(FaceCalibration.dlib.similarity(distance: 0) > 0.99999)
        #expect(FaceCalibration.dlib.similarity(distance: 1.4) < 1e-6)
    }

    @Test func `Similarity falls with distance`() {
        let values = stride(from: 0.2, through: 1.0, by: 0.05).map { FaceCalibration.dlib.similarity(distance: $0) }
        #expect(zip(values, values.dropFirst()).allSatisfy { $0 > $1 })
    }
}

struct FaceCalibrationTests {
    @Test func `Error rates of the calibration are monotone`() {
        for (low, high) in zip(FaceCalibration.dlib.table, FaceCalibration.dlib.table.dropFirst()) {
            #expect(low.similarity < high.similarity)
            #expect(low.falseMatches >= high.falseMatches)
            #expect(low.falseNonMatches <= high.falseNonMatches)
        }
    }

    @Test func `The upper bound of the FMR is that of Clopper and Pearson`() throws {
        // No event in 4,002 trials: 1 - 0.05^(1/4002), near the rule of three.
        let bound = try #require(FaceCalibration.dlib.falseMatchBound(threshold: 0.85))
        #expect(abs(bound - 0.000_748_3) < 1e-7)
        #expect(abs(bound - 3.0 / 4002) < 2e-6)
        // One event in 4,002 trials: 4.744 / 4,002 for a Poisson count.
        #expect(abs(try #require(FaceCalibration.dlib.falseMatchBound(threshold: 0.75)) - 4.744 / 4002) < 2e-6)
        for row in FaceCalibration.dlib.table {
            let rate = Double(row.falseMatches) / Double(row.impostorPairs)
            #expect(try #require(FaceCalibration.dlib.falseMatchBound(threshold: row.similarity)) > rate)
        }
    }

    @Test func `A threshold between two rows takes the less strict one`() {
        #expect(FaceCalibration.dlib.row(threshold: 0.87)?.similarity == 0.85)
        #expect(FaceCalibration.dlib.row(threshold: 1)?.similarity == 0.99)
        #expect(FaceCalibration.dlib.row(threshold: 0.01) == nil)
        #expect(FaceCalibration.dlib.falseMatchBound(threshold: 0) == nil)
    }

    @Test func `A match states its threshold and the bound of its FMR`() throws {
        let match = try FaceMatch.compare(
            FaceEmbeddingTests.embedding(), FaceEmbeddingTests.embedding(), threshold: 0.9)
        #expect(match.match && match.distance == 0 && match.threshold == 0.9)
        #expect(match.engine == FaceEmbedding.currentEngine)
        #expect(match.fmrAtThreshold == FaceCalibration.dlib.falseMatchBound(threshold: 0.9))
    }
}
