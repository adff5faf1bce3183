/// What was read from the document: the fields of Jumio's retrieval API, and the sources that they came from.
public struct ExtractionData: Codable, Sendable {
    /// PASSPORT, DRIVING_LICENSE, ID_CARD, VISA or UNSUPPORTED.
    public var type: String?
    /// ISO 3166-1 alpha-3, or a code of ICAO Doc 9303-3 section 5.
    public var issuingCountry: String?
    public var firstName: String?
    public var lastName: String?
    /// `YYYY-MM-DD`; unknown parts of a date of birth leave the whole date out.
    public var dateOfBirth: String?
    public var issuingDate: String?
    public var expiryDate: String?
    public var documentNumber: String?
    public var personalNumber: String?
    public var nationality: String?
    /// M, F or X.
    public var gender: String?
    public var address: Address?
    public var mrz: MRZRecord?
    public var barcode: BarcodeRecord?
    public var chip: ChipRecord?
    /// The print beside the machine-readable data; `nil` where it was not read.
    public var visualZone: VisualZoneRecord?
    /// CHIP, MRZ, BARCODE, OCR (the print alone, which nothing proves) or NONE.
    public var extractionMethod: String
    /// Why nothing was read, if nothing was.
    public var reason: String?

    public init(extractionMethod: String) {
        self.extractionMethod = extractionMethod
    }

    public struct Address: Codable, Sendable {
        public var line1: String?
        public var city: String?
        public var subdivision: String?
        public var postalCode: String?
        public var country: String?

        public init() {}
    }

    public struct MRZRecord: Codable, Sendable {
        /// TD1, TD2, TD3, MRVA, MRVB, …
        public var format: String
        public var lines: [String]
        /// Check digit to whether it holds, as printed.
        public var checks: [String: Bool]
        public var part: String
        /// Fields that are not certain: a character was hard to read, or a check digit that covers it fails. The values given
        /// are the likeliest. Every other field that the zone has is certain.
        public var uncertain: [String] = []

        public init(format: String, lines: [String], checks: [String: Bool], part: String) {
            self.format = format
            self.lines = lines
            self.checks = checks
            self.part = part
        }
    }

    public struct BarcodeRecord: Codable, Sendable {
        public var format: String
        public var text: String
        public var bytesHex: String
        /// AAMVA element id to value; empty when the content is no AAMVA data.
        public var fields: [String: String]
        public var part: String

        public init(format: String, text: String, bytesHex: String, fields: [String: String], part: String) {
            self.format = format
            self.text = text
            self.bytesHex = bytesHex
            self.fields = fields
            self.part = part
        }
    }
}
