internal import CVision
package import InspectCore

/// The arithmetic on pixels that is written for the processor's wide registers.
package enum PixelArithmetic {
    /// Averages down and straightens random pictures as OpenCV does it, too, and filters them also in plain arithmetic.
    ///
    /// - Parameters:
    ///   - seed: What the pictures are drawn from.
    ///   - pictures: How many; each takes some milliseconds.
    /// - Returns: How many bytes and sums were compared, and in how many the two ways differ: 0, or pictures are judged
    ///   differently from processor to processor.
    package static func check(
        seed: UInt64, pictures: Int
    ) throws(InspectError) -> (compared: Int64, different: Int64) {
        var result: (compared: Int64, different: Int64) = (0, 0)
        try callVision { error in
            cv_image_check_arithmetic(seed, Int32(pictures), &result.compared, &result.different, &error)
        }
        return result
    }
}
