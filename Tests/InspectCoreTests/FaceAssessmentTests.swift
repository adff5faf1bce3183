import Foundation
import InspectCore
import Testing

/// Quality by ISO/IEC 29794-5, the requirements of ISO/IEC 19794-5, and words for a face.
struct FaceAssessmentTests {
    private static let image = ImageFacts(format: .jpeg, width: 600, height: 800, orientation: 1)
    private static let neutral = FaceContour(
        eyeOpening: 0.07, eyeAspect: 0.3, mouthOpening: 0.02, smileWidth: 0.85, pitch: 6.5, yaw: 0, length: 300)

    private static func assess(
        others: [FaceFacts] = [], contour: FaceContour? = Self.neutral, _ edit: (inout FaceQuality) -> Void = { _ in }
    ) throws -> FaceAssessment {
        let face = Sample.face {
            $0.contour = contour
            $0.headWidth = 0.6
            $0.backgroundGradient = 2
            $0.colourDistance = 0
            edit(&$0)
        }
        return try #require(FaceAssessment(faces: [face] + others, image: Self.image))
    }

    private static func score(_ name: String, _ assessment: FaceAssessment) -> Int? {
        assessment.measures.first { $0.name == name }?.score
    }

    /// Native values and scalars of three of OFIQ's conformance images (OFIQ 1.0.3, expected results).
    @Test func `Scores are those that OFIQ publishes for the same native values`() throws {
        let face = try Self.assess {
            $0.luminanceMean = 0.296285
            $0.luminanceVariance = 0.014954
            $0.underExposed = 0.049163
            $0.overExposed = 0
            $0.dynamicRange = 6.910499
            $0.colourDistance = 0.171868
            $0.illuminationUniformity = 0.141003
        }
        #expect(Self.score("luminanceMean", face) == 87)
        #expect(Self.score("underExposurePrevention", face) == 100)
        #expect(Self.score("overExposurePrevention", face) == 100)
        #expect(Self.score("dynamicRange", face) == 86)
        #expect(abs((Self.score("naturalColour", face) ?? 0) - 100) <= 1)
        #expect(Self.score("illuminationUniformity", face) == 56)
        #expect(Self.score("luminanceVariance", face) == 100)
        #expect(Self.score("headPoseRoll", try Self.assess { $0.roll = 16.291553 }) == 92)
    }

    @Test func `What needs a network or more points has no number`() throws {
        let face = try Self.assess(contour: nil) { $0.backgroundGradient = nil }
        for name in ["compressionArtifacts", "expressionNeutrality", "faceOcclusionPrevention", "unifiedQualityScore"] {
            let measure = try #require(face.measures.first { $0.name == name })
            #expect(measure.native == nil && measure.score == nil && measure.note?.hasPrefix("not assessed") == true)
        }
        for name in ["eyesOpen", "mouthClosed", "headSize", "headPoseYaw", "headPosePitch", "backgroundUniformity"] {
            let measure = try #require(face.measures.first { $0.name == name })
            #expect(measure.score == nil && measure.note?.hasPrefix("not assessed") == true, "\(name)")
        }
        #expect(face.isoConform == .inconclusive && face.isoReasons.contains("yaw"))
        #expect(face.appearance == FaceAppearanceSample.nothing)
    }

    @Test func `Scores fall as an image gets worse`() throws {
        func falls(_ name: String, _ edits: [(inout FaceQuality) -> Void]) throws {
            let scores = try edits.map { edit in try #require(Self.score(name, try Self.assess(edit))) }
            #expect(zip(scores, scores.dropFirst()).allSatisfy { $0 > $1 }, "\(name): \(scores)")
        }
        try falls("sharpness", [300.0, 60, 20, 5].map { value in { $0.sharpness = value } })
        try falls("overExposurePrevention", [0.01, 0.1, 0.4].map { value in { $0.overExposed = value } })
        try falls("headPoseYaw", [0.0, 20, 45, 80].map { value in { $0.contour?.yaw = value } })
        try falls("eyesOpen", [0.07, 0.04, 0.02].map { value in { $0.contour?.eyeOpening = value } })
        try falls("mouthClosed", [0.0, 0.15, 0.3].map { value in { $0.contour?.mouthOpening = value } })
        try falls("interEyeDistance", [150.0, 70, 30].map { value in { $0.interEyeDistance = value } })
        try falls("backgroundUniformity", [0.0, 20, 60].map { value in { $0.backgroundGradient = value } })
    }

    @Test func `A second face lowers the score by its share, and the result names the failed requirements`() throws {
        let alone = try Self.assess()
        #expect(Self.score("singleFacePresent", alone) == 100)
        #expect(alone.isoConform == .pass && alone.isoReasons.isEmpty)
        let together = try Self.assess(others: [Sample.face(width: 125)])
        #expect(Self.score("singleFacePresent", together) == 75)
        let turned = try Self.assess {
            $0.contour?.yaw = 20
            $0.roll = 12
        }
        #expect(turned.isoConform == .fail && turned.isoReasons == ["roll", "yaw"])
    }

    @Test func `Pose, eyes, mouth and smile are named`() throws {
        func appearance(_ edit: (inout FaceQuality) -> Void) throws -> FaceAppearance {
            try Self.assess(edit).appearance
        }
        let neutral = try appearance { _ in }
        #expect(neutral.pose == .frontal && neutral.eyes == .open && neutral.mouth == .closed && neutral.smile == false)
        #expect(try appearance { $0.contour?.eyeOpening = 0.02 }.eyes == .closed)
        #expect(try appearance { $0.contour?.mouthOpening = 0.12 }.mouth == .open)
        let smile = try appearance {
            $0.contour?.smileWidth = 1.2
            $0.contour?.eyeOpening = 0.024
        }
        #expect(smile.smile == true && smile.eyes == .open)
        #expect(try appearance { $0.contour?.yaw = -28 }.pose == .turned)
        #expect(try appearance { $0.yawOffset = 0.3 }.pose == .profile)
        #expect(try appearance { $0.contour?.pitch = -30 }.pose == .up)
        #expect(try appearance { $0.contour?.pitch = 30 }.pose == .down)
        let blind = try Self.assess(contour: nil) { $0.yawOffset = 0.3 }
        #expect(blind.appearance.pose == .profile && blind.appearance.eyes == nil)
    }

    private enum FaceAppearanceSample {
        static let nothing = try? FaceAssessmentTests.assess(contour: nil).appearance
    }
}

/// Verification against templates, and who may be enrolled.
struct AuthenticationRulesTests {
    private static func enrolled(_ templates: [FaceEmbedding], replace: Bool = false) -> EnrolledFace {
        EnrolledFace(generation: 7, templates: templates, isToBeReplaced: replace)
    }

