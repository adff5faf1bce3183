#include "document_warp.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>
#include <cstring>
#include <opencv2/imgproc.hpp>

#include "cpu.hpp"

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace cvision {
namespace {

#ifdef __x86_64__
/// OpenCV computes positions within tiles of so many pixels, from each tile's corner; other sums would round otherwise.
constexpr int tile_pixels = 4096, tile_rows = 32;
/// Positions between two pixels.
constexpr int parts = 32;
/// The widest tile: of an image that is one pixel high.
constexpr int widest_tile = tile_pixels;

/// Positions of a tile's row in the source, in parts of a pixel.
struct Positions {
    alignas(32) std::array<int, widest_tile + 4> x, y;
};

[[gnu::target("avx2")]] void locate(const cv::Matx33d &map, double x0, double y0, double w0, int count,
                                    Positions &positions) {
    const __m256d least = _mm256_set1_pd(INT_MIN), most = _mm256_set1_pd(INT_MAX), zero = _mm256_setzero_pd(),
                  whole = _mm256_set1_pd(parts);
    __m256d at = _mm256_set_pd(3, 2, 1, 0);
    for (int i = 0; i < count; i += 4) {
        const auto along = [&](double start, double step) __attribute__((target("avx2"))) {
            return _mm256_add_pd(_mm256_set1_pd(start), _mm256_mul_pd(_mm256_set1_pd(step), at));
        };
        const __m256d w = along(w0, map(2, 0));
        const __m256d factor = _mm256_andnot_pd(_mm256_cmp_pd(w, zero, _CMP_EQ_OQ), _mm256_div_pd(whole, w));
        const auto rounded = [&](const __m256d &value) __attribute__((target("avx2"))) {
            return _mm256_cvtpd_epi32(_mm256_max_pd(least, _mm256_min_pd(most, _mm256_mul_pd(value, factor))));
        };
        _mm_store_si128(reinterpret_cast<__m128i *>(&positions.x[static_cast<size_t>(i)]),
                        rounded(along(x0, map(0, 0))));
        _mm_store_si128(reinterpret_cast<__m128i *>(&positions.y[static_cast<size_t>(i)]),
                        rounded(along(y0, map(1, 0))));
        at = _mm256_add_pd(at, _mm256_set1_pd(4));
    }
}

/// Four neighbours weighed by their distances.
uint8_t between(const uint8_t *above, const uint8_t *below, int left, int right, int a, int b) {
    const int high = above[left] * (parts - a) + above[right] * a, low = below[left] * (parts - a) + below[right] * a;
    return static_cast<uint8_t>((high * (parts - b) + low * b + parts * parts / 2) / (parts * parts));
}

/// Pixels of a tile's row anywhere, of which some may lie at the border.
void sample_some(const cv::Mat &image, const Positions &positions, int from, int to, uint8_t *result) {
    const int channels = image.channels();
    for (int i = from; i < to; ++i) {
        const int x = positions.x[static_cast<size_t>(i)] >> 5, y = positions.y[static_cast<size_t>(i)] >> 5;
        const int a = positions.x[static_cast<size_t>(i)] & (parts - 1),
                  b = positions.y[static_cast<size_t>(i)] & (parts - 1);
        const int left = channels * std::clamp(x, 0, image.cols - 1),
                  right = channels * std::clamp(x, -1, image.cols - 2) + channels;
        const uint8_t *above = image.ptr<uint8_t>(std::clamp(y, 0, image.rows - 1)),
                      *below = image.ptr<uint8_t>(std::clamp(y, -1, image.rows - 2) + 1);
        for (int channel = 0; channel < channels; ++channel)
            result[channels * i + channel] = between(above, below, left + channel, right + channel, a, b);
    }
}

/// Eight grey pixels away from the border.
[[gnu::target("avx2")]] void sample_grey(const cv::Mat &image, const Positions &positions, int i, uint8_t *result) {
    const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(&positions.x[static_cast<size_t>(i)]));
    const __m256i y = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(&positions.y[static_cast<size_t>(i)]));
    const __m256i within = _mm256_set1_epi32(parts - 1);
    const __m256i a = _mm256_and_si256(x, within), b = _mm256_and_si256(y, within);
    const __m256i places =
        _mm256_add_epi32(_mm256_mullo_epi32(_mm256_srai_epi32(y, 5), _mm256_set1_epi32(static_cast<int>(image.step))),
                         _mm256_srai_epi32(x, 5));
    alignas(32) std::array<int, 8> place;
    alignas(32) std::array<uint32_t, 8> four;
    _mm256_store_si256(reinterpret_cast<__m256i *>(place.data()), places);
    for (size_t k = 0; k < 8; ++k) {
        uint16_t high, low;
        std::memcpy(&high, image.data + place[k], 2);
        std::memcpy(&low, image.data + place[k] + image.step, 2);
        four[k] = high | static_cast<uint32_t>(low) << 16;
    }
    // Bytes left, right, left, right; then words above, below; then the sum.
    __m256i across = _mm256_or_si256(_mm256_sub_epi32(_mm256_set1_epi32(parts), a), _mm256_slli_epi32(a, 8));
    across = _mm256_or_si256(across, _mm256_slli_epi32(across, 16));
    const __m256i down = _mm256_or_si256(_mm256_sub_epi32(_mm256_set1_epi32(parts), b), _mm256_slli_epi32(b, 16));
    __m256i sum = _mm256_madd_epi16(
        _mm256_maddubs_epi16(_mm256_load_si256(reinterpret_cast<const __m256i *>(four.data())), across), down);
    sum = _mm256_srli_epi32(_mm256_add_epi32(sum, _mm256_set1_epi32(parts * parts / 2)), 10);
    const __m128i words = _mm_packus_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i *>(result + i), _mm_packus_epi16(words, words));
}

