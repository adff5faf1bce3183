/// Output of the stage that ends with status 4 ACQUIRED: every part is present, unaltered and decodable.
package struct AcquisitionFacts: Codable, Sendable, Hashable {
    /// By part name (`FRONT`, `BACK`, `FACE`); chip files are not images and do not appear.
    package var images: [String: ImageFacts]
    /// Processor time that the stage took in the analyzer, in milliseconds.
    package var cpuMs = 0.0

    package init(images: [String: ImageFacts]) {
        self.images = images
    }
}

/// Output of the stage that ends with status 8 DOCUMENT.
package struct DocumentStageFacts: Codable, Sendable, Hashable {
    /// By part name: `FRONT`, `BACK`.
    package var sides: [String: DocumentFacts]
    /// Contents of the chip's files; `nil` when none were given.
    package var chip: ChipFacts?
    /// Processor time that the stage took in the analyzer, in milliseconds.
    package var cpuMs = 0.0

    package init(sides: [String: DocumentFacts]) {
        self.sides = sides
    }
}

/// Output of the stage that ends with status 16 FACE.
package struct FaceStageFacts: Codable, Sendable, Hashable {
    /// The findings on one image of a person.
    package struct Image: Codable, Sendable, Hashable {
        /// How the image was decoded.
        package var image: ImageFacts
        /// Largest first; only the largest has an embedding.
        package var faces: [FaceFacts]
        /// Around the largest face of a selfie; `nil` without a face, and in facts stored by earlier versions.
        package var text: TextAroundFace?

        package init(image: ImageFacts, faces: [FaceFacts], text: TextAroundFace? = nil) {
            self.image = image
            self.faces = faces
            self.text = text
        }
    }

    /// By part name: `FACE`, or the names that a comparison gives its two images.
    package var images: [String: Image]
    /// Processor time that the stage took in the analyzer, in milliseconds.
    package var cpuMs = 0.0

    package init(images: [String: Image]) {
        self.images = images
    }
}

/// Output of the stage that ends with status 32 LIVENESS.
package struct LivenessStageFacts: Codable, Sendable, Hashable {
    /// `nil` when the signals were not measured, since no conforming face was found.
    package var passive: LivenessFacts?
    /// The measurements on the frames; `nil` when there were none.
    package var capture: CaptureFacts?
    /// A vendor's server's answers; `nil` when no session was given.
    package var vendor: VendorSessionFacts?
    /// How far a vendor's session has come; `nil`: its only blob was answered, and no further one is due.
    package var session: VendorSession?
    /// Processor time that the stage took in the analyzer, in milliseconds.
    package var cpuMs = 0.0

    package init(passive: LivenessFacts?, capture: CaptureFacts? = nil, vendor: VendorSessionFacts? = nil) {
        self.passive = passive
        self.capture = capture
        self.vendor = vendor
    }
}

/// Measurements on document sides before their text is read. This is no stage of a job, but an answer for a waiting client.
package struct UsabilityFacts: Codable, Sendable, Hashable {
    /// By part name: `FRONT`, `BACK`. Contains neither text nor faces.
    package var sides: [String: DocumentFacts]
    /// The selfie with its faces, without embeddings; `nil`: there was none.
    package var selfie: FaceStageFacts.Image?
    /// Processor time in the analyzer, in milliseconds.
    package var cpuMs = 0.0

    package init(sides: [String: DocumentFacts]) {
        self.sides = sides
    }
}
