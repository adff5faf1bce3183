import Testing

@testable import InspectCore

/// Sides, sources and dates of one document against each other.
@Suite struct CrossCheckTests {
    private let today = CalendarDate(year: 2026, month: 6, day: 1)
    /// ICAO Doc 9303-4's specimen with a date of expiry in the future.
    private let passport = [
        "P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<", "L898902C36UTO7408122F3404159ZE184226B<<<<<16",
    ]
    private let card = [
        "I<UTOD231458907<<<<<<<<<<<<<<<", "7408122F3404159UTO<<<<<<<<<<<2", "ERIKSSON<<ANNA<MARIA<<<<<<<<<<",
    ]

    private func side(_ lines: [String]? = nil, print: [String]? = nil, barcode: String? = nil) -> DocumentFacts {
        let quad = Quad(
            topLeft: Point(x: 100, y: 100), topRight: Point(x: 1350, y: 100), bottomRight: Point(x: 1350, y: 890),
            bottomLeft: Point(x: 100, y: 890))
        let visual = print.map { texts in
            VIZFacts(
                lines: texts.enumerated().map { index, text in
                    VIZLine(
                        text: text, confidences: [Double](repeating: 0.99, count: text.count), quad: quad,
                        place: Box(x: 0.4, y: 0.05 * Double(index), width: 0.2, height: 0.02), height: 0.02,
                        isConfirmed: true)
                }, found: texts.count, modelSHA256: "")
        }
        return DocumentFacts(
            image: ImageFacts(format: .jpeg, width: 1500, height: 1000, orientation: 1),
            outline: OutlineFacts(quad: quad, aspectRatio: 1.58, cornersOutside: 0, support: 0.9),
            quality: QualityFacts(
                laplacianVariance: 300, edgeWidth: 2.5, brightness: 150, contrast: 50, glareShare: 0, chroma: 60,
                backgroundChroma: 40, documentWidth: 1250, printShare: 0.05, midtoneShare: 0.8, moire: 1.5),
            mrz: lines.map { MRZReading(lines: $0, confidences: [], quad: quad, pitch: 20, corrections: 0) },
            barcodes: barcode.map { [BarcodeFacts(format: "PDF417", text: $0, bytesHex: "", quad: quad)] } ?? [],
            faces: [], viz: visual)
    }

    private func decide(_ sides: [PartKind: DocumentFacts]) -> ResultDocument {
        var facts = InspectionFacts(
            request: InspectionRequest(workflow: .id), parts: [.front, .back].filter { sides[$0] != nil })
        facts.documents = DocumentStageFacts(
            sides: Dictionary(uniqueKeysWithValues: sides.map { ($0.key.rawValue, $0.value) }))
        return InspectionDecider(facts: facts, today: self.today).decide()
    }

    private let print = ["ERIKSSON", "ANNA MARIA", "12 AUG 1974", "15 APR 2034", "D23145890"]

    @Test func `A front that shows what the back's MRZ says is of the same card`() throws {
        let result = self.decide([.front: self.side(print: self.print), .back: self.side(self.card)])
        let sides = try #require(result.capabilities.imageChecks?.last)
        #expect(sides.parts == ["FRONT", "BACK"] && sides.decision.type == .passed)
        #expect(result.decision.type == .passed)
        let record = try #require(result.capabilities.extraction?.first?.data?.viz)
        #expect(record.comparedWith == "BACK" && record.fields.allSatisfy { $0.comparison == .agrees })
    }

