/// The data of an AAMVA card's barcode beyond the fields that all documents have. A field left blank is `nil`.
package struct CardDetails: Codable, Sendable, Hashable {
    /// Such as `JR`.
    package var suffix: String?
    /// The jurisdiction's own code.
    package var vehicleClass: String?
    /// The jurisdiction's own codes.
    package var restrictions: String?
    /// The jurisdiction's own codes.
    package var endorsements: String?
    /// In the unit that the card has.
    package var heightInches: Int?
    /// In the unit that the card has.
    package var heightCentimetres: Int?
    /// Code of ANSI D-20, and its meaning.
    package var eyeColour: String?
    /// In English; `nil` for a code that ANSI D-20 does not have.
    package var eyeColourName: String?
    /// Code of ANSI D-20.
    package var hairColour: String?
    /// In English; `nil` for a code that ANSI D-20 does not have.
    package var hairColourName: String?
    /// Distinguishes this card from the holder's other cards.
    package var documentDiscriminator: String?
    /// The serial number of the blank card.
    package var inventoryControlNumber: String?
    /// When this design of card was introduced, as `YYYY-MM-DD`.
    package var cardRevisionDate: String?
    /// Whether the card complies with the REAL ID Act.
    package var isRealID: Bool?
    /// Whether the holder's stay is limited in time.
    package var isLimitedDuration: Bool?
    /// `nil`: the card does not say.
    package var isOrganDonor: Bool?
    /// `nil`: the card does not say.
    package var isVeteran: Bool?

    package init(_ card: AAMVACard) {
        self.suffix = card.suffix
        self.vehicleClass = card.vehicleClass
        self.restrictions = card.restrictions
        self.endorsements = card.endorsements
        self.heightInches = card.heightInches
        self.heightCentimetres = card.heightCentimetres
        self.eyeColour = card.eyeColour
        self.eyeColourName = card.eyeColour.flatMap { Self.colours[$0.uppercased()] }
        self.hairColour = card.hairColour
        self.hairColourName = card.hairColour.flatMap { Self.colours[$0.uppercased()] }
        self.documentDiscriminator = card.documentDiscriminator
        self.inventoryControlNumber = card.inventoryControlNumber
        self.cardRevisionDate = card.cardRevisionDate?.iso8601
        self.isRealID = card.isCompliant
        self.isLimitedDuration = card.isLimitedDuration
        self.isOrganDonor = card.isOrganDonor
        self.isVeteran = card.isVeteran
    }

    /// Colours of eyes and hair (ANSI D-20); a code means the same in both.
    private static let colours: [String: String] = [
        "AUB": "red or auburn", "BAL": "bald", "BLK": "black", "BLN": "blond", "BLU": "blue", "BRO": "brown",
        "DIC": "of two colours", "GRN": "green", "GRY": "grey", "HAZ": "hazel", "MAR": "maroon", "PNK": "pink",
        "RED": "red or auburn", "SDY": "sandy", "UNK": "unknown", "WHI": "white",
    ]
}
