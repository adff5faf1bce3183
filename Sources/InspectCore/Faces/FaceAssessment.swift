internal import Foundation

/// Quality of the first face of an image by ISO/IEC 29794-5 and ISO/IEC 19794-5, as far as no neural network is needed.
///
/// The measures are those of OFIQ 1.0.3, the reference implementation of ISO/IEC 29794-5, by its formulas; if a measure
/// only resembles OFIQ's, its note says so. Measures that need a neural network are "not assessed".
package struct FaceAssessment: Codable, Sendable, Hashable {
    /// One measure with its native value and the score, 0–100, that OFIQ computes from it.
    package struct Measure: Codable, Sendable, Hashable {
        /// Its name in results and reports.
        package var name: String
        /// `nil`: not assessed.
        package var native: Double?
        /// 0–100; `nil`: not assessed.
        package var score: Int?
        /// Why it was not assessed, or how it differs from OFIQ's.
        package var note: String?
    }

    /// In the order in which reports show them.
    package var measures: [Measure]
    /// Whether the image meets ISO/IEC 19794-5 for full frontal images.
    package var isoConform: DataCheckData.Outcome
    /// The requirements that failed or, where none did, those that could not be assessed.
    package var isoReasons: [String]
    /// The same face in words.
    package var appearance: FaceAppearance

    /// - Parameters:
    ///   - faces: The faces of the image, largest first.
    ///   - image: The image.
    /// - Returns: `nil` if there is no face.
    package init?(faces: [FaceFacts], image: ImageFacts) {
        guard let face = faces.first else { return nil }
        self.measures = Self.measures(face, others: faces.dropFirst(), image)
        let requirements = Self.requirements(face, image)
        let failed = requirements.filter { $0.outcome == .fail }.map(\.name)
        let open = requirements.filter { $0.outcome == .inconclusive }.map(\.name)
        self.isoConform = !failed.isEmpty ? .fail : open.isEmpty ? .pass : .inconclusive
        self.isoReasons = failed.isEmpty ? open : failed
        self.appearance = FaceAppearance(face.quality)
    }
}

extension FaceAssessment {
    private static let needsNetwork = "not assessed: needs a network"
    private static let needsContour = "not assessed: needs the 68-point model"

    /// The logistic function that OFIQ maps measures with: centre and width.
    private static func sigmoid(_ x: Double, _ centre: Double, _ width: Double) -> Double {
        1 / (1 + exp((centre - x) / width))
    }

    private static func measure(_ name: String, _ native: Double, _ score: Double, note: String? = nil) -> Measure {
        Measure(name: name, native: native, score: Int(min(100, max(0, score)).rounded()), note: note)
    }

    private static func measures(_ face: FaceFacts, others: some Collection<FaceFacts>, _ image: ImageFacts)
        -> [Measure]
    {
        let q = face.quality
        let v = q.luminanceVariance
        var list = [
            self.measure(
                "luminanceMean", q.luminanceMean,
                100 * self.sigmoid(q.luminanceMean, 0.2, 0.05) * (1 - self.sigmoid(q.luminanceMean, 0.8, 0.05))),
            self.measure("luminanceVariance", v, 100 * sin(.pi * 60 * v / (60 * v + 1))),
            self.measure("overExposurePrevention", q.overExposed, 1 / (q.overExposed + 0.01)),
            self.measure(
                "underExposurePrevention", q.underExposed, 120 * (0.832 - self.sigmoid(q.underExposed, 0.92, 0.05))),
            self.measure("dynamicRange", q.dynamicRange, 12.5 * q.dynamicRange),
            self.measure(
                "illuminationUniformity", q.illuminationUniformity, 100 * pow(q.illuminationUniformity, 0.3),
                note: "in 16 classes of luminance, OFIQ in 256"),
            self.measure(
                "sharpness", q.sharpness, 100 * self.sigmoid(log(max(q.sharpness, 1e-6)), log(40), 0.6),
                note: "variance of the Laplacian on its own scale; OFIQ's forest is a separate model"),
            self.measure(
                "singleFacePresent", self.secondArea(face, others), 100 * (1 - self.secondArea(face, others))),
        ]
        if let distance = q.colourDistance {
            list.append(self.measure("naturalColour", distance, 200 * (1 - self.sigmoid(distance, 0, 10))))
        }
        if let gradient = q.backgroundGradient {
            list.append(
                self.measure(
                    "backgroundUniformity", gradient, 190 * (1 - self.sigmoid(gradient, 10, 100)),
                    note: "approximate: around an ellipse instead of the parsed head"))
        } else {
            list.append(Measure(name: "backgroundUniformity", note: "not assessed: nothing around the head"))
        }
        list += self.geometry(face, image)
        list += [
            "compressionArtifacts", "eyesVisible", "mouthOcclusionPrevention", "faceOcclusionPrevention",
            "expressionNeutrality", "noHeadCoverings", "unifiedQualityScore",
        ].map { Measure(name: $0, note: self.needsNetwork) }
        return list
    }

