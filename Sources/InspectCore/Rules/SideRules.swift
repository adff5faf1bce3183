/// Whether the images show the sides that they were sent as, and if not, which side is missing.
///
/// A genuine pair must not be rejected: if the evidence of one image is not certain, the other's must agree.
package struct SideRules {
    /// The side that the front's or the back's image should show but lacks. Concerns the part that was sent as that side.
    package let missing: [RejectReason]
    /// Whether the evidence leaves no doubt; otherwise it is worth a warning.
    package let isCertain: Bool

    /// - Parameters:
    ///   - front: The image that was sent as the front; `nil`: none.
    ///   - back: The image that was sent as the back; `nil`: none.
    ///   - format: What the client chose.
    ///   - knowsFaces: Whether faces were sought.
    package init(
        front: DocumentFacts?, back: DocumentFacts?, format: DocumentFormat? = nil, knowsFaces: Bool = true
    ) {
        let first = front.map { DocumentSide($0, format: format) }
        let second = back.map { DocumentSide($0, format: format) }
        let noFront = RejectReason(.missingFront, part: PartKind.front.rawValue)
        let noBack = RejectReason(.missingBack, part: PartKind.back.rawValue)
        guard let front, let first else {
            (self.missing, self.isCertain) = ([], false)
            return
        }
        guard let back, let second else {
            (self.missing, self.isCertain) = (first.kind == .back && first.isCertain ? [noFront] : [], first.isCertain)
            return
        }
        switch (first.kind, second.kind) {
        case (.dataPage, .dataPage) where Self.isSameImage(front, back):
            (self.missing, self.isCertain) = ([noBack], true)
        case (.both, _), (_, .both), (.dataPage, _): (self.missing, self.isCertain) = ([], false)
        // A page of a passport or a visa is no card's back.
        case (_, .dataPage): (self.missing, self.isCertain) = ([noBack], second.isCertain)
        case (.back, .front):
            // A back's ghost image or a front's barcode alone would mislead; both together do not.
            (self.missing, self.isCertain) = ([noFront, noBack], true)
        case (.back, _) where first.isCertain: (self.missing, self.isCertain) = ([noFront], true)
        case (.front, .front) where Self.bearsSamePortrait(front, back):
            self.missing = [noBack]
            self.isCertain = !DocumentSide.isFrontByPlaceOfMRZ(back) || Self.isSameImage(front, back)
        case _ where Self.isSameImage(front, back) || Self.showSameSide(front, back):
            let showsFront = first.kind == .front || !front.faces.isEmpty || !knowsFaces
            (self.missing, self.isCertain) = ([showsFront ? noBack : noFront], true)
        case (nil, .front) where front.faces.isEmpty:
            // The portrait is on the image sent as the back, and the front shows none.
            (self.missing, self.isCertain) = ([noFront, noBack], false)
        default: (self.missing, self.isCertain) = ([], false)
        }
    }

    /// Whether the portraits have about one size: a ghost image on a back is smaller.
    private static func bearsSamePortrait(_ front: DocumentFacts, _ back: DocumentFacts) -> Bool {
        guard let one = DocumentSide.portraitShare(front), let other = DocumentSide.portraitShare(back) else {
            return false
        }
        return Limits.portraitOfOtherSide.allows(other / max(one, .leastNonzeroMagnitude))
    }

    /// Whether the thumbnails agree: one photo that was saved twice, or two photos of one side.
    private static func showSameSide(_ front: DocumentFacts, _ back: DocumentFacts) -> Bool {
        // Without outlines, the table behind both sides would be compared as well.
        [front, back].allSatisfy { $0.outline.map { Limits.trustedOutline.allows($0.support) } == true }
            && Likeness.of(front.thumbnail, back.thumbnail).map { !Limits.likeness.allows($0) } == true
    }

    /// Whether both parts are one file, or were decoded from the same pixels: no two photos have the same measurements.
    static func isSameImage(_ front: DocumentFacts, _ back: DocumentFacts) -> Bool {
        front.image == back.image && front.quality == back.quality && front.outline == back.outline
            && front.mrz?.lines == back.mrz?.lines && front.barcodes.map(\.text) == back.barcodes.map(\.text)
            && front.faces.map(\.box) == back.faces.map(\.box)
    }
}
