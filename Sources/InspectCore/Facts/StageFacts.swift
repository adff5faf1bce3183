/// Output of the stage that ends with status 4 ACQUIRED: every part is present, unaltered, and decodes.
public struct AcquisitionFacts: Codable, Sendable, Hashable {
    /// By part name (`FRONT`, `BACK`, `FACE`); chip files are not images and do not appear.
    public var images: [String: ImageFacts]
    /// Processor time that the stage took in the analyzer, in milliseconds.
    public var cpuMs = 0.0

    public init(images: [String: ImageFacts]) {
        self.images = images
    }
}

/// Output of the stage that ends with status 8 DOCUMENT.
public struct DocumentStageFacts: Codable, Sendable, Hashable {
    /// By part name: `FRONT`, `BACK`.
    public var sides: [String: DocumentFacts]
    /// What the chip's files held; `nil` when none were given.
    public var chip: ChipFacts?
    /// Processor time that the stage took in the analyzer, in milliseconds.
    public var cpuMs = 0.0

    public init(sides: [String: DocumentFacts]) {
        self.sides = sides
    }
}

/// Output of the stage that ends with status 16 FACE.
public struct FaceStageFacts: Codable, Sendable, Hashable {
    /// What was found on one picture of a person.
    public struct Picture: Codable, Sendable, Hashable {
        public var image: ImageFacts
        /// Largest first; only the largest carries a feature.
        public var faces: [FaceFacts]

        public init(image: ImageFacts, faces: [FaceFacts]) {
            self.image = image
            self.faces = faces
        }
    }

    /// By part name: `FACE`, or the names that a comparison gives its two pictures.
    public var pictures: [String: Picture]
    /// Processor time that the stage took in the analyzer, in milliseconds.
    public var cpuMs = 0.0

    public init(pictures: [String: Picture]) {
        self.pictures = pictures
    }
}

/// Output of the stage that ends with status 32 LIVENESS.
public struct LivenessStageFacts: Codable, Sendable, Hashable {
    /// `nil` when no conforming face was found and the cues were not measured.
    public var passive: LivenessFacts?
    /// What was measured on the frames; `nil` when there were none.
    public var capture: CaptureFacts?
    /// What a vendor's server answered; `nil` when no session was given.
    public var vendor: VendorSessionFacts?
    /// Processor time that the stage took in the analyzer, in milliseconds.
    public var cpuMs = 0.0

    public init(passive: LivenessFacts?, capture: CaptureFacts? = nil, vendor: VendorSessionFacts? = nil) {
        self.passive = passive
        self.capture = capture
        self.vendor = vendor
    }
}

/// What can be told of document sides before their text is read: no stage of a job, but an answer to a client that waits.
public struct UsabilityFacts: Codable, Sendable, Hashable {
    /// By part name: `FRONT`, `BACK`. Nothing was read and no face sought, so there are neither text nor faces.
    public var sides: [String: DocumentFacts]
    /// Processor time in the analyzer, in milliseconds.
    public var cpuMs = 0.0

    public init(sides: [String: DocumentFacts]) {
        self.sides = sides
    }
}