/// One pixel in colour away from the border; writes a byte beyond it.
[[gnu::target("avx2")]] void sample_colour(const cv::Mat &image, const Positions &positions, int i, uint8_t *result) {
    const int x = positions.x[static_cast<size_t>(i)], y = positions.y[static_cast<size_t>(i)];
    const int a = x & (parts - 1), b = y & (parts - 1);
    const uint8_t *above = image.data + static_cast<size_t>(y >> 5) * image.step + 3 * (x >> 5);
    const __m128i four =
        _mm_shuffle_epi8(_mm_unpacklo_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i *>(above)),
                                            _mm_loadl_epi64(reinterpret_cast<const __m128i *>(above + image.step))),
                         _mm_setr_epi8(0, 3, 8, 11, 1, 4, 9, 12, 2, 5, 10, 13, -1, -1, -1, -1));
    const __m128i across = _mm_set1_epi16(static_cast<int16_t>((parts - a) | a << 8));
    const __m128i down = _mm_set1_epi32((parts - b) | b << 16);
    const __m128i sum =
        _mm_add_epi32(_mm_madd_epi16(_mm_maddubs_epi16(four, across), down), _mm_set1_epi32(parts * parts / 2));
    const __m128i words = _mm_packus_epi32(_mm_srli_epi32(sum, 10), _mm_setzero_si128());
    const int bytes = _mm_cvtsi128_si32(_mm_packus_epi16(words, words));
    std::memcpy(result + 3 * i, &bytes, 4);
}

[[gnu::target("avx2")]] void sample(const cv::Mat &image, const Positions &positions, int count, uint8_t *result) {
    // So far from the border, a colour's eight bytes lie inside the row.
    const uint32_t columns = static_cast<uint32_t>(std::max(0, image.cols - 2)) * parts,
                   rows = static_cast<uint32_t>(std::max(0, image.rows - 1)) * parts;
    const auto is_inside = [&](int i) {
        return static_cast<uint32_t>(positions.x[static_cast<size_t>(i)]) < columns &&
               static_cast<uint32_t>(positions.y[static_cast<size_t>(i)]) < rows;
    };
    if (image.channels() == 3) {
        for (int i = 0; i < count; ++i)
            is_inside(i) ? sample_colour(image, positions, i, result) : sample_some(image, positions, i, i + 1, result);
        return;
    }
    int i = 0;
    for (; i + 8 <= count; i += 8) {
        bool all = true;
        for (int k = 0; k < 8; ++k) all = all && is_inside(i + k);
        all ? sample_grey(image, positions, i, result) : sample_some(image, positions, i, i + 8, result);
    }
    sample_some(image, positions, i, count, result);
}

void warp(const cv::Mat &image, const cv::Matx33d &map, cv::Mat &result) {
    const int channels = image.channels();
    int tile_height = std::min(tile_rows, result.rows);
    const int tile_width = std::min(tile_pixels / tile_height, result.cols);
    tile_height = std::min(tile_pixels / tile_width, result.rows);
    Positions positions;
    std::array<uint8_t, 3 * widest_tile + 8> row;
    for (int y = 0; y < result.rows; y += tile_height) {
        for (int x = 0; x < result.cols; x += tile_width) {
            const int width = std::min(tile_width, result.cols - x);
            for (int line = y; line < std::min(y + tile_height, result.rows); ++line) {
                const auto start = [&](int i) { return map(i, 0) * x + map(i, 1) * line + map(i, 2); };
                locate(map, start(0), start(1), start(2), width, positions);
                sample(image, positions, width, row.data());
                std::copy_n(row.data(), channels * width, result.ptr<uint8_t>(line) + channels * x);
            }
        }
    }
}
#endif

}  // namespace

cv::Mat warped(const cv::Mat &image, const cv::Matx33d &to_image, cv::Size size) {
    cv::Mat result;
#ifdef __x86_64__
    const bool fits = image.cols < SHRT_MAX && image.rows < SHRT_MAX && image.total() * image.elemSize() < INT_MAX &&
                      image.dims == 2 && image.cols > 2 && image.rows > 1 && !size.empty();
    if (registers() != Registers::by_4 && fits && (image.type() == CV_8UC1 || image.type() == CV_8UC3)) {
        count_wide_run();
        result.create(size, image.type());
        warp(image, to_image, result);
        return result;
    }
#endif
    cv::warpPerspective(image, result, to_image, size, cv::INTER_LINEAR | cv::WARP_INVERSE_MAP, cv::BORDER_REPLICATE);
    return result;
}

}  // namespace cvision
