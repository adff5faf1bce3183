import Foundation
import InspectCore
import Testing

@Suite struct ChipDecisionTests {
    private let today = CalendarDate(year: 2026, month: 6, day: 1)
    private let passport = [
        "P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<", "L898902C36UTO7408122F3404159ZE184226B<<<<<16",
    ]

    private func authentication(
        _ change: (inout PassiveAuthenticationFacts) -> Void = { _ in }
    ) -> PassiveAuthenticationFacts {
        var facts = PassiveAuthenticationFacts()
        facts.sodParse = true
        facts.hashesOK = true
        facts.signatureOK = true
        facts.chainOK = true
        facts.periodOK = true
        facts.signer = CertificateFacts(
            country: "UT", notBefore: "2020-01-01", notAfter: "2035-01-01", sha256: "", key: "RSA 2048",
            hasExplicitParameters: false)
        change(&facts)
        return facts
    }

    private func side(_ lines: [String]?, confidence: Double = 1) -> DocumentFacts {
        let quad = Quad(
            topLeft: Point(x: 100, y: 100), topRight: Point(x: 1350, y: 100), bottomRight: Point(x: 1350, y: 980),
            bottomLeft: Point(x: 100, y: 980))
        return DocumentFacts(
            image: ImageFacts(format: .jpeg, width: 1500, height: 1100, orientation: 1),
            outline: OutlineFacts(quad: quad, aspectRatio: 1.42, cornersOutside: 0, support: 0.9),
            quality: QualityFacts(
                laplacianVariance: 300, edgeWidth: 2.5, brightness: 150, contrast: 50, glareShare: 0, chroma: 60,
                backgroundChroma: 40, documentWidth: 1250, printShare: 0.05, midtoneShare: 0.8, moire: 1.5),
            mrz: lines.map { lines in
                MRZReading(
                    lines: lines, confidences: lines.map { [Double](repeating: confidence, count: $0.utf8.count) },
                    quad: quad, pitch: 20, corrections: 0)
            },
            barcodes: [], faces: [])
    }

    private func decide(
        _ authentication: PassiveAuthenticationFacts, chip: [String]? = nil, print: [String]? = nil,
        confidence: Double = 1,
        workflow: Workflow = .id
    ) -> ResultDocument {
        var facts = InspectionFacts(
            request: InspectionRequest(workflow: workflow),
            parts: (print == nil ? [] : [.front]) + [.dg1, .sod])
        var sides: [String: DocumentFacts] = [:]
        if let print { sides["FRONT"] = self.side(print, confidence: confidence) }
        var documents = DocumentStageFacts(sides: sides)
        documents.chip = ChipFacts(authentication: authentication)
        documents.chip?.mrzLines = chip ?? self.passport
        facts.documents = documents
        return InspectionDecider(facts: facts, today: self.today).decide()
    }

    private func label(_ result: ResultDocument) -> String? {
        result.capabilities.dataChecks?.first?.decision.details.label
    }

    @Test func `A chip alone is a document`() throws {
        let result = self.decide(self.authentication())
        #expect(result.decision.type == .passed)
        let data = try #require(result.capabilities.extraction?.first?.data)
        #expect(data.extractionMethod == "CHIP")
        #expect(data.lastName == "ERIKSSON" && data.documentNumber == "L898902C3" && data.type == "PASSPORT")
        #expect(data.mrz == nil)
        #expect(data.chip?.dg1?.lines == self.passport)
        #expect(data.chip?.passiveAuthentication.status == "valid")
        #expect(result.capabilities.extraction?.first?.parts == ["DG1", "SOD"])
        #expect(self.label(result) == "OK")
    }

