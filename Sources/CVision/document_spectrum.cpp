#include "document_spectrum.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <vector>

#include "cpu.hpp"

namespace cvision {
namespace {

constexpr int side = spectrum_side, half = side / 2;
/// Transforms side by side, one in each lane.
constexpr int lanes = 8;
typedef float Vector __attribute__((vector_size(4 * lanes)));

struct Lanes {
    std::array<Vector, side> re, im;
};

/// cos and -sin of 2 pi k / side.
struct Circle {
    std::array<float, side> cosine, sine;
    Circle() {
        for (int k = 0; k < side; ++k) {
            cosine[static_cast<size_t>(k)] = static_cast<float>(std::cos(2 * CV_PI * k / side));
            sine[static_cast<size_t>(k)] = static_cast<float>(-std::sin(2 * CV_PI * k / side));
        }
    }
};
const Circle circle;

/// Where frequency k stands after `transform`: its digits to base 4 in reverse order.
constexpr int place_of(int k) { return (k & 3) << 6 | (k & 12) << 2 | (k & 48) >> 2 | k >> 6; }

/// Fourier transforms over the rows of `z`, one in each lane: radix 4, decimation in frequency.
[[gnu::always_inline]] inline void transform(Lanes &z) {
    for (int span = side; span > 1; span /= 4) {
        const int quarter = span / 4, turn = side / span;
        for (int k = 0; k < quarter; ++k) {
            const auto c1 = circle.cosine[static_cast<size_t>(k * turn)],
                       s1 = circle.sine[static_cast<size_t>(k * turn)],
                       c2 = circle.cosine[static_cast<size_t>(2 * k * turn)],
                       s2 = circle.sine[static_cast<size_t>(2 * k * turn)],
                       c3 = circle.cosine[static_cast<size_t>(3 * k * turn)],
                       s3 = circle.sine[static_cast<size_t>(3 * k * turn)];
            for (int start = k; start < side; start += span) {
                Vector *re = &z.re[static_cast<size_t>(start)], *im = &z.im[static_cast<size_t>(start)];
                const Vector ar = re[0] + re[2 * quarter], ai = im[0] + im[2 * quarter];
                const Vector br = re[0] - re[2 * quarter], bi = im[0] - im[2 * quarter];
                const Vector cr = re[quarter] + re[3 * quarter], ci = im[quarter] + im[3 * quarter];
                const Vector dr = im[quarter] - im[3 * quarter], di = re[3 * quarter] - re[quarter];
                const Vector pr = br + dr, pi = bi + di, qr = ar - cr, qi = ai - ci, rr = br - dr, ri = bi - di;
                re[0] = ar + cr, im[0] = ai + ci;
                re[quarter] = pr * c1 - pi * s1, im[quarter] = pr * s1 + pi * c1;
                re[2 * quarter] = qr * c2 - qi * s2, im[2 * quarter] = qr * s2 + qi * c2;
                re[3 * quarter] = rr * c3 - ri * s3, im[3 * quarter] = rr * s3 + ri * c3;
            }
        }
    }
}

void transform_by_4(Lanes &z) { transform(z); }
#ifdef __x86_64__
[[gnu::target("avx2")]] void transform_by_8(Lanes &z) { transform(z); }
#endif

/// The transforms of the columns of `patch`, turned: the row of a column, with frequencies from 0 to the highest.
struct Columns {
    static constexpr int width = half + lanes;  // half + 1 of them, filled up with whole lanes
    std::vector<float> re, im;
    Columns() : re(static_cast<size_t>(side) * width), im(re.size()) {}
    size_t at(int column, int frequency) const {
        return static_cast<size_t>(column) * width + static_cast<size_t>(frequency);
    }
};

}  // namespace

cv::Mat spectrum_of(const cv::Mat &patch) {
    auto run = transform_by_4;
#ifdef __x86_64__
    if (registers() != Registers::by_4) {
        count_wide_run();
        run = transform_by_8;
    }
#endif
    Lanes z;
    Columns columns;
    for (int x = 0; x < half; x += lanes) {
        // Two real columns as one of complex numbers.
        for (size_t y = 0; y < side; ++y) {
            const float *row = patch.ptr<float>(static_cast<int>(y)) + x;
            std::memcpy(&z.re[y], row, sizeof z.re[y]);
            std::memcpy(&z.im[y], row + half, sizeof z.im[y]);
        }
        run(z);
        for (int k = 0; k <= half; ++k) {
            const size_t p = static_cast<size_t>(place_of(k)), q = static_cast<size_t>(place_of((side - k) % side));
            const Vector one_re = (z.re[p] + z.re[q]) / 2, one_im = (z.im[p] - z.im[q]) / 2;
            const Vector other_re = (z.im[p] + z.im[q]) / 2, other_im = (z.re[q] - z.re[p]) / 2;
            for (int i = 0; i < lanes; ++i) {
                const size_t one = columns.at(x + i, k), other = columns.at(x + i + half, k);
                columns.re[one] = one_re[i], columns.im[one] = one_im[i];
                columns.re[other] = other_re[i], columns.im[other] = other_im[i];
            }
        }
    }
    cv::Mat result(side, half, CV_32F);
    for (int from = 0; from <= half; from += lanes) {
        for (int x = 0; x < side; ++x) {
            std::memcpy(&z.re[static_cast<size_t>(x)], &columns.re[columns.at(x, from)], sizeof(Vector));
            std::memcpy(&z.im[static_cast<size_t>(x)], &columns.im[columns.at(x, from)], sizeof(Vector));
        }
        run(z);
        for (size_t u = 0; u < side; ++u) z.re[u] = z.re[u] * z.re[u] + z.im[u] * z.im[u];
        for (int i = 0; i < lanes && from + i <= half; ++i) {
            const int v = from + i;
            float *to = result.ptr<float>((v + half) % side);
            for (int u = 0; u < half; ++u) to[u] = z.re[static_cast<size_t>(place_of(u))][i];
            if (v == 0 || v == half) continue;
            float *mirrored = result.ptr<float>(half - v);
            for (int u = 0; u < half; ++u) mirrored[u] = z.re[static_cast<size_t>(place_of((side - u) % side))][i];
        }
    }
    return result;
}

}  // namespace cvision
