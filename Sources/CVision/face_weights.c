// dlib's detector, embedded without its compression, which takes 0.57 s of each process that loads it
// (Training/face_detector.cpp writes the file).
#pragma clang diagnostic ignored "-Wc23-extensions"
#include <stddef.h>

const unsigned char cvision_face_detector[] = {
#embed "face_detector.bin"
};
const size_t cvision_face_detector_size = sizeof cvision_face_detector;
