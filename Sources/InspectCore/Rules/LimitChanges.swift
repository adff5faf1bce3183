/// Limits with other numbers, by which a shadow run decides (``ShadowComparison``).
///
/// They are in force for all rules that a call runs, instead of being passed from rule to rule: a rule that forgot to pass them
/// on would judge by today's limit, and the shadow run would miss a difference.
package struct LimitChanges: Sendable {
    /// Why a change was refused.
    package enum Refusal: Error, Equatable {
        case unknown
        /// The limit has one number, or a lower and an upper one.
        case takes(numbers: Int)
    }

    @TaskLocal private static var current: LimitChanges?

    /// By the limit, which its bound and basis identify.
    private var bounds: [Limit: Limit.Bound] = [:]

    package init() {}

    /// Changes the numbers of a limit; whether values have to be above or below them stays.
    ///
    /// - Parameter name: A name of ``names``.
    package mutating func set(_ name: String, to numbers: [Double]) throws(Refusal) {
        guard let limit = Limits.byName[name] else { throw .unknown }
        self.bounds[limit] = try limit.bound.with(numbers)
    }

    /// The limits that can be changed.
    package static var names: [String] { Limits.byName.keys.sorted() }

    /// Runs `body` with these limits in force. Other tasks keep theirs.
    func inForce<Result>(_ body: () -> Result) -> Result { Self.$current.withValue(self, operation: body) }

    /// The same for an asynchronous body.
    package func whileInForce<Result>(
        isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Result
    ) async rethrows -> Result {
        try await Self.$current.withValue(self, operation: body)
    }

    static func bound(of limit: Limit) -> Limit.Bound { self.current?.bounds[limit] ?? limit.bound }
}

extension Limit.Bound {
    fileprivate func with(_ numbers: [Double]) throws(LimitChanges.Refusal) -> Self {
        if case .within = self {
            guard numbers.count == 2, numbers[0] <= numbers[1] else { throw .takes(numbers: 2) }
            return .within(numbers[0]...numbers[1])
        }
        guard numbers.count == 1 else { throw .takes(numbers: 1) }
        return switch self {
        case .atMost: .atMost(numbers[0])
        case .atLeast: .atLeast(numbers[0])
        case .below: .below(numbers[0])
        case .above, .within: .above(numbers[0])
        }
    }
}

extension Limits {
    /// Every ``Limit``. The plain numbers are left out: those of the VIZ text also direct what is read, those of motions scale a measure.
    static let byName: [String: Limit] = [
        "blur": blur,
        "hopelessBlur": hopelessBlur,
        "motion": motion,
        "movedEdges": movedEdges,
        "brightness": brightness,
        "contrast": contrast,
        "detail": detail,
        "sharpPrint": sharpPrint,
        "documentWidth": documentWidth,
        "pitch": pitch,
        "glare": glare,
        "hopelessGlare": hopelessGlare,
        "colour": colour,
        "balancedColour": balancedColour,
        "tint": tint,
        "tintBrightness": tintBrightness,
        "colourfulPrint": colourfulPrint,
        "backgroundOfPhotocopy": backgroundOfPhotocopy,
        "midtones": midtones,
        "portraitOfDocument": portraitOfDocument,
        "portraitOfOtherSide": portraitOfOtherSide, "likeness": likeness,
        "recompression": recompression,
        "ghostDistance": ghostDistance,
        "ghostEyeDistance": ghostEyeDistance,
        "ghostScore": ghostScore,
        "punchedHole": punchedHole,
        "tornEdge": tornEdge,
        "aspectRatio": aspectRatio,
        "outlineAspectRatio": outlineAspectRatio,
        "cornerOutside": cornerOutside,
        "cornersOutside": cornersOutside,
        "cardAspectRatio": cardAspectRatio,
        "beyondFrame": beyondFrame,
        "outlineBeyondFrame": outlineBeyondFrame,
        "missingHeight": missingHeight,
        "trustedOutline": trustedOutline,
        "missingCorner": missingCorner,
        "occlusion": occlusion,
        "print": print,
        "faceOfDocument": faceOfDocument,
        "halftone": halftone,
        "moire": moire,
        "interEyeDistance": interEyeDistance,
        "comparableEyeDistance": comparableEyeDistance,
        "portraitDynamicRange": portraitDynamicRange,
        "portraitSharpness": portraitSharpness,
        "visible": visible,
        "centreX": centreX,
        "eyeLineY": eyeLineY,
        "roll": roll,
        "yawOffset": yawOffset,
        "darkFace": darkFace,
        "brightFace": brightFace,
        "underExposed": underExposed,
        "overExposed": overExposed,
        "dynamicRange": dynamicRange,
        "sharpness": sharpness,
        "signal": signal,
        "textAroundFace": textAroundFace,
        "documentTextAroundFace": documentTextAroundFace,
        "portraitAsSelfie": portraitAsSelfie,
        "secondFaceScore": secondFaceScore,
        "secondFaceArea": secondFaceArea,
        "sceneCorrelation": sceneCorrelation,
        "otherPersonDistance": otherPersonDistance,
        "samePersonDistance": samePersonDistance,
        "repeatedFrames": repeatedFrames,
        "framesWithFace": framesWithFace,
        "boxOverlap": boxOverlap,
        "stillness": stillness,
        "saturatedSkin": saturatedSkin,
        "flashResponse": flashResponse,
        "flashCorrelation": flashCorrelation,
        "flashContradiction": flashContradiction,
        "flashLead": flashLead,
        "flashLeadContradiction": flashLeadContradiction,
        "flashHalf": flashHalf,
        "flashRelief": flashRelief,
        "flashFlat": flashFlat,
        "frameRate": frameRate,
    ]
}
