/// The risk of a decision, from what was found.
///
/// Each finding has a weight w between 0 and 1. The score lies in the band of the decision, `low` to `high`:
/// `low + (high - low) · (1 - Π(1 - w))`, rounded. Another finding never lowers it, and their order does not count.
package enum RiskRules {
    /// A finding or circumstance that raises the score.
    package struct Finding: Codable, Sendable, Hashable {
        /// The capability and its label, such as `dataChecks.MRZ_CHECKSUM`, or one of ``Circumstance``.
        package var name: String
        /// In hundredths.
        package var weight: Int
    }

    /// A circumstance that makes a decision less certain but is no objection. RESULTS.md has the same list; a test keeps them equal.
    package enum Circumstance: String, Sendable, CaseIterable {
        /// PAD signals that do not count alone.
        case signals = "liveness.SIGNALS"
        /// Liveness passed by PAD signals alone.
        case evidenceOnly = "liveness.EVIDENCE_ONLY"
        /// The document expired, within the days that the partner grants.
        case expiredWithinGrace = "dataChecks.EXPIRED_WITHIN_GRACE"

        /// In hundredths.
        package var weight: Int {
            switch self {
            case .signals: 20
            case .evidenceOnly: 50
            case .expiredWithinGrace: 30
            }
        }
    }

    static func risk(of type: DecisionType, _ capabilities: Capabilities) -> Decision.Risk {
        guard type != .notExecuted else { return Decision.Risk(score: type.riskBand.lowerBound) }
        let findings = self.findings(capabilities, of: type)
        let innocence = findings.reduce(1.0) { $0 * (1 - Double($1.weight) / 100) }
        let band = type.riskBand
        let score = Double(band.lowerBound) + Double(band.count - 1) * (1 - innocence)
        return Decision.Risk(score: Int(score.rounded()), findings: findings.isEmpty ? nil : findings)
    }

    /// Each label once, whichever parts it concerns, in the order of the capabilities. Capabilities skipped after a rejection add nothing.
    private static func findings(_ capabilities: Capabilities, of type: DecisionType) -> [Finding] {
        var found: [Finding] = []
        func add(_ name: String, _ weight: Int) {
            if weight > 0, !found.contains(where: { $0.name == name }) {
                found.append(Finding(name: name, weight: weight))
            }
        }
        func add(_ circumstance: Circumstance) { add(circumstance.rawValue, circumstance.weight) }
        for (capability, _, decision) in capabilities.outcomes
        where decision.type != .passed && (decision.type != .notExecuted || type == .warning) {
            let label = decision.details.label
            add("\(capability.rawValue).\(label)", DecisionLabel(rawValue: label)?.risk ?? 0)
        }
        for record in capabilities.liveness ?? [] where record.decision.type == .passed {
            if record.data?.assurance == Assurance.evidence.rawValue { add(.evidenceOnly) }
            if record.data?.findings?.isEmpty == false { add(.signals) }
        }
        let checks = (capabilities.dataChecks ?? []).flatMap { $0.data?.checks ?? [] }
        if checks.contains(where: { $0.reason == DataCheckRules.withinGrace }) { add(.expiredWithinGrace) }
        return found
    }
}

extension DecisionType {
    /// The decision's band of risk scores (Jumio retrieval API: −1 not executed, 0–30 passed, 31–70 warning, 71–100 rejected).
    package var riskBand: ClosedRange<Int> {
        switch self {
        case .notExecuted: -1...(-1)
        case .passed: 0...30
        case .warning: 31...70
        case .rejected: 71...100
        }
    }
}

extension DecisionLabel {
    /// The weight of its finding in hundredths; 0 if it is not a finding. `insp.label` has the same; a test holds them equal.
    package var risk: Int {
        switch self {
        case .ok, .match, .enrolled: 0
        // Somebody is deceiving, or the document is not what it seems.
        case .digitalCopy, .nfcCertificate, .mismatchVIZMRZData, .mismatchingDatapoints, .noMatch, .fake,
            .manipulatedDocument, .idUsedAsSelfie:
            90
        case .photocopy, .mrzChecksum: 80
        case .mismatchFrontBack, .challengeFailed, .watermark, .ghostImageDifferent: 70
        case .blackWhite: 60
        case .sample, .notADocument, .multiplePeople, .underage, .punched: 50
        // Nothing proves it, or it could not be checked.
        case .livenessUndetermined, .noFacePresent, .notPossible: 40
        case .documentExpiry, .ageUndetermined, .challengeTimeout, .partOfDocumentHidden, .damagedDocument,
            .notEnrolled:
            30
        case .partOfDocumentMissing, .missingPage, .missingMandatoryDatapoints, .unsupportedCountry,
            .unsupportedDocumentType, .countryUndetermined, .documentTypeUndetermined, .faceNotFullyVisible,
            .preconditionNotFulfilled, .technicalError:
            20
        case .badQualityImage, .badQuality, .blurred, .glare, .tooBright: 10
        }
    }
}
