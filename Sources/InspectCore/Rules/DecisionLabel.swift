/// The label of a capability's decision, as in Jumio's Retrieval API. `insp.label` has the same; a test holds them equal.
package enum DecisionLabel: String, Sendable, CaseIterable {
    // No objection, or no decision.
    case ok = "OK"
    case match = "MATCH"
    case enrolled = "ENROLLED"
    case preconditionNotFulfilled = "PRECONDITION_NOT_FULFILLED"
    case technicalError = "TECHNICAL_ERROR"

    // The photo of a document.
    case notADocument = "NOT_A_DOCUMENT"
    case blackWhite = "BLACK_WHITE"
    case photocopy = "PHOTOCOPY"
    case badQualityImage = "BAD_QUALITY_IMAGE"
    case blurred = "BLURRED"
    case glare = "GLARE"
    case partOfDocumentMissing = "PART_OF_DOCUMENT_MISSING"
    case partOfDocumentHidden = "PART_OF_DOCUMENT_HIDDEN"
    case damagedDocument = "DAMAGED_DOCUMENT"
    case missingPage = "MISSING_PAGE"
    case missingMandatoryDatapoints = "MISSING_MANDATORY_DATAPOINTS"
    case unsupportedCountry = "UNSUPPORTED_COUNTRY"
    case unsupportedDocumentType = "UNSUPPORTED_DOCUMENT_TYPE"
    case countryUndetermined = "COUNTRY_UNDETERMINED"
    case documentTypeUndetermined = "DOCUMENT_TYPE_UNDETERMINED"
    case digitalCopy = "DIGITAL_COPY"
    case sample = "SAMPLE"
    case mismatchFrontBack = "MISMATCH_FRONT_BACK"
    case manipulatedDocument = "MANIPULATED_DOCUMENT"
    case ghostImageDifferent = "GHOST_IMAGE_DIFFERENT"
    case punched = "PUNCHED"

    // What the document says.
    case nfcCertificate = "NFC_CERTIFICATE"
    case mrzChecksum = "MRZ_CHECKSUM"
    case mismatchVIZMRZData = "MISMATCH_HRZ_MRZ_DATA"
    case mismatchingDatapoints = "MISMATCHING_DATAPOINTS"
    case documentExpiry = "DOCUMENT_EXPIRY_WITHIN_CONFIGURED_LIMIT"
    case underage = "UNDERAGE"
    case ageUndetermined = "AGE_UNDETERMINED"

    // The person.
    case badQuality = "BAD_QUALITY"
    case noMatch = "NO_MATCH"
    case notPossible = "NOT_POSSIBLE"
    case noFacePresent = "NO_FACE_PRESENT"
    case multiplePeople = "MULTIPLE_PEOPLE"
    case idUsedAsSelfie = "ID_USED_AS_SELFIE"
    case faceNotFullyVisible = "FACE_NOT_FULLY_VISIBLE"
    case tooBright = "TOO_BRIGHT"
    case challengeFailed = "CHALLENGE_FAILED"
    case challengeTimeout = "CHALLENGE_TIMEOUT"
    case livenessUndetermined = "LIVENESS_UNDETERMINED"
    case notEnrolled = "NOT_ENROLLED"

    // Image checks that this version does not make.
    case watermark = "WATERMARK"
    case fake = "FAKE"
}

extension DecisionLabel {
    /// Whether this version can assign it.
    var isGiven: Bool {
        switch self {
        case .watermark, .fake: false
        default: true
        }
    }
}
