import Foundation

/// A 1 × 1 grey PNG: the smallest image for a test of the whole path.
enum SampleImage {
    static let png = Data(
        base64Encoded:
            "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==")!
}
