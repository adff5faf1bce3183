/// Whether a selfie shows an identity document, or a document's portrait, in place of a person.
package struct DocumentAsSelfie: Sendable, Hashable {
    /// The text around the face; `nil`: it was not read.
    package var text: TextAroundFace?
    /// Distance of the embeddings of the face and of the portrait that is nearest to it; `nil`: none was compared.
    package var portraitDistance: Double?

    /// - Parameter portraits: The portraits of the document and of its chip.
    package init(_ selfie: FaceStageFacts.Image, portraits: [FaceFacts] = []) {
        self.text = selfie.text
        guard let mine = selfie.faces.first?.embedding else { return }
        // The limit was measured in the distances of one network.
        self.portraitDistance = portraits.compactMap(\.embedding)
            .filter { $0.engine == FaceEmbedding.currentEngine && $0.engine == mine.engine }
            .compactMap { try? mine.distance(to: $0) }.min()
    }

    /// Much text around the face, some of it like a document's. It is no proof: badges and posters have such text too.
    package var isDocument: Bool {
        guard let text else { return false }
        return !Limits.textAroundFace.allows(Double(text.lines))
            && !Limits.documentTextAroundFace.allows(Double(text.documentLines))
    }

    /// Two photographs of one person differ by more than this. It is only a warning, since few people were measured.
    package var isPortrait: Bool { self.portraitDistance.map { !Limits.portraitAsSelfie.allows($0) } ?? false }

    /// Whether there is a reason to warn.
    package var isSuspected: Bool { self.isDocument || self.isPortrait }

    /// For a reviewer.
    var findings: [String] {
        (self.isDocument ? ["document: text stands around the face"] : [])
            + (self.isPortrait ? ["portrait: the selfie is the same image as the document's portrait"] : [])
    }

    /// By the names of ``measurements``.
    var scores: [String: Double] {
        var scores: [String: Double] = [:]
        for measurement in self.measurements { scores[measurement.name] = measurement.value }
        return scores
    }

    /// Its measurements and limits.
    package var measurements: [Measurement] {
        [
            Measurement(
                "textLines", self.text.map { Double($0.lines) }, Limits.textAroundFace, counts: self.isDocument,
                note: self.text == nil ? "no face was found" : "none of it need be a document's"),
            Measurement(
                "documentLines", self.text.map { Double($0.documentLines) }, Limits.documentTextAroundFace,
                counts: self.isDocument,
                note: self.text == nil ? "no face was found" : "there is too little other text"),
            Measurement(
                "portraitDistance", self.portraitDistance, Limits.portraitAsSelfie,
                note: "there is no portrait to compare with, or another network compares"),
        ]
    }
}
