/// The additions for the person who decides: images with tools that need no script, and faces side by side.
enum ReportDesk {
    static func images(_ images: [ReportImage]) -> [Markup] {
        let figures = images.enumerated().map { $0.element.figure(tools: self.tools($0.element, place: $0.offset + 1)) }
        var sections = [
            ReportPage.section(
                "Images",
                [
                    """
                    <p class='tools'><label><input type='checkbox' id='overlays' checked='checked' autocomplete='off' accesskey='m'/> \
                    overlays on all images</label></p>

                    """, "<div class='images'>\n\(figures)</div>\n",
                ])
        ]
        let crops = images.compactMap(\.faceCrop)
        if !crops.isEmpty {
            sections.append(ReportPage.section("Faces side by side", ["<div class='crops'>\n\(crops)</div>\n"]))
        }
        return sections
    }

    /// Switches for the overlays of an image, and for its direction. The style sheet applies them.
    private static func tools(_ image: ReportImage, place: Int) -> Markup {
        var overlays: [(style: String, name: String)] = []
        if image.outline != nil { overlays.append(("o", "document")) }
        if let mrz = image.mrz {
            overlays.append(("z", "MRZ"))
            if mrz.centres != nil { overlays.append(("c", "characters")) }
        }
        if !image.barcodes.isEmpty { overlays.append(("b", "barcode")) }
        if !image.faces.isEmpty || !image.track.isEmpty { overlays.append(("f", "faces")) }
        let switches = overlays.map { style, name -> Markup in
            "<label><input type='checkbox' class='show-\(style)' checked='checked' autocomplete='off'/> \(name)</label>\n"
        }
        // One to nine lead to the images' tools.
        let key: Markup = place < 10 ? " accesskey='\(place)'" : ""
        let turns = (0..<4).map { turn -> Markup in
            """
            <label><input type='radio' name='turn-\(place)' class='turn\(turn)' autocomplete='off'\
            \(turn == 0 ? " checked='checked'\(key)" : "" as Markup)/> \(turn * 90)°</label>

            """
        }
        return """
            <fieldset class='tools'><legend>\(image.part)</legend>
            \(switches)\(turns)</fieldset>

            """
    }
}

extension InspectionReport {
    /// What led to the decision, one sentence each.
    var findings: Markup {
        let all = self.document.capabilities
        var list = self.document.causes.map { outcome -> Markup in
            """
            <li>\(ReportPage.badge(outcome.decision)), \(ReportTables.spaced(outcome.capability.rawValue)) of \
            \(outcome.parts.joined(separator: ", ")): \(DecisionLabel.sentence(outcome.decision.details.label))</li>

            """
        }
        list += (all.dataChecks ?? []).flatMap { $0.data?.checks ?? [] }.filter { $0.outcome == .fail }.map {
            "<li>Data check \(ReportTables.spaced($0.name)): \($0.reason ?? "failed")</li>\n"
        }
        list += self.sides.flatMap { part, side in
            ImageCheckRules.findings(side).map { "<li>\(part), check manually: \($0)</li>\n" }
        }
        list += (all.liveness ?? []).flatMap { $0.data?.findings ?? [] }.map {
            "<li>Liveness, check manually: \($0)</li>\n"
        }
        return ReportPage.section(
            "Findings", list.isEmpty ? ["<p>No capability found anything.</p>\n"] : ["<ul>\n\(list)</ul>\n"])
    }
}
