/// A report on the comparison of two face images, for a reviewer.
package struct ComparisonReport: Sendable {
    let facts: FaceStageFacts
    let previews: [String: Preview]
    let match: FaceMatch?
    let reason: String?
    let threshold: Double
    let engine: EngineRecord
    let origin: ReportOrigin

    /// - Parameters:
    ///   - facts: Facts about the images, whose largest faces were compared.
    ///   - previews: The images, by the same names.
    ///   - match: The outcome, or `nil` with a `reason`.
    ///   - origin: The files and the time, as far as they are known.
    package init(
        facts: FaceStageFacts, previews: [String: Preview], match: FaceMatch?, reason: String?, threshold: Double,
        engine: EngineRecord, origin: ReportOrigin = ReportOrigin()
    ) {
        self.facts = facts
        self.previews = previews
        self.match = match
        self.reason = reason
        self.threshold = threshold
        self.engine = engine
        self.origin = origin
    }

    /// The page: HTML that is well-formed XML.
    package var html: String {
        let (title, style): (String, DecisionType) =
            switch self.match?.match {
            case true?: ("MATCH", .passed)
            case false?: ("NO_MATCH", .rejected)
            case nil: ("NOT_POSSIBLE", .warning)
            }
        let names = self.facts.images.keys.sorted()
        let images = names.compactMap { name -> ReportImage? in
            guard let person = self.facts.images[name] else { return nil }
            var image = ReportImage(part: name, image: person.image, preview: self.previews[name])
            image.faces = person.faces
            return image
        }
        let faces = names.flatMap {
            ReportTables.faces(
                $0, self.facts.images[$0]?.faces ?? [], image: self.facts.images[$0]?.image, isJudged: true)
        }
        return ReportPage.html(
            title: "Comparison: \(title)",
            body: [
                """
                <div class='banner \(style.rawValue)'>
                <h1>\(title)</h1>
                <p class='soft'>\(self.reason ?? "the largest faces of two images")</p>
                </div>

                """,
                Markup(self.origin.markup),
                ReportPage.section(
                    "Similarity",
                    [
                        ReportTables.crops(images),
                        ReportTables.similarity(
                            similarity: self.match?.similarity, distance: self.match?.distance,
                            threshold: self.threshold, falseMatchRate: self.match?.fmrAtThreshold, reason: self.reason),
                    ]),
                ReportPage.section("Images", ["<div class='images'>\n\(images.map(\.markup))</div>\n"]),
                ReportPage.section("Faces", faces),
                ReportPage.section("Timings and versions", ReportTables.engine(self.engine)),
            ])
    }
}
