// Pictures made smaller by averaging: each new pixel is the mean of what it covers, by area. To the bit what OpenCV's
// INTER_AREA answers, in a tenth of its instructions: OpenCV adds number by number where the factor is no whole one.
#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>
#include <vector>

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "image.hpp"

namespace cvision {
namespace {

/// What one source pixel adds to a new one.
struct Share {
    int from;
    float weight;
};

/// For each of `count` new pixels the old ones that it covers, of `length`, in their order; `factor` old ones make a new one.
std::vector<std::vector<Share>> shares_of(int length, int count, double factor) {
    constexpr double least = 1e-3;  // of a pixel: less is left out
    std::vector<std::vector<Share>> all(static_cast<size_t>(count));
    for (int i = 0; i < count; ++i) {
        const double start = i * factor, end = start + factor, covered = std::min(factor, length - start);
        const int last = std::min(static_cast<int>(std::floor(end)), length - 1);
        const int first = std::min(static_cast<int>(std::ceil(start)), last);
        std::vector<Share> &shares = all[static_cast<size_t>(i)];
        if (first - start > least) shares.push_back({first - 1, static_cast<float>((first - start) / covered)});
        for (int at = first; at < last; ++at) shares.push_back({at, static_cast<float>(1 / covered)});
        if (end - last > least)
            shares.push_back({last, static_cast<float>(std::min(std::min(end - last, 1.0), covered) / covered)});
    }
    return all;
}

#ifdef __x86_64__

constexpr int group = 8;      // numbers of a row that are computed together, in two halves
constexpr int reach = 16;     // bytes that one half can choose from
constexpr int most_taps = 6;  // more are left to OpenCV

/// Where a group's numbers take their i-th source from, and how much of it.
struct Tap {
    int base[2];               // of each half: the first byte of its reach
    uint8_t choice[2][reach];  // for each number its source within the reach, followed by zeros
    float weights[group];
};

/// The taps of all groups of a row, `taps` for each; empty where a row is too short or a group too far apart.
std::vector<Tap> taps_of(const std::vector<std::vector<Share>> &shares, int channels, int row_bytes, size_t &taps) {
    taps = 0;
    for (const std::vector<Share> &each : shares) taps = std::max(taps, each.size());
    const int numbers = static_cast<int>(shares.size()) * channels;
    if (row_bytes < reach || taps > most_taps) return {};
    std::vector<Tap> all(static_cast<size_t>((numbers + group - 1) / group) * taps);
    for (size_t i = 0; i < all.size(); ++i) {
        Tap &tap = all[i];
        const size_t index = i % taps;
        for (int half = 0; half < 2; ++half) {
            int from[group / 2], lowest = row_bytes - reach;
            for (int k = 0; k < group / 2; ++k) {
                // Beyond the row's end its last number is computed again.
                const int number =
                    std::min(static_cast<int>(i / taps) * group + half * (group / 2) + k, numbers - 1);
                const std::vector<Share> &each = shares[static_cast<size_t>(number / channels)];
                const Share share = index < each.size() ? each[index] : Share{each.back().from, 0};
                from[k] = share.from * channels + number % channels;
                lowest = std::min(lowest, from[k]);
                tap.weights[half * (group / 2) + k] = share.weight;
            }
            tap.base[half] = lowest;
            std::fill_n(tap.choice[half], reach, uint8_t(0x80));
            for (int k = 0; k < group / 2; ++k) {
                if (from[k] - lowest >= reach) return {};
                tap.choice[half][4 * k] = static_cast<uint8_t>(from[k] - lowest);
            }
        }
    }
    return all;
}

/// One row of sums across.
[[gnu::target("avx2")]] void sum_row(const uint8_t *row, const std::vector<Tap> &all, size_t taps, float *sums) {
    for (const Tap *tap = all.data(), *end = tap + all.size(); tap != end; sums += group) {
        __m256 sum = _mm256_setzero_ps();
        for (size_t i = 0; i < taps; ++i, ++tap) {
            const __m128i low = _mm_loadu_si128(reinterpret_cast<const __m128i *>(row + tap->base[0]));
            const __m128i high = _mm_loadu_si128(reinterpret_cast<const __m128i *>(row + tap->base[1]));
            const __m256i choice = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(tap->choice));
            const __m256i chosen = _mm256_shuffle_epi8(_mm256_set_m128i(high, low), choice);
            // No fused multiplication: its result would be another.
            sum = _mm256_add_ps(sum, _mm256_mul_ps(_mm256_cvtepi32_ps(chosen), _mm256_loadu_ps(tap->weights)));
        }
        _mm256_storeu_ps(sums, sum);
    }
}

/// `total` plus, or where it is `fresh` equals, `weight` times `sums`.
[[gnu::target("avx2")]] void add_row(const float *sums, float weight, bool fresh, float *total, size_t count) {
    const __m256 factor = _mm256_set1_ps(weight);
    for (size_t i = 0; i < count; i += group) {
        const __m256 part = _mm256_mul_ps(_mm256_loadu_ps(sums + i), factor);
        _mm256_storeu_ps(total + i, fresh ? part : _mm256_add_ps(_mm256_loadu_ps(total + i), part));
    }
}

/// As bytes, rounded to the nearest, ties to the even one; writes whole groups.
[[gnu::target("avx2")]] void round_row(const float *total, uint8_t *bytes, size_t count) {
    for (size_t i = 0; i < count; i += group) {
        const __m256i whole = _mm256_cvtps_epi32(_mm256_loadu_ps(total + i));
        const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(whole), _mm256_extracti128_si256(whole, 1));
        _mm_storel_epi64(reinterpret_cast<__m128i *>(bytes + i), _mm_packus_epi16(words, words));
    }
}