    /// Measures of positions, lengths and angles.
    private static func geometry(_ face: FaceFacts, _ image: ImageFacts) -> [Measure] {
        let q = face.quality
        let (width, height) = (Double(image.width), Double(image.height))
        let (x, y) = (q.centreX * width, (1 - q.eyeLineY) * height)
        let eyes = max(q.interEyeDistance, 1)
        func pose(_ name: String, _ degrees: Double) -> Measure {
            self.measure(name, degrees, 100 * pow(max(0, cos(degrees * .pi / 180)), 2))
        }
        var list = [
            self.measure("leftwardCrop", x / eyes, 100 * self.sigmoid(x / eyes, 0.9, 0.1)),
            self.measure(
                "rightwardCrop", (width - x) / eyes, 100 * self.sigmoid((width - x) / eyes, 0.9, 0.1)),
            pose("headPoseRoll", q.roll),
        ]
        guard let contour = q.contour else {
            let frontal = self.measure(
                "interEyeDistance", eyes, 100 * self.sigmoid(eyes, 70, 20), note: "without correction for yaw")
            return list + [frontal]
                + [
                    "eyesOpen", "mouthClosed", "headSize", "marginAbove", "marginBelow", "headPoseYaw", "headPosePitch",
                ].map { Measure(name: $0, note: self.needsContour) }
        }
        let length = max(contour.length, 1)
        let distance = eyes / max(0.2, cos(contour.yaw * .pi / 180))
        let size = abs(length / height - 0.45)
        list += [
            self.measure("interEyeDistance", distance, 100 * self.sigmoid(distance, 70, 20)),
            self.measure(
                "eyesOpen", contour.eyeOpening, 100 * self.sigmoid(contour.eyeOpening, 0.035, 0.01),
                note: "centre 0.035 instead of 0.02, as these points lie further out"),
            self.measure(
                "mouthClosed", contour.mouthOpening, 100 * (1 - self.sigmoid(contour.mouthOpening, 0.2, 0.06))),
            self.measure("headSize", size, 200 * (1 - self.sigmoid(size, 0, 0.05))),
            self.measure("marginAbove", y / length, 100 * self.sigmoid(y / length, 1.4, 0.1)),
            self.measure("marginBelow", (height - y) / length, 100 * self.sigmoid((height - y) / length, 1.8, 0.1)),
            pose("headPoseYaw", contour.yaw), pose("headPosePitch", contour.relativePitch),
        ]
        return list
    }

    /// Area of the second largest face over that of the first.
    private static func secondArea(_ face: FaceFacts, _ others: some Collection<FaceFacts>) -> Double {
        let area = max(face.box.width * face.box.height, 1)
        return min(1, (others.map { $0.box.width * $0.box.height }.max() ?? 0) / area)
    }

    /// The requirements of a full frontal image (ISO/IEC 19794-5:2005, sections 7.2 and 8.3) as measurements.
    static func requirements(_ face: FaceFacts, _ image: ImageFacts) -> [Measurement] {
        let q = face.quality
        let contour = q.contour
        func row(_ name: String, _ value: Double?, _ bound: Limit.Bound, _ basis: String) -> Measurement {
            Measurement(name, value, Limit(bound, "ISO/IEC 19794-5, \(basis)"), note: Self.needsContour)
        }
        // The crown has no landmark: a face measures from eyes to chin about half of the head's length.
        let head = contour.map { $0.length * 2 / Double(max(image.height, 1)) }
        return [
            row("horizontalPosition", q.centreX, .within(0.45...0.55), "8.3.1: the face's centre"),
            row("verticalPosition", q.eyeLineY, .within(0.5...0.7), "8.3.2: the eyes above the bottom"),
            row("headWidth", q.headWidth, .within(0.5...0.75), "8.3.4: over the image's width"),
            row("headLength", head, .within(0.6...0.9), "8.3.5: crown to chin over the image's height"),
            row("eyeDistance", q.interEyeDistance, .atLeast(90), "8.4.1: 180 pixels of the head's width"),
            row("roll", q.roll, .within(-8...8), "7.2.2: ±8°"),
            row("yaw", contour?.yaw, .within(-5...5), "7.2.2: ±5°"),
            row("pitch", contour?.relativePitch, .within(-5...5), "7.2.2: ±5°"),
            row("eyesOpen", contour?.eyeOpening, .atLeast(FaceAppearance.openEye), "7.2.3: eyes open"),
            row("mouthClosed", contour?.mouthOpening, .below(FaceAppearance.openMouth), "7.2.3: mouth closed"),
            row("smile", contour?.smileWidth, .below(FaceAppearance.smile), "7.2.3: neutral expression"),
            row("background", q.backgroundGradient, .atMost(6), "7.2.6: plain; the number is chosen, not measured"),
            row("overExposed", q.overExposed, .atMost(0.02), "7.2.10: no burnt-out skin"),
            row("dynamicRange", q.dynamicRange, .atLeast(5.5), "7.4.2: shades enough for skin"),
            row("sharpness", q.sharpness, .atLeast(40), "7.3.3: in focus"),
        ]
    }
}
