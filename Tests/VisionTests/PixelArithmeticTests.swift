import Testing
import Vision

@Suite struct PixelArithmeticTests {
    @Test(arguments: [1, 2, 3])
    func `Averaging and straightening give what OpenCV gives, filtering what plain sums give`(seed: UInt64) throws {
        let check = try PixelArithmetic.check(seed: seed, pictures: 60)
        #expect(check.compared > 1_000_000)
        #expect(check.different == 0)
    }
}
