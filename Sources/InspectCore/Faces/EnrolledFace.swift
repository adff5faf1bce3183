/// The templates of one face id, read at the same moment.
package struct EnrolledFace: Sendable, Hashable {
    /// Rises with every change of the templates; 0 if nothing is enrolled.
    package var generation: Int64
    /// In the order of their enrolment.
    package var templates: [FaceEmbedding]
    /// Whether an enrolment replaces the templates instead of adding one.
    package var isToBeReplaced: Bool

    package init(generation: Int64, templates: [FaceEmbedding], isToBeReplaced: Bool = false) {
        self.generation = generation
        self.templates = templates
        self.isToBeReplaced = isToBeReplaced
    }
}
