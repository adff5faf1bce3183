/// What the chip held, and whether it is as the issuing state signed it.
public struct ChipRecord: Codable, Sendable {
    /// DG1, or why it could not be read; absent when it was not given.
    public var dg1: DG1?
    /// The portrait's picture, or why there is none; absent when DG2 was not given.
    public var dg2: DG2?
    public var passiveAuthentication: PassiveAuthentication

    /// The machine-readable zone on the chip.
    public struct DG1: Codable, Sendable {
        public var format: String?
        public var lines: [String]?
        /// Check digit to whether it holds.
        public var checks: [String: Bool]?
        public var documentNumber: String?
        public var firstName: String?
        public var lastName: String?
        public var dateOfBirth: String?
        public var expiryDate: String?
        public var issuingCountry: String?
        public var nationality: String?
        public var reason: String?

        init(_ zone: MRZDocument) {
            func text(_ value: String) -> String? { value.isEmpty ? nil : value }
            self.format = zone.format.rawValue
            self.lines = zone.lines
            self.checks = zone.checksByName
            self.documentNumber = text(zone.documentNumber)
            self.firstName = text(zone.givenNames)
            self.lastName = text(zone.surname)
            self.dateOfBirth = zone.birthDate?.date?.iso8601
            self.expiryDate = zone.expiryDate?.date?.iso8601
            self.issuingCountry = ExtractionRules.country(zone.issuingState)
            self.nationality = text(ExtractionRules.country(zone.nationality))
        }

        init(reason: String) { self.reason = reason }
    }

    /// The portrait on the chip; its faces are among the result's `faces`.
    public struct DG2: Codable, Sendable {
        public var image: ImageFacts?
        public var reason: String?
    }

    /// Passive authentication (ICAO Doc 9303-11 §5.1).
    public struct PassiveAuthentication: Codable, Sendable {
        /// `valid`, `invalid` or `inconclusive`.
        public var status: String
        /// The weightiest of ``reasons``.
        public var reason: String?
        /// Why it is not valid: names of ``ChipReason``.
        public var reasons: [String]
        public var checks: Checks
        /// What is wrong or unknown about the bytes.
        public var detail: String?
        /// `DG1` and the like to whether its hash is the signed one.
        public var dataGroups: [String: Bool]
        public var digestAlgorithm: String?
        public var signatureAlgorithm: String?
        public var ldsVersion: String?
        /// When the signer says that it signed.
        public var signedOn: String?
        public var signer: CertificateFacts?
        public var authority: CertificateFacts?
        public var revocation: String
        /// What deviates from the standards and was accepted.
        public var deviations: [String]
        public var trustAnchors: Int
        public var trustAnchorNotes: [String]

        init(_ facts: PassiveAuthenticationFacts, _ rules: ChipRules) {
            self.status = rules.status.rawValue
            self.reason = rules.reasons.first?.rawValue
            self.reasons = rules.reasons.map(\.rawValue)
            self.checks = Checks(facts, rules)
            self.detail = facts.detail
            self.dataGroups = Dictionary(uniqueKeysWithValues: facts.dataGroups.map { ("DG\($0.key)", $0.value) })
            self.digestAlgorithm = facts.digestAlgorithm
            self.signatureAlgorithm = facts.signatureAlgorithm
            self.ldsVersion = facts.ldsVersion
            self.signedOn = facts.signedOn
            self.signer = facts.signer
            self.authority = facts.authority
            self.revocation = facts.revocation
            self.deviations = facts.deviations
            self.trustAnchors = facts.anchors
            self.trustAnchorNotes = facts.anchorNotes
        }
    }

    /// The six checks, each `true`, `false`, or `null` for what could not be told.
    public struct Checks: Codable, Sendable, Hashable {
        public var sodParse: Bool?
        public var hashesOK: Bool?
        public var signatureOK: Bool?
        public var chainOK: Bool?
        public var validPeriod: Bool?
        public var countryMatch: Bool?

        enum CodingKeys: String, CodingKey {
            case sodParse = "sod_parse"
            case hashesOK = "dg_hashes_ok"
            case signatureOK = "sod_signature_ok"
            case chainOK = "dsc_chain_ok"
            case validPeriod = "dsc_valid_period"
            case countryMatch = "country_match"
        }

        init(_ facts: PassiveAuthenticationFacts, _ rules: ChipRules) {
            self.sodParse = facts.sodParse
            self.hashesOK = facts.hashesOK
            self.signatureOK = facts.signatureOK
            self.chainOK = facts.chainOK
            self.validPeriod = facts.periodOK
            self.countryMatch = rules.countryMatch
        }

        public func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            // A check that is left out would look like one that was never meant to be made.
            try container.encode(self.sodParse, forKey: .sodParse)
            try container.encode(self.hashesOK, forKey: .hashesOK)
            try container.encode(self.signatureOK, forKey: .signatureOK)
            try container.encode(self.chainOK, forKey: .chainOK)
            try container.encode(self.validPeriod, forKey: .validPeriod)
            try container.encode(self.countryMatch, forKey: .countryMatch)
        }
    }

    init(_ facts: ChipFacts, zone: MRZDocument?, rules: ChipRules) {
        self.dg1 = zone.map { DG1($0) } ?? facts.dg1Problem.map { DG1(reason: $0) }
        if facts.portrait != nil || facts.dg2Problem != nil {
            self.dg2 = DG2(image: facts.portrait?.image, reason: facts.dg2Problem)
        }
        self.passiveAuthentication = PassiveAuthentication(facts.authentication, rules)
    }
}