    private static func authenticate(_ faces: [FaceFacts], _ templates: [FaceEmbedding], threshold: Double = 0.85)
        -> AuthenticationRules.Outcome
    {
        AuthenticationRules.authenticate(
            faces, against: Self.enrolled(templates), threshold: threshold, calibration: .dlib)
    }

    @Test func `The best template counts, and each raises the bound of the false match rate`() throws {
        let one = Self.authenticate([Sample.face()], [FaceEmbeddingTests.embedding()])
        let two = Self.authenticate([Sample.face()], [Sample.stranger, FaceEmbeddingTests.embedding()])
        #expect(one.decision.label == "MATCH" && two.decision.label == "MATCH" && two.compared == 2)
        #expect(two.match?.distance == 0)
        let bound = try #require(one.match?.fmrAtThreshold)
        #expect(abs(try #require(two.match?.fmrAtThreshold) - 2 * bound) < 1e-12)
        let none = Self.authenticate([Sample.face()], [Sample.stranger])
        #expect(none.decision.type == .rejected && none.decision.label == "NO_MATCH")
    }

    @Test func `Templates of another engine, model or shape are not compared`() {
        var other = FaceEmbeddingTests.embedding()
        other.engine = "other"
        var model = FaceEmbeddingTests.embedding()
        model.modelSHA256 = String(repeating: "0", count: 64)
        var broken = FaceEmbeddingTests.embedding()
        broken.hex = String(repeating: "f", count: 1024)
        let outcome = Self.authenticate([Sample.face()], [other, model, broken])
        #expect(outcome.decision.type == .warning && outcome.obstacle == .otherEngine && outcome.compared == 0)
        #expect(Self.authenticate([Sample.face()], [broken, FaceEmbeddingTests.embedding()]).decision.label == "MATCH")
    }

    @Test func `Images without a face, with several people or with tiny faces are not compared`() {
        let template = [FaceEmbeddingTests.embedding()]
        #expect(Self.authenticate([], template).obstacle == .noFace)
        #expect(Self.authenticate([Sample.face(), Sample.face(width: 200)], template).obstacle == .severalPeople)
        #expect(Self.authenticate([Sample.face { $0.interEyeDistance = 10 }], template).obstacle == .faceTooSmall)
    }

    @Test func `A further template must be of the same person, a replacement need not`() {
        func obstacles(_ faces: [FaceFacts], _ enrolled: EnrolledFace, liveness: CapabilityDecision? = nil) -> [String]
        {
            AuthenticationRules.obstacles(faces, to: enrolled, liveness: liveness, calibration: .dlib)
        }
        let face = [Sample.face()]
        #expect(obstacles(face, Self.enrolled([])).isEmpty)
        #expect(obstacles(face, Self.enrolled([FaceEmbeddingTests.embedding()])).isEmpty)
        #expect(obstacles(face, Self.enrolled([Sample.stranger])) == ["NO_MATCH"])
        #expect(obstacles(face, Self.enrolled([Sample.stranger], replace: true)).isEmpty)
        #expect(obstacles([], Self.enrolled([])) == ["NO_FACE"])
        #expect(obstacles([Sample.face { $0.sharpness = 3 }], Self.enrolled([])) == ["BLURRED"])
        let copy = CapabilityDecision(type: .rejected, label: .digitalCopy)
        #expect(obstacles(face, Self.enrolled([]), liveness: copy) == ["DIGITAL_COPY"])
    }
}
