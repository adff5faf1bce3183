/// A face descriptor that can be compared: the numbers, and the space that they belong to.
package struct FaceEmbedding: Codable, Sendable, Hashable {
    /// The engine that made it, for example `dlib-resnet-v1/mirror2`; embeddings of different engines cannot be compared.
    package var engine: String
    /// SHA-256 of the model file in lower-case hex.
    package var modelSHA256: String
    /// 128 float32, little-endian, lower-case hexadecimal: exactly 1,024 characters.
    package var hex: String

    package init(engine: String, modelSHA256: String, hex: String) {
        self.engine = engine
        self.modelSHA256 = modelSHA256
        self.hex = hex
    }
}
