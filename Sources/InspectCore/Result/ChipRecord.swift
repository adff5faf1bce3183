/// The chip's contents and their passive authentication.
package struct ChipRecord: Codable, Sendable {
    /// DG1, or why it is unreadable; absent when it was not given.
    package var dg1: DG1?
    /// The portrait's image, or why there is none; absent when DG2 was not given.
    package var dg2: DG2?
    /// The signature's images, or why they are unreadable; absent when DG7 was not given. The same applies to DG11 and DG12.
    package var dg7: SignatureImages?
    /// Absent when DG11 was not given.
    package var dg11: PersonalDetails?
    /// Absent when DG12 was not given.
    package var dg12: DocumentDetails?
    /// Whether the data is what a state signed.
    package var passiveAuthentication: PassiveAuthentication

    /// The MRZ on the chip.
    package struct DG1: Codable, Sendable {
        /// TD1, TD2, TD3; `nil`: DG1 cannot be read.
        package var format: String?
        /// The MRZ's lines.
        package var lines: [String]?
        /// Check digit to whether it holds.
        package var checks: [String: Bool]?
        /// As ``MRZDocument/documentNumber``.
        package var documentNumber: String?
        /// The secondary identifier, as in the MRZ.
        package var firstName: String?
        /// The primary identifier, as in the MRZ.
        package var lastName: String?
        /// `YYYY-MM-DD`; unknown parts leave the whole date out.
        package var dateOfBirth: String?
        /// `YYYY-MM-DD`.
        package var expiryDate: String?
        var issuingCountry: String?
        /// ISO 3166-1 alpha-3, or a code of ICAO Doc 9303-3 section 5.
        package var nationality: String?
        /// Why DG1 cannot be read.
        package var reason: String?

        init(_ mrz: MRZDocument) {
            func text(_ value: String) -> String? { value.isEmpty ? nil : value }
            self.format = mrz.format.rawValue
            self.lines = mrz.lines
            self.checks = mrz.checksByName
            self.documentNumber = text(mrz.documentNumber)
            self.firstName = text(mrz.givenNames)
            self.lastName = text(mrz.surname)
            self.dateOfBirth = mrz.birthDate?.date?.iso8601
            self.expiryDate = mrz.expiryDate?.date?.iso8601
            self.issuingCountry = ExtractionRules.country(mrz.issuingState)
            self.nationality = text(ExtractionRules.country(mrz.nationality))
        }

        init(reason: String) { self.reason = reason }
    }

    /// The portrait on the chip; its faces are among the result's `faces`.
    package struct DG2: Codable, Sendable {
        /// How the image was decoded.
        package var image: ImageFacts?
        /// Why there is no readable portrait.
        package var reason: String?
    }

    /// Passive authentication (ICAO Doc 9303-11 §5.1).
    package struct PassiveAuthentication: Codable, Sendable {
        /// `valid`, `invalid` or `inconclusive`.
        package var status: String
        /// The most serious of ``reasons``.
        package var reason: String?
        /// Why it is not valid: names of ``ChipReason``.
        package var reasons: [String]
        /// What was checked, and the outcome.
        package var checks: Checks
        /// What is wrong or unknown about the bytes.
        package var detail: String?
        /// `DG1` and the like to whether its hash is the signed one.
        package var dataGroups: [String: Bool]
        /// Of the hashes that EF.SOD lists.
        package var digestAlgorithm: String?
        /// With which EF.SOD is signed.
        package var signatureAlgorithm: String?
        /// Four digits, such as `0108`.
        package var ldsVersion: String?
        /// Signing time that the signer states.
        package var signedOn: String?
        /// The document signer's certificate.
        package var signer: CertificateFacts?
        /// The CSCA certificate at the end of the path.
        package var authority: CertificateFacts?
        /// `notChecked`, `good`, `revoked` or `outdated`.
        package var revocation: String
        /// Deviations from the standards that were accepted.
        package var deviations: [String]
        /// Number of CSCA certificates that were available.
        package var trustAnchors: Int
        var trustAnchorNotes: [String]

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

    /// The six checks, each `true`, `false`, or `null` if undetermined.
    package struct Checks: Codable, Sendable, Hashable {
        /// EF.SOD can be parsed.
        package var sodParse: Bool?
        /// As ``PassiveAuthenticationFacts/hashesOK``.
        package var hashesOK: Bool?
        /// As ``PassiveAuthenticationFacts/signatureOK``.
        package var signatureOK: Bool?
        /// As ``PassiveAuthenticationFacts/chainOK``.
        package var chainOK: Bool?
        var validPeriod: Bool?
        /// The signer's country is that of the MRZ.
        package var countryMatch: Bool?

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

        package func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            // An omitted check would look as if it did not exist.
            try container.encode(self.sodParse, forKey: .sodParse)
            try container.encode(self.hashesOK, forKey: .hashesOK)
            try container.encode(self.signatureOK, forKey: .signatureOK)
            try container.encode(self.chainOK, forKey: .chainOK)
            try container.encode(self.validPeriod, forKey: .validPeriod)
            try container.encode(self.countryMatch, forKey: .countryMatch)
        }
    }

    init(_ facts: ChipFacts, mrz: MRZDocument?, rules: ChipRules) {
        self.dg1 = mrz.map { DG1($0) } ?? facts.dg1Problem.map { DG1(reason: $0) }
        if facts.portrait != nil || facts.dg2Problem != nil {
            self.dg2 = DG2(image: facts.portrait?.image, reason: facts.dg2Problem)
        }
        self.dg7 = facts.signature
        self.dg11 = facts.person
        self.dg12 = facts.document
        self.passiveAuthentication = PassiveAuthentication(facts.authentication, rules)
    }
}
