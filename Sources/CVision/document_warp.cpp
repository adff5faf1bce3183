// A picture seen through a projective map: what OpenCV's warpPerspective answers with linear interpolation and repeated
// borders, to the bit, eight pixels at a time.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <opencv2/imgproc.hpp>
#include <type_traits>

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "document.hpp"

namespace cvision {
namespace {

#ifdef __x86_64__

constexpr int lanes = 8;
constexpr int fraction_bits = 5;  // OpenCV places pixels to a 32nd
constexpr int block = 64;         // pixels of a row whose places it computes from the same start

/// Places in 32nds of a pixel of `lanes` pixels from `x`, which is `at` pixels into its block.
struct Places {
    alignas(32) int32_t x[lanes], y[lanes];
};

[[gnu::target("avx2")]] inline void place(const cv::Matx33d &m, int start, int at, int row, Places &places) {
    const __m256d unit = _mm256_set1_pd(1 << fraction_bits);
    const __m256d least = _mm256_set1_pd(INT32_MIN), most = _mm256_set1_pd(INT32_MAX);
    // In OpenCV's order, so that roundings are the same.
    const __m256d x0 = _mm256_set1_pd(m(0, 0) * start + m(0, 1) * row + m(0, 2));
    const __m256d y0 = _mm256_set1_pd(m(1, 0) * start + m(1, 1) * row + m(1, 2));
    const __m256d w0 = _mm256_set1_pd(m(2, 0) * start + m(2, 1) * row + m(2, 2));
    for (int half = 0; half < lanes; half += 4) {
        const __m256d step = _mm256_add_pd(_mm256_set1_pd(at + half), _mm256_setr_pd(0, 1, 2, 3));
        const __m256d w = _mm256_add_pd(w0, _mm256_mul_pd(_mm256_set1_pd(m(2, 0)), step));
        const __m256d none = _mm256_cmp_pd(w, _mm256_setzero_pd(), _CMP_EQ_OQ);
        const __m256d factor = _mm256_andnot_pd(none, _mm256_div_pd(unit, w));
        const auto whole = [&](const __m256d &base, double slope) __attribute__((target("avx2"))) {
            const __m256d value =
                _mm256_mul_pd(_mm256_add_pd(base, _mm256_mul_pd(_mm256_set1_pd(slope), step)), factor);
            return _mm256_cvtpd_epi32(_mm256_max_pd(least, _mm256_min_pd(most, value)));
        };
        _mm_store_si128(reinterpret_cast<__m128i *>(places.x + half), whole(x0, m(0, 0)));
        _mm_store_si128(reinterpret_cast<__m128i *>(places.y + half), whole(y0, m(1, 0)));
    }
}

/// One pixel whose neighbours may lie outside.
template <int Channels>
void interpolate(const cv::Mat &image, int x, int y, uint8_t *to) {
    constexpr int unit = 1 << fraction_bits;
    const int fx = x & (unit - 1), fy = y & (unit - 1);
    x >>= fraction_bits, y >>= fraction_bits;
    const auto within = [](int value, int length) { return std::clamp(value, 0, length - 1); };
    const int left = within(x, image.cols) * Channels, right = within(x + 1, image.cols) * Channels;
    const uint8_t *above = image.ptr<uint8_t>(within(y, image.rows)), *below = image.ptr<uint8_t>(within(y + 1, image.rows));
    for (int c = 0; c < Channels; ++c) {
        const int upper = above[left + c] * (unit - fx) + above[right + c] * fx;
        const int lower = below[left + c] * (unit - fx) + below[right + c] * fx;
        to[c] = static_cast<uint8_t>((upper * (unit - fy) + lower * fy + unit * unit / 2) >> (2 * fraction_bits));
    }
}

/// For eight pixels: where in the picture their top left neighbours are, and the weights of the neighbours.
struct Neighbours {
    alignas(32) int32_t at[lanes];
    alignas(32) uint32_t across[lanes];  // of the left one and, 8 bits higher, of the right one; the same 16 bits higher
    alignas(32) uint32_t down[lanes];    // of the upper one and, 16 bits higher, of the lower one
};

/// Eight pixels of one channel: each word holds two neighbours of one pixel.
[[gnu::target("avx2")]] inline void mix(const uint8_t *pixels, size_t stride, const Neighbours &n, uint8_t *to,
                                        std::integral_constant<int, 1>) {
    alignas(16) uint16_t above[lanes], below[lanes];
    for (int i = 0; i < lanes; ++i) {
        std::memcpy(above + i, pixels + n.at[i], 2);
        std::memcpy(below + i, pixels + n.at[i] + stride, 2);
    }
    const __m256i across = _mm256_load_si256(reinterpret_cast<const __m256i *>(n.across));
    const __m256i once = _mm256_srli_epi32(across, 16);
    const __m128i words = _mm_packus_epi32(_mm256_castsi256_si128(once), _mm256_extracti128_si256(once, 1));
    const __m128i upper = _mm_maddubs_epi16(_mm_load_si128(reinterpret_cast<const __m128i *>(above)), words);
    const __m128i lower = _mm_maddubs_epi16(_mm_load_si128(reinterpret_cast<const __m128i *>(below)), words);
    const __m128i *const down = reinterpret_cast<const __m128i *>(n.down);
    const __m128i half = _mm_set1_epi32(1 << (2 * fraction_bits - 1));
    const __m128i first = _mm_madd_epi16(_mm_unpacklo_epi16(upper, lower), _mm_load_si128(down));
    const __m128i second = _mm_madd_epi16(_mm_unpackhi_epi16(upper, lower), _mm_load_si128(down + 1));
    const __m128i both = _mm_packs_epi32(_mm_srli_epi32(_mm_add_epi32(first, half), 2 * fraction_bits),
                                         _mm_srli_epi32(_mm_add_epi32(second, half), 2 * fraction_bits));
    _mm_storel_epi64(reinterpret_cast<__m128i *>(to), _mm_packus_epi16(both, both));
}

/// Eight pixels of three channels, one after the other: each has its neighbours beside each other in one register.
[[gnu::target("avx2")]] inline void mix(const uint8_t *pixels, size_t stride, const Neighbours &n, uint8_t *to,
                                        std::integral_constant<int, 3>) {
    const __m128i pairs = _mm_setr_epi8(0, 3, 8, 11, 1, 4, 9, 12, 2, 5, 10, 13, -1, -1, -1, -1);
    const __m128i half = _mm_set1_epi32(1 << (2 * fraction_bits - 1));
    for (int i = 0; i < lanes; ++i) {
        const uint8_t *const at = pixels + n.at[i];
        const __m128i rows = _mm_unpacklo_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i *>(at)),
                                                _mm_loadl_epi64(reinterpret_cast<const __m128i *>(at + stride)));
        const __m128i sums = _mm_maddubs_epi16(_mm_shuffle_epi8(rows, pairs), _mm_set1_epi32(static_cast<int>(n.across[i])));
        const __m128i mixed = _mm_madd_epi16(sums, _mm_set1_epi32(static_cast<int>(n.down[i])));
        const __m128i words = _mm_srli_epi32(_mm_add_epi32(mixed, half), 2 * fraction_bits);
        const __m128i narrow = _mm_packus_epi16(_mm_packs_epi32(words, words), words);
        const int colour = _mm_cvtsi128_si32(narrow);
        std::memcpy(to + 3 * i, &colour, 3);
    }
}

