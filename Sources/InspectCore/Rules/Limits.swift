/// Every limit that decisions depend on. Rules use no other, and reports show them.
///
/// Limits without another source were set on the development images, halfway (in ratio) between the worst good image and
/// the best bad one.
package enum Limits {
    // MARK: Images of documents

    /// Geometric mean of the width of edges in pixels of the image and at 1,000 px.
    static let blur = Limit(.atMost(5.9), "readable images reach 5.5, most of them 4.5; blurred ones start at 7.4")
    /// From this value on, an image is rejected even if its largest print, the MRZ, can still be read.
    static let hopelessBlur = Limit(.atMost(6.5), "blurred beyond this, only the largest print can be read")
    /// Coherence of the directions of strong gradients, if edges are wide.
    static let motion = Limit(
        .below(0.42),
        "print and security print of sharp images reach 0.27, images taken by a moving hand 0.66 to 0.97")
    /// The same as ``blur``: from this value on, that coherence means movement.
    static let movedEdges = Limit(
        .atMost(4.2), "barcodes and rules of tables also agree on one direction, but are sharp")
    /// Mean luminance of the document, 0–255.
    static let brightness = Limit(
        .atLeast(57), "45 when a document could only just be guessed at, 76 in a dim but usable photo")
    /// Standard deviation of the luminance of the document.
    static let contrast = Limit(.atLeast(25), "a dark image with less shows no print")
    /// Variance of the Laplacian at 1,000 px: only together with ``sharpPrint``.
    static let detail = Limit(.atLeast(25), "12 and more in readable images, but only small ones have less than 25")
    /// Share of a document's area under thin dark strokes, if there is little detail.
    static let sharpPrint = Limit(
        .atLeast(0.006), "readable images with as little detail have 0.02 to 0.07, those whose print has run 0.003")
    /// Pixels of the document's longer side.
    static let documentWidth = Limit(
        .atLeast(320), "an ID-1 card (ISO/IEC 7810) at 95 dots per inch: its smallest print is 4 px high")
    /// Pixels per character of an MRZ.
    static let pitch = Limit(.atLeast(7), "smaller print is not to be trusted without its check digits")
    /// Share of the document under glare.
    static let glare = Limit(.atMost(0.005), "0 in usable images, 0.007 to 0.2 where print is lost")
    /// From this value on, an image is rejected even if its text can be read.
    static let hopelessGlare = Limit(
        .atMost(0.0176),
        "a readable crop on white paper reaches 0.015; lamps that hide the portrait or the print start at 0.0207")
    /// 95th percentile of max−min over the colour channels inside the document, 0–255.
    static let colour = Limit(
        .above(4), "a true black-and-white image measures 0 to 1 after JPEG, the palest colour document 21")
    /// The same after the tint of the paper or the light was taken out, in a grey copy.
    static let balancedColour = Limit(
        .above(7.5), "grey copies under warm and cold lamps measure 1 to 4, paper of one colour with black print 14")
    /// The most colour that a lamp can give to grey paper.
    static let tint = Limit(
        .above(24), "lamps from warm white to daylight give grey paper 0 to 21; more is the document's own")
    /// Mean luminance from which the absence of colour counts, if only a tint is left.
    static let tintBrightness = Limit(.atLeast(110), "in dim images little is left of any colour")
    /// The lowest chroma at which a crop without text or a face is taken for a document.
    static let colourfulPrint = Limit(.above(16), "four times what a grey image may have")
    /// The same outside the document, if the document itself is grey.
    static let backgroundOfPhotocopy = Limit(
        .below(6),
        "the noise of a grey image reaches 4; tables of stone measure 7 and 8 under white light, 15 and more under warm"
    )
    /// Share of the image in mid-tones, if the image is grey.
    static let midtones = Limit(
        .below(0.35), "photos have half of the image in mid-tones, drawings and scans of print 3 to 24 %")
    /// Longer over shorter side of the document.
    static let aspectRatio = Limit(
        .within(1.29...1.78),
        "ID-1 1.586, ID-2 and ID-3 1.42 (ISO/IEC 7810), widened for oblique views: 1.34 to 1.61 were measured")
    /// Longer over shorter side of an outline that may be that of a document.
    static let outlineAspectRatio = Limit(.below(1.9), "longer things are receipts, rulers and screens")
    /// How far a corner lies outside the frame, over the document's width.
    static let cornerOutside = Limit(.atMost(0.03), "what an outline's corners are uncertain by")
    /// Corners outside the frame or on its border.
    static let cornersOutside = Limit(
        .below(3), "where three are, the document leaves the frame through a corner; four are a tight crop")
    /// Longer over shorter side of a document with one side along the frame and no MRZ read: it may be a card.
    static let cardAspectRatio = Limit(
        .within(1.47...1.71),
        "ID-1 1.586 (ISO/IEC 7810), 7 % for oblique views; a card that lacks a tenth has 1.43 or 1.76")
    /// ``aspectRatio`` if the client chose a format: the same widening of its own proportions.
    static func aspectRatio(of format: DocumentFormat?) -> Limit {
        switch format {
        case nil: self.aspectRatio
        case .td1: Limit(.within(1.44...1.78), "ID-1 1.586 (ISO/IEC 7810), widened for oblique views")
        case .td2, .td3: Limit(.within(1.29...1.59), "ID-2 and ID-3 1.42 (ISO/IEC 7810), widened for oblique views")
        }
    }
    /// ``cardAspectRatio`` if the client chose a format.
    static func cardAspectRatio(of format: DocumentFormat?) -> Limit {
        switch format {
        case nil, .td1: self.cardAspectRatio
        case .td2, .td3: Limit(.within(1.32...1.52), "ID-2 and ID-3 1.42 (ISO/IEC 7810), 7 % for oblique views")
        }
    }
    /// From a frame's border, over its longer side, where the other corners of such a document are inside it. Chosen: with less,
    /// a document that fills the frame counts as cut off; with more, one that is cut off and nearly fills it does not.
    static let clearOfBorder = 0.02
    /// How far a document extends beyond the frame, over its height, judged by its MRZ.
    static let beyondFrame = Limit(.atMost(0.15), "the tenth that perspective makes it uncertain by, and a margin")
    /// The least of the same at which an outline cut short by the frame is believed.
    static let outlineBeyondFrame = Limit(.atMost(0.03), "what reading an MRZ's place is uncertain by")
    /// How much of its height an outline that lies on the frame lacks, compared with the size that its MRZ implies.
    static let missingHeight = Limit(
        .atMost(0.14), "0.1 in a steep view of a whole page, 0.28 and more where a part is cut")
    /// Share of an outline that edges back, from which its corners are believed to be the document's.
    static let trustedOutline = Limit(
        .atLeast(0.8),
        "0.9 and more where the outline is right, 0.83 where a corner was cut off, 0.76 beside other papers")
    /// How much a corner's tip looks like the table behind it.
    static let missingCorner = Limit(.below(0.6), "whole corners measure 0 to 0.28, cut ones 0.67 to 1")
    /// Share of the document under a hand.
    static let occlusion = Limit(.atMost(0.038), "fingers that hold a card at its edge cover up to 3 %")
    /// Share of a document's area under thin dark strokes.
    static let print = Limit(.atLeast(0.008), "0.014 and more where print is sharp")
    /// Share of the image under the largest face.
    static let faceOfDocument = Limit(
        .atMost(0.12), "a portrait's face covers up to about 6 % of a document, that of a selfie 10 % and more")
    /// Height of the largest face over the document's longer side, from which it is the portrait and no ghost image.
    static let portraitOfDocument = Limit(
        .atLeast(0.125), "portraits measure 0.136 to 0.29, and a ghost image has about half of its portrait's size")
    /// The same on a back over that on its front.
    static let portraitOfOtherSide = Limit(
        .atLeast(0.6), "one portrait in two photos measures 0.74 and more, and a ghost image has about half its size")
    /// How alike the thumbnails of two different sides are.
    static let likeness = Limit(
        .below(0.9), "front and back measure up to 0.37, drawn photos of one side 0.96 and more")
    /// Characters that a quick look finds in each of three lines of 30: 24 to 32 in photos of cards.
    static let cellsOfCard = 20.0...36.0
    /// Share of the patches that show a printing machine's dots, in an image whose raster stands out.
    static let halftone = Limit(
        .below(0.75), "screens reach 0.5 where their grid beats with the camera's, printed dots show in every patch")
    /// How far a screen's pixel grid stands out of the spectrum.
    static let moire = Limit(
        .atMost(5.2), "6.4 and more in images of screens; print, paper and JPEG blocks reach 4.1")
    /// How strongly a patch contradicts the compression that the rest of a JPEG had before.
    static let recompression = Limit(
        .below(0.28), "what nobody edited reaches 0.23, edits start at 0.34; 1 % of files saved twice are beyond")
    /// Distance of a ghost image from the portrait, by dlib's network.
    static let ghostDistance = Limit(
        .below(0.7), "ghost images of one person reach 0.69, those of another start at 0.61, and their median is 0.76")
    /// The smallest face that the engine can describe, as ``ghostEyeDistance`` requires.
    package static let leastGhostEyeDistance = 22.0
    /// Pixels between the eyes of a ghost image that is compared.
    package static let ghostEyeDistance = Limit(
        .atLeast(leastGhostEyeDistance), "with fewer, distances of one person reach those of two")
    /// The detector's score of a ghost image that is compared.
    package static let ghostScore = Limit(
        .atLeast(0.3), "weaker answers are patterns, or so faint that distances of one person reach those of two")
    /// Likeness of a round patch to a hole that shows the table.
    static let punchedHole = Limit(
        .below(0.87),
        "what nobody punched reaches 0.83, a dark emblem on a grey table; most holes of 6 mm have 0.9 and more")

    /// Depth of a piece missing from an edge, over the document's longer side.
    static let tornEdge = Limit(
        .below(0.03), "what nobody tore measures 0; of an ID-1 card this is 2.6 mm, and less may be the wear of years")

    // MARK: VIZ text
    //
    // Chosen unless stated otherwise. With lower values, misread characters contradict correct data; with higher ones, fewer
    // values are read, compared and reported.

    /// The reader's least confidence in an MRZ character that a comparison uses.
    static let sureCharacter = 0.9
    /// The recogniser's least confidence (0–1) in any character of a contradicting value.
    static let sureVIZText = 0.97
    /// The same for the second reading, which must give the same text.
    package static let confirmedVIZText = 0.9
    /// The same for the matching characters of a number that differs in one or two.
    static let legibleVIZText = 0.85
    /// The same for a reported value that no other source has.
    static let reportedVIZText = 0.97
    /// The same for a name that agrees with the MRZ, if only its small letters and accents are in question.
    static let agreeingVIZText = 0.8
    /// The same if a second reading gave the same text.
    package static let confirmedTwiceVIZText = 0.93
    /// The same if the other network, trained apart, gave the same text and is as certain as of a reported value: of 345 drawn lines
    /// that were so, 20 were wrong (5.8 %); of those that one network alone is as certain of, one in seven.
    static let doubtfulVIZText = 0.35
    /// The same for a line with a word such as SPECIMEN. If this is lower, a misread word makes a document a specimen.
    static let specimenWord = 0.9

    // MARK: Images of persons

    /// Pixels between the eyes of a selfie.
    static let interEyeDistance = Limit(
        .atLeast(45), "ISO/IEC 19794-5 asks for 90 px, 60 px in a token image; half of the former still verifies")
    /// Pixels between the eyes of a face that is compared.
    static let comparableEyeDistance = Limit(
        .atLeast(FaceCalibration.leastEyeDistance), "below it a descriptor says little (calibration of the engine)")
    /// Entropy of the luminance of a document's portrait in bits.
    static let portraitDynamicRange = Limit(
        .atLeast(3.5), "chosen, not measured: eleven shades of grey hardly show a face")
    /// Variance of the Laplacian of a document's portrait, enlarged as it is.
    static let portraitSharpness = Limit(
        .atLeast(2),
        "chosen, not measured: a seventh of what a selfie must have, since portraits are enlarged and printed")
    /// Share of the head that lies inside the image.
    static let visible = Limit(.atLeast(0.7), "with less, chin or forehead are missing")
    /// Horizontal position of the face.
    static let centreX = Limit(.within(0.2...0.8), "ISO/IEC 19794-5: 0.45 to 0.55, widened for selfies")
    /// Vertical position of the eye line from the bottom.
    static let eyeLineY = Limit(.within(0.25...0.9), "ISO/IEC 19794-5: 0.5 to 0.7, widened for selfies")
    /// Rotation in the image plane in degrees.
    static let roll = Limit(
        .within(-25...25),
        "ISO/IEC 19794-5: ±8°; the alignment undoes any rotation, but people do not hold a camera at such an angle")
    /// How far the nose is from the middle, in eye distances.
    static let yawOffset = Limit(.within(-0.25...0.25), "ISO/IEC 19794-5: ±5°; 0.25 is a head turned by about 40°")
    /// Mean luminance of the face, linear light.
    static let darkFace = Limit(.atLeast(0.01), "dark skin in a dim room lies near 0.03")
    static let brightFace = Limit(.atMost(0.85), "nothing of the face's relief is left above it")
    /// Share of the face that is black.
    static let underExposed = Limit(.atMost(0.9), "what counts is whether structure is left")
    /// Share of the face that is burnt out.
    static let overExposed = Limit(.atMost(0.25), "a burnt-out quarter hides eyes or mouth")
    /// Entropy of the luminance of the face in bits.
    static let dynamicRange = Limit(.atLeast(4), "fewer than 16 shades show no relief")
    /// Variance of the Laplacian of the face.
    static let sharpness = Limit(
        .atLeast(15), "sharp selfies measure 100 to 1,300, an image that was blurred on purpose 12")
    /// Strength of a signal of a presentation attack, 0–1.
    static let signal = Limit(.below(0.9), "a signal of this strength counts as present")
    /// Score of a second face that counts as a person.
    static let secondFaceScore = Limit(
        .below(0.3), "weaker second answers of the detector are patterns more often than faces")
    /// Area of a second face over that of the first.
    static let secondFaceArea = Limit(
        .below(0.1), "OFIQ, single face present; a tenth of the area is a face a third as wide")
    /// Legible lines of text around the face.
    static let textAroundFace = Limit(
        .atMost(2), "most photographs of people have less, most documents much more")
    /// Those of them that only documents have.
    static let documentTextAroundFace = Limit(
        .atMost(1), "one such line may stand on clothes or a wall; badges have more, so that it is a warning alone")
    /// Distance of the embeddings of the selfie and of a document's portrait.
    static let portraitAsSelfie = Limit(
        .above(0.12), "two photographs of one person: 0.17 and more in 275 pairs; one photograph twice: median 0.07")
}