    @Test func `A failed check makes the chip invalid, an undetermined one inconclusive`() {
        let changes: [(inout PassiveAuthenticationFacts, Bool?) -> Void] = [
            { $0.sodParse = $1 }, { $0.hashesOK = $1 }, { $0.signatureOK = $1 }, { $0.chainOK = $1 },
        ]
        for change in changes {
            let failed = self.decide(self.authentication { change(&$0, false) })
            #expect(self.label(failed) == "NFC_CERTIFICATE")
            #expect(failed.decision.type == .rejected)
            let open = self.decide(self.authentication { change(&$0, nil) })
            #expect(open.capabilities.extraction?.first?.data?.chip?.passiveAuthentication.status == "inconclusive")
            #expect(
                open.capabilities.dataChecks?.first?.data?.checks.first { $0.name == "chipAuthentic" }?.outcome
                    == .inconclusive)
            // Nothing else proves it, and anybody can write such files.
            #expect(self.label(open) == "NFC_CERTIFICATE")
            #expect(open.decision.type == .warning && open.reasons.map(\.code) == [.chipNotAuthentic])
            let printed = self.decide(self.authentication { change(&$0, nil) }, print: self.passport)
            #expect(self.label(printed) == "OK")
        }
        let foreign = self.decide(self.authentication { $0.signer?.country = "DE" })
        #expect(foreign.capabilities.extraction?.first?.data?.chip?.passiveAuthentication.reason == "COUNTRY_MISMATCH")
        #expect(self.label(foreign) == "NFC_CERTIFICATE")
    }

    @Test func `A chip that no trust anchor can prove asks nothing of the person`() throws {
        for reason in [ChipReason.anchorsMissing, .anchorOfCountryMissing] {
            let result = self.decide(
                self.authentication {
                    $0.chainOK = nil
                    $0.reasons = [reason]
                })
            #expect(self.label(result) == "NFC_CERTIFICATE" && result.decision.type == .warning)
            #expect(result.reasons.map(\.code) == [.noTrustAnchor] && result.reasons.first?.part == "SOD")
            let advice = try #require(result.reasons.first?.advice)
            #expect(advice.contains("operator") && advice.contains("CSCA") && !advice.contains("again"))
        }
        // A chip that is wrong stays wrong.
        let wrong = self.decide(
            self.authentication {
                $0.hashesOK = false
                $0.reasons = [.dataGroupHashMismatch, .anchorsMissing]
            })
        #expect(wrong.reasons.map(\.code) == [.chipNotAuthentic])
    }

    @Test func `A chip alone is compared with the request's choice`() {
        func label(_ change: (inout InspectionRequest) -> Void) -> String? {
            var facts = InspectionFacts(request: InspectionRequest(workflow: .id), parts: [.dg1, .sod])
            change(&facts.request)
            var chip = ChipFacts(authentication: self.authentication())
            chip.mrzLines = self.passport
            facts.documents = DocumentStageFacts(sides: [:])
            facts.documents?.chip = chip
            return InspectionDecider(facts: facts, today: self.today).decide().capabilities.usability?.first?.decision
                .details.label
        }
        #expect(label { $0.countries = ["DEU"] } == "UNSUPPORTED_COUNTRY")
        #expect(label { $0.documentTypes = ["ID_CARD"] } == "UNSUPPORTED_DOCUMENT_TYPE")
        #expect(label { $0.countries = ["UTO"] } == nil)
    }

    @Test func `Where every check is inconclusive, nothing was checked`() throws {
        var facts = InspectionFacts(request: InspectionRequest(workflow: .id), parts: [.front])
        var side = self.side(nil)
        // A card without any date.
        let quad = try #require(side.outline?.quad)
        let text = "@\n\u{1E}\rANSI 636000100002DL00410278ZV03190008DLDAQT64235789\nDCSSAMPLE\n\r"
        side.barcodes = [BarcodeFacts(format: "PDF417", text: text, bytesHex: "", quad: quad)]
        facts.documents = DocumentStageFacts(sides: ["FRONT": side])
        let result = InspectionDecider(facts: facts, today: self.today, isGated: false).decide()
        let checks = try #require(result.capabilities.dataChecks?.first?.data?.checks)
        #expect(!checks.isEmpty && checks.allSatisfy { $0.outcome == .inconclusive }, "\(checks)")
        #expect(self.label(result) == "PRECONDITION_NOT_FULFILLED")
        #expect(result.capabilities.dataChecks?.first?.decision.type == .notExecuted)
    }

    @Test func `DG11 and DG12 fill what nothing else has, unless the chip is proven wrong`() {
        func data(_ change: (inout PassiveAuthenticationFacts) -> Void = { _ in }) -> ExtractionData {
            var facts = InspectionFacts(request: InspectionRequest(workflow: .id), parts: [.dg1, .dg11, .dg12, .sod])
            var chip = ChipFacts(authentication: self.authentication(change))
            chip.mrzLines = self.passport
            chip.signature = SignatureImages(count: 1)
            chip.person = PersonalDetails()
            chip.person?.placeOfBirth = ["ANYTOWN", "MN"]
            chip.person?.address = ["123 MAPLE RD", "ANYTOWN", "MN"]
            chip.person?.personalNumber = "1"
            chip.document = DocumentDetails()
            chip.document?.issuingAuthority = "ZENITH PASSPORT OFFICE"
            chip.document?.issuingDate = "2024-04-15"
            var documents = DocumentStageFacts(sides: [:])
            documents.chip = chip
            facts.documents = documents
            return ExtractionRules(facts: facts, today: self.today).data
        }
        let good = data()
        #expect(good.placeOfBirth == "ANYTOWN, MN" && good.address?.line1 == "123 MAPLE RD, ANYTOWN, MN")
        #expect(good.issuingAuthority == "ZENITH PASSPORT OFFICE" && good.issuingDate == "2024-04-15")
        // The MRZ has one of its own.
        #expect(good.personalNumber == "ZE184226B")
        #expect(good.chip?.dg7?.count == 1 && good.chip?.dg11?.address?.count == 3)
        let forged = data { $0.hashesOK = false }
        #expect(forged.placeOfBirth == nil && forged.issuingAuthority == nil && forged.address == nil)
        #expect(forged.chip?.dg12?.issuingDate == "2024-04-15")
    }

    @Test func `An expired signer's certificate is a warning`() {
        let expired = self.decide(
            self.authentication {
                $0.periodOK = false
                $0.reasons = [.expired]
            })
        #expect(self.label(expired) == "NFC_CERTIFICATE")
        #expect(expired.capabilities.dataChecks?.first?.decision.type == .warning)
        #expect(expired.decision.type == .warning)
    }

    @Test func `The chip and the printed MRZ must agree, where the MRZ was read with certainty`() throws {
        let other = [self.passport[0], self.passport[1].replacingOccurrences("7408122", "7408130")]
        let same = self.decide(self.authentication(), print: self.passport)
        #expect(self.label(same) == "OK")
        #expect(same.capabilities.extraction?.first?.data?.mrz?.part == "FRONT")
        let differing = self.decide(self.authentication(), chip: other, print: self.passport)
        let check = differing.capabilities.dataChecks?.first?.data?.checks.first { $0.name == "chipAgrees" }
        #expect(check?.outcome == .fail)
        #expect(check?.reason == "dateOfBirth")
        #expect(differing.capabilities.dataChecks?.first?.decision.type == .rejected)
        let unsure = self.decide(self.authentication(), chip: other, print: self.passport, confidence: 0.6)
        #expect(
            unsure.capabilities.dataChecks?.first?.data?.checks.first { $0.name == "chipAgrees" }?.outcome == .pass)
        let name = [self.passport[0].replacingOccurrences("MARIA", "MARTA"), self.passport[1]]
        #expect(
            self.label(self.decide(self.authentication(), chip: name, print: self.passport)) == "MISMATCHING_DATAPOINTS"
        )
    }

    @Test func `The result lists every check of the chip, including undetermined ones`() throws {
        let data = try #require(
            self.decide(self.authentication { $0.chainOK = nil }).capabilities.extraction?.first?.data?.chip)
        let text = String(decoding: try JSONEncoder().encode(data), as: UTF8.self)
        for check in ["\"sod_parse\":true", "\"dsc_chain_ok\":null", "\"country_match\":true"] {
            #expect(text.contains(check), "\(text)")
        }
    }
}

extension String {
    fileprivate func replacingOccurrences(_ old: String, _ new: String) -> String {
        self.split(separator: old, omittingEmptySubsequences: false).joined(separator: new)
    }
}
