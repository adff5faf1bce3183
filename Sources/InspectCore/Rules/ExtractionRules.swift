/// The extracted data, merged from the sources in this order: an authentic chip, the MRZ, whose check digits prove it, the
/// barcode.
package struct ExtractionRules {
    /// A source together with the part that it was found on.
    struct Source<Value> {
        var value: Value
        var part: String
    }

    let mrzs: [Source<MRZDocument>]
    let cards: [Source<AAMVACard>]
    /// The MRZ of DG1.
    let chipMRZ: MRZDocument?
    /// The judgement of passive authentication; `nil` without chip files.
    let chip: ChipRules?
    /// By part, the reader's confidence in every character of the MRZ.
    let confidences: [String: [[Double]]]
    /// The VIZ text of a side, and how it compares with the machine-readable data.
    let viz: VIZRecord?
    /// What was measured on the sides, the front first.
    let sides: [(part: String, facts: DocumentFacts)]
    let today: CalendarDate
    /// What was read, merged from all sources.
    package let data: ExtractionData

    /// Whether any machine-readable field was read: only these can be checked.
    var hasData: Bool { !self.mrzs.isEmpty || !self.cards.isEmpty || self.chipMRZ != nil }

    /// Extraction never rejects (Jumio, "Extraction"): it passes or is NOT_EXECUTED.
    package var decision: CapabilityDecision {
        self.hasData || self.data.extractionMethod != "NONE" ? .passed : .preconditionNotFulfilled
    }

    /// - Parameter today: Decides the century of birth dates.
    package init(facts: InspectionFacts, today: CalendarDate) {
        let sides = [PartKind.front, .back].compactMap { kind in
            facts.documents?.sides[kind.rawValue].map { (part: kind.rawValue, facts: $0) }
        }
        self.sides = sides
        self.today = today
        self.mrzs = sides.compactMap { side in
            side.facts.mrz.flatMap { MRZDocument(lines: $0.lines, today: today) }.map {
                Source(value: $0, part: side.part)
            }
        }
        let barcodes = sides.flatMap { side in side.facts.barcodes.map { Source(value: $0, part: side.part) } }
        self.cards = barcodes.compactMap { barcode in
            AAMVACard(barcode.value.text).map { Source(value: $0, part: barcode.part) }
        }

        self.confidences = Dictionary(
            uniqueKeysWithValues: sides.compactMap { side in
                side.facts.mrz.map { (side.part, $0.posteriors ?? $0.confidences) }
            })
        let chipFacts = facts.documents?.chip
        let chipMRZ = chipFacts?.mrzLines.flatMap { MRZDocument(lines: $0, today: today) }
        let chip = chipFacts.map { ChipRules($0.authentication, mrz: chipMRZ) }
        self.chipMRZ = chipMRZ
        self.chip = chip
        self.viz = VIZRecord(sides: sides, today: today)

        // Data that the state signed outranks the image; an unverified chip is still better than no source.
        let chipLeads = chipMRZ != nil && (chip?.status == .valid || self.mrzs.isEmpty)
        let bestMRZ = chipLeads ? chipMRZ : self.mrzs.first?.value
        let hasMachineReadable = !self.mrzs.isEmpty || !self.cards.isEmpty || chipMRZ != nil
        var data = ExtractionData(
            extractionMethod: chipLeads
                ? "CHIP" : !self.mrzs.isEmpty ? "MRZ" : !self.cards.isEmpty ? "BARCODE" : "NONE")
        if let card = self.cards.first { Self.fill(&data, from: card.value) }
        if let bestMRZ { Self.fill(&data, from: bestMRZ) }
        if let chipFacts, chip?.status == .valid || chip?.status == .inconclusive && self.mrzs.isEmpty {
            Self.fill(&data, from: chipFacts)
        }
        if let mrz = self.mrzs.first {
            data.mrz = ExtractionData.MRZRecord(
                format: mrz.value.format.rawValue, lines: mrz.value.lines, checks: mrz.value.checksByName,
                part: mrz.part)
            let lines = mrz.value.lines.map { Self.cut($0, 50) } + [nil, nil]
            (data.mrzLine1, data.mrzLine2, data.mrzLine3) = (lines[0], lines[1], lines[2])
            data.mrz?.uncertain =
                facts.documents?.sides[mrz.part]?.mrz.map {
                    MRZCertainty(mrz.value, reading: $0).uncertain.map(\.rawValue)
                } ?? []
        }
        // A barcode with card data outranks a stock label next to it.
        let card = barcodes.first { AAMVACard($0.value.text) != nil } ?? barcodes.first
        data.barcode = card.map { barcode in
            let card = AAMVACard(barcode.value.text)
            return ExtractionData.BarcodeRecord(
                format: barcode.value.format, text: barcode.value.text, bytesHex: barcode.value.bytesHex,
                fields: card?.elements.fields ?? [:], card: card.map { CardDetails($0) }, part: barcode.part)
        }
        data.rawBarcodeData = data.barcode.map { Self.cut($0.text, 50) }
        if let chipFacts, let chip { data.chip = ChipRecord(chipFacts, mrz: chipMRZ, rules: chip) }
        data.viz = self.viz
        if let viz { viz.fill(&data, isOnlySource: !hasMachineReadable) }
        if !hasMachineReadable && data.extractionMethod == "NONE" {
            data.reason =
                sides.contains { $0.facts.hasIllegibleZone == true }
                ? "MRZ_NOT_LEGIBLE: a part of the MRZ cannot be read"
                : barcodes.isEmpty
                    ? "NO_MACHINE_READABLE_DATA: neither an MRZ nor a barcode was found"
                    : "BARCODE_IS_NO_CARD: the barcode holds no AAMVA data"
        }
        data.scanMode = Self.scanModes[data.extractionMethod]
        self.data = data
    }

    static func fill(_ data: inout ExtractionData, from mrz: MRZDocument) {
        data.type = self.type(of: mrz)
        data.issuingCountry = self.country(mrz.issuingState)
        data.nationality = mrz.nationality.isEmpty ? data.nationality : self.country(mrz.nationality)
        data.lastName = mrz.surname.isEmpty ? data.lastName : self.cut(mrz.surname, 100)
        data.firstName = mrz.givenNames.isEmpty ? data.firstName : self.cut(mrz.givenNames, 100)
        data.documentNumber = mrz.documentNumber.isEmpty ? data.documentNumber : self.cut(mrz.documentNumber, 100)
        data.dateOfBirth = mrz.birthDate?.date?.iso8601 ?? data.dateOfBirth
        data.expiryDate = mrz.expiryDate?.date?.iso8601 ?? data.expiryDate
        data.personalNumber = (mrz.personalNumber ?? PersonalNumber.find(in: mrz)).flatMap {
            $0.isEmpty ? nil : self.cut($0, 14)
        }
        switch mrz.sex {
        case "M", "F": data.gender = mrz.sex
        // Doc 9303-3 §4: `<` stands for X, unspecified; some issuers print X itself.
        case "X", "": data.gender = mrz.format == .swissLicence || mrz.format == .frenchLicence ? data.gender : "X"
        default: break
        }
    }

    /// Values that only DG11 and DG12 have. Values longer than the contract allows are left out; the chip's record has them.
    static func fill(_ data: inout ExtractionData, from chip: ChipFacts) {
        data.personalNumber = data.personalNumber ?? chip.person?.personalNumber.flatMap { $0.count <= 14 ? $0 : nil }
        data.placeOfBirth =
            data.placeOfBirth ?? chip.person?.placeOfBirth.map { self.cut($0.joined(separator: ", "), 255) }
        data.issuingDate = data.issuingDate ?? chip.document?.issuingDate
        data.issuingAuthority = data.issuingAuthority ?? chip.document?.issuingAuthority.map { self.cut($0, 255) }
        // The chip does not say which part is the city, and a truncated part would be a different address.
        let line = chip.person?.address?.joined(separator: ", ")
        if data.address == nil, let line, line.count <= 64 {
            data.address = ExtractionData.Address()
            data.address?.line1 = line
        }
    }

    static func fill(_ data: inout ExtractionData, from card: AAMVACard) {
        data.type = card.kind == .drivingLicence ? "DRIVING_LICENSE" : "ID_CARD"
        data.issuingCountry = card.country
        data.lastName = card.surname.map { self.cut($0, 100) }
        data.firstName = card.givenNames.map { self.cut($0, 100) }
        data.documentNumber = card.documentNumber.map { self.cut($0, 100) }
        data.dateOfBirth = card.birthDate?.iso8601
        data.issuingDate = card.issueDate?.iso8601
        data.expiryDate = card.expiryDate?.iso8601
        data.gender = card.sex?.rawValue
        var address = ExtractionData.Address()
        address.line1 = card.street.map { self.cut($0, 64) }
        address.city = card.city.map { self.cut($0, 64) }
        address.subdivision = card.jurisdiction.map { self.cut($0, 3) }
        address.postalCode = card.postalCode.map { self.cut($0, 15) }
        address.country = card.country
        data.address = address
    }

    /// The mobile SDK's words for where data come from (Jumio.Scan.Mode).
    private static let scanModes = [
        "CHIP": "nfc", "MRZ": "mrz", "BARCODE": "barcode", "OCR": "lineFinder", "NONE": "manual",
    ]

    /// Maximum lengths are those of the contract (Jumio mobile SDK, class IDResult).
    private static func cut(_ text: String, _ length: Int) -> String { String(text.prefix(length)) }

    /// Germany prints `D` as state and nationality (Doc 9303-3 §5); everything else is passed on as printed.
    static func country(_ code: String) -> String { code == "D" ? "DEU" : code }

    /// Doc 9303-4 to -7: P passports, V visas, A, C and I cards; national layouts by their format.
    private static func type(of mrz: MRZDocument) -> String {
        switch mrz.format {
        case .frenchLicence, .swissLicence: return "DRIVING_LICENSE"
        case .mrva, .mrvb: return "VISA"
        case .td1, .td2, .td3, .frenchID: break
        }
        switch mrz.documentCode.first {
        case "P": return "PASSPORT"
        case "V": return "VISA"
        case "A", "C", "I": return "ID_CARD"
        case "D": return "DRIVING_LICENSE"
        default: return "UNSUPPORTED"
        }
    }
}
