/// Why something was objected to, with what the person in front of the camera can do about it.
///
/// `insp.reason` and `insp.reason_advice` have the same rows, and an operator may add languages there; a test holds them equal.
package enum Reason: String, Codable, Sendable, CaseIterable {
    case blackWhiteCopy = "BLACK_WHITE_COPY"
    case colorPhotocopy = "COLOR_PHOTOCOPY"
    case digitalCopy = "DIGITAL_COPY"
    case notReadable = "NOT_READABLE"
    case noDoc = "NO_DOC"
    case missingBack = "MISSING_BACK"
    case missingFront = "MISSING_FRONT"
    case blurry = "BLURRY"
    case missingPartDoc = "MISSING_PART_DOC"
    case hiddenPartDoc = "HIDDEN_PART_DOC"
    case damagedDocument = "DAMAGED_DOCUMENT"
    case glare = "GLARE"
    case unsupportedCountry = "UNSUPPORTED_COUNTRY"
    case unsupportedDocumentType = "UNSUPPORTED_DOCUMENT_TYPE"
    case countryUndetermined = "COUNTRY_UNDETERMINED"
    case documentTypeUndetermined = "DOCUMENT_TYPE_UNDETERMINED"
    case sample = "SAMPLE"
    case mismatchFrontBack = "MISMATCH_FRONT_BACK"
    case manipulatedDocument = "MANIPULATED_DOCUMENT"
    case ghostImageDifferent = "GHOST_IMAGE_DIFFERENT"
    case punched = "PUNCHED"
    case chipNotAuthentic = "CHIP_NOT_AUTHENTIC"
    case noTrustAnchor = "NO_TRUST_ANCHOR"
    case mrzChecksum = "MRZ_CHECKSUM"
    case mismatchingData = "MISMATCHING_DATA"
    case documentExpired = "DOCUMENT_EXPIRED"
    case underage = "UNDERAGE"
    case ageUndetermined = "AGE_UNDETERMINED"
    case faceBlackWhite = "FACE_BLACK_WHITE"
    case faceDigitalCopy = "FACE_DIGITAL_COPY"
    case faceBlurry = "FACE_BLURRY"
    case faceBadQuality = "FACE_BAD_QUALITY"
    case noFacePresent = "NO_FACE_PRESENT"
    case multiplePeople = "MULTIPLE_PEOPLE"
    case idUsedAsSelfie = "ID_USED_AS_SELFIE"
    case faceNotFullyVisible = "FACE_NOT_FULLY_VISIBLE"
    case tooBright = "TOO_BRIGHT"
    case challengeFailed = "CHALLENGE_FAILED"
    case challengeTimeout = "CHALLENGE_TIMEOUT"
    case livenessUndetermined = "LIVENESS_UNDETERMINED"
    case faceNoMatch = "FACE_NO_MATCH"
    case faceNotCompared = "FACE_NOT_COMPARED"
    case notEnrolled = "NOT_ENROLLED"
    case noColours = "NO_COLOURS"
    case tooFewPixels = "TOO_FEW_PIXELS"
    case mrzNotLegible = "MRZ_NOT_LEGIBLE"
    case noMachineReadableData = "NO_MACHINE_READABLE_DATA"
    case backNotSent = "BACK_NOT_SENT"
    case noSelfie = "NO_SELFIE"
    case notAssessed = "NOT_ASSESSED"

    /// The labels that it explains, the parts that it concerns (empty: all), and its advice in English.
    package var row: (labels: [DecisionLabel], parts: [PartKind], advice: String) {
        switch self {
        case .blackWhiteCopy:
            (
                [.blackWhite, .photocopy], [.front, .back],
                "Photograph the document itself, not a black-and-white copy."
            )
        case .colorPhotocopy: ([.photocopy], [.front, .back], "Photograph the document itself, not a photocopy.")
        case .digitalCopy: ([.digitalCopy], [.front, .back], "Photograph the document itself, not a screen.")
        case .notReadable:
            (
                [.badQualityImage, .missingMandatoryDatapoints], [.front, .back],
                "Move closer to the document and use more light."
            )
        case .noDoc: ([.notADocument], [.front, .back], "Photograph an identity document.")
        case .missingBack: ([.missingPage], [.back], "Turn the document over and photograph its back.")
        case .missingFront: ([.missingPage], [.front], "Turn the document over and photograph its front.")
        case .blurry: ([.blurred], [.front, .back], "Hold the camera still and let it focus.")
        case .missingPartDoc: ([.partOfDocumentMissing], [.front, .back], "Keep the whole document inside the frame.")
        case .hiddenPartDoc:
            ([.partOfDocumentHidden], [.front, .back], "Remove fingers and objects from the document.")
        case .damagedDocument: ([.damagedDocument], [.front, .back], "Use a document that is not damaged.")
        case .glare: ([.glare], [.front, .back], "Tilt the document until no light reflects on it.")
        case .unsupportedCountry:
            ([.unsupportedCountry], [.front, .back, .dg1], "Use a document of a country that is accepted.")
        case .unsupportedDocumentType:
            ([.unsupportedDocumentType], [.front, .back, .dg1], "Use a document of a type that is accepted.")
        case .countryUndetermined:
            (
                [.countryUndetermined], [.front, .back, .sod],
                "Photograph both sides of the document, sharp and complete. If this repeats, use another document."
            )
        case .documentTypeUndetermined:
            (
                [.documentTypeUndetermined], [.front, .back, .sod],
                "Photograph both sides of the document, sharp and complete. If this repeats, use another document."
            )
        case .sample: ([.sample], [.front, .back], "Use a genuine document, not a specimen.")
        case .mismatchFrontBack: ([.mismatchFrontBack], [.front, .back], "Photograph both sides of the same document.")
        case .manipulatedDocument:
            (
                [.manipulatedDocument], [.front, .back],
                "Photograph the document itself, and send the photo as the camera took it."
            )
        case .ghostImageDifferent:
            (
                [.ghostImageDifferent], [.front],
                "Photograph the document again, sharp and without reflections. If this repeats, use another document."
            )
        case .punched: ([.punched], [.front, .back], "Use a document that is valid and has no holes.")
        case .chipNotAuthentic:
            (
                [.nfcCertificate], [.dg1, .dg2, .dg7, .dg11, .dg12, .sod],
                "Read the chip again. If this repeats, use another document."
            )
        case .noTrustAnchor:
            (
                [.nfcCertificate], [.dg1, .dg2, .dg7, .dg11, .dg12, .sod],
                "You need not do anything: the operator must configure the CSCA certificate of the document's country."
            )
        case .mrzChecksum:
            ([.mrzChecksum], [.front, .back, .dg1], "Photograph the machine-readable lines again, sharp and complete.")
        case .mismatchingData:
            (
                [.mismatchVIZMRZData, .mismatchingDatapoints], [.front, .back, .dg1],
                "Photograph the document again, sharp and complete. If this repeats, use another document."
            )
        case .documentExpired: ([.documentExpiry], [.front, .back, .dg1], "Use a document that has not expired.")
        case .underage: ([.underage], [.front, .back, .dg1], "You are below the age that is required.")
        case .ageUndetermined:
            (
                [.ageUndetermined], [.front, .back, .dg1],
                "Use a document that shows your date of birth, and photograph it sharp and complete."
            )
        case .faceBlackWhite: ([.blackWhite], [.face, .frames], "Take the selfie in colour.")
        case .faceDigitalCopy: ([.digitalCopy], [.face, .frames], "Show your own face, not a screen or a print.")
        case .faceBlurry: ([.blurred], [.face], "Hold the camera still and let it focus.")
        case .faceBadQuality: ([.badQuality], [.face], "Move closer to the camera and use even light.")
        case .noFacePresent: ([.noFacePresent], [.face, .frames], "Look into the camera.")
        case .multiplePeople: ([.multiplePeople], [.face, .frames], "Nobody else may be in the image.")
        case .idUsedAsSelfie: ([.idUsedAsSelfie], [.face], "Show your own face, not a document.")
        case .faceNotFullyVisible:
            ([.faceNotFullyVisible], [.face, .frames], "Keep your whole face inside the frame, and uncovered.")
        case .tooBright: ([.tooBright], [.frames], "Move to a darker place.")
        case .challengeFailed: ([.challengeFailed], [.frames], "Try again and follow the instructions on the screen.")
        case .challengeTimeout: ([.challengeTimeout], [.frames], "Try again and follow each instruction at once.")
        case .livenessUndetermined:
            (
                [.livenessUndetermined], [.face, .frames, .sessionBlob],
                "Try again in even light and look into the camera."
            )
        case .faceNoMatch: ([.noMatch], [.face, .sessionBlob], "Take the selfie again. It must show the right person.")
        case .faceNotCompared:
            ([.notPossible], [.front, .face, .dg2], "Take the photos again. Each must show a face clearly.")
        case .notEnrolled: ([.notEnrolled], [.face], "Take the selfie again in even light and look into the camera.")
        case .noColours: ([.preconditionNotFulfilled], [.front, .back], "Photograph the document in colour.")
        case .tooFewPixels:
            (
                [.preconditionNotFulfilled], [.front, .back],
                "Move closer to the document, and send the photo as the camera took it."
            )
        case .mrzNotLegible:
            (
                [.preconditionNotFulfilled], [.front, .back],
                "Photograph the machine-readable lines again, sharp and without reflections."
            )
        case .noMachineReadableData:
            (
                [.preconditionNotFulfilled], [.front, .back],
                "Photograph the document again, sharp and complete. "
                    + "If this repeats, use one with machine-readable lines or a barcode."
            )
        case .backNotSent:
            ([.preconditionNotFulfilled], [.back], "Turn the document over and photograph its back as well.")
        case .noSelfie: ([.preconditionNotFulfilled], [.face], "Take a selfie.")
        case .notAssessed: ([.preconditionNotFulfilled, .technicalError], [], "Try again later.")
        }
    }
}

