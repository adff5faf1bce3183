import InspectCore
import Testing

/// Faces as the rules see them.
enum Sample {
    static let quality = FaceQuality(
        interEyeDistance: 100, roll: 0, yawOffset: 0, luminanceMean: 0.3, luminanceVariance: 0.02, overExposed: 0,
        underExposed: 0.05, illuminationUniformity: 0.7, dynamicRange: 7, chroma: 25, sharpness: 200, centreX: 0.5,
        eyeLineY: 0.6, headWidth: 0.5, visible: 1)

    static func face(
        width: Double = 250, score: Double = 1.5, embedding: FaceEmbedding? = FaceEmbeddingTests.embedding(),
        _ edit: (inout FaceQuality) -> Void = { _ in }
    ) -> FaceFacts {
        var quality = Self.quality
        edit(&quality)
        return FaceFacts(
            box: Box(x: 100, y: 100, width: width, height: width), landmarks: [], detectionScore: score,
            quality: quality, embedding: embedding)
    }

    /// An embedding at distance 0.7 from the typical one.
    static let stranger = FaceEmbeddingTests.embedding { $0[0] += 0.7 }
}

struct FaceConformityTests {
    @Test func `An ordinary selfie conforms`() {
        #expect(FaceConformity(faces: [Sample.face()]).isConform)
    }

    @Test(
        arguments: [
            (FaceConformity.Fault.tooSmall, \FaceQuality.interEyeDistance, 44.0),
            (.notFullyVisible, \.visible, 0.6), (.offCentre, \.centreX, 0.1), (.offCentre, \.eyeLineY, 0.1),
            (.tilted, \.roll, -40), (.turned, \.yawOffset, -0.3), (.tooDark, \.luminanceMean, 0.005),
            (.tooDark, \.underExposed, 0.95), (.tooDark, \.dynamicRange, 2), (.tooBright, \.luminanceMean, 0.9),
            (.tooBright, \.overExposed, 0.4), (.blurred, \.sharpness, 5),
        ] as [(FaceConformity.Fault, WritableKeyPath<FaceQuality, Double> & Sendable, Double)])
    func `Each fault of a face has its name`(
        fault: FaceConformity.Fault, measure: WritableKeyPath<FaceQuality, Double> & Sendable, value: Double
    ) {
        let conformity = FaceConformity(faces: [Sample.face { $0[keyPath: measure] = value }])
        #expect(conformity.faults == [fault])
    }

    @Test func `Dark skin in a dim room is not too dark`() {
        let face = Sample.face {
            $0.luminanceMean = 0.03
            $0.underExposed = 0.8
            $0.dynamicRange = 5
        }
        #expect(FaceConformity(faces: [face]).isConform)
    }

    @Test func `Several people are a fault, passers-by are not`() {
        #expect(FaceConformity(faces: []).faults == [.noFace])
        #expect(FaceConformity(faces: [Sample.face(), Sample.face(width: 150)]).faults == [.severalFaces])
        #expect(FaceConformity(faces: [Sample.face(), Sample.face(width: 60)]).isConform)
        #expect(FaceConformity(faces: [Sample.face(), Sample.face(width: 150, score: 0.1)]).isConform)
    }
}

struct SimilarityRulesTests {
    private func outcome(
        portrait: [FaceFacts], selfie: [FaceFacts]
    ) throws -> (type: DecisionType, label: String, obstacle: SimilarityRules.Obstacle?) {
        let outcome = try SimilarityRules.decide(portrait: portrait, selfie: selfie)
        #expect((outcome.match == nil) == (outcome.obstacle != nil))
        return (outcome.decision.type, outcome.decision.label, outcome.obstacle)
    }

    @Test func `A match passes and another person is rejected`() throws {
        let same = try self.outcome(portrait: [Sample.face()], selfie: [Sample.face()])
        #expect(same == (.passed, "MATCH", nil))
        let other = try self.outcome(portrait: [Sample.face()], selfie: [Sample.face(embedding: Sample.stranger)])
        #expect(other == (.rejected, "NO_MATCH", nil))
    }

