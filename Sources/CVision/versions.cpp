#include <ZXing/ZXVersion.h>
#include <dlfcn.h>
#include <dlib/revision.h>

#include <cstdio>
#include <cstring>
#include <opencv2/core/version.hpp>

#include "CVision.h"
#include "cpu.hpp"

extern "C" void cv_versions(char *text, size_t size) {
    std::snprintf(text, size, "OpenCV=%s dlib=%d.%d ZXing=%d.%d.%d", CV_VERSION, DLIB_MAJOR_VERSION, DLIB_MINOR_VERSION,
                  ZXING_VERSION_MAJOR, ZXING_VERSION_MINOR, ZXING_VERSION_PATCH);
}

extern "C" const char *cv_blas_core(void) {
    using Name = char *(*)();
    const auto name = reinterpret_cast<Name>(dlsym(RTLD_DEFAULT, "openblas_get_corename"));
    if (name == nullptr || std::strcmp(name(), "Prescott") != 0) return nullptr;
    if (cvision::runs_skylakex_kernels()) return "SkylakeX";
    return cvision::widest_registers() == cvision::Registers::by_4 ? nullptr : "Haswell";
}
