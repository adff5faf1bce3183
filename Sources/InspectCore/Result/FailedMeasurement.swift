/// A measurement beyond its limit. One of the limits is set, or both for a range.
package struct FailedMeasurement: Codable, Sendable, Hashable {
    /// The name that reports have for it.
    package var name: String
    /// In the unit of the measurement.
    package var value: Double
    /// Good values are this or less.
    package var atMost: Double?
    /// Good values are this or more.
    package var atLeast: Double?
    /// Good values are less than this.
    package var below: Double?
    /// Good values are more than this.
    package var above: Double?

    /// - Returns: `nil` unless the measurement counts and is beyond its limit.
    init?(_ measurement: Measurement) {
        guard measurement.outcome == .fail, let value = measurement.value, let limit = measurement.limit else {
            return nil
        }
        self.name = measurement.name
        self.value = value
        switch limit.bound {
        case .atMost(let limit): self.atMost = limit
        case .atLeast(let limit): self.atLeast = limit
        case .below(let limit): self.below = limit
        case .above(let limit): self.above = limit
        case .within(let range): (self.atLeast, self.atMost) = (range.lowerBound, range.upperBound)
        }
    }

    /// - Returns: `nil` if nothing is objected to.
    static func all(_ measurements: [Measurement]) -> [FailedMeasurement]? {
        let failed = measurements.compactMap(FailedMeasurement.init)
        return failed.isEmpty ? nil : failed
    }
}

extension UsabilityData {
    /// The measurements behind the usability decision for one side of a document.
    ///
    /// - Parameters:
    ///   - reading: What the image's text proves; the decision rests on it.
    ///   - format: What the client chose.
    package init(_ side: DocumentFacts, reading: ReadingEvidence, format: DocumentFormat? = nil) {
        self.init(
            image: side.image, quality: side.quality, outline: side.outline,
            failedMeasurements: FailedMeasurement.all(
                UsabilityRules.measurements(side, reading: reading, format: format)),
            side: DocumentSide(side, format: format))
    }
}
