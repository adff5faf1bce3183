/// How an inspection would have ended with other limits or other models. For limits, the same facts are decided once more, and nothing
/// is analysed; for models, another analysis is compared with it. The inspection's own result stays as it is.
package struct ShadowComparison: Sendable {
    /// How the two inspections differ; the raw values are a metric's labels.
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
        /// A raw value of ``Capability``.
        package var capability: String
        /// One of ``DecisionLabel``.
        package var label: String

        package static func < (left: Label, right: Label) -> Bool {
            (left.capability, left.label) < (right.capability, right.label)
        }
    }

    /// A field of the contract that was read differently. Its values are not kept.
    package struct Field: Sendable, Hashable {
        /// How the reading differs.
        package enum Change: String, Sendable {
            /// Only the shadow reads it.
            case added = "added"
            /// Only the inspection reads it.
            case removed = "removed"
            case changed = "changed"
        }

        /// As ``ExtractionData`` has it.
        package var name: String
        /// How its reading differs.
        package var change: Change
    }

    /// NONE if no type was recognised, OTHER for one that is not in this list.
    package static let documentTypes = [
        "PASSPORT", "DRIVING_LICENSE", "ID_CARD", "VISA", "UNSUPPORTED", "NONE", "OTHER",
    ]

    /// One of ``documentTypes``; of rejected images, too.
    package let documentType: String
    /// The job's workflow.
    package let workflow: Workflow
    /// How the two differ.
    package let outcome: Outcome
    /// The result's own.
    package let decision: DecisionType
    /// The one with the other limits or models.
    package let shadowDecision: DecisionType
    /// Labels of warnings and rejections that only the shadow gives.
    package let added: [Label]
    /// Labels of warnings and rejections that only the inspection gives.
    package let removed: [Label]
    /// Of another analysis; empty if the facts are the same.
    package let fields: [Field]

    /// Compares with the decision by other limits.
    ///
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
        self.init(
            documentType: Self.documentType(decider), workflow: facts.request.workflow, document, shadow, isIncomplete,
            fields: [])
    }

    /// Compares with the outcome of another analysis of the same parts on the same day.
    ///
    /// - Parameters:
    ///   - changes: The limits that `shadow` was decided by.
    package init(
        of document: ResultDocument, facts: InspectionFacts, today: CalendarDate,
        with shadow: ResultDocument, facts other: InspectionFacts, changes: LimitChanges
    ) {
        let (given, read) = (
            ExtractionRules(facts: facts, today: today).data,
            changes.inForce { ExtractionRules(facts: other, today: today).data }
        )
        self.init(
            documentType: Self.documentType(InspectionDecider(facts: facts, today: today)),
            workflow: facts.request.workflow, document, shadow, false, fields: Self.differences(given, read))
    }

    private init(
        documentType: String, workflow: Workflow, _ document: ResultDocument, _ shadow: ResultDocument,
        _ isIncomplete: Bool, fields: [Field]
    ) {
        func labels(_ document: ResultDocument) -> Set<Label> {
            let all = document.summary.labels ?? []
            return Set(
                all.filter { !isIncomplete || $0.capability == .usability }.map {
                    Label(capability: $0.capability.rawValue, label: $0.label)
                })
        }
        let (given, other) = (labels(document), labels(shadow))
        self.documentType = documentType
        self.workflow = workflow
        self.decision = document.decision.type
        self.shadowDecision = shadow.decision.type
        self.added = other.subtracting(given).sorted()
        self.removed = given.subtracting(other).sorted()
        self.fields = fields
        let (before, after) = (Self.rank(document.decision.type), Self.rank(shadow.decision.type))
        self.outcome =
            isIncomplete
            ? .incomplete
            : after != before ? (after > before ? .stricter : .milder) : other != given ? .relabelled : .same
    }

    private static func differences(_ given: ExtractionData, _ read: ExtractionData) -> [Field] {
        Self.fieldValues.compactMap { name, value in
            switch (value(given), value(read)) {
            case (nil, nil): nil
            case (nil, .some): Field(name: name, change: .added)
            case (.some, nil): Field(name: name, change: .removed)
            case (let before?, let after?): before == after ? nil : Field(name: name, change: .changed)
            }
        }
    }

    private static let fieldValues: [(String, @Sendable (ExtractionData) -> String?)] = [
        ("type", { $0.type }), ("issuingCountry", { $0.issuingCountry }), ("firstName", { $0.firstName }),
        ("lastName", { $0.lastName }), ("dateOfBirth", { $0.dateOfBirth }), ("placeOfBirth", { $0.placeOfBirth }),
        ("issuingDate", { $0.issuingDate }), ("issuingAuthority", { $0.issuingAuthority }),
        ("expiryDate", { $0.expiryDate }), ("documentNumber", { $0.documentNumber }),
        ("personalNumber", { $0.personalNumber }), ("nationality", { $0.nationality }), ("gender", { $0.gender }),
        ("address.line1", { $0.address?.line1 }), ("address.city", { $0.address?.city }),
        ("address.postalCode", { $0.address?.postalCode }), ("categories", { $0.categories }),
        ("mrzLine1", { $0.mrzLine1 }), ("mrzLine2", { $0.mrzLine2 }), ("mrzLine3", { $0.mrzLine3 }),
        ("rawBarcodeData", { $0.rawBarcodeData }),
    ]

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
