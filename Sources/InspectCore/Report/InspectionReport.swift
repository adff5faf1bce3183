/// A report on one inspection, for a reviewer: the decision, the images, and every measurement behind it.
///
/// Contains personal data. The page loads nothing from another host, and every value is escaped as text.
package struct InspectionReport: Sendable {
    let document: ResultDocument
    let facts: InspectionFacts
    let previews: [String: Preview]
    let paths: [String: String]
    let today: CalendarDate
    let origin: ReportOrigin
    let isDesk: Bool

    /// - Parameters:
    ///   - document: The result, from ``InspectionDecider``.
    ///   - facts: The facts behind the result.
    ///   - previews: Images by part name; a part without one is shown as its drawing alone.
    ///   - paths: Where the page fetches other images, by part name.
    ///   - today: The day of the decision.
    ///   - origin: The job, the partner, the files and the time, as far as they are known.
    ///   - isDesk: For a page on which a person decides: findings come first, images have tools, and a field has one row.
    package init(
        document: ResultDocument, facts: InspectionFacts, previews: [String: Preview] = [:],
        paths: [String: String] = [:],
        today: CalendarDate, origin: ReportOrigin = ReportOrigin(), isDesk: Bool = false
    ) {
        self.document = document
        self.facts = facts
        self.previews = previews
        self.paths = paths
        self.today = today
        self.origin = origin
        self.isDesk = isDesk
    }

    /// The page: HTML that is well-formed XML.
    package var html: String {
        ReportPage.html(title: "Inspection: \(self.document.decision.details.label)", body: self.content)
    }

    /// The page's content, for another page.
    package var content: [Markup] {
        let images = self.images
        let extraction = ExtractionRules(facts: self.facts, today: self.today)
        var body = [self.banner]
        body += self.origin.markup
        if let error = self.document.error {
            body.append(
                ReportPage.section("Error", ["<p><code>\(error.code)</code> \(error.message)</p>\n"]))
        }
        body += self.reasons
        if self.isDesk { body.append(self.findings) }
        body.append(ReportPage.section("Capabilities", [self.capabilities]))
        if !images.isEmpty { body += self.isDesk ? ReportDesk.images(images) : [self.gallery(images)] }
        body += ReportFields(extraction: extraction, facts: self.facts, isCompared: self.isDesk).markup
        body += self.dataChecks
        body += self.imageMeasurements
        body += self.comparison(images)
        body += self.faceMeasurements
        body.append(ReportPage.section("Timings and versions", ReportTables.engine(self.document.engine)))
        return body
    }

    private func gallery(_ images: [ReportImage]) -> Markup {
        ReportPage.section("Images", ["<div class='images'>\n\(images.map(\.markup))</div>\n"])
    }

    // MARK: What was decided

    private var banner: Markup {
        let decision = self.document.decision
        let risk = decision.risk.map { "risk score \($0.score), " } ?? ""
        let request = self.facts.request
        return """
            <div class='banner \(decision.type.rawValue)'>
            <h1>\(decision.details.label)</h1>
            <p>\(decision.type.sentence)</p>
            <p>\(self.causes)</p>
            \(self.declined)<p class='soft'>\(risk)workflow \(request.workflow.rawValue), \
            \(self.partNames), decided on \(self.today.iso8601)</p>
            </div>

            """
    }

    /// The parts that the person skipped. If they were not listed, missing parts would look like a fault or an evasion.
    private var declined: Markup {
        guard let parts = self.document.declined, !parts.isEmpty else { return "" }
        let words: [PartKind: String] = [.face: "image of the face", .frames: "recording for the liveness challenge"]
        let what = PartKind.ofPerson.filter { parts.contains($0.rawValue) }.map { words[$0] ?? $0.row.meaning }
            .joined(separator: " and no ")
        return what.isEmpty ? "" : "<p>No \(what) was given: the person chose to go on without it.</p>\n"
    }

    /// Each kind of part once, with how many there are.
    private var partNames: String {
        PartKind.allCases.compactMap { kind in
            let count = self.facts.parts.count { $0 == kind }
            return count == 0 ? nil : count == 1 ? kind.rawValue : "\(kind.rawValue) × \(count)"
        }.joined(separator: ", ")
    }

    /// The capabilities that led to the decision, with their labels.
    private var causes: String {
        self.document.causes.map {
            "\(ReportTables.spaced($0.capability.rawValue)) of \($0.parts.joined(separator: ", ")): \($0.decision.details.label)"
        }.joined(separator: "; ")
    }

    private var reasons: [Markup] {
        guard !self.document.reasons.isEmpty else { return [] }
        let numbers = self.document.rejectReasons
        let rows = self.document.reasons.map { reason -> Markup in
            let number = numbers.first { $0.message == reason.code.rawValue && $0.part == reason.part }?.code
            return """
                <tr><td class='number'>\(number.map(String.init) ?? "—")</td><td>\(reason.code.rawValue)</td>\
                <td>\(reason.label)</td><td>\(reason.part ?? "—")</td><td>\(reason.advice)</td></tr>

                """
        }
        return [
            ReportPage.section(
                "Reasons", [ReportPage.table(["number", "reason", "label", "part", "advice to the person"], rows)])
        ]
    }

    private var capabilities: Markup {
        let rows = self.document.capabilities.outcomes.map { outcome -> Markup in
            """
            <tr><td>\(ReportTables.spaced(outcome.capability.rawValue))</td><td>\(outcome.parts.joined(separator: ", "))</td>\
            <td>\(ReportPage.badge(outcome.decision))</td>\
            <td>\(DecisionLabel.sentence(outcome.decision.details.label))</td></tr>

            """
        }
        return ReportPage.table(["capability", "parts", "decision", "meaning"], rows)
    }

    private var dataChecks: [Markup] {
        let checks = (self.document.capabilities.dataChecks ?? []).flatMap { $0.data?.checks ?? [] }
        guard !checks.isEmpty else { return [] }
        let rows = checks.map { check -> Markup in
            """
            <tr><td>\(ReportTables.spaced(check.name))</td><td>\(ReportPage.verdict(check.outcome))</td>\
            <td>\(check.reason ?? "")</td></tr>

            """
        }
        return [ReportPage.section("Data checks", [ReportPage.table(["check", "verdict", "why"], rows)])]
    }

    // MARK: What was measured

    var sides: [(part: String, facts: DocumentFacts)] {
        PartKind.sides.compactMap { kind in
            self.facts.documents?.sides[kind.rawValue].map { (kind.rawValue, $0) }
        }
    }

    private var persons: [(part: String, facts: FaceStageFacts.Image)] {
        (self.facts.faces?.images ?? [:]).sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    private var chipPortrait: [(part: String, facts: FaceStageFacts.Image)] {
        (self.facts.documents?.chip?.portrait).map { [(PartKind.dg2.rawValue, $0)] } ?? []
    }

    private var images: [ReportImage] {
        var images = self.sides.map { part, side in
            var image = ReportImage(part: part, image: side.image, preview: self.previews[part], path: self.paths[part])
            image.outline = side.outline
            image.mrz = side.mrz
            image.barcodes = side.barcodes
            image.faces = side.faces
            return image
        }
        images += (self.chipPortrait + self.persons).map { part, person in
            var image = ReportImage(
                part: part, image: person.image, preview: self.previews[part], path: self.paths[part])
            image.faces = person.faces
            return image
        }
        // Images that no stage analysed, because an earlier one rejected the job.
        let others = (self.facts.acquisition?.images ?? [:]).sorted { $0.key < $1.key }
        for (part, facts) in others where !images.contains(where: { $0.part == part }) {
            var image = ReportImage(part: part, image: facts, preview: self.previews[part], path: self.paths[part])
            if part == PartKind.frames.rawValue { image.track = self.track(in: facts) }
            images.append(image)
        }
        return images
    }

    private var imageMeasurements: [Markup] {
        self.sides.map { part, side in
            let reading = UsabilityRules.evidence(side, today: self.today)
            let format = self.facts.request.documentFormat
            let findings = ImageCheckRules.findings(side)
            let manually: [Markup] =
                findings.isEmpty ? [] : ["<p>Check manually: \(findings.joined(separator: "; "))</p>\n"]
            return ReportPage.section(
                "Image quality: \(part)",
                [
                    "<p class='soft'>What the text proves about the image: \(reading.rawValue).</p>\n",
                    "<p class='soft'>The image shows: \(DocumentSide(side, format: format).sentence).</p>\n",
                    ReportTables.measurements(
                        UsabilityRules.measurements(side, reading: reading, format: format)
                            + ImageCheckRules.measurements(side)),
                ] + manually)
        }
    }

    private func comparison(_ images: [ReportImage]) -> [Markup] {
        var sections: [Markup] = []
        for record in self.document.capabilities.similarity ?? [] {
            guard let data = record.data else { continue }
            let faces = record.parts.map { part in
                self.facts.documents?.sides[part]?.faces
                    ?? (self.chipPortrait + self.persons).first { $0.part == part }?.facts.faces ?? []
            }
            sections.append(
                ReportPage.section(
                    "Similarity: \(record.parts.joined(separator: " and "))",
                    [
                        // On a wide screen they stand next to the images.
                        self.isDesk
                            ? ""
                            : ReportTables.crops(record.parts.compactMap { part in images.first { $0.part == part } }),
                        ReportTables.similarity(
                            similarity: data.similarity, distance: data.distance, threshold: data.threshold,
                            falseMatchRate: data.fmrAtThreshold, reason: data.reason),
                        ReportTables.measurements(
                            SimilarityRules.measurements(portrait: faces.first ?? [], selfie: faces.last ?? [])),
                    ]))
        }
        for data in (self.document.capabilities.liveness ?? []).compactMap(\.data) {
            var content: [Markup] = ["<p>\(data.reason ?? "")</p>\n"]
            if let passive = self.facts.liveness?.passive {
                content.append(ReportTables.measurements(LivenessRules.measurements(passive)))
            }
            if let selfie = self.facts.faces?.images[PartKind.face.rawValue] {
                let decider = InspectionDecider(facts: self.facts, today: self.today)
                content.append(ReportTables.measurements(decider.documentAsSelfie(selfie).measurements))
            }
            if let findings = data.findings, !findings.isEmpty {
                content.append("<p>Check manually: \(findings.joined(separator: "; "))</p>\n")
            }
            if let steps = data.steps, !steps.isEmpty { content.append(ReportCurves.table(steps)) }
            if let capture = self.facts.liveness?.capture, let challenge = self.facts.request.challenge,
                let curves = ReportCurves(capture: capture, challenge: challenge, steps: data.steps ?? [])
            {
                content.append(curves.markup)
            }
            if !data.scores.isEmpty {
                content.append(
                    ReportTables.pairs(
                        ["score", "value"],
                        data.scores.sorted { $0.key < $1.key }.map {
                            (ReportTables.spaced($0.key), Markup.number($0.value))
                        }))
            }
            sections.append(ReportPage.section("Liveness: \(data.assurance)", content))
        }
        return sections
    }

    /// Where the face was on the frames, in the coordinates of the first.
    private func track(in image: ImageFacts) -> [Box] {
        guard let capture = self.facts.liveness?.capture, capture.width > 0 else { return [] }
        let scale = Double(image.width) / Double(capture.width)
        return capture.frames.compactMap(\.face?.box).map {
            Box(x: $0.x * scale, y: $0.y * scale, width: $0.width * scale, height: $0.height * scale)
        }
    }

    private var faceMeasurements: [Markup] {
        let tables =
            self.sides.flatMap { ReportTables.faces($0.part, $0.facts.faces, isJudged: false) }
            + self.chipPortrait.flatMap { ReportTables.faces($0.part, $0.facts.faces, isJudged: false) }
            + self.persons.flatMap {
                ReportTables.faces($0.part, $0.facts.faces, image: $0.facts.image, isJudged: true)
            }
        return tables.isEmpty ? [] : [ReportPage.section("Faces", tables)]
    }
}
