/// The outcome of one capability, and of the whole job (Jumio Retrieval API, `decision.type`).
package enum DecisionType: String, Codable, Sendable, CaseIterable {
    case passed = "PASSED"
    case warning = "WARNING"
    case rejected = "REJECTED"
    case notExecuted = "NOT_EXECUTED"
}

/// One reason for a rejection, in the numbering of Jumio's mobile SDK (class RejectReason).
package struct RejectReason: Codable, Sendable, Hashable {
    /// Raw value of ``Known``.
    package var code: Int
    /// In English, in capitals, as in Jumio's SDK.
    package var message: String
    /// The part that it concerns, for example `FRONT`; `nil` for the whole job.
    package var part: String?

    package init(code: Int, message: String, part: String? = nil) {
        self.code = code
        self.message = message
        self.part = part
    }
}

extension RejectReason {
    /// The table of reject reasons (Jumio mobile SDK, class `Jumio.RejectReason`). `insp.reason` has the same, with advice; a
    /// test holds them equal.
    package enum Known: Int, Sendable, CaseIterable {
        case blackWhiteCopy = 102
        case colorPhotocopy = 103
        case digitalCopy = 104
        case notReadable = 200
        case noDocument = 201
        case missingBack = 206
        case missingFront = 214
        case blurry = 2001
        case missingPartOfDocument = 2003
        case hiddenPartOfDocument = 2004
        case damagedDocument = 2005
        case glare = 2006

        /// The name in Jumio's SDK.
        package var message: String {
            switch self {
            case .blackWhiteCopy: "BLACK_WHITE_COPY"
            case .colorPhotocopy: "COLOR_PHOTOCOPY"
            case .digitalCopy: "DIGITAL_COPY"
            case .notReadable: "NOT_READABLE"
            case .noDocument: "NO_DOC"
            case .missingBack: "MISSING_BACK"
            case .missingFront: "MISSING_FRONT"
            case .blurry: "BLURRY"
            case .missingPartOfDocument: "MISSING_PART_DOC"
            case .hiddenPartOfDocument: "HIDDEN_PART_DOC"
            case .damagedDocument: "DAMAGED_DOCUMENT"
            case .glare: "GLARE"
            }
        }
    }

    package init(_ known: Known, part: String? = nil) {
        self.init(code: known.rawValue, message: known.message, part: part)
    }
}

/// The decision of one capability.
package struct CapabilityDecision: Codable, Sendable, Hashable {
    /// PASSED, WARNING, REJECTED or NOT_EXECUTED.
    package var type: DecisionType
    /// One of ``DecisionLabel``.
    package var label: String
    /// Empty unless something was rejected. The first one belongs to the label.
    package var reasons: [RejectReason]

    package init(type: DecisionType, label: DecisionLabel, reasons: [RejectReason] = []) {
        self.type = type
        self.label = label.rawValue
        self.reasons = reasons
    }

    /// No objection.
    package static let passed = CapabilityDecision(type: .passed, label: .ok)
    /// An earlier capability of the chain was rejected, so this one did not run.
    static let preconditionNotFulfilled = CapabilityDecision(
        type: .notExecuted, label: .preconditionNotFulfilled)
    /// The capability could not run.
    static let technicalError = CapabilityDecision(type: .notExecuted, label: .technicalError)
}
