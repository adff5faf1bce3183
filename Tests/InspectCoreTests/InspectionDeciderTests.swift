import InspectCore
import Testing

@Suite struct InspectionDeciderTests {
    private let today = CalendarDate(year: 2026, month: 6, day: 1)
    /// ICAO Doc 9303-4's specimen with a date of expiry in the future; its check digits hold.
    private let passport = [
        "P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<", "L898902C36UTO7408122F3404159ZE184226B<<<<<16",
    ]

    private func side(_ lines: [String]? = nil, barcode: String? = nil, brightness: Double = 150) -> DocumentFacts {
        let quad = Quad(
            topLeft: Point(x: 100, y: 100), topRight: Point(x: 1350, y: 100), bottomRight: Point(x: 1350, y: 980),
            bottomLeft: Point(x: 100, y: 980))
        return DocumentFacts(
            image: ImageFacts(format: .jpeg, width: 1500, height: 1100, orientation: 1),
            outline: OutlineFacts(quad: quad, aspectRatio: 1.42, cornersOutside: 0, support: 0.9),
            quality: QualityFacts(
                laplacianVariance: 300, edgeWidth: 2.5, brightness: brightness, contrast: brightness < 50 ? 10 : 50,
                glareShare: 0, chroma: 60, backgroundChroma: 40, documentWidth: 1250, printShare: 0.05,
                midtoneShare: 0.8, moire: 1.5),
            mrz: lines.map {
                MRZReading(lines: $0, confidences: [], quad: quad, pitch: 20, corrections: 0)
            },
            barcodes: barcode.map { [BarcodeFacts(format: "PDF417", text: $0, bytesHex: "", quad: quad)] } ?? [],
            faces: [])
    }

    private func decide(
        _ sides: [PartKind: DocumentFacts], workflow: Workflow = .id, isGated: Bool = true,
        change: (inout InspectionRequest) -> Void = { _ in }
    ) -> ResultDocument {
        var request = InspectionRequest(workflow: workflow)
        change(&request)
        var facts = InspectionFacts(request: request, parts: Array(sides.keys))
        facts.documents = DocumentStageFacts(
            sides: Dictionary(uniqueKeysWithValues: sides.map { ($0.key.rawValue, $0.value) }))
        return InspectionDecider(facts: facts, today: self.today, isGated: isGated).decide()
    }

    @Test func `A good passport passes every capability`() throws {
        let result = self.decide([.front: self.side(self.passport)])
        #expect(result.decision == Decision(.passed, "PASSED", risk: 0))
        let data = try #require(result.capabilities.extraction?.first?.data)
        #expect(data.type == "PASSPORT")
        #expect(data.lastName == "ERIKSSON")
        #expect(data.firstName == "ANNA MARIA")
        #expect(data.documentNumber == "L898902C3")
        #expect(data.dateOfBirth == "1974-08-12")
        #expect(data.expiryDate == "2034-04-15")
        #expect(data.mrz?.checks.values.contains(false) == false)
        #expect(result.capabilities.similarity == nil)
    }

    @Test func `An identity without a face is not verified`() {
        let result = self.decide([.front: self.side(self.passport)], workflow: .idIdentity)
        #expect(result.capabilities.similarity?.first?.decision.details.label == "PRECONDITION_NOT_FULFILLED")
        #expect(result.capabilities.liveness?.first?.decision.type == .notExecuted)
        #expect(result.decision.type == .warning)
    }

    @Test func `A document without readable data does not pass`() {
        let result = self.decide([.front: self.side()])
        #expect(result.capabilities.extraction?.first?.decision.type == .notExecuted)
        #expect(result.capabilities.extraction?.first?.data?.reason?.hasPrefix("NO_MACHINE_READABLE_DATA") == true)
        #expect(result.decision.type == .warning)
    }

    @Test func `A rejection closes the gate, and only the gate`() {
        let dark = [PartKind.front: self.side(self.passport, brightness: 30)]
        let shut = self.decide(dark)
        #expect(shut.decision.type == .rejected)
        #expect(shut.rejectReasons == [RejectReason(.notReadable, part: "FRONT")])
        #expect(shut.capabilities.extraction?.first?.decision.details.label == "PRECONDITION_NOT_FULFILLED")
        #expect(shut.capabilities.extraction?.first?.data == nil)
        let open = self.decide(dark, isGated: false)
        #expect(open.decision.type == .rejected)
        #expect(open.capabilities.extraction?.first?.data?.documentNumber == "L898902C3")
    }

    @Test func `A wrong check digit is rejected with the characters as printed`() {
        var lines = self.passport
        lines[1].replaceSubrange(lines[1].startIndex...lines[1].startIndex, with: "M")
        let result = self.decide([.front: self.side(lines)])
        #expect(result.capabilities.dataChecks?.first?.decision.details.label == "MRZ_CHECKSUM")
        #expect(result.capabilities.extraction?.first?.data?.mrz?.lines == lines)
        #expect(result.capabilities.extraction?.first?.data?.mrz?.checks["documentNumber"] == false)
    }

