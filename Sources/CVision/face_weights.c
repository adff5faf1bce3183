// dlib's frontal face detector as dlib itself writes it, without the compression that takes half a second to undo. It is the same
// as the one in dlib's header (FaceEngineTests).
#pragma clang diagnostic ignored "-Wc23-extensions"
#include <stddef.h>

const unsigned char cvision_face_detector[] = {
#embed "face_detector.bin"
};
const size_t cvision_face_detector_size = sizeof cvision_face_detector;
