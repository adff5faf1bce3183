/// What an AAMVA card's barcode says beside the fields that all documents have; what the issuer left blank is `nil`.
package struct CardDetails: Codable, Sendable, Hashable {
    package var suffix: String?
    package var vehicleClass: String?
    package var restrictions: String?
    package var endorsements: String?
    /// In the unit that the card has.
    package var heightInches: Int?
    package var heightCentimetres: Int?
    /// Code of ANSI D-20, and what it stands for.
    package var eyeColour: String?
    package var eyeColourName: String?
    package var hairColour: String?
    package var hairColourName: String?
    package var documentDiscriminator: String?
    package var inventoryControlNumber: String?
    package var cardRevisionDate: String?
    /// Whether the card complies with the REAL ID Act.
    package var isRealID: Bool?
    /// Whether the holder's stay is limited in time.
    package var isLimitedDuration: Bool?
    package var isOrganDonor: Bool?
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
