// Colours of images that are not sRGB: what an ICC profile or code points say, applied once, after decoding.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <opencv2/core.hpp>
#include <optional>

namespace cvision {

struct Source {
    const uint8_t *bytes;
    size_t length;
};

/// Three primaries, each with its curve.
struct ColourSpace {
    using Curve = std::array<float, 256>;  // light of 0 to 1 by sample
    std::array<Curve, 3> curves;           // red, green, blue
    cv::Matx33f to_srgb;                   // light of these primaries to that of sRGB's
};

/// Profiles of this length and more are tables for printers, which are not applied.
constexpr size_t max_profile = 64 << 10;

/// What an ICC profile of three primaries says (ICC.1, "three-component matrix-based"). None if it is sRGB, of another kind or
/// damaged: then the samples stay as they are.
std::optional<ColourSpace> colours_of_profile(Source profile);

/// The same by code points of ITU-T H.273 (colour primaries, transfer characteristics).
std::optional<ColourSpace> colours_of_codes(unsigned primaries, unsigned transfer);

/// Changes `bgr` (CV_8UC3) from `space` to sRGB.
void to_srgb(cv::Mat &bgr, const ColourSpace &space);

}  // namespace cvision