    @Test func `An expired document warns`() {
        let expired = [self.passport[0], "L898902C36UTO7408122F1204159ZE184226B<<<<<10"]
        let result = self.decide([.front: self.side(expired)])
        #expect(
            result.capabilities.dataChecks?.first?.decision.details.label == "DOCUMENT_EXPIRY_WITHIN_CONFIGURED_LIMIT")
        #expect(result.decision.type == .warning)
    }

    @Test func `The client's choice of country, type and size is compared with the extracted data`() {
        let sides = [PartKind.front: self.side(self.passport)]
        func label(_ change: (inout InspectionRequest) -> Void) -> String? {
            self.decide(sides, change: change).capabilities.usability?.first?.decision.details.label
        }
        #expect(label { $0.countries = ["DEU"] } == "UNSUPPORTED_COUNTRY")
        #expect(label { $0.documentTypes = ["ID_CARD"] } == "UNSUPPORTED_DOCUMENT_TYPE")
        #expect(label { $0.documentFormat = .td1 } == "UNSUPPORTED_DOCUMENT_TYPE")
        #expect(
            label {
                $0.countries = ["UTO"]
                $0.documentTypes = ["PASSPORT"]
                $0.documentFormat = .td3
            } == "OK")
    }

    @Test func `A choice that cannot be compared is a warning with its reason`() throws {
        func result(_ side: DocumentFacts, _ change: (inout InspectionRequest) -> Void) -> ResultDocument {
            self.decide([.front: side], change: change)
        }
        let country = result(self.side()) { $0.countries = ["DEU"] }
        #expect(country.capabilities.usability?.first?.decision == Decision(.warning, "COUNTRY_UNDETERMINED"))
        #expect(country.reasons.first?.code == .countryUndetermined && country.reasons.first?.part == "FRONT")
        let type = result(self.side()) { $0.documentTypes = ["PASSPORT"] }
        #expect(type.capabilities.usability?.first?.decision == Decision(.warning, "DOCUMENT_TYPE_UNDETERMINED"))
        #expect(type.reasons.first?.code == .documentTypeUndetermined)
        // What is known to be wrong outranks what is unknown.
        let other = "@\n\u{1E}\rANSI 636000100002DL00410278ZV03190008DLDAQD12345678\nDBB08121974\nDBA04152034\n\r"
        let licence = self.decide([.front: self.side(), .back: self.side(barcode: other)]) {
            $0.countries = ["DEU"]
            $0.documentTypes = ["PASSPORT"]
        }
        #expect(licence.capabilities.usability?.first?.decision.type == .warning)
        #expect(licence.capabilities.usability?.first?.decision.details.label.hasPrefix("UNSUPPORTED_") == true)
        #expect(result(self.side()) { _ in }.capabilities.usability?.first?.decision.details.label == "OK")
    }

    @Test func `A warning says what did not run, and of which part, with advice that helps`() throws {
        func reasons(_ sides: [PartKind: DocumentFacts], _ workflow: Workflow = .id) -> [String] {
            self.decide(sides, workflow: workflow).reasons.map { "\($0.code.rawValue) \($0.part ?? "-")" }
        }
        var infrared = self.side(self.passport)
        infrared.image.isGrey = true
        infrared.quality.chroma = 0
        #expect(reasons([.front: infrared]) == ["NO_COLOURS FRONT"])
        var small = self.side(self.passport)
        small.quality.moire = nil
        #expect(reasons([.front: small]) == ["TOO_FEW_PIXELS FRONT"])
        var glare = self.side()
        glare.hasIllegibleZone = true
        #expect(reasons([.front: glare]) == ["MRZ_NOT_LEGIBLE FRONT"])
        #expect(reasons([.front: self.side()]) == ["NO_MACHINE_READABLE_DATA FRONT"])
        let unread = reasons([.front: self.side(), .back: self.side(brightness: 140)])
        #expect(unread.count == 1 && unread.first?.hasPrefix("NO_MACHINE_READABLE_DATA ") == true, "\(unread)")
        // A card's front, by its portrait.
        var front = self.side()
        front.faces = [Sample.face()]
        #expect(reasons([.front: front]) == ["BACK_NOT_SENT BACK", "NO_MACHINE_READABLE_DATA FRONT"])
        #expect(reasons([.front: self.side(self.passport)], .idIdentity) == ["NO_SELFIE FACE"])
        let advice = self.decide([.front: infrared]).reasons.first?.advice
        #expect(advice == "Photograph the document in colour.")
        // After a rejection, what did not run is no reason of its own.
        #expect(reasons([.front: self.side(self.passport, brightness: 30)]) == ["NOT_READABLE FRONT"])
    }

    @Test func `A passport without its MRZ is unreadable, a card without its back lacks it`() {
        let passport = self.decide([.front: self.side()]) { $0.documentFormat = .td3 }
        #expect(passport.rejectReasons.map(\.code) == [200])
        let card = self.decide([.front: self.side()]) { $0.documentFormat = .td1 }
        #expect(card.rejectReasons.map(\.code) == [206])
    }

    @Test func `Sources that contradict each other are rejected`() {
        let other = "@\n\u{1E}\rANSI 636000100002DL00410278ZV03190008DLDAQD12345678\nDBB08121974\nDBA04152034\n\r"
        let result = self.decide([.front: self.side(self.passport), .back: self.side(barcode: other)])
        #expect(result.capabilities.imageChecks?.last?.decision.details.label == "MISMATCH_FRONT_BACK")
        #expect(result.capabilities.imageChecks?.last?.data?.reason == "documentNumber")
        let open = self.decide(
            [.front: self.side(self.passport), .back: self.side(barcode: other)], isGated: false)
        #expect(open.capabilities.dataChecks?.first?.decision.details.label == "MISMATCHING_DATAPOINTS")
        #expect(
            open.capabilities.dataChecks?.first?.data?.checks.first { $0.name == "sourcesAgree" }?.reason
                == "documentNumber")
    }

    @Test func `Stages that cannot change the outcome are left out`() {
        var facts = InspectionFacts(
            request: InspectionRequest(workflow: .idIdentity), parts: [.front, .face])
        facts.documents = DocumentStageFacts(sides: ["FRONT": self.side(self.passport, brightness: 30)])
        #expect(!InspectionDecider(facts: facts, today: self.today).needs(.face))
        #expect(InspectionDecider(facts: facts, today: self.today, isGated: false).needs(.face))
        facts.documents = DocumentStageFacts(sides: ["FRONT": self.side(self.passport)])
        let decider = InspectionDecider(facts: facts, today: self.today)
        #expect(decider.needs(.face))
        // Liveness runs only where a conforming face was found.
        #expect(!decider.needs(.liveness))
    }

    @Test func `A pass by passive signals is marked, and excuses no failed challenge or bad frames`() throws {
        let image = ImageFacts(format: .jpeg, width: 640, height: 480, orientation: 1)
        let box = Box(x: 10, y: 10, width: 100, height: 100)
        func frame(_ x: Double) -> CaptureFacts.Frame {
            let skin = LinearColour(red: 0.2, green: 0.2, blue: 0.2)
            return CaptureFacts.Frame(
                face: CaptureFacts.Face(
                    box: box, landmarks: Array(repeating: Point(x: x, y: 50), count: 5), eyeOpening: 0.3,
                    mouthOpening: 0, mouthWidth: 0.8, yaw: 0, noseDrop: 0.5, eyeDistance: 60, forehead: skin,
                    cheeks: skin, nose: skin, background: skin, saturated: 0))
        }
        func liveness(
            suffices: Bool, frames: [CaptureFacts.Frame]? = nil, distance: Double = 0.2, challenge: Bool = false
        ) throws -> (DecisionType, LivenessData) {
            var request = InspectionRequest(workflow: .liveness)
            request.passiveSignalsSuffice = suffices
            if challenge {
                request.challenge = LivenessChallenge(steps: [.nod])
            }
            var facts = InspectionFacts(request: request, parts: frames == nil ? [.face] : [.face, .frames])
            facts.faces = FaceStageFacts(
                images: ["FACE": FaceStageFacts.Image(image: image, faces: [Sample.face()])])
            let signals = LivenessFacts.Signal.allCases.map { ($0.rawValue, 0.1) }
            facts.liveness = LivenessStageFacts(
                passive: LivenessFacts(
                    signals: Dictionary(uniqueKeysWithValues: signals), metadata: ImageMetadata()),
                capture: frames.map { frames in
                    CaptureFacts(
                        width: 640, height: 480, frames: frames,
                        keyFrames: [0, 1].map {
                            CaptureFacts.KeyFrame(index: $0, distance: 0, distanceToFace: distance)
                        })
                })
            let result = InspectionDecider(facts: facts, today: self.today).decide()
            let record = try #require(result.capabilities.liveness?.first)
            return (record.decision.type, try #require(record.data))
        }
        let off = try liveness(suffices: false)
        #expect(off.0 == .warning && off.1.passiveSignalsSuffice == nil && off.1.findings == [])
        let on = try liveness(suffices: true)
        #expect(on.0 == .passed && on.1.passiveSignalsSuffice == true && on.1.assurance == "evidence")
        let moving = (0..<12).map { frame(50 + Double($0)) }
        #expect(try liveness(suffices: true, frames: moving).0 == .passed)
        #expect(try liveness(suffices: false, frames: moving).0 == .warning)
        let still = Array(repeating: frame(50), count: 12)
        #expect(try liveness(suffices: true, frames: still).0 == .warning)
        let empty = Array(repeating: CaptureFacts.Frame(face: nil), count: 12)
        #expect(try liveness(suffices: true, frames: empty).0 == .warning)
        // Between the limits: neither the same person nor another for certain.
        #expect(try liveness(suffices: true, frames: moving, distance: 0.58).0 == .warning)
        #expect(try liveness(suffices: true, frames: moving, distance: 0.7).0 == .rejected)
        let challenged = try liveness(suffices: true, frames: moving, challenge: true)
        #expect(challenged.0 != .passed && challenged.1.assurance == "challenge")
    }
}
