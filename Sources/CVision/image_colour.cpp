#include "image_colour.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

namespace cvision {
namespace {

using Curve = ColourSpace::Curve;

double srgb_light(double value) { return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4); }

double srgb_value(double light) {
    return light <= 0.0031308 ? light * 12.92 : 1.055 * std::pow(light, 1 / 2.4) - 0.055;
}

template <typename Function>
Curve curve_of(Function light) {
    Curve curve;
    for (size_t sample = 0; sample < curve.size(); ++sample) {
        const double value = light(static_cast<double>(sample) / 255);
        curve[sample] = std::isfinite(value) ? static_cast<float>(std::clamp(value, 0.0, 1.0)) : 0.f;
    }
    return curve;
}

/// None for what differs from sRGB by less than anybody sees: most profiles describe sRGB itself.
std::optional<ColourSpace> unless_srgb(const ColourSpace &space) {
    const cv::Matx33f rest = space.to_srgb - cv::Matx33f::eye();
    if (std::any_of(rest.val, rest.val + 9, [](float value) { return std::abs(value) > 0.03f; })) return space;
    for (const Curve &curve : space.curves)
        for (size_t sample = 0; sample < curve.size(); ++sample)
            if (std::abs(srgb_value(curve[sample]) - static_cast<double>(sample) / 255) > 0.02) return space;
    return std::nullopt;
}

// MARK: ICC profiles

uint32_t number(Source source, size_t at, size_t count) {
    uint32_t value = 0;
    for (size_t index = 0; index < count; ++index) value = value << 8 | source.bytes[at + index];
    return value;
}

double fixed(Source source, size_t at) { return static_cast<int32_t>(number(source, at, 4)) / 65536.0; }

/// The tag `name` with at least `least` bytes; empty if there is none.
Source tag(Source profile, const char *name, size_t least) {
    constexpr uint32_t most_tags = 100;  // real profiles have ten to thirty
    const uint32_t count = std::min(number(profile, 128, 4), most_tags);
    for (size_t entry = 132; entry < 132 + 12 * count && entry + 12 <= profile.length; entry += 12) {
        if (std::memcmp(profile.bytes + entry, name, 4) != 0) continue;
        const size_t offset = number(profile, entry + 4, 4), length = number(profile, entry + 8, 4);
        if (offset > profile.length || length > profile.length - offset || length < least) break;
        return {profile.bytes + offset, length};
    }
    return {nullptr, 0};
}

/// A curve of ICC.1 §10.6 ("curv") or §10.18 ("para").
bool read_curve(Source source, Curve &curve) {
    if (source.length < 12) return false;
    if (std::memcmp(source.bytes, "curv", 4) == 0) {
        const size_t count = number(source, 8, 4);
        if (count > (source.length - 12) / 2) return false;
        if (count < 2) {
            const double gamma = count == 0 ? 1 : number(source, 12, 2) / 256.0;
            curve = curve_of([&](double value) { return std::pow(value, gamma); });
            return true;
        }
        curve = curve_of([&](double value) {
            const double place = value * static_cast<double>(count - 1);
            const size_t below = std::min(static_cast<size_t>(place), count - 2);
            const double first = number(source, 12 + 2 * below, 2), second = number(source, 14 + 2 * below, 2);
            return (first + (second - first) * (place - static_cast<double>(below))) / 65535;
        });
        return true;
    }
    constexpr size_t parameters[] = {1, 3, 4, 5, 7};
    const uint32_t kind = number(source, 8, 2);
    if (std::memcmp(source.bytes, "para", 4) != 0 || kind > 4) return false;
    if (source.length < 12 + 4 * parameters[kind]) return false;
    double p[7] = {};
    for (size_t index = 0; index < parameters[kind]; ++index) p[index] = fixed(source, 12 + 4 * index);
    const double gamma = p[0], a = p[1], b = p[2], c = p[3];
    curve = curve_of([&](double x) {
        const double power = std::pow(std::max(0.0, a * x + b), gamma);
        switch (kind) {
        case 0: return std::pow(x, gamma);
        case 1: return a != 0 && x >= -b / a ? power : 0;
        case 2: return a != 0 && x >= -b / a ? power + c : c;
        case 3: return x >= p[4] ? power : c * x;
        default: return x >= p[4] ? power + p[5] : c * x + p[6];
        }
    });
    return true;
}

}  // namespace

