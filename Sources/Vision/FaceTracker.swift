internal import CVision
package import InspectCore

/// Follows one face over the frames of a capture and measures each.
///
/// The whole image is searched once (17 ms at 480 px), then the neighbourhood of the last box (5 ms). Not `Sendable`, like its
/// engine.
package final class FaceTracker {
    private let engine: FaceEngine
    private let pointer: OpaquePointer

    package init(engine: FaceEngine) throws(InspectError) {
        var tracker: OpaquePointer?
        try callVision { error in cv_face_tracker_create(&tracker, &error) }
        guard let tracker else { throw InspectError(.internalError, "creating a face tracker failed") }
        self.engine = engine
        self.pointer = tracker
    }

    deinit { cv_face_tracker_free(self.pointer) }

    /// Measures the next frame; the face is first sought where it was in the last one.
    package func next(_ image: DecodedImage) throws(InspectError) -> CaptureFacts.Frame {
        var native = cv_face_frame()
        try callVision { error in
            cv_face_track(self.engine.pointer, self.pointer, image.pointer, &native, &error)
        }
        return CaptureFacts.Frame(
            face: native.has_face ? CaptureFacts.Face(native) : nil, scene: native.scene,
            isRepeated: native.is_repeated)
    }
}

extension CaptureFacts.Face {
    fileprivate init(_ frame: cv_face_frame) {
        let points = withUnsafeBytes(of: frame.landmarks) { Array($0.bindMemory(to: cv_point.self)) }
        self.init(
            box: Box(x: frame.x, y: frame.y, width: frame.width, height: frame.height),
            landmarks: points.map { Point(x: $0.x, y: $0.y) }, eyeOpening: frame.eye_opening,
            mouthOpening: frame.mouth_opening, mouthWidth: frame.mouth_width, yaw: frame.yaw,
            noseDrop: frame.nose_drop, eyeDistance: frame.eye_distance, forehead: LinearColour(frame.forehead),
            cheeks: LinearColour(frame.cheeks), nose: LinearColour(frame.nose),
            background: frame.has_background ? LinearColour(frame.background) : nil, saturated: frame.saturated,
            change: frame.has_change ? frame.change : nil)
    }
}

extension LinearColour {
    fileprivate init(_ light: cv_light) { self.init(red: light.red, green: light.green, blue: light.blue) }
}
