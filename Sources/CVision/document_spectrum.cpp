// Fast Fourier transforms of many columns at once, so that neighbours in memory are calculated side by side. OpenCV's transform,
// which Debian compiles without wide registers, takes several times as long.
#include "document_spectrum.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "cpu.hpp"

namespace cvision {
namespace {

constexpr int side = spectrum_side, half = side / 2;
constexpr int together = 32;  // columns: few enough for the cache near the processor

/// Powers of the side's root of unity, for a transform of the whole side.
struct Roots {
    std::array<float, side> real, imaginary;

    Roots() {
        for (int i = 0; i < side; ++i) {
            const double angle = -2 * CV_PI * i / side;
            real[static_cast<size_t>(i)] = static_cast<float>(std::cos(angle));
            imaginary[static_cast<size_t>(i)] = static_cast<float>(std::sin(angle));
        }
    }
};

/// Real and imaginary parts; element (i, column) is at i * stride + column.
struct Columns {
    float *real, *imaginary;
    int stride;
};

/// Where the result of frequency `k` lies after `transform`: its four digits to the base four in reverse.
int place_of(int k) { return (k & 3) << 6 | (k & 12) << 2 | (k & 48) >> 2 | k >> 6; }

/// Transforms `together` columns of `side` numbers in place: decimation in frequency by four (Gentleman and Sande, 1966).
[[gnu::always_inline]] inline void transform_plainly(const Columns &columns, const Roots &roots) {
    for (int length = side; length > 1; length /= 4) {
        const int quarter = length / 4, turn = side / length;
        for (int j = 0; j < quarter; ++j) {
            const size_t one = static_cast<size_t>(j * turn), two = 2 * one, three = 3 * one;
            const float r1 = roots.real[one], i1 = roots.imaginary[one], r2 = roots.real[two],
                        i2 = roots.imaginary[two], r3 = roots.real[three], i3 = roots.imaginary[three];
            for (int first = j; first < side; first += length) {
                const auto row = [&](float *values, int part) {
                    return values + static_cast<ptrdiff_t>(first + part * quarter) * columns.stride;
                };
                float *const ar = row(columns.real, 0), *const ai = row(columns.imaginary, 0);
                float *const br = row(columns.real, 1), *const bi = row(columns.imaginary, 1);
                float *const cr = row(columns.real, 2), *const ci = row(columns.imaginary, 2);
                float *const dr = row(columns.real, 3), *const di = row(columns.imaginary, 3);
#pragma clang loop vectorize(assume_safety)
                for (int x = 0; x < together; ++x) {
                    const float sum_r = ar[x] + cr[x], sum_i = ai[x] + ci[x];
                    const float apart_r = ar[x] - cr[x], apart_i = ai[x] - ci[x];
                    const float others_r = br[x] + dr[x], others_i = bi[x] + di[x];
                    const float turned_r = bi[x] - di[x], turned_i = dr[x] - br[x];
                    const float b_r = apart_r + turned_r, b_i = apart_i + turned_i;
                    const float c_r = sum_r - others_r, c_i = sum_i - others_i;
                    const float d_r = apart_r - turned_r, d_i = apart_i - turned_i;
                    ar[x] = sum_r + others_r, ai[x] = sum_i + others_i;
                    br[x] = b_r * r1 - b_i * i1, bi[x] = b_r * i1 + b_i * r1;
                    cr[x] = c_r * r2 - c_i * i2, ci[x] = c_r * i2 + c_i * r2;
                    dr[x] = d_r * r3 - d_i * i3, di[x] = d_r * i3 + d_i * r3;
                }
            }
        }
    }
}

#ifdef __x86_64__
[[gnu::target("avx2,fma")]] void transform_by_8(const Columns &columns, const Roots &roots) {
    count_wide_run();
    transform_plainly(columns, roots);
}
#endif

void transform(const Columns &columns, const Roots &roots) {
#ifdef __x86_64__
    if (registers() != Registers::by_4) return transform_by_8(columns, roots);
#endif
    transform_plainly(columns, roots);
}

}  // namespace

cv::Mat power_spectrum(const cv::Mat &patch) {
    static const Roots roots;
    // The left half of the patch as the real part and the right half as the imaginary one: their transforms are told apart by
    // their symmetry.
    cv::Mat values = patch.clone();
    for (int x = 0; x < half; x += together)
        transform({values.ptr<float>(0) + x, values.ptr<float>(0) + half + x, side}, roots);
    // Row frequencies 0 to 128 side by side, for the transform along the rows; the others mirror them.
    constexpr int rows = (half + together) / together * together;
    cv::Mat real(side, rows, CV_32F, cv::Scalar(0)), imaginary(side, rows, CV_32F, cv::Scalar(0));
    for (int v = 0; v <= half; ++v) {
        const float *here = values.ptr<float>(place_of(v)), *there = values.ptr<float>(place_of((side - v) % side));
        float *r = real.ptr<float>(0) + v, *i = imaginary.ptr<float>(0) + v;
        for (int x = 0; x < half; ++x) {
            r[x * rows] = (here[x] + there[x]) / 2;
            i[x * rows] = (here[half + x] - there[half + x]) / 2;
            r[(half + x) * rows] = (here[half + x] + there[half + x]) / 2;
            i[(half + x) * rows] = (there[x] - here[x]) / 2;
        }
    }
    for (int v = 0; v < rows; v += together)
        transform({real.ptr<float>(0) + v, imaginary.ptr<float>(0) + v, rows}, roots);
    cv::Mat power(side, half, CV_32F);
    for (int u = 0; u < half; ++u) {
        const float *r = real.ptr<float>(place_of(u)), *i = imaginary.ptr<float>(place_of(u));
        const int mirrored = place_of((side - u) % side);
        const float *mr = real.ptr<float>(mirrored), *mi = imaginary.ptr<float>(mirrored);
        float *to = power.ptr<float>(0) + u;
        for (int v = 0; v < half; ++v) to[(v + half) * half] = r[v] * r[v] + i[v] * i[v];
        for (int v = 1; v <= half; ++v) to[(half - v) * half] = mr[v] * mr[v] + mi[v] * mi[v];
    }
    return power;
}

}  // namespace cvision