std::optional<ColourSpace> colours_of_profile(Source profile) {
    if (profile.bytes == nullptr || profile.length < 132 || profile.length > max_profile ||
        std::memcmp(profile.bytes + 36, "acsp", 4) != 0 || std::memcmp(profile.bytes + 16, "RGB XYZ ", 8) != 0)
        return std::nullopt;
    ColourSpace space;
    cv::Matx33f primaries;
    const char *const places[] = {"rXYZ", "gXYZ", "bXYZ"}, *const curves[] = {"rTRC", "gTRC", "bTRC"};
    for (int index = 0; index < 3; ++index) {
        const Source place = tag(profile, places[index], 20);
        const auto channel = static_cast<size_t>(index);
        if (place.bytes == nullptr || !read_curve(tag(profile, curves[index], 12), space.curves[channel]))
            return std::nullopt;
        for (int row = 0; row < 3; ++row)
            primaries(row, index) = static_cast<float>(fixed(place, 8 + 4 * static_cast<size_t>(row)));
    }
    // All three together are white, which is D50 in a profile (ICC.1 §7.2.16): another sum means a damaged profile.
    const float white[] = {0.9642f, 1, 0.8249f};
    for (int row = 0; row < 3; ++row) {
        const float sum = primaries(row, 0) + primaries(row, 1) + primaries(row, 2);
        if (!(std::abs(sum - white[row]) < 0.05f)) return std::nullopt;
        for (int column = 0; column < 3; ++column)
            if (!(std::abs(primaries(row, column)) < 2)) return std::nullopt;
    }
    // From D50 to the light of sRGB's primaries (IEC 61966-2-1), adapted by Bradford's matrix as profiles are.
    const cv::Matx33f from_d50(3.1338561f, -1.6168667f, -0.4906146f, -0.9787684f, 1.9161415f, 0.0334540f, 0.0719453f,
                               -0.2289914f, 1.4052427f);
    space.to_srgb = from_d50 * primaries;
    return unless_srgb(space);
}

std::optional<ColourSpace> colours_of_codes(unsigned primaries, unsigned transfer) {
    // Parts of diffuse white in 10,000 cd/m² (ITU-R BT.2408) and in the scene's light of HLG.
    constexpr double pq_white = 203.0 / 10000, hlg_white = 0.265;
    Curve curve;
    switch (transfer) {
    case 4: curve = curve_of([](double value) { return std::pow(value, 2.2); }); break;
    case 5: curve = curve_of([](double value) { return std::pow(value, 2.8); }); break;
    case 8: curve = curve_of([](double value) { return value; }); break;
    case 16:  // SMPTE ST 2084; what is brighter than white is cut off
        curve = curve_of([](double value) {
            const double power = std::pow(value, 32 / 2523.0);
            const double ratio = std::max(0.0, power - 3424 / 4096.0) / (2413 / 128.0 - 2392 / 128.0 * power);
            return std::pow(ratio, 8192 / 1305.0) / pq_white;
        });
        break;
    case 18:  // ARIB STD-B67
        curve = curve_of([](double value) {
            const double light =
                value <= 0.5 ? value * value / 3 : (std::exp((value - 0.55991073) / 0.17883277) + 0.28466892) / 12;
            return light / hlg_white;
        });
        break;
    // Cameras' curves of ITU-R BT.709 and similar ones are shown as sRGB's.
    default: curve = curve_of(srgb_light);
    }
    ColourSpace space{{curve, curve, curve}, cv::Matx33f::eye()};
    if (primaries == 9)  // ITU-R BT.2020
        space.to_srgb = cv::Matx33f(1.6604910f, -0.5876411f, -0.0728499f, -0.1245505f, 1.1328999f, -0.0083494f,
                                    -0.0181508f, -0.1005789f, 1.1187297f);
    if (primaries == 12)  // Display P3
        space.to_srgb =
            cv::Matx33f(1.2249401f, -0.2249404f, 0, -0.0420569f, 1.0420571f, 0, -0.0196376f, -0.0786361f, 1.0982735f);
    return unless_srgb(space);
}

void to_srgb(cv::Mat &bgr, const ColourSpace &space) {
    // Whole numbers: the light of each input channel in each output channel, in steps of a 4,095th and 16 parts of it.
    constexpr int steps = 4095, parts = 16;
    std::array<std::array<std::array<int32_t, 3>, 256>, 3> light;
    for (int in = 0; in < 3; ++in)
        for (size_t sample = 0; sample < 256; ++sample)
            for (int out = 0; out < 3; ++out) {
                const double value = static_cast<double>(space.to_srgb(out, in)) *
                                     static_cast<double>(space.curves[static_cast<size_t>(in)][sample]);
                light[static_cast<size_t>(in)][sample][static_cast<size_t>(out)] = cvRound(value * steps * parts);
            }
    std::vector<uint8_t> values(steps + 1);
    for (int step = 0; step <= steps; ++step)
        values[static_cast<size_t>(step)] =
            cv::saturate_cast<uint8_t>(255 * srgb_value(static_cast<double>(step) / steps));
    for (int y = 0; y < bgr.rows; ++y) {
        uint8_t *pixel = bgr.ptr<uint8_t>(y);
        for (int x = 0; x < bgr.cols; ++x, pixel += 3) {
            const auto &red = light[0][pixel[2]], &green = light[1][pixel[1]], &blue = light[2][pixel[0]];
            for (size_t out = 0; out < 3; ++out) {
                const int sum = (red[out] + green[out] + blue[out] + parts / 2) / parts;
                pixel[2 - out] = values[static_cast<size_t>(std::clamp(sum, 0, steps))];
            }
        }
    }
}

}  // namespace cvision
