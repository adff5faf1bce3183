extension InspectionDecider {
    /// What the facts say about capabilities that did not run, and about an unproven chip, so that the advice helps.
    func causes(of capabilities: Capabilities, _ extraction: ExtractionRules) -> [Cause] {
        var causes: [Cause] = []
        func add(_ code: Reason, _ part: PartKind?) {
            let cause = Cause(code: code, part: part?.rawValue)
            if !causes.contains(cause) { causes.append(cause) }
        }
        for kind in self.documentParts {
            guard let side = self.side(kind),
                capabilities.imageChecks?.contains(where: { $0.parts == [kind.rawValue] && $0.isSkipped }) == true
            else { continue }
            add(ImageCheckRules.lacksColours(side) ? .noColours : .tooFewPixels, kind)
        }
        let isUnread = capabilities.extraction?.contains(where: \.isSkipped) == true
        if isUnread || capabilities.dataChecks?.contains(where: \.isSkipped) == true, !extraction.hasData {
            // Every passport has an MRZ (Doc 9303-4 §4.2).
            let isPassport = extraction.data.type == "PASSPORT"
            let illegible = self.documentParts.filter {
                self.side($0)?.hasIllegibleZone == true || isPassport && $0 == .front
            }
            for kind in illegible { add(.mrzNotLegible, kind) }
            let front = self.side(.front).map { DocumentSide($0, format: self.facts.request.documentFormat) }
            // The back of a European licence bears neither MRZ nor barcode.
            let lacksBack =
                front?.kind == .front && !self.documentParts.contains(.back) && !isPassport
                && extraction.viz?.isEuropeanLicence != true
            if lacksBack { add(.backNotSent, .back) }
            if illegible.isEmpty, isUnread || !lacksBack, let part = self.documentParts.first {
                add(.noMachineReadableData, part)
            }
        }
        let lacksAnchor = [ChipReason.anchorsMissing, .anchorOfCountryMissing].contains { reason in
            extraction.chip?.reasons.contains(reason) == true
        }
        if extraction.chip?.status == .inconclusive, lacksAnchor { add(.noTrustAnchor, self.chipParts.last) }
        if !self.hasFaceImage,
            capabilities.similarity?.contains(where: \.isSkipped) == true
                || capabilities.liveness?.contains(where: \.isSkipped) == true
        {
            add(.noSelfie, .face)
        }
        return causes
    }
}

extension CapabilityRecord {
    /// Whether the capability did not run.
    fileprivate var isSkipped: Bool { self.decision.type == .notExecuted }
}