/// False where this cannot do it.
bool average_quickly(const cv::Mat &image, cv::Mat &result, double across, double down) {
    static const bool has_registers = (__builtin_cpu_init(), __builtin_cpu_supports("avx2"));
    if (!has_registers) return false;
    const int channels = image.channels();
    size_t count = 0;
    const std::vector<Tap> taps =
        taps_of(shares_of(image.cols, result.cols, across), channels, image.cols * channels, count);
    if (taps.empty()) return false;
    const std::vector<std::vector<Share>> rows = shares_of(image.rows, result.rows, down);
    const size_t numbers = taps.size() / count * group, bytes = static_cast<size_t>(result.cols * channels);
    std::vector<float> sums(numbers), total(numbers);
    std::vector<uint8_t> rounded(numbers);
    int summed = -1;
    for (int y = 0; y < result.rows; ++y) {
        bool fresh = true;
        for (const Share &share : rows[static_cast<size_t>(y)]) {
            // Two new rows share the old one at their border.
            if (summed != share.from) sum_row(image.ptr<uint8_t>(share.from), taps, count, sums.data());
            summed = share.from;
            add_row(sums.data(), share.weight, fresh, total.data(), numbers);
            fresh = false;
        }
        round_row(total.data(), rounded.data(), numbers);
        std::copy_n(rounded.data(), bytes, result.ptr<uint8_t>(y));
    }
    return true;
}

bool is_whole(double factor) { return std::abs(factor - std::round(factor)) < 1e-9; }

#endif

/// False where OpenCV has to do it: by whole factors it is quick, too.
bool average(const cv::Mat &image, cv::Size size, double across, double down, cv::Mat &result) {
#ifdef __x86_64__
    if (image.depth() != CV_8U || image.channels() > 4 || !(across >= 1 && down >= 1) || size.empty() ||
        size == image.size() || (is_whole(across) && is_whole(down)))
        return false;
    result.create(size, image.type());
    return average_quickly(image, result, across, down);
#else
    return false;
#endif
}

}  // namespace

cv::Mat averaged(const cv::Mat &image, cv::Size size) {
    cv::Mat result;
    // As OpenCV computes the factors: the quotient's reciprocal.
    if (!average(image, size, 1 / (static_cast<double>(size.width) / image.cols),
                 1 / (static_cast<double>(size.height) / image.rows), result))
        cv::resize(image, result, size, 0, 0, cv::INTER_AREA);
    return result;
}

cv::Mat averaged(const cv::Mat &image, double scale) {
    cv::Mat result;
    const cv::Size size(cv::saturate_cast<int>(image.cols * scale), cv::saturate_cast<int>(image.rows * scale));
    if (!average(image, size, 1 / scale, 1 / scale, result))
        cv::resize(image, result, {}, scale, scale, cv::INTER_AREA);
    return result;
}

}  // namespace cvision
