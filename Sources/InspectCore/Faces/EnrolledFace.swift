/// The templates of one face id, all of one moment.
package struct EnrolledFace: Sendable, Hashable {
    /// Rises with every change of the templates; 0 where nothing is enrolled.
    package var generation: Int64
    /// In the order of their enrolment.
    package var templates: [FaceEmbedding]
    /// Whether an enrolment takes the place of what there is, instead of adding to it.
    package var isToBeReplaced: Bool

    package init(generation: Int64, templates: [FaceEmbedding], isToBeReplaced: Bool = false) {
        self.generation = generation
        self.templates = templates
        self.isToBeReplaced = isToBeReplaced
    }
}
