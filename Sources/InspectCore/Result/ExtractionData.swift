/// The data extracted from the document: the fields of Jumio's retrieval API, and their sources.
package struct ExtractionData: Codable, Sendable {
    /// PASSPORT, DRIVING_LICENSE, ID_CARD, VISA or UNSUPPORTED.
    package var type: String?
    /// ISO 3166-1 alpha-3, or a code of ICAO Doc 9303-3 section 5.
    package var issuingCountry: String?
    /// All given names, those of the MRZ if it has any; at most 100 characters.
    package var firstName: String?
    /// That of the MRZ if it has one; at most 100 characters.
    package var lastName: String?
    /// `YYYY-MM-DD`; unknown parts of a date of birth leave the whole date out.
    package var dateOfBirth: String?
    /// As printed, or as DG11 or DG12 has it.
    package var placeOfBirth: String?
    /// `YYYY-MM-DD`.
    package var issuingDate: String?
    /// As printed, or as DG11 or DG12 has it.
    package var issuingAuthority: String?
    /// `YYYY-MM-DD`.
    package var expiryDate: String?
    /// Without fillers and blanks at its ends.
    package var documentNumber: String?
    /// The number that the issuing state gave the person.
    package var personalNumber: String?
    /// ISO 3166-1 alpha-3, or a code of ICAO Doc 9303-3 section 5.
    package var nationality: String?
    /// M, F or X.
    var gender: String?
    /// Of a barcode, or of DG11 in one line.
    package var address: Address?
    /// Of a driving licence, as printed.
    package var categories: String?
    /// The MRZ's lines as printed.
    package var mrzLine1: String?
    /// `nil` if there is no second line.
    package var mrzLine2: String?
    /// Of TD1 only.
    package var mrzLine3: String?
    /// The beginning of the barcode's text; ``barcode`` has all of it.
    package var rawBarcodeData: String?
    /// The MRZ as read; `nil`: none was read.
    package var mrz: MRZRecord?
    /// The barcode as read; `nil`: none was read.
    package var barcode: BarcodeRecord?
    /// `nil`: the job has no chip files.
    package var chip: ChipRecord?
    /// The VIZ text, compared with the machine-readable data; `nil` if it was not read.
    package var viz: VIZRecord?
    /// CHIP, MRZ, BARCODE, OCR (VIZ text alone, which nothing proves) or NONE.
    package var extractionMethod: String
    /// The same in the words of the mobile SDK (Jumio.Scan.Mode): `nfc`, `mrz`, `barcode`, `lineFinder` or `manual`.
    package var scanMode: String?
    /// Why nothing was read; `nil` if something was.
    package var reason: String?

    /// An address, as far as its parts can be distinguished.
    package struct Address: Codable, Sendable {
        /// Street and number, or the whole address; at most 64 characters.
        package var line1: String?
        /// At most 64 characters.
        package var city: String?
        var subdivision: String?
        /// As the source writes it.
        package var postalCode: String?
        /// ISO 3166-1 alpha-3.
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

    /// An MRZ as read.
    package struct MRZRecord: Codable, Sendable {
        /// TD1, TD2, TD3, MRVA, MRVB, …
        package var format: String
        /// A–Z, 0–9 and `<` only.
        package var lines: [String]
        /// Check digit to whether it holds, as printed.
        package var checks: [String: Bool]
        /// The part that it was read from.
        package var part: String
        /// Fields that are not certain: a character was hard to read, or a check digit that covers it fails. The values given
        /// are the likeliest. Every other field that the MRZ has is certain.
        package var uncertain: [String] = []
    }

    /// A barcode as read.
    package struct BarcodeRecord: Codable, Sendable {
        /// `PDF417`, `QR_CODE`, `DATA_MATRIX` or `AZTEC`.
        package var format: String
        /// With U+0000 replaced by U+FFFD; ``bytesHex`` is exact.
        package var text: String
        /// The raw bytes in lower-case hexadecimal.
        package var bytesHex: String
        /// AAMVA element id to value; empty if the content is not AAMVA data.
        package var fields: [String: String]
        /// The elements that no field of ``ExtractionData`` has, by name; `nil` if the content is not AAMVA data.
        package var card: CardDetails?
        /// The part that it was read from.
        package var part: String
    }
}
