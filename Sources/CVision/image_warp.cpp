// Bilinear interpolation through a projective map, as OpenCV's warpPerspective does it, to the same bits: places in steps of 1/32
// pixel, their shares in whole numbers. Eight pixels at a time instead of one.
#include <algorithm>
#include <climits>
#include <cstring>
#include <opencv2/imgproc.hpp>

#include "cpu.hpp"
#include "image.hpp"

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace cvision {
namespace {

#ifdef __x86_64__
constexpr int lanes = 8, steps = 32;

/// The places of eight pixels of a row: offsets of the upper left of the four pixels around each, and the shares of the right
/// and of the lower ones, of 32.
struct Places {
    alignas(32) int32_t offsets[lanes], right[lanes], below[lanes];
};

/// The map's numerators and denominator at the start of a block, and their growth with each pixel.
struct Line {
    double x, y, w, x_step, y_step, w_step;
    int columns, rows, channels;
    size_t pitch;
};

/// `32 × (start + i × step) / w` for four pixels, rounded and kept within the image.
[[gnu::target("avx2"), gnu::always_inline]] inline __m128i place(__m256d i, double start, double step, __m256d factor,
                                                                 int count) {
    const __m256d value = _mm256_add_pd(_mm256_set1_pd(start), _mm256_mul_pd(i, _mm256_set1_pd(step)));
    const __m256d bounded =
        _mm256_max_pd(_mm256_set1_pd(INT_MIN), _mm256_min_pd(_mm256_set1_pd(INT_MAX), _mm256_mul_pd(value, factor)));
    const __m128i at = _mm256_cvtpd_epi32(bounded);
    return _mm_max_epi32(_mm_min_epi32(at, _mm_set1_epi32((count - 1) * steps)), _mm_setzero_si128());
}

/// Those of the pixels from `first`. Beyond the image, its nearest pixel counts.
[[gnu::target("avx2"), gnu::always_inline]] inline void find_places(const Line &line, int first, Places &places) {
    const __m256d zero = _mm256_setzero_pd();
    for (int half = 0; half < lanes; half += 4) {
        const double begin = first + half;
        const __m256d i = _mm256_set_pd(begin + 3, begin + 2, begin + 1, begin);
        const __m256d w = _mm256_add_pd(_mm256_set1_pd(line.w), _mm256_mul_pd(i, _mm256_set1_pd(line.w_step)));
        // As in OpenCV, a pixel at infinity shows the corner.
        const __m256d factor =
            _mm256_andnot_pd(_mm256_cmp_pd(w, zero, _CMP_EQ_OQ), _mm256_div_pd(_mm256_set1_pd(steps), w));
        const __m128i x = place(i, line.x, line.x_step, factor, line.columns);
        const __m128i y = place(i, line.y, line.y_step, factor, line.rows);
        const __m128i column = _mm_min_epi32(_mm_srai_epi32(x, 5), _mm_set1_epi32(line.columns - 2));
        const __m128i row = _mm_min_epi32(_mm_srai_epi32(y, 5), _mm_set1_epi32(line.rows - 2));
        const __m128i offset = _mm_add_epi32(_mm_mullo_epi32(row, _mm_set1_epi32(int(line.pitch))),
                                             _mm_mullo_epi32(column, _mm_set1_epi32(line.channels)));
        _mm_store_si128(reinterpret_cast<__m128i *>(places.offsets + half), offset);
        _mm_store_si128(reinterpret_cast<__m128i *>(places.right + half), _mm_sub_epi32(x, _mm_slli_epi32(column, 5)));
        _mm_store_si128(reinterpret_cast<__m128i *>(places.below + half), _mm_sub_epi32(y, _mm_slli_epi32(row, 5)));
    }
}

template <typename Number>
Number number_at(const uint8_t *from) {
    Number number;
    std::memcpy(&number, from, sizeof number);
    return number;
}

/// The shares of left and right as bytes, or of above and below as words, side by side.
[[gnu::target("avx2"), gnu::always_inline]] inline __m256i both(const int32_t *second, int bits) {
    const __m256i later = _mm256_load_si256(reinterpret_cast<const __m256i *>(second));
    const __m256i sooner = _mm256_sub_epi32(_mm256_set1_epi32(steps), later);
    return _mm256_or_si256(sooner, _mm256_sll_epi32(later, _mm_cvtsi32_si128(bits)));
}

/// Sums of 10 bits more than a byte.
[[gnu::target("avx2"), gnu::always_inline]] inline __m256i rounded(__m256i sums) {
    return _mm256_srli_epi32(_mm256_add_epi32(sums, _mm256_set1_epi32(steps * steps / 2)), 10);
}

[[gnu::target("avx2"), gnu::always_inline]] inline void mix_gray(const uint8_t *image, size_t pitch,
                                                                 const Places &places, uint8_t *to) {
    const auto around = [&](int i) {
        const uint8_t *from = image + places.offsets[i];
        return int(number_at<uint16_t>(from) | uint32_t(number_at<uint16_t>(from + pitch)) << 16);
    };
    const __m256i pixels =
        _mm256_setr_epi32(around(0), around(1), around(2), around(3), around(4), around(5), around(6), around(7));
    const __m256i columns = both(places.right, 8);
    const __m256i across = _mm256_maddubs_epi16(pixels, _mm256_or_si256(columns, _mm256_slli_epi32(columns, 16)));
    const __m256i made = rounded(_mm256_madd_epi16(across, both(places.below, 16)));
    const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(made), _mm256_extracti128_si256(made, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i *>(to), _mm_packus_epi16(words, words));
}

[[gnu::target("avx2"), gnu::always_inline]] inline void mix_colour(const uint8_t *image, size_t pitch,
                                                                   const Places &places, uint8_t *to) {
    // Of each channel: left, right, left below, right below.
    const __m128i order = _mm_setr_epi8(0, 3, 8, 11, 1, 4, 9, 12, 2, 5, 10, 13, -1, -1, -1, -1);
    for (int i = 0; i < lanes; ++i, to += 3) {
        const uint8_t *from = image + places.offsets[i], *below = from + pitch;
        const auto six = [](const uint8_t *at) {
            return int64_t(uint64_t{number_at<uint32_t>(at)} | uint64_t{number_at<uint16_t>(at + 4)} << 32);
        };
        const __m128i pixels = _mm_shuffle_epi8(_mm_set_epi64x(six(below), six(from)), order);
        const int right = places.right[i], down = places.below[i];
        const __m128i across = _mm_maddubs_epi16(pixels, _mm_set1_epi16(int16_t((steps - right) | right << 8)));
        const __m128i sums = _mm_madd_epi16(across, _mm_set1_epi32((steps - down) | down << 16));
        const __m128i made = _mm_srli_epi32(_mm_add_epi32(sums, _mm_set1_epi32(steps * steps / 2)), 10);
        const __m128i words = _mm_packs_epi32(made, made);
        const auto bytes = uint32_t(_mm_cvtsi128_si32(_mm_packus_epi16(words, words)));
        std::memcpy(to, &bytes, 3);
    }
}

/// Columns that OpenCV computes from one start: sums from another are rounded otherwise.
int block_columns(const cv::Size &size) { return std::min(1024 / std::min(16, size.height), size.width); }

template <int Channels>
[[gnu::target("avx2")]] void warp(const cv::Mat &image, const cv::Matx33d &map, cv::Mat &result) {
    count_wide_run();
    const int block = block_columns(result.size());
    uint8_t last[lanes * Channels];
    Places places;
    const auto start = [&](int row, int x, int y) { return map(row, 0) * x + map(row, 1) * y + map(row, 2); };
    for (int y = 0; y < result.rows; ++y) {
        for (int left = 0; left < result.cols; left += block) {
            const Line line{start(0, left, y), start(1, left, y), start(2, left, y), map(0, 0), map(1, 0),
                            map(2, 0),         image.cols,        image.rows,        Channels,  image.step};
            uint8_t *row = result.ptr(y) + size_t(left) * Channels;
            const int columns = std::min(block, result.cols - left);
            for (int x = 0; x < columns; x += lanes) {
                const int count = std::min(lanes, columns - x);
                uint8_t *to = count == lanes ? row + size_t(x) * Channels : last;
                find_places(line, x, places);
                if constexpr (Channels == 1) mix_gray(image.data, image.step, places, to);
                else mix_colour(image.data, image.step, places, to);
                if (count < lanes) std::copy_n(last, size_t(count) * Channels, row + size_t(x) * Channels);
            }
        }
    }
}
#endif

}  // namespace

cv::Mat warped(const cv::Mat &image, const cv::Matx33d &map, cv::Size size) {
    cv::Mat result;
#ifdef __x86_64__
    constexpr double farthest = 1 << 30;
    if (registers() != Registers::by_4 && image.depth() == CV_8U && image.channels() != 2 && image.channels() < 4 &&
        std::min(image.cols, image.rows) >= 2 && double(image.step) * image.rows < farthest && !size.empty()) {
        result.create(size, image.type());
        image.channels() == 1 ? warp<1>(image, map, result) : warp<3>(image, map, result);
        return result;
    }
#endif
    cv::warpPerspective(image, result, map, size, cv::INTER_LINEAR | cv::WARP_INVERSE_MAP, cv::BORDER_REPLICATE);
    return result;
}

}  // namespace cvision
