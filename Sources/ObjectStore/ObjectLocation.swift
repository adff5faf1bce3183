/// Where sealed bytes are in an object store, as `insp.part` has it: `s3:BUCKET/KEY`, with `#OFFSET` if they do not begin the object.
///
/// All parts of a request lie in one object, one after another: a request costs one upload, one fetch and one deletion,
/// however many frames it has.
package struct ObjectLocation: Sendable, Equatable {
    /// `s3:BUCKET/KEY`.
    package var object: String
    /// Of the first byte, from the object's start.
    package var offset: Int

    package init(object: String, offset: Int) {
        self.object = object
        self.offset = offset
    }

    /// - Returns: `nil` for what is no location, such as a URL.
    package init?(_ text: String) {
        guard text.hasPrefix("s3:") else { return nil }
        let pieces = text.split(separator: "#", omittingEmptySubsequences: false)
        self.object = String(pieces[0])
        switch pieces.count {
        case 1: self.offset = 0
        case 2:
            guard let offset = Int(pieces[1]), offset >= 0, pieces[1].utf8.count <= 9 else { return nil }
            self.offset = offset
        default: return nil
        }
    }

    /// As `insp.part` stores it.
    package var text: String { self.offset == 0 ? self.object : "\(self.object)#\(self.offset)" }
}
