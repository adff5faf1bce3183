import Foundation

/// A 1 × 1 grey PNG: the smallest image that the whole path can be tried with.
enum SampleImage {
    static let png = Data(
        base64Encoded:
            "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==")!
}
