/// The images of DG7 (ICAO Doc 9303-10 §4.7.7): the holder's signature or mark, as the document shows it.
package struct SignatureImages: Codable, Sendable, Hashable {
    /// How many there are; `nil` if DG7 is unreadable.
    package var count: Int?
    /// Why DG7 could not be read.
    package var reason: String?

    package init(count: Int? = nil, reason: String? = nil) {
        self.count = count
        self.reason = reason
    }
}

/// The holder's details in DG11, beyond the MRZ (ICAO Doc 9303-10 §4.7.11). Every member is optional there.
package struct PersonalDetails: Codable, Sendable, Hashable {
    /// In the characters of the issuing state: primary identifier, a comma, secondary identifier.
    package var fullName: String?
    /// Each as ``fullName``.
    package var otherNames: [String]?
    /// In the form of the issuing state.
    package var personalNumber: String?
    /// `YYYY-MM-DD`.
    package var dateOfBirth: String?
    /// From the place to the region and the state, as far as given.
    package var placeOfBirth: [String]?
    /// The permanent address, part by part.
    package var address: [String]?
    /// As it stands there.
    package var telephone: String?
    /// As it stands there.
    package var profession: String?
    /// As it stands there.
    package var title: String?
    /// As it stands there.
    package var personalSummary: String?
    /// Numbers of other valid travel documents.
    package var otherDocumentNumbers: [String]?
    /// Text on the custody of the holder.
    package var custody: String?
    /// Whether it holds an image of a proof of citizenship.
    package var hasProofOfCitizenship: Bool?
    /// Why DG11 could not be read.
    package var reason: String?

    package init(reason: String? = nil) { self.reason = reason }
}

/// The document's details in DG12, beyond the MRZ (ICAO Doc 9303-10 §4.7.12). Every member is optional there.
package struct DocumentDetails: Codable, Sendable, Hashable {
    /// As it stands there.
    package var issuingAuthority: String?
    /// `YYYY-MM-DD`.
    package var issuingDate: String?
    /// Names of other persons on the document.
    package var otherPersons: [String]?
    /// Endorsements and observations.
    package var endorsements: String?
    /// As it stands there.
    package var taxOrExitRequirements: String?
    /// When the document was personalised, as `YYYY-MM-DDThh:mm:ss` of an unknown time zone.
    package var personalizedAt: String?
    /// Serial number of the system that personalised the document.
    package var personalizationSystem: String?
    /// Whether it holds an image of the document's front, or of its rear.
    package var hasFrontImage: Bool?
    /// Of the rear.
    package var hasRearImage: Bool?
    /// Why DG12 could not be read.
    package var reason: String?

    package init(reason: String? = nil) { self.reason = reason }
}
