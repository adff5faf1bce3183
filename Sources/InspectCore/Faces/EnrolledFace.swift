/// The templates of one face id, all of one moment.
public struct EnrolledFace: Sendable, Hashable {
    /// Rises with every change of the templates; 0 where nothing is enrolled.
    public var generation: Int64
    /// In the order of their enrolment.
    public var templates: [FaceFeature]
    /// Whether an enrolment takes the place of what there is, instead of adding to it.
    public var isToBeReplaced: Bool

    public init(generation: Int64, templates: [FaceFeature], isToBeReplaced: Bool = false) {
        self.generation = generation
        self.templates = templates
        self.isToBeReplaced = isToBeReplaced
    }
}