/// A reason that follows from facts and not from a label.
package struct Cause: Sendable, Hashable {
    var code: Reason
    var part: String?
}

/// An entry of a result's `reasons`.
package struct ReasonRecord: Codable, Sendable, Hashable {
    /// Stable; partners may branch on it.
    package var code: Reason
    /// The label of the capability that it explains.
    package var label: String
    /// The part that it concerns; `nil` for the whole job.
    package var part: String?
    /// The error of Jumio's mobile SDK that asks the person for this; `nil`: it has none.
    package var mobileCode: String?
    /// Advice for the person, in English; `insp.reasons` has further languages.
    package var advice: String

    init(_ code: Reason, label: String, part: String? = nil) {
        self.code = code
        self.label = label
        self.part = part
        self.mobileCode = code.mobileCode
        self.advice = code.row.advice
    }

    /// The reasons of a result: at least one for a rejection or a warning.
    ///
    /// - Parameters:
    ///   - numbered: The result's reject reasons, each of which is among them.
    ///   - causes: What is known beyond the labels: why a warning was given, or a capability did not run.
    package static func all(
        _ overall: DecisionType, _ outcomes: [(parts: [String], decision: Decision)], numbered: [RejectReason],
        causes: [Cause] = []
    ) -> [ReasonRecord] {
        var found: [ReasonRecord] = []
        func add(_ reason: ReasonRecord) { if !found.contains(reason) { found.append(reason) } }
        let numbered = numbered.compactMap { reason in
            Reason(rawValue: reason.message).map { (code: $0, part: reason.part) }
        }
        for (parts, decision) in outcomes where [.rejected, .warning].contains(decision.type) {
            let label = decision.details.label
            let own = numbered.filter { $0.code.explains(label) && $0.part.map(parts.contains) != false }
            for reason in own { add(ReasonRecord(reason.code, label: label, part: reason.part)) }
            // A front without its back lacks the back, not itself.
            let isMissing = label == DecisionLabel.missingPage.rawValue && numbered.contains { $0.code.explains(label) }
            let known = causes.first { $0.code.explains(label) && $0.part.map(parts.contains) == true }
            if let known {
                add(ReasonRecord(known.code, label: label, part: known.part))
            } else if own.isEmpty, !isMissing {
                add(self.explaining(label, of: parts))
            }
        }
        for reason in numbered where !found.contains(where: { $0.code == reason.code && $0.part == reason.part }) {
            add(ReasonRecord(reason.code, label: reason.code.row.labels[0].rawValue, part: reason.part))
        }
        if overall == .warning {
            // What did not run is a consequence of a rejection, but the cause of a warning.
            let label = DecisionLabel.preconditionNotFulfilled.rawValue
            for cause in causes where cause.code.explains(label) {
                add(ReasonRecord(cause.code, label: label, part: cause.part))
            }
            let error = DecisionLabel.technicalError.rawValue
            if outcomes.contains(where: { $0.decision.details.label == error }) {
                add(ReasonRecord(.notAssessed, label: error))
            }
        }
        if found.isEmpty, [.rejected, .warning].contains(overall) {
            add(ReasonRecord(.notAssessed, label: DecisionLabel.preconditionNotFulfilled.rawValue))
        }
        return found
    }

    /// The reason in the table that explains a label of these parts.
    private static func explaining(_ label: String, of parts: [String]) -> ReasonRecord {
        for code in Reason.allCases where code.explains(label) {
            // The last part that it concerns: of a portrait and a selfie, only the selfie can be taken again.
            let concerned = parts.last { part in code.row.parts.contains { $0.rawValue == part } }
            if concerned != nil { return ReasonRecord(code, label: label, part: concerned) }
        }
        return ReasonRecord(.notAssessed, label: label)
    }
}

extension Reason {
    /// The error of Jumio's mobile SDK that asks for the same: Z00000, turn the document over.
    package var mobileCode: String? {
        [.missingBack, .missingFront, .backNotSent].contains(self) ? "Z00000" : nil
    }

    fileprivate func explains(_ label: String) -> Bool { self.row.labels.contains { $0.rawValue == label } }
}