template <int Channels>
[[gnu::target("avx2")]] void warp(const cv::Mat &image, const cv::Matx33d &map, cv::Mat &result) {
    const __m256i unit = _mm256_set1_epi32(1 << fraction_bits), rest = _mm256_set1_epi32((1 << fraction_bits) - 1);
    // Eight bytes are read from each pixel, which must not reach beyond the last row's end.
    const __m256i columns = _mm256_set1_epi32(image.cols - 8), rows = _mm256_set1_epi32(image.rows - 2);
    Places places;
    Neighbours n;
    for (int y = 0; y < result.rows; ++y) {
        uint8_t *to = result.ptr<uint8_t>(y);
        for (int x = 0; x < result.cols; x += lanes, to += lanes * Channels) {
            place(map, x / block * block, x % block, y, places);
            const int count = std::min(lanes, result.cols - x);
            const __m256i px = _mm256_load_si256(reinterpret_cast<const __m256i *>(places.x));
            const __m256i py = _mm256_load_si256(reinterpret_cast<const __m256i *>(places.y));
            const __m256i ix = _mm256_srai_epi32(px, fraction_bits), iy = _mm256_srai_epi32(py, fraction_bits);
            const __m256i outside =
                _mm256_or_si256(_mm256_srai_epi32(_mm256_or_si256(ix, iy), 31),
                                _mm256_or_si256(_mm256_cmpgt_epi32(ix, columns), _mm256_cmpgt_epi32(iy, rows)));
            if (count < lanes || !_mm256_testz_si256(outside, outside)) {
                for (int i = 0; i < count; ++i) interpolate<Channels>(image, places.x[i], places.y[i], to + i * Channels);
                continue;
            }
            const __m256i fx = _mm256_and_si256(px, rest), fy = _mm256_and_si256(py, rest);
            const __m256i across = _mm256_or_si256(_mm256_sub_epi32(unit, fx), _mm256_slli_epi32(fx, 8));
            const __m256i down = _mm256_or_si256(_mm256_sub_epi32(unit, fy), _mm256_slli_epi32(fy, 16));
            const __m256i at = _mm256_add_epi32(_mm256_mullo_epi32(iy, _mm256_set1_epi32(static_cast<int>(image.step))),
                                                _mm256_mullo_epi32(ix, _mm256_set1_epi32(Channels)));
            _mm256_store_si256(reinterpret_cast<__m256i *>(n.at), at);
            _mm256_store_si256(reinterpret_cast<__m256i *>(n.across), _mm256_or_si256(across, _mm256_slli_epi32(across, 16)));
            _mm256_store_si256(reinterpret_cast<__m256i *>(n.down), down);
            mix(image.data, image.step, n, to, std::integral_constant<int, Channels>());
        }
    }
}

#endif

}  // namespace

cv::Mat warped(const cv::Mat &image, const cv::Matx33d &map, cv::Size size) {
    cv::Mat result;
#ifdef __x86_64__
    static const bool has_registers = (__builtin_cpu_init(), __builtin_cpu_supports("avx2"));
    // Offsets within the picture are 32 bits wide.
    const bool fits = !image.empty() && image.total() * image.elemSize() < (1u << 30) && image.step < (1u << 20) &&
                      size.width >= block && size.height >= block / 4;
    if (has_registers && fits && (image.type() == CV_8UC1 || image.type() == CV_8UC3)) {
        result.create(size, image.type());
        image.channels() == 1 ? warp<1>(image, map, result) : warp<3>(image, map, result);
        return result;
    }
#endif
    cv::warpPerspective(image, result, map, size, cv::INTER_LINEAR | cv::WARP_INVERSE_MAP, cv::BORDER_REPLICATE);
    return result;
}

}  // namespace cvision
