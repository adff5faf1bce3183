// Images as an attacker sends them: whatever the bytes, decoding ends with an image or an error.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "CVision.h"

namespace {

/// Limits small enough that an input takes milliseconds; the checks against them are part of what is tried.
constexpr uint64_t max_pixels = 1'000'000;
constexpr uint32_t max_side = 4'000;

/// A format's target: its name, and how its files begin.
struct Format {
    const char *name, *beginning;
    size_t offset, length;
    bool begins(const uint8_t *bytes, size_t count) const {
        return count >= offset + length && std::memcmp(bytes + offset, beginning, length) == 0;
    }
};
constexpr std::array<Format, 8> formats{{{"jpeg", "\xFF\xD8\xFF", 0, 3},
                                         {"png", "\x89PNG", 0, 4},
                                         {"webp", "RIFF", 0, 4},
                                         {"jpeg2000", "\xFF\x4F\xFF\x51", 0, 4},
                                         {"jpeg2000", "jP  ", 4, 4},
                                         {"heic", "ftyp", 4, 4},
                                         {"bmp", "BM", 0, 2},
                                         {"pdf", "%PDF-", 0, 5}}};
/// Set once, before the first input.
const char *target = nullptr;

void decode(const uint8_t *bytes, size_t length, uint32_t enough_side) {
    const cv_image_limits limits{max_pixels, max_side, enough_side, true};
    cv_image *image = nullptr;
    cv_image_info info{};
    cv_error error{};
    const cv_status status = cv_image_decode(bytes, length, &limits, &image, &info, &error);
    if ((status == CV_OK) != (image != nullptr)) std::abort();
    // What libraries throw is an error of ours that was not foreseen.
    if (status == CV_INTERNAL) std::abort();
    if (image == nullptr) return;
    uint8_t pixel[3];
    if (info.width == 0 || info.height == 0 || !cv_image_pixel(image, info.width - 1, info.height - 1, pixel) ||
        cv_image_pixel(image, info.width, 0, pixel) || cv_image_pixel(image, 0, info.height, pixel) ||
        info.orientation < 1 || info.orientation > 8)
        std::abort();
    cv_preview preview{};
    if (cv_image_preview(image, 64, &preview, &error) != CV_OK || preview.length == 0) std::abort();
    cv_preview_free(&preview);
    double contradiction = 0;
    if (cv_image_recompression(image, &contradiction, &error) != CV_OK || !(contradiction >= -1 && contradiction <= 1))
        std::abort();
    cv_image_free(image);
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int *, char ***) {
    target = std::getenv("INSPECTD_FUZZ_TARGET");
    for (const Format &format : formats)
        if (target != nullptr && std::strcmp(format.name, target) == 0) return 0;
    std::fputs("INSPECTD_FUZZ_TARGET names no target\n", stderr);
    std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    const bool is_of_target = std::any_of(formats.begin(), formats.end(), [=](const Format &format) {
        return std::strcmp(format.name, target) == 0 && format.begins(bytes, length);
    });
    // Kept out of the corpus: other formats have targets of their own.
    if (!is_of_target) return -1;
    decode(bytes, length, 0);
    decode(bytes, length, 64);
    return 0;
}
