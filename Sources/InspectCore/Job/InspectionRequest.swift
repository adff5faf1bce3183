/// A job's request without its parts: the members of the payload that control the decision.
package struct InspectionRequest: Codable, Sendable, Equatable {
    /// Decides which capabilities run and which parts are required.
    package var workflow: Workflow
    /// TD1, TD2 or TD3 if the client chose one; decides the expected proportions and whether a back side is due.
    package var documentFormat: DocumentFormat?
    /// Accepted document types; empty accepts all.
    package var documentTypes: [String]
    /// Accepted issuing countries, ISO 3166-1 alpha-3; empty accepts all.
    package var countries: [String]
    /// The partner's name for the face that is enrolled or authenticated: exactly one, as faces are compared 1:1 only.
    package var faceID: String?
    /// Similarity from which faces match, 0–1; `nil`: the default.
    package var threshold: Double?
    /// The challenge that the frames answer, as the database issued it.
    package var challenge: LivenessChallenge?
    /// Whether passive signals without a finding pass liveness. The partner's setting: the database writes it into the
    /// payload, and no client can set it.
    package var passiveSignalsSuffice = false
    /// Whether it is a job of a test credential, whose parts are ``TestSpecimen``s. Written by the database as well.
    package var isTest = false
    /// Whether it is a session of the gateway, which further blobs may continue. Written by the database as well.
    package var isSession = false
    /// Whether a document is scanned in the session once liveness is proven. Written by the database as well.
    package var scansDocument = false
    /// The partner's decision policy; `nil`: it has none.
    package var decisionPolicy: DecisionPolicy?

    package init(
        workflow: Workflow, documentFormat: DocumentFormat? = nil, documentTypes: [String] = [],
        countries: [String] = [], faceID: String? = nil, threshold: Double? = nil, challenge: LivenessChallenge? = nil
    ) {
        self.workflow = workflow
        self.documentFormat = documentFormat
        self.documentTypes = documentTypes
        self.countries = countries
        self.faceID = faceID
        self.threshold = threshold
        self.challenge = challenge
    }

    enum CodingKeys: String, CodingKey {
        case workflow, documentFormat, documentTypes, countries, threshold, challenge, passiveSignalsSuffice
        case decisionPolicy
        case faceID = "faceId"
        case isTest = "test"
        case isSession = "session"
        case scansDocument = "documentScan"
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.workflow = try container.decode(Workflow.self, forKey: .workflow)
        self.documentFormat = try container.decodeIfPresent(DocumentFormat.self, forKey: .documentFormat)
        self.documentTypes = try container.decodeIfPresent([String].self, forKey: .documentTypes) ?? []
        self.countries = try container.decodeIfPresent([String].self, forKey: .countries) ?? []
        self.faceID = try container.decodeIfPresent(String.self, forKey: .faceID)
        self.threshold = try container.decodeIfPresent(Double.self, forKey: .threshold)
        self.challenge = try container.decodeIfPresent(LivenessChallenge.self, forKey: .challenge)
        self.passiveSignalsSuffice = try container.decodeIfPresent(Bool.self, forKey: .passiveSignalsSuffice) ?? false
        self.isTest = try container.decodeIfPresent(Bool.self, forKey: .isTest) ?? false
        self.isSession = try container.decodeIfPresent(Bool.self, forKey: .isSession) ?? false
        self.scansDocument = try container.decodeIfPresent(Bool.self, forKey: .scansDocument) ?? false
        self.decisionPolicy = try container.decodeIfPresent(DecisionPolicy.self, forKey: .decisionPolicy)
    }
}

/// Size of a travel document (ICAO Doc 9303-3 §3; ISO/IEC 7810 ID-1, ID-2, ID-3).
package enum DocumentFormat: String, Codable, Sendable, CaseIterable {
    case td1 = "TD1"
    case td2 = "TD2"
    case td3 = "TD3"
}
