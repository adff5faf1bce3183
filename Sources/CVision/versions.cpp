#include <ZXing/ZXVersion.h>
#include <dlib/revision.h>

#include <cstdio>
#include <opencv2/core/version.hpp>

#include "CVision.h"

extern "C" void cv_versions(char *text, size_t size) {
    std::snprintf(text, size, "OpenCV=%s dlib=%d.%d ZXing=%d.%d.%d", CV_VERSION, DLIB_MAJOR_VERSION, DLIB_MINOR_VERSION,
                  ZXING_VERSION_MAJOR, ZXING_VERSION_MINOR, ZXING_VERSION_PATCH);
}
