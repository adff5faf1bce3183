#define DLIB_DISABLE_ASSERTS
#include <dlib/image_processing/frontal_face_detector.h>

#include <algorithm>
#include <sstream>

#include "face_scanner.hpp"
#include "face_scanner_made.hpp"

namespace cvision {

std::unique_ptr<FaceScanner> face_scanner_by_4() { return std::make_unique<MadeScanner>(); }

}  // namespace cvision
