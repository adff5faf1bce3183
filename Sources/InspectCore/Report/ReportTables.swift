/// Tables that reports of inspections and of comparisons share.
enum ReportTables {
    static func measurements(_ rows: [Measurement]) -> Markup {
        ReportPage.table(
            ["measurement", "value", "limit", "verdict", "why"],
            rows.map { row in
                let value = row.value.map { Markup.number($0) } ?? "—"
                let limit = row.limit.map { self.bound($0.bound) } ?? "—"
                let why: Markup =
                    row.note.map { note in
                        "\(note)\(row.limit.map { "<br/><span class='soft'>\($0.basis)</span>" as Markup } ?? "")"
                    }
                    ?? row.limit.map { "<span class='soft'>\($0.basis)</span>" } ?? ""
                let verdict: Markup =
                    row.outcome == nil && row.limit != nil
                    ? "<span class='none'>does not apply</span>" : ReportPage.verdict(row.outcome)
                return """
                    <tr><td>\(self.spaced(row.name))</td><td class='number'>\(value)</td><td class='number'>\(limit)</td>\
                    <td>\(verdict)</td><td>\(why)</td></tr>

                    """
            })
    }

    /// Names and values without any verdict.
    static func pairs(_ columns: [String], _ rows: [(String, String)]) -> Markup {
        ReportPage.table(columns, rows.map { "<tr><td>\($0.0)</td><td class='number'>\($0.1)</td></tr>\n" })
    }

    /// Quality by ISO/IEC 29794-5 as bars, and the requirements of a full frontal image that fail.
    static func assessment(_ assessment: FaceAssessment) -> [Markup] {
        let iso =
            switch assessment.isoConform {
            case .pass: "a full frontal image"
            case .fail: "no full frontal image: \(assessment.isoReasons.joined(separator: ", "))"
            case .inconclusive:
                "nothing speaks against a full frontal image; not assessed: \(assessment.isoReasons.joined(separator: ", "))"
            }
        return [
            ReportPage.table(
                ["quality (ISO/IEC 29794-5)", "native", "score", "of 100", "note"],
                assessment.measures.map { measure in
                    let bar: Markup =
                        measure.score.map { score in
                            """
                            <progress max='100' value='\(Markup.number(Double(score)))' \
                            aria-label='\(self.spaced(measure.name))'></progress>
                            """
                        } ?? ""
                    return """
                        <tr><td>\(self.spaced(measure.name))</td>\
                        <td class='number'>\(measure.native.map { Markup.number($0) } ?? "—")</td>\
                        <td class='number'>\(measure.score.map { Markup.number(Double($0)) } ?? "—")</td><td>\(bar)</td>\
                        <td class='soft'>\(measure.note ?? "")</td></tr>

                        """
                }), "<p>ISO/IEC 19794-5: \(iso)</p>\n",
        ]
    }

    static func faces(_ part: String, _ faces: [FaceFacts], image: ImageFacts? = nil, isJudged: Bool) -> [Markup] {
        faces.enumerated().flatMap { index, face -> [Markup] in
            let head = [
                Measurement("detectionScore", face.detectionScore),
                Measurement("boxWidth", face.box.width), Measurement("boxHeight", face.box.height),
            ]
            // The limits apply only to the person under test: the largest face of a selfie.
            let judged = isJudged && index == 0
            return [
                "<h3>\(part), face \(index + 1)</h3>\n",
                self.measurements(head + FaceConformity.measurements(face.quality, isJudged: judged)),
            ]
                + (index == 0
                    ? image.flatMap { FaceAssessment(faces: faces, image: $0) }.map(self.assessment) ?? [] : [])
        }
    }

    /// The largest face of each image, side by side, if the images are shown.
    static func crops(_ images: [ReportImage]) -> Markup {
        let crops = images.compactMap(\.faceCrop)
        return crops.count == images.count && !crops.isEmpty ? "<div class='crops'>\n\(crops)</div>\n" : ""
    }

    /// The measurements of a comparison; `nil` if no comparison was possible.
    static func similarity(
        similarity: Double?, distance: Double?, threshold: Double, falseMatchRate: Double?, reason: String?
    ) -> Markup {
        let basis =
            falseMatchRate.map {
                "false match rate at this threshold at most \(Markup.number($0)) (95 % bound of the calibration)"
            } ?? "the calibration says nothing about this threshold"
        return self.measurements([
            Measurement(
                "similarity", similarity, Limit(.atLeast(threshold), basis),
                note: reason ?? "the faces were not compared"),
            Measurement("distance", distance),
        ])
    }

    static func engine(_ engine: EngineRecord) -> [Markup] {
        [
            self.pairs(
                ["stage", "ms"], engine.timingsMs.sorted { $0.key < $1.key }.map { ($0.key, Markup.number($0.value)) }),
            self.pairs(
                ["program or library", "version"], engine.versions.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
            ),
            self.pairs(["model", "SHA-256"], engine.models.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }),
        ]
    }

    private static func bound(_ bound: Limit.Bound) -> String {
        switch bound {
        case .atMost(let limit): "≤ \(Markup.number(limit))"
        case .atLeast(let limit): "≥ \(Markup.number(limit))"
        case .below(let limit): "< \(Markup.number(limit))"
        case .above(let limit): "> \(Markup.number(limit))"
        case .within(let range): "\(Markup.number(range.lowerBound)) to \(Markup.number(range.upperBound))"
        }
    }

    /// `glareShare` as `glare share`.
    static func spaced(_ name: String) -> String {
        name.reduce(into: "") { text, character in
            text +=
                character.isUppercase && text.last?.isLowercase == true
                ? " " + character.lowercased() : String(character)
        }
    }
}
