extension DecisionLabel {
    /// The label's meaning, without a full stop. The table of labels in RESULTS.md has the same; a test holds them equal.
    package var meaning: String {
        switch self {
        case .ok: "nothing was objected to"
        case .match: "the faces match"
        case .enrolled: "the face was enrolled"
        case .preconditionNotFulfilled:
            "the capability did not run: an earlier one was rejected, or what it needs is missing"
        case .technicalError: "the capability should have run and could not"
        case .notADocument: "no document is seen"
        case .blackWhite: "the image has no colour"
        case .photocopy: "the image shows a copy on paper"
        case .badQualityImage: "the document is too small, too dark or too faint to be read"
        case .blurred: "the image is not sharp"
        case .glare: "reflections cover the document"
        case .partOfDocumentMissing: "the document is cut off"
        case .partOfDocumentHidden: "something covers the document"
        case .damagedDocument: "the document is damaged"
        case .missingPage: "a side of the document is missing, or another one was sent in its place"
        case .missingMandatoryDatapoints: "the document is a passport without a readable MRZ"
        case .unsupportedCountry: "the document's country is not among the request's countries"
        case .unsupportedDocumentType:
            "the document's type is not among the request's documentTypes, or it is of another documentFormat"
        case .countryUndetermined: "the request has countries, and the document's country was not read"
        case .documentTypeUndetermined: "the request has documentTypes, and the document's type was not read"
        case .digitalCopy: "the image shows a screen or a print"
        case .sample: "the document is a specimen"
        case .mismatchFrontBack: "front and back are of different documents"
        case .manipulatedDocument: "a part of the image file was changed after the rest"
        case .ghostImageDifferent: "the second, smaller portrait seems to show another person"
        case .punched: "the document seems to have a punched hole"
        case .nfcCertificate:
            "the chip's files are not authentic, their signer is not valid, or nothing proves the only source"
        case .mrzChecksum: "a check digit is wrong"
        case .mismatchVIZMRZData: "MRZ and VIZ differ"
        case .mismatchingDatapoints: "two sources differ, or a date is impossible"
        case .documentExpiry: "the document has expired"
        case .underage: "the person is below the partner's minimum age"
        case .ageUndetermined: "the partner has a minimum age, and no date of birth was read"
        case .badQuality: "the face is too small, too dark or too bright, or does not conform"
        case .noMatch: "the faces do not match"
        case .notPossible: "the faces could not be compared"
        case .noFacePresent: "no face is seen"
        case .multiplePeople: "several faces are seen"
        case .idUsedAsSelfie: "a document, or its portrait, may be shown in place of a person"
        case .faceNotFullyVisible: "the face is cut off or covered"
        case .tooBright: "the surroundings outshine the screen"
        case .challengeFailed: "something other than what was asked for was seen"
        case .challengeTimeout: "the frames end before everything was seen"
        case .livenessUndetermined: "liveness is not proven"
        case .notEnrolled: "the face was not enrolled; data.reasons says why"
        case .watermark, .fake: "never given"
        }
    }

    /// The meaning of a label as a sentence, or nothing for one that a reviewer made up.
    static func sentence(_ label: String) -> String {
        guard let meaning = DecisionLabel(rawValue: label)?.meaning, let first = meaning.first else { return "" }
        return "\(first.uppercased())\(meaning.dropFirst())."
    }
}

extension DecisionType {
    /// The meaning of a decision on the whole job.
    var sentence: String {
        switch self {
        case .passed: "Every requested capability ran without an objection."
        case .warning: "Something is uncertain, or could not run."
        case .rejected: "A check failed."
        case .notExecuted: "Nothing was decided."
        }
    }
}
