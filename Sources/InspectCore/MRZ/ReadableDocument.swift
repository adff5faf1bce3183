/// A kind of document that can be read, and the place of its data.
package struct ReadableDocument: Encodable, Sendable, Hashable {
    /// As in ``ExtractionData/type``.
    package var type: String
    /// `MRZ` or `BARCODE`.
    package var source: String
    /// Of the MRZ (``MRZFormat``), or `AAMVA` for a PDF417 symbol of the AAMVA card design standard.
    package var format: String
    /// Where it is printed.
    package var sides: [PartKind]
    /// ISO 3166-1 alpha-3; `nil`: every issuing state of ICAO Doc 9303-3, section 5.
    package var countries: [String]?

    /// Every document that some rule reads, for the gateway's list.
    package static let all =
        MRZFormat.allCases.flatMap { format in
            format.documents.map {
                ReadableDocument(
                    type: $0.type, source: "MRZ", format: format.rawValue, sides: $0.sides,
                    countries: format.issuer.map { [$0] })
            }
        }
        + ["DRIVING_LICENSE", "ID_CARD"].map {
            ReadableDocument(
                type: $0, source: "BARCODE", format: "AAMVA", sides: [.back], countries: ["USA", "CAN"])
        }
}

extension MRZFormat {
    /// The types of document that bear it, each with the side where its part of Doc 9303 puts it.
    fileprivate var documents: [(type: String, sides: [PartKind])] {
        switch self {
        case .td1: [("ID_CARD", [.back]), ("DRIVING_LICENSE", [.back])]
        case .td2: [("ID_CARD", [.front, .back])]
        case .td3: [("PASSPORT", [.front])]
        case .mrva, .mrvb: [("VISA", [.front])]
        case .frenchID: [("ID_CARD", [.front])]
        case .frenchLicence, .swissLicence: [("DRIVING_LICENSE", [.back])]
        }
    }

    /// The only state that issues it.
    fileprivate var issuer: String? {
        switch self {
        case .frenchID, .frenchLicence: "FRA"
        case .swissLicence: "CHE"
        case .td1, .td2, .td3, .mrva, .mrvb: nil
        }
    }
}
