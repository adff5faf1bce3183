/// The data extracted from the document: the fields of Jumio's retrieval API, and their sources.
package struct ExtractionData: Codable, Sendable {
    /// PASSPORT, DRIVING_LICENSE, ID_CARD, VISA or UNSUPPORTED.
    package var type: String?
    /// ISO 3166-1 alpha-3, or a code of ICAO Doc 9303-3 section 5.
    package var issuingCountry: String?
    package var firstName: String?
    package var lastName: String?
    /// `YYYY-MM-DD`; unknown parts of a date of birth leave the whole date out.
    package var dateOfBirth: String?
    package var placeOfBirth: String?
    package var issuingDate: String?
    package var issuingAuthority: String?
    package var expiryDate: String?
    package var documentNumber: String?
    package var personalNumber: String?
    package var nationality: String?
    /// M, F or X.
    var gender: String?
    package var address: Address?
    /// Of a driving licence, as printed.
    package var categories: String?
    /// The MRZ's lines as printed.
    package var mrzLine1: String?
    package var mrzLine2: String?
    package var mrzLine3: String?
    /// The beginning of the barcode's text; ``barcode`` has all of it.
    package var rawBarcodeData: String?
    package var mrz: MRZRecord?
    package var barcode: BarcodeRecord?
    package var chip: ChipRecord?
    /// The VIZ text beside the machine-readable data; `nil` where it was not read.
    package var viz: VIZRecord?
    /// CHIP, MRZ, BARCODE, OCR (VIZ text alone, which nothing proves) or NONE.
    package var extractionMethod: String
    /// The same in the words of the mobile SDK (Jumio.Scan.Mode): `nfc`, `mrz`, `barcode`, `lineFinder` or `manual`.
    package var scanMode: String?
    /// Why nothing was read; `nil` if something was.
    package var reason: String?

    package struct Address: Codable, Sendable {
        package var line1: String?
        package var city: String?
        var subdivision: String?
        package var postalCode: String?
        package var country: String?

        package init() {}

        /// A printed address, cut at no field's length: a part that is too long is left out.
        init(_ printed: VIZAddress) {
            self.line1 = printed.street.flatMap { $0.count <= 64 ? $0 : nil }
            self.city = printed.city.flatMap { $0.count <= 64 ? $0 : nil }
            self.subdivision = printed.subdivision
            self.postalCode = printed.postalCode.flatMap { $0.count <= 15 ? $0 : nil }
        }
    }

    package struct MRZRecord: Codable, Sendable {
        /// TD1, TD2, TD3, MRVA, MRVB, …
        package var format: String
        package var lines: [String]
        /// Check digit to whether it holds, as printed.
        package var checks: [String: Bool]
        package var part: String
        /// Fields that are not certain: a character was hard to read, or a check digit that covers it fails. The values given
        /// are the likeliest. Every other field that the MRZ has is certain.
        package var uncertain: [String] = []
    }

    package struct BarcodeRecord: Codable, Sendable {
        package var format: String
        package var text: String
        package var bytesHex: String
        /// AAMVA element id to value; empty when the content is no AAMVA data.
        package var fields: [String: String]
        /// The elements that no field of ``ExtractionData`` has, by name; `nil` when the content is no AAMVA data.
        package var card: CardDetails?
        package var part: String
    }
}