    @Test func `A passport's page and a card's back are two documents, even with one number`() throws {
        let back = [
            "I<UTOL898902C36<<<<<<<<<<<<<<<", "7408122F3404159UTO<<<<<<<<<<<4", "ERIKSSON<<ANNA<MARIA<<<<<<<<<<",
        ]
        let sides = try #require(
            self.decide([.front: self.side(self.passport), .back: self.side(back)]).capabilities.imageChecks?.last)
        #expect(sides.decision == Decision(.rejected, "MISMATCH_FRONT_BACK"))
        #expect(sides.data?.reason == "type")
    }

    @Test func `Nobody is asked for the back of what bears its data on the front alone`() {
        func reasons(_ texts: [String], emblem: String? = nil) -> [String] {
            var front = self.side(print: texts)
            front.viz?.emblem = emblem.flatMap { self.side(print: [$0]).viz?.lines.first }
            front.faces = [Sample.face()]
            return self.decide([.front: front]).reasons.map { "\($0.code.rawValue) \($0.part ?? "-")" }
        }
        let licence = [
            "1. ERIKSSON", "2. ANNA MARIA", "3. 12.08.1974", "4a. 01.02.2024 4c. KOELN", "4b. 01.02.2034", "5. B072",
        ]
        #expect(reasons(["FÜHRERSCHEIN"] + licence) == ["NO_MACHINE_READABLE_DATA FRONT"])
        #expect(reasons(["PASSPORT", "ERIKSSON", "ANNA MARIA"]) == ["MRZ_NOT_LEGIBLE FRONT"])
        #expect(reasons(["IDENTITY CARD"]).contains("BACK_NOT_SENT BACK"))
        // Identity cards bear the EU emblem too.
        #expect(reasons(["IDENTITY CARD"], emblem: "PL").contains("BACK_NOT_SENT BACK"))
    }

    @Test func `A front with another number is of another card`() throws {
        let result = self.decide([
            .front: self.side(print: self.print.dropLast() + ["D23145880"]), .back: self.side(self.card),
        ])
        let sides = try #require(result.capabilities.imageChecks?.last)
        #expect(sides.decision == Decision(.rejected, "MISMATCH_FRONT_BACK"))
        #expect(sides.data?.reason == "documentNumber")
        #expect(result.decision.type == .rejected)
    }

    @Test func `A front of which nothing agrees with the back's MRZ is of another holder's card`() throws {
        let other = ["NOWAK", "ZOFIA", "03 FEB 1991", "09 JAN 2033", "ZS1234567"]
        let result = self.decide([.front: self.side(print: other), .back: self.side(self.card)])
        let sides = try #require(result.capabilities.imageChecks?.last)
        #expect(sides.decision == Decision(.rejected, "MISMATCH_FRONT_BACK"))
        #expect(sides.data?.reason == "dateOfBirth, expiryDate")
        // One date alone may be misread, or be the date of issue; text without dates says nothing.
        let silent = [["NOWAK", "03 FEB 1991"], ["1 NOWAK", "2 ZOFIA"], ["NOWAK", "03 FEB 1991", "12 AUG 1974"]]
        for print in silent {
            let result = self.decide([.front: self.side(print: print), .back: self.side(self.card)])
            #expect(result.capabilities.imageChecks?.last?.decision.type != .rejected)
        }
    }

    @Test func `A front that shares a name or a day with the back's MRZ may still be another holder's`() {
        func decision(_ print: [String]) -> Decision? {
            self.decide([.front: self.side(print: print), .back: self.side(self.card)]).capabilities.imageChecks?.last?
                .decision
        }
        let warning = Decision(.warning, "MISMATCH_FRONT_BACK")
        let rest = ["3 03.02.1991", "4b 09.01.2033", "5 ZS1234567"]
        #expect(decision(["1 ERIKSSON", "2 ZOFIA"] + rest) == warning)
        #expect(decision(["1 NOWAK", "2 ANNA MARIA"] + rest) == warning)
        #expect(decision(["1 ERIKSSON", "2 ANNA MARIA"] + rest) == Decision(.rejected, "MISMATCH_FRONT_BACK"))
        #expect(decision(["1 NOWAK", "2 ZOFIA", "3 03.02.1991", "4b 15.04.2034", "5 ZS1234567"]) == warning)
        #expect(decision(["1 NOWAK", "2 ZOFIA", "3 12.08.1974", "4b 09.01.2033", "5 ZS1234567"]) == warning)
        #expect(decision(["ERIKSSON", "03 FEB 1991", "09 JAN 2033"]) == warning)
        // One value that was misread proves nothing.
        let own = ["1 ERIKSSON", "2 ANNA MARIA", "3 12.08.1974", "4b 15.04.2034"]
        #expect(decision(own + ["5 D23145890"])?.type == .passed)
        #expect(decision(["1 ERIKSS0N"] + own.dropFirst())?.type == .passed)
        #expect(decision(["ERIKSSON", "12 AUG 1974", "09 JAN 2024"])?.type == .passed)
    }

    @Test func `Much print that shows nothing of the back's MRZ warns`() {
        let labels = ["UTOPIA", "Surname", "Given names", "Nationality", "Date of birth", "Expiry", "Document No."]
        func label(_ print: [String]) -> Decision? {
            self.decide([.front: self.side(print: print), .back: self.side(self.card)]).capabilities.imageChecks?.last?
                .decision
        }
        #expect(label(labels + ["ZS1234567"]) == Decision(.warning, "MISMATCH_FRONT_BACK"))
        #expect(label(labels + ["UTO"])?.type == .notExecuted)
        #expect(label(["Surname", "ZS1234567"])?.type == .notExecuted)
        #expect(label(labels + ["ZS1234567", "ANNA MARIA"])?.type == .passed)
    }

    @Test func `An MRZ on each side must be the same holder's`() throws {
        let result = self.decide([.front: self.side(self.passport), .back: self.side(self.card)])
        #expect(result.capabilities.imageChecks?.last?.decision.details.label == "MISMATCH_FRONT_BACK")
    }

    @Test func `Sides that cannot be compared are reported and change no decision`() throws {
        let result = self.decide([.front: self.side(), .back: self.side(self.card)])
        let sides = try #require(result.capabilities.imageChecks?.last)
        #expect(sides.decision.type == .notExecuted)
        #expect(sides.data?.notAssessed == ["MISMATCH_FRONT_BACK"])
        #expect(result.decision.type == .passed)
    }

    @Test func `VIZ text that contradicts the MRZ of its page rejects the data`() throws {
        let print = ["ERIKSSON", "ANNA MARIA", "12 AUG 1974", "15 APR 2034", "L898702C3"]
        let result = self.decide([.front: self.side(self.passport, print: print)])
        #expect(result.capabilities.dataChecks?.first?.decision == Decision(.rejected, "MISMATCH_HRZ_MRZ_DATA"))
        let check = result.capabilities.dataChecks?.first?.data?.checks.first { $0.name == "vizAgrees" }
        #expect(check?.outcome == .fail && check?.reason == "documentNumber")
    }

    @Test func `A VIZ name with a letter that the MRZ lacks is a warning`() {
        let print = self.print.dropLast() + ["L898902C3", "Surname / Nom", "VERIKSSON"]
        var front = self.side(self.passport, print: Array(print))
        for (index, height) in [(5, 0.01), (6, 0.02)] {
            front.viz?.lines[index].height = height
            front.viz?.lines[index].place = Box(x: 0.4, y: 0.6 + height, width: 0.2, height: height)
        }
        front.viz?.lines[5].place.y = 0.6
        let result = self.decide([.front: front])
        #expect(result.capabilities.dataChecks?.first?.decision == Decision(.warning, "MISMATCH_HRZ_MRZ_DATA"))
        let check = result.capabilities.dataChecks?.first?.data?.checks.first { $0.name == "vizAgrees" }
        #expect(check?.outcome == .inconclusive && check?.reason == "contradicts without certainty: lastName")
    }

    @Test func `A birth whose day is unknown fails no check`() {
        func calendar(_ birth: String, last: Int) -> DataCheckData.Check? {
            let second = "L898902C36UTO\(birth)F3404159ZE184226B<<<<<1\(last)"
            let result = self.decide([.front: self.side([self.passport[0], second])])
            return result.capabilities.dataChecks?.first?.data?.checks.first { $0.name == "calendar" }
        }
        let unknown = calendar("6500007", last: 0)
        #expect(unknown?.outcome == .inconclusive && unknown?.reason == "the day is unknown: birthDate")
        #expect(calendar("7402290", last: 2)?.outcome == .fail)
    }

    @Test func `A specimen word warns, and without VIZ text it is not checked`() {
        let sample = self.decide([.front: self.side(self.passport, print: self.print + ["SPECIMEN"])])
        #expect(sample.capabilities.imageChecks?.first?.decision == Decision(.warning, "SAMPLE"))
        #expect(sample.decision.type == .warning)
        let unread = self.decide([.front: self.side(self.passport)])
        #expect(unread.capabilities.imageChecks?.first?.data?.notAssessed.contains("SAMPLE") == true)
        #expect(
            unread.capabilities.dataChecks?.first?.data?.checks.first { $0.name == "vizAgrees" }?.outcome
                == .inconclusive)
    }

    @Test func `Dates that no document can have are not plausible`() {
        func card(birth: String, issue: String, expiry: String) -> ResultDocument {
            let body =
                "DLDAQT64235789\nDCSERIKSSON\nDACANNA\nDBB\(birth)\nDBD\(issue)\nDBA\(expiry)\nDBC2\nDCGUSA\nDAJVA\n\r"
            let text = "@\n\u{1E}\rANSI 636000100001DL0031\(String(10_000 + body.count).dropFirst())" + body
            return self.decide([.back: self.side(barcode: text)])
        }
        func outcome(_ result: ResultDocument) -> DataCheckData.Outcome? {
            result.capabilities.dataChecks?.first?.data?.checks.first { $0.name == "datesPlausible" }?.outcome
        }
        #expect(outcome(card(birth: "08121974", issue: "04162024", expiry: "04152034")) == .pass)
        #expect(outcome(card(birth: "08122027", issue: "04162024", expiry: "04152034")) == .fail)
        #expect(outcome(card(birth: "08121874", issue: "04162024", expiry: "04152034")) == .fail)
        #expect(outcome(card(birth: "08121974", issue: "04162027", expiry: "04152034")) == .fail)
        #expect(outcome(card(birth: "08121974", issue: "04162024", expiry: "04152023")) == .fail)
    }
}
