extension Limits {
    // MARK: Captures

    /// Correlation of a frame with the one before it.
    static let sceneCorrelation = Limit(
        .atLeast(0.6),
        "hand-held cameras and turning heads stay above 0.9 at 15 frames a second; cuts fall to 0.5 and less")
    /// Distance of embeddings beyond which another person is in front of the camera.
    static let otherPersonDistance = Limit(
        .atMost(0.6), "half of similarity's scale (FaceCalibration); one person turning or smiling reaches 0.5")
    /// Distance of embeddings up to which it is surely the same person.
    static let samePersonDistance = Limit(
        .atMost(0.55), "between the 0.52 of a comparison and 0.6: poses within a capture differ more than two portraits"
    )
    /// Share of frames that equal the previous frame bit for bit.
    static let repeatedFrames = Limit(
        .atMost(0.5), "a camera slower than its stream repeats every other frame; a still image repeats all")
    /// Share of the frames of a challenge with a face.
    static let framesWithFace = Limit(.atLeast(0.8), "a blink of the detector is no fault, a face that leaves is")
    /// Overlap of the face's box with that of the frame before.
    static let boxOverlap = Limit(.atLeast(0.2), "a nod at 15 frames a second moves the box by a third of its height")
    /// Median movement of the eyes between frames, in eye distances.
    static let stillness = Limit(
        .atLeast(0.0005), "a head that is held still moves by 0.002 and more; a propped-up print by 0")

    // MARK: Colour flash

    /// Share of the skin that is burnt out while colours are shown.
    static let saturatedSkin = Limit(
        .atMost(0.3), "burnt-out skin cannot answer; counts where the answer does not come through")
    /// Root mean square of the response between successive colours, logarithm of light.
    static let flashResponse = Limit(.atLeast(0.012), "a change of 1.2 %: about one step of an 8-bit mid-tone")
    /// Correlation of the response with the colours that were shown.
    static let flashCorrelation = Limit(
        .atLeast(0.87), "simulated captures: living faces 0.9 and more, other sequences below it in 99.5 %")
    /// Below this the response contradicts the colours.
    static let flashContradiction = Limit(.atLeast(0.7), "between this and the limit above nothing is decided")
    /// How much more of the light the colours explain than any sequence that differs in one colour, as a share of the light.
    static let flashLead = Limit(
        .above(0),
        "simulated captures: living faces above it in 99.5 %; one wrongly guessed colour gives -0.02 to -0.3")
    /// Below this another sequence was shown.
    static let flashLeadContradiction = Limit(
        .atLeast(-0.01),
        "the worst of 3,000 simulated living faces; between this and the limit above nothing is decided")
    /// Correlation in the weaker half of the colours.
    static let flashHalf = Limit(.atLeast(0.75), "one lag must serve both halves")
    /// Gain of the nose over that of the cheeks.
    static let flashRelief = Limit(
        .atLeast(1.1), "a nose 3 cm nearer than the cheeks, which are turned away, gains 1.2 to 1.6 times as much")
    /// Below this the face is flat.
    static let flashFlat = Limit(.atLeast(1.05), "what noise makes of a plane, whose gains are equal")

    // MARK: Motion

    /// Frames a second of a motion capture.
    static let frameRate = Limit(.atLeast(8), "a blink of 150 ms would fall between slower frames")
    /// Degrees of yaw to each side that make a shake.
    static let shakeTurn = 15.0
    /// Degrees of yaw within which other motions are made.
    static let stepTurn = 10.0
    /// Drop of the nose in eye distances that makes a nod: four times what medians of three leave of the points' noise; rendered
    /// nods of 16° show 0.02 to 0.05.
    static let nodDrop = 0.018
    /// How far the eyes go down in a nod, in eye distances.
    static let nodSink = 0.1
    /// A nod does not bring the eyes closer together than this.
    static let nodShrinking = 0.96
    /// Width of a mouth at rest in eye distances: neutral faces have 0.75 to 0.9.
    static let leastMouth = 0.5
    /// Widening of the mouth that makes a smile.
    static let smileWidening = 1.12
    /// Share of a mouth's columns that are dark when it is open.
    static let mouthOpening = 0.12
    /// Growth of that share.
    static let mouthOpeningGrowth = 0.06
}
