/// How an inspection would have ended with other limits. The same facts are decided once more; nothing is analysed, and the
/// inspection's own result stays as it is.
package struct ShadowComparison: Sendable {
    package enum Outcome: String, Sendable, CaseIterable {
        /// The same decision and the same labels.
        case same = "same"
        /// The same decision with other labels.
        case relabelled = "relabelled"
        /// A better decision: WARNING becomes PASSED, for example.
        case milder = "milder"
        /// A worse decision.
        case stricter = "stricter"
        /// The other limits need facts that were not measured, since today's had rejected the image. How it would have ended is unknown;
        /// only the labels of usability are compared.
        case incomplete = "incomplete"
    }

    /// A label of a capability, without the part.
    package struct Label: Sendable, Hashable, Comparable {
        package var capability: String
        package var label: String

        package static func < (left: Label, right: Label) -> Bool {
            (left.capability, left.label) < (right.capability, right.label)
        }
    }

    /// NONE where no type was recognised, OTHER for one that is not in this list.
    package static let documentTypes = [
        "PASSPORT", "DRIVING_LICENSE", "ID_CARD", "VISA", "UNSUPPORTED", "NONE", "OTHER",
    ]

    /// One of ``documentTypes``; of rejected images, too.
    package let documentType: String
    package let workflow: Workflow
    package let outcome: Outcome
    package let decision: DecisionType
    package let shadowDecision: DecisionType
    /// Labels of warnings and rejections that only the shadow gives.
    package let added: [Label]
    /// Labels of warnings and rejections that only the inspection gives.
    package let removed: [Label]

    /// - Parameters:
    ///   - facts: Those that `document` was decided by, on the day `today`.
    package init(
        of document: ResultDocument, facts: InspectionFacts, today: CalendarDate, isGated: Bool,
        changes: LimitChanges
    ) {
        let decider = InspectionDecider(facts: facts, today: today, isGated: isGated)
        let wasUnusable = decider.isUnusable
        let (shadow, isIncomplete) = changes.inForce {
            (decider.decide(), wasUnusable && !decider.isUnusable && decider.usesVIZ || decider.lacksStage)
        }
        func labels(_ document: ResultDocument) -> Set<Label> {
            let all = document.summary.labels ?? []
            return Set(
                all.filter { !isIncomplete || $0.capability == .usability }.map {
                    Label(capability: $0.capability.rawValue, label: $0.label)
                })
        }
        let (given, other) = (labels(document), labels(shadow))
        self.documentType = Self.documentType(decider)
        self.workflow = facts.request.workflow
        self.decision = document.decision.type
        self.shadowDecision = shadow.decision.type
        self.added = other.subtracting(given).sorted()
        self.removed = given.subtracting(other).sorted()
        let (before, after) = (Self.rank(document.decision.type), Self.rank(shadow.decision.type))
        self.outcome =
            isIncomplete
            ? .incomplete
            : after != before ? (after > before ? .stricter : .milder) : other != given ? .relabelled : .same
    }

    private static func rank(_ decision: DecisionType) -> Int {
        switch decision {
        case .passed: 0
        case .warning: 1
        case .rejected: 2
        case .notExecuted: 3
        }
    }

    private static func documentType(_ decider: InspectionDecider) -> String {
        guard let type = ExtractionRules(facts: decider.facts, today: decider.today).data.type else { return "NONE" }
        return self.documentTypes.contains(type) ? type : "OTHER"
    }
}

extension InspectionDecider {
    /// Whether VIZ text counts, which is read on usable images only.
    fileprivate var usesVIZ: Bool { self.facts.request.workflow.capabilities.contains(.dataChecks) }

    /// Whether a stage is needed that did not run.
    fileprivate var lacksStage: Bool {
        self.facts.request.workflow.stages.contains { stage in
            let ran =
                switch stage {
                case .document: self.facts.documents != nil
                case .face: self.facts.faces != nil
                case .liveness: self.facts.liveness != nil
                default: true
                }
            return !ran && self.needs(stage)
        }
    }
}