    @Test func `A ghost image on the document does not matter`() throws {
        let document = [Sample.face(), Sample.face(width: 120, embedding: nil)]
        #expect(try self.outcome(portrait: document, selfie: [Sample.face()]) == (.passed, "MATCH", nil))
    }

    @Test func `Two people in the selfie are rejected`() throws {
        let selfie = [Sample.face(), Sample.face(width: 200, embedding: nil)]
        #expect(try self.outcome(portrait: [Sample.face()], selfie: selfie) == (.rejected, "NO_MATCH", .severalPeople))
    }

    @Test func `Faces that cannot be compared give the reason`() throws {
        let small = Sample.face { $0.interEyeDistance = 12 }
        #expect(try self.outcome(portrait: [], selfie: [Sample.face()]) == (.warning, "NOT_POSSIBLE", .noPortrait))
        #expect(try self.outcome(portrait: [Sample.face()], selfie: []) == (.warning, "NOT_POSSIBLE", .noFace))
        #expect(
            try self.outcome(portrait: [small], selfie: [Sample.face()])
                == (.warning, "NOT_POSSIBLE", .portraitTooSmall))
        #expect(
            try self.outcome(portrait: [Sample.face()], selfie: [small]) == (.warning, "NOT_POSSIBLE", .faceTooSmall))
        for edit in [{ $0.dynamicRange = 3 }, { $0.sharpness = 1 }] as [(inout FaceQuality) -> Void] {
            #expect(
                try self.outcome(portrait: [Sample.face(edit)], selfie: [Sample.face()])
                    == (.warning, "NOT_POSSIBLE", .portraitTooPoor))
        }
    }

    @Test func `An embedding of another model is an error, not a decision`() {
        var foreign = FaceEmbeddingTests.embedding()
        foreign.modelSHA256 = String(repeating: "b", count: 64)
        #expect(throws: InspectError.self) {
            try SimilarityRules.decide(portrait: [Sample.face(embedding: foreign)], selfie: [Sample.face()])
        }
    }
}

struct LivenessRulesTests {
    private func label(_ faces: [FaceFacts], _ signals: [LivenessFacts.Signal: Double]? = [:]) -> String {
        let passive = signals.map { signals in
            LivenessFacts(signals: Dictionary(uniqueKeysWithValues: signals.map { ($0.key.rawValue, $0.value) }))
        }
        let decision = LivenessRules.decide(faces: faces, passive: passive)
        return "\(decision.type.rawValue) \(decision.label)"
    }

    @Test func `Passive PAD signals alone never pass`() {
        #expect(self.label([Sample.face()]) == "WARNING LIVENESS_UNDETERMINED")
        #expect(self.label([Sample.face()], nil) == "WARNING LIVENESS_UNDETERMINED")
        let clean = Dictionary(uniqueKeysWithValues: LivenessFacts.Signal.allCases.map { ($0, 0.0) })
        #expect(self.label([Sample.face()], clean) == "WARNING LIVENESS_UNDETERMINED")
    }

    @Test func `Passive signals pass where the partner accepts them, all were measured and none was found`() {
        func decide(
            _ signals: [LivenessFacts.Signal: Double]?, _ face: FaceFacts = Sample.face(),
            network: LivenessNetworkScore? = nil,
            metadata: ImageMetadata? = ImageMetadata()
        ) -> DecisionType {
            let passive = signals.map { signals in
                LivenessFacts(
                    signals: Dictionary(uniqueKeysWithValues: signals.map { ($0.key.rawValue, $0.value) }),
                    network: network,
                    metadata: metadata)
            }
            return LivenessRules.decide(faces: [face], passive: passive, suffices: true).type
        }
        let clean = Dictionary(uniqueKeysWithValues: LivenessFacts.Signal.allCases.map { ($0, 0.0) })
        #expect(decide(clean) == .passed)
        #expect(decide(nil) == .warning)
        #expect(decide(clean, Sample.face { $0.sharpness = 3 }) == .warning)
        for signal in LivenessFacts.Signal.allCases {
            var signals = clean
            signals[signal] = 0.95
            #expect(decide(signals) == (signal == .grey ? .rejected : .warning), "\(signal)")
            signals[signal] = nil
            #expect(decide(signals) == .warning, "\(signal) not measured")
        }
        func network(_ live: Double?) -> LivenessNetworkScore {
            LivenessNetworkScore(name: "small", modelSHA256: "", live: live, threshold: 0.6)
        }
        #expect(decide(clean, network: network(0.6)) == .passed)
        #expect(decide(clean, network: network(0.5)) == .warning)
        #expect(decide(clean, network: network(nil)) == .warning)
        var edited = ImageMetadata()
        edited.editor = "GIMP"
        #expect(decide(clean, metadata: edited) == .warning)
        #expect(decide(clean, metadata: nil) == .warning)
    }

