import InspectCore

extension SplitMix64 {
    /// A number from 0 to below the bound.
    mutating func below(_ bound: Int) -> Int { Int(self.next() % UInt64(bound)) }

    mutating func chance(_ percent: Int) -> Bool { self.below(100) < percent }
}
