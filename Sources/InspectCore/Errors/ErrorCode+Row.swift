extension ErrorCode {
    /// One row of the table.
    package struct Row: Sendable {
        /// PostgreSQL error class `IN` (unused by PostgreSQL itself), as `RAISE … USING ERRCODE` takes it.
        package let sqlState: String
        /// One sentence without personal data.
        package let message: String
        /// Whether the same work may succeed later without any change by the caller.
        package let retryable: Bool
        /// Status of an HTTP request refused with it; `nil` for codes that only end jobs or attempts.
        package let httpStatus: Int?
        /// What is allowed, or what to do, if that does not depend on the request.
        package let hint: String?
        /// The code of the mobile SDK's error table (letter and numbers; Jumio SDK, "Error Codes").
        let jumio: String
        /// The error of the face SDK's contract.
        let faceSDK: String
        /// The error number of the payment SDK's contract, if it has one.
        let iZettle: Int?
    }

    /// The code's names in the contracts of partners' apps.
    package var contractCodes: ContractCodes { ContractCodes(mobile: self.row.jumio, payment: self.row.iZettle) }
    /// SQLSTATE of the code.
    package var sqlState: String { self.row.sqlState }
    /// Whether the same work may succeed later without any change by the caller.
    package var isRetryable: Bool { self.row.retryable }
    /// Status of an HTTP request that ends with the code. A code that refuses no request is the server's fault: 500.
    package var httpStatus: Int { self.row.httpStatus ?? 500 }

    /// The code that SQL raised, or `nil` if the SQLSTATE is not in the table.
    package init?(sqlState: String) {
        guard let code = Self.allCases.first(where: { $0.sqlState == sqlState }) else { return nil }
        self = code
    }

    private static func choices(_ what: String, _ names: [String]) -> String {
        "\(what) is \(names.dropLast().joined(separator: ", ")) or \(names.last ?? "")."
    }

    /// The row of the table. Letters: A = network, B = no secure connection, C = not authorised, E = no connection, F = service not
    /// available, G = cancelled, I = encryption key not valid, J = session over, N = required input missing or unusable. Z is a
    /// reason's (``Reason/mobileCode``); H and Y are for conditions that only an app can notice.
    package var row: Row {
        func refusal(
            _ state: String, _ message: String, status: Int? = 400, hint: String? = nil, jumio: String = "N00000",
            iZettle: Int? = nil
        ) -> Row {
            Row(
                sqlState: state, message: message, retryable: false, httpStatus: status, hint: hint, jumio: jumio,
                faceSDK: "INVALID_ARGS", iZettle: iZettle)
        }
        func failure(
            _ state: String, _ message: String, status: Int? = nil, retryable: Bool, jumio: String,
            faceSDK: String = "UNKNOWN_ERROR", iZettle: Int? = nil
        ) -> Row {
            Row(
                sqlState: state, message: message, retryable: retryable, httpStatus: status, hint: nil, jumio: jumio,
                faceSDK: faceSDK, iZettle: iZettle)
        }
        func network(_ state: String, _ message: String, jumio: String = "A10000", iZettle: Int? = nil) -> Row {
            failure(state, message, retryable: true, jumio: jumio, iZettle: iZettle)
        }
        return switch self {
        case .payloadInvalid: refusal("IN001", "the request is not valid")
        case .payloadTooLarge: refusal("IN002", "the payload is larger than 16 KiB", status: 413)
        case .partnerUnknown: refusal("IN003", "no partner has that name", jumio: "C00401", iZettle: -300)
        case .partnerDisabled: refusal("IN004", "the partner is disabled", status: 403, jumio: "C00401")
        case .workflowUnknown:
            refusal(
                "IN005", "no workflow has that name",
                hint: Self.choices(
                    "A workflow",
                    Workflow.allCases.map { workflow in
                        let (name, key) = (workflow.rawValue, workflow.row.definitionKey)
                        return name == key ? name : "\(name) (\(key))"
                    }))
        case .partMissing: refusal("IN006", "a part that the workflow needs is missing")
        case .partUnexpected: refusal("IN007", "a part was given that this document or workflow does not use")
        case .partUnknown:
            refusal(
                "IN008", "no part has that name",
                hint: Self.choices("A part", PartKind.allCases.map(\.rawValue)))
        case .partEmpty: refusal("IN009", "a part has no bytes")
        case .partTooLarge:
            refusal(
                "IN010", "a part is larger than the limit", status: 413,
                hint: "A part has at most 20 MiB, and there are at most 256 frames.")
        case .partURLInvalid: refusal("IN011", "a part's URL is not a plain https URL")
        case .digestInvalid: refusal("IN012", "a digest is not 64 hexadecimal digits (SHA-256)")
        case .digestMismatch: refusal("IN013", "a part's bytes do not match its SHA-256 digest")
        case .identifierTooLong: refusal("IN014", "an identifier is longer than 100 characters")
        case .callbackURLInvalid:
            refusal("IN015", "the callback URL is not acceptable for this partner", iZettle: -202)
        case .callbackURLMissing:
            refusal("IN016", "no callback URL was given and the partner has no default", iZettle: -203)
        case .countryInvalid:
            refusal(
                "IN017", "a country is not an ISO 3166-1 alpha-3 code",
                hint: "A country is three upper-case letters, such as DEU.")
        case .documentTypeUnknown:
            refusal(
                "IN018", "no document type has that name",
                hint: "A document type is PASSPORT, VISA, DRIVING_LICENSE or ID_CARD.")
        case .documentFormatUnknown:
            refusal("IN019", "no document format has that name", hint: "A document format is TD1, TD2 or TD3.")
        case .laneUnknown: refusal("IN020", "no lane has that name", hint: "A lane is urgent, normal or bulk.")
        case .regionInvalid: refusal("IN021", "no region has that name")
        case .regionMissing: refusal("IN097", "the deployment has regions, and none was specified")
        case .regionRefused: refusal("IN098", "the partner's jobs may not specify another region")
        case .consentMissing: refusal("IN022", "the partner's policy requires a recorded consent")
        case .idempotencyConflict:
            refusal("IN023", "the idempotency key was used before with another request", status: 409)
        case .jobUnknown: refusal("IN024", "no job has that id", status: 404, jumio: "J00000")
        case .challengeInvalid:
            refusal("IN025", "the liveness challenge is not valid")
        case .challengeExpired: refusal("IN026", "the liveness challenge has expired", jumio: "J00000")
        case .challengeUsed: refusal("IN027", "the liveness challenge was used before")
        case .sessionShapeRefused:
            refusal(
                "IN028", "a session blob is the opaque string of FaceTec 10.x, not a raw scan or audit image of 9.x")
        case .sessionEnded:
            refusal(
                "IN180", "the liveness session is over, and takes no further blob", status: 409,
                hint: "Without sessionId, the blob begins another session.", jumio: "J00000")
        case .sessionBusy:
            failure(
                "IN181", "the last blob of the liveness session is not answered yet", status: 409, retryable: true,
                jumio: "N00000")
        case .selectionBusy:
            failure(
                "IN182", "a selection of yours is still being counted", status: 409, retryable: true, jumio: "N00000")
        case .waitingQuotaReached:
            failure(
                "IN125", "the partner's quota of waiting jobs is used up", status: 429, retryable: true,
                jumio: "A10000")
        case .storageQuotaReached:
            failure(
                "IN126", "the partner's storage quota is used up", status: 429, retryable: true,
                jumio: "A10000")

        case .jobAmbiguous: refusal("IN029", "several job ids end like this", status: 409, jumio: "J00000")
        case .partnerInvalid: refusal("IN089", "a setting of the partner is not acceptable")
        case .partnerExists: refusal("IN090", "a partner already has that name", status: 409)
        case .jobNotFinished: refusal("IN030", "the job is not finished", status: 409, jumio: "J00000")
        case .partsPurged: refusal("IN031", "the job's parts were removed", status: 409, jumio: "J00000")
        case .requestPurged: refusal("IN135", "the job's request was removed", status: 409, jumio: "J00000")
        case .isolationLevelInvalid:
            refusal(
                "IN136", "the call needs the isolation level READ COMMITTED", status: nil,
                hint:
                    "Begin with BEGIN ISOLATION LEVEL READ COMMITTED, or set default_transaction_isolation to read committed."
            )
        case .rowLocked:
            Row(
                sqlState: "IN137", message: "another transaction holds a row that the call needs", retryable: true,
                httpStatus: 503, hint: "Call again. Operators find transactions that stay open in insp.v_xmin_holders.",
                jumio: "N00000", faceSDK: "INVALID_ARGS", iZettle: nil)
        case .purposeMissing:
            refusal(
                "IN156", "reading personal data requires a purpose", status: nil,
                hint: "A purpose is review, support, export or delivery.")
        case .approvalNeeded: refusal("IN157", "the change needs the approval of a second login", status: nil)
        case .approvalRefused: refusal("IN158", "the proposal cannot be approved", status: 409)
        case .reviewNotDue: refusal("IN032", "the job does not wait for a review", status: 409, jumio: "J00000")
        case .caseTaken:
            refusal(
                "IN192", "you have not taken this case", status: 409,
                hint: "Take it first. Only one person has a case at a time.", jumio: "J00000")
        case .reviewInvalid:
            refusal(
                "IN033", "the review's decision or label is not allowed",
                hint:
                    "A decision is PASSED, WARNING or REJECTED; a label has 1 to 64 upper-case letters, digits and underscores."
            )

        case .unauthenticated:
            refusal("IN110", "no valid credential was given", status: 401, jumio: "C00401", iZettle: -300)
        case .scopeMissing: refusal("IN111", "the credential does not allow this call", status: 403, jumio: "C00403")
        case .rateLimited: failure("IN112", "too many requests", status: 429, retryable: true, jumio: "A10000")
        case .parameterInvalid: refusal("IN113", "an argument is not valid")
        case .requestTooLarge: refusal("IN114", "the request's body is larger than the limit", status: 413)
        case .pathUnknown: refusal("IN115", "this path does not exist", status: 404)
        case .methodNotAllowed: refusal("IN116", "the path does not take this method", status: 405)
        case .mediaTypeUnsupported: refusal("IN117", "the call takes no body of this media type", status: 415)
        case .gatewayOverloaded:
            failure("IN118", "the gateway has no room for the request", status: 503, retryable: true, jumio: "A10000")
        case .partAbsent: refusal("IN119", "the job has no such part", status: 404)

        case .faceIDInvalid:
            refusal("IN261", "a face id is missing where the workflow needs one, or is not 1 to 100 characters")
        case .faceRateLimited:
            failure(
                "IN262", "too many attempts on the face id; try again later", status: 429,
                retryable: true,
                jumio: "N00000")
        case .faceFeatureInvalid:
            refusal("IN263", "a face feature must be 1024 hexadecimal digits with its engine and model")
        case .faceNotEnrolled:
            failure(
                "IN264", "no comparable template is enrolled under the face id", status: 404, retryable: false,
                jumio: "N00000", faceSDK: "INVALID_ARGS")
        case .faceBusy:
            failure(
                "IN266", "another enrolment of the face id is under way", status: 429, retryable: true, jumio: "F00000")
        case .faceTaken:
            refusal(
                "IN267", "the face id is enrolled for another userReference", status: 409,
                hint: "enrollmentMode replace replaces what is enrolled.")
        case .faceDeleted:
            failure(
                "IN265", "the face id was deleted while the job was waiting or running", retryable: false,
                jumio: "G00000", faceSDK: "ENROLL_CANCELLED")

        case .partUnreachable:
            failure("IN040", "a part's URL could not be fetched", retryable: true, jumio: "A10000")
        case .partNotFound:
            failure(
                "IN041", "a part was not found", retryable: false, jumio: "N00000",
                faceSDK: "INVALID_ARGS")
        case .partsTooLarge:
            failure(
                "IN145", "all parts of the job together are larger than the limit", status: 413, retryable: false,
                jumio: "N00000",
                faceSDK: "INVALID_ARGS")
        case .unsupportedFormat:
            failure(
                "IN042",
                "a part is not a JPEG, PNG, WebP, HEIC, BMP or JPEG 2000 image, nor a PDF whose page is one image",
                status: 400, retryable: false, jumio: "N00000", faceSDK: "INVALID_ARGS")
        case .corruptImage:
            failure(
                "IN043", "a part's image data is damaged", status: 400, retryable: false, jumio: "N00000",
                faceSDK: "INVALID_ARGS")
        case .tooManyPixels:
            failure(
                "IN044", "a part's image is larger than the pixel limits", status: 400, retryable: false,
                jumio: "N00000",
                faceSDK: "INVALID_ARGS")
        case .decryptionFailed:
            failure("IN120", "an encrypted part could not be decrypted", retryable: false, jumio: "N00000")
        case .decryptionKeyUnknown:
            failure("IN121", "this worker has no key for an encrypted part", retryable: true, jumio: "I00000")
        case .workflowNotImplemented:
            failure("IN045", "this version cannot run the workflow", retryable: false, jumio: "F00000", iZettle: -501)
        case .analyzerCrashed:
            failure(
                "IN050", "the analyzer process ended while it worked on the job", status: 503, retryable: true,
                jumio: "F00000")
        case .analyzerTimeout:
            failure(
                "IN051", "the analyzer did not answer within the stage's deadline", status: 503, retryable: true,
                jumio: "F00000")
        case .analyzerOutOfMemory:
            failure("IN052", "the analyzer exceeded its memory limit", status: 503, retryable: true, jumio: "F00000")
        case .analyzerUnavailable:
            failure("IN053", "no analyzer process could be started", status: 503, retryable: true, jumio: "F00000")
        case .modelUnavailable:
            failure(
                "IN054", "a model file is missing or damaged; run inspectd doctor", retryable: true, jumio: "F00000")
        case .vendorNotConfigured:
            failure(
                "IN060", "no liveness vendor's server is configured on this worker", retryable: false, jumio: "F00000")
        case .vendorUnreachable:
            failure("IN061", "the liveness vendor's server could not be reached", retryable: true, jumio: "A10000")
        case .vendorRefused:
            failure(
                "IN062", "the liveness vendor's server refused the request", retryable: false, jumio: "F00000",
                faceSDK: "LIVENESS_FAILED")
        case .vendorResponseInvalid:
            failure(
                "IN063", "the liveness vendor's server returned an undocumented response", retryable: false,
                jumio: "F00000", faceSDK: "LIVENESS_FAILED")
        case .vendorOutcomeUnknown:
            failure(
                "IN064", "the liveness vendor's server may have used the session, but its answer was lost",
                retryable: false, jumio: "F00000", faceSDK: "LIVENESS_FAILED")
        case .workerLost: failure("IN055", "the worker that held the job died", retryable: true, jumio: "F00000")
        case .leaseLost: failure("IN100", "the job's lease is lost", retryable: false, jumio: "F00000")
        case .attemptsExhausted:
            failure("IN056", "the job failed at every attempt", retryable: false, jumio: "F00000")
        case .cancelled:
            failure(
                "IN057", "the job was cancelled", retryable: false, jumio: "G00000", faceSDK: "ENROLL_CANCELLED")
        case .expired:
            failure(
                "IN058", "the job was not finished before its deadline", retryable: false, jumio: "J00000",
                faceSDK: "LIVENESS_FAILED")
        case .databaseUnavailable:
            failure("IN059", "the database could not be reached", status: 503, retryable: true, jumio: "A10000")
        case .keysUnavailable:
            failure(
                "IN150", "the key store, or the wrapping key's token or KMS, does not respond", status: 503,
                retryable: true,
                jumio: "A10000")
        case .objectStoreUnavailable:
            failure(
                "IN170", "the object store does not respond properly", status: 503, retryable: true, jumio: "A10000")
        case .objectMissing:
            failure("IN171", "the object store does not have a part of the job", retryable: false, jumio: "F00000")
        case .keyUnknown:
            failure(
                "IN151", "the key store has no such key: it was destroyed, or the key store is older than the data",
                status: 503, retryable: true,
                jumio: "F00000")
        case .keyDestroyed:
            failure(
                "IN159", "the key was destroyed to erase the data it sealed, which can never be opened again",
                status: 410,
                retryable: false, jumio: "F00000")
        case .sealBroken:
            failure(
                "IN152", "sealed bytes cannot be opened: they were changed, or belong to another key or row",
                retryable: false,
                jumio: "F00000")
        case .keyMissing:
            failure(
                "IN153", "a wrapping key or a key store is needed, and none is configured", status: 503,
                retryable: true,
                jumio: "F00000")
        case .keyMismatch:
            failure(
                "IN154", "the wrapping key or the key store is not the database's", status: 503,
                retryable: true,
                jumio: "F00000")
        case .keyFileInvalid:
            failure(
                "IN155", "the file of wrapping keys is not valid", retryable: false,
                jumio: "F00000")
        case .internalError: failure("IN099", "an unexpected error", status: 500, retryable: true, jumio: "F00000")

        case .egressRefused: network("IN070", "the server's address is one that the egress policy refuses")
        case .nameNotResolved: network("IN071", "the server's name could not be resolved", jumio: "E10000")
        case .connectionFailed: network("IN072", "no connection to the server could be made", jumio: "E10000")
        case .tlsFailed: network("IN073", "no TLS connection of version 1.2 or newer could be made", jumio: "B10000")
        case .certificateInvalid:
            network("IN074", "the server's certificate is not valid for its name", jumio: "B10000")
        case .pinMismatch: network("IN075", "the server's public key does not match a pinned one", jumio: "B10000")
        case .timedOut: network("IN076", "the server did not answer in time")
        case .responseTooLarge: network("IN077", "the server's answer exceeds its limit")
        case .responseBroken: network("IN078", "the server's answer is not valid HTTP, or was cut off")
        case .redirectRefused: network("IN079", "the server answered with a redirect, and none is followed")
        case .statusNotSuccess: network("IN080", "the server answered with a status that is not 2xx")
        case .endpointGone: failure("IN081", "the endpoint answered 410 Gone", retryable: false, jumio: "A10000")
        case .requestInvalid:
            refusal(
                "IN082", "the URL, a header or a key of the endpoint is not acceptable; nothing was sent", status: nil)
        case .localFault: network("IN083", "a fault on our side; the attempt is not counted")
        case .authorizationFailed:
            network("IN084", "the authorization provider gave no access token", iZettle: -501)
        case .clientIDInvalid:
            refusal(
                "IN085", "the authorization provider does not accept the client id or its credentials",
                jumio: "C00401", iZettle: -300)
        case .authorizationUnknown:
            refusal("IN185", "the partner has no authorization with that name", status: 404)
        case .attemptInterrupted: network("IN086", "the attempt was interrupted and will be repeated")
        case .endpointUnknown: refusal("IN087", "no endpoint has that number", status: 404)
        case .endpointDisabled: refusal("IN091", "the endpoint is paused or disabled", status: 409)
        case .callbackUnknown: refusal("IN092", "no callback has that webhook-id", status: 404)
        case .eventsOff:
            refusal(
                "IN093", "the partner has no endpoint whose events are pulled", status: 409,
                hint: "Ask an operator to give an endpoint the URL pull:.")
        case .eventsGone:
            refusal(
                "IN094", "events after the cursor are gone", status: 410,
                hint: "Begin again without after: all that is kept is returned, some of it again.")
        case .returnURLInvalid: refusal("IN095", "the return URL is not acceptable for this partner")
        case .linkUnknown: refusal("IN197", "no link has that token", status: 404)
        case .linkEnded:
            refusal(
                "IN198", "the link has expired, or was used", status: 410, hint: "Ask for another link.",
                jumio: "J00000")
        case .linkTaken:
            refusal(
                "IN199", "the link is in use in another browser", status: 409,
                hint: "Go on in the browser in which it was opened, or ask for another link.")
        case .endpointInvalid: refusal("IN088", "a setting of the endpoint is not acceptable")
        case .resultPurged: refusal("IN109", "the job's result was removed", status: 409)
        case .partnerKeyMissing: refusal("IN108", "the partner has registered no key", status: 404)
        case .partnerKeyInvalid:
            refusal(
                "IN107", "the key is not a public key that results can be encrypted for",
                hint:
                    "A key is a JWK without private members: RSA of 2048 to 4096 bits, or EC on P-256, P-384 or P-521.")
        }
    }
}
