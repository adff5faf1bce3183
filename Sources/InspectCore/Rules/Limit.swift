/// The limit that a rule compares a measurement with. ``Limits`` is the table of all of them.
package struct Limit: Sendable, Hashable {
    /// The values that are good.
    package enum Bound: Sendable, Hashable {
        /// Up to and including the number.
        case atMost(Double)
        /// The number and above.
        case atLeast(Double)
        /// Less than the number.
        case below(Double)
        /// More than the number.
        case above(Double)
        /// Between two numbers, both included.
        case within(ClosedRange<Double>)
    }

    /// The values that are good.
    package let bound: Bound
    /// The source of the number: a section of a standard, or a measurement.
    let basis: String

    init(_ bound: Bound, _ basis: String) {
        self.bound = bound
        self.basis = basis
    }

    /// Whether `value` is good: in a shadow run, by its numbers.
    package func allows(_ value: Double) -> Bool {
        switch LimitChanges.bound(of: self) {
        case .atMost(let limit): value <= limit
        case .atLeast(let limit): value >= limit
        case .below(let limit): value < limit
        case .above(let limit): value > limit
        case .within(let range): range.contains(value)
        }
    }
}

/// One measurement with the limit that it was judged by.
package struct Measurement: Sendable, Hashable {
    /// As with cross-checks: inconclusive if nothing was measured.
    package typealias Outcome = DataCheckData.Outcome

    /// Its name in the facts.
    package var name: String
    /// `nil` if it could not be measured.
    package var value: Double?
    /// `nil` if no rule uses it.
    package var limit: Limit?
    /// `nil` if no rule uses it, or if it is beyond a limit that does not apply here.
    package var outcome: Outcome?
    /// Why it was not measured, or does not count.
    package var note: String?

    /// A measurement that no rule uses.
    init(_ name: String, _ value: Double?) {
        self.name = name
        self.value = value
    }

    /// A measurement that a rule uses.
    ///
    /// - Parameters:
    ///   - counts: Whether a value beyond the limit counts against the image.
    ///   - note: Why it does not count, or why there is no value; ignored otherwise.
    init(_ name: String, _ value: Double?, _ limit: Limit, counts: Bool = true, note: String) {
        self.name = name
        self.value = value
        self.limit = limit
        guard let value else {
            self.outcome = .inconclusive
            self.note = note
            return
        }
        let isGood = limit.allows(value)
        self.outcome = isGood ? .pass : counts ? .fail : nil
        self.note = isGood || counts ? nil : note
    }
}
