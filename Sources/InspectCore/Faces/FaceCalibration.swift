/// What was measured about one engine's distances.
public enum FaceCalibration {
    public static let engine = FaceFeature.currentEngine
    public static let leastEyeDistance = 16.0
    public static func falseMatchBound(threshold: Double) -> Double? { nil }
}