    @Test func `A network's score counts only together with another signal, and metadata never`() {
        func label(_ signals: [LivenessFacts.Signal: Double], live: Double?) -> String {
            var passive = LivenessFacts(
                signals: Dictionary(uniqueKeysWithValues: signals.map { ($0.key.rawValue, $0.value) }),
                network: LivenessNetworkScore(name: "small", modelSHA256: "", live: live, threshold: 0.6),
                metadata: ImageMetadata())
            passive.metadata?.isScreenshot = true
            return LivenessRules.decide(faces: [Sample.face()], passive: passive).label
        }
        #expect(label([:], live: 0.1) == "LIVENESS_UNDETERMINED")
        #expect(label([.frame: 1], live: 0.7) == "LIVENESS_UNDETERMINED")
        #expect(label([.frame: 1], live: nil) == "LIVENESS_UNDETERMINED")
        #expect(label([.frame: 1], live: 0.1) == "DIGITAL_COPY")
        #expect(label([.soft: 1, .flatFocus: 1], live: 0.1) == "LIVENESS_UNDETERMINED")
    }

    @Test func `One weak PAD signal rejects nobody`() {
        for signal in [LivenessFacts.Signal.moire, .specular, .frame, .flatFocus, .narrowColour, .soft] {
            #expect(self.label([Sample.face()], [signal: 1]) == "WARNING LIVENESS_UNDETERMINED")
        }
    }

    @Test func `PAD signals that agree reject a copy under its label`() {
        #expect(self.label([Sample.face()], [.moire: 1, .frame: 0.95]) == "REJECTED DIGITAL_COPY")
        #expect(self.label([Sample.face()], [.moire: 0.95, .specular: 1]) == "REJECTED DIGITAL_COPY")
        #expect(self.label([Sample.face()], [.frame: 1, .specular: 1]) == "REJECTED DIGITAL_COPY")
        #expect(self.label([Sample.face()], [.frame: 1, .specular: 0.8]) == "WARNING LIVENESS_UNDETERMINED")
        #expect(self.label([Sample.face()], [.grey: 1]) == "REJECTED BLACK_WHITE")
    }

    @Test func `Faults of the image count before PAD signals`() {
        #expect(self.label([]) == "REJECTED NO_FACE_PRESENT")
        #expect(self.label([Sample.face(), Sample.face()]) == "REJECTED MULTIPLE_PEOPLE")
        #expect(self.label([Sample.face { $0.visible = 0.5 }]) == "REJECTED FACE_NOT_FULLY_VISIBLE")
        #expect(self.label([Sample.face { $0.sharpness = 3 }]) == "WARNING BAD_QUALITY")
    }

    @Test func `PAD signals are measured only on a face that conforms`() {
        let image = ImageFacts(
            format: .jpeg, width: 640, height: 480, orientation: 1, storedWidth: 640, storedHeight: 480)
        func isWorthwhile(_ faces: [FaceFacts]) -> Bool {
            LivenessRules.isWorthwhile(FaceStageFacts.Image(image: image, faces: faces))
        }
        #expect(isWorthwhile([Sample.face()]))
        #expect(!isWorthwhile([]))
        #expect(!isWorthwhile([Sample.face { $0.sharpness = 3 }]))
    }
}
