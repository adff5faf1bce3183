// cv_image_decode: recognises the format, has it decoded, and turns the result upright.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <numeric>
#include <opencv2/imgproc.hpp>

#include "hevc_picture.hpp"
#include "image.hpp"
#include "image_codecs.hpp"
#include "pdf_file.hpp"

int cv_image::reduction() const { return std::max(1, std::max(bgr.cols, bgr.rows) / 1800); }

const cv::Mat &cv_image::reduced() const {
    const int factor = reduction();
    if (factor == 1 || std::min(bgr.cols, bgr.rows) < factor) return bgr;
    // A factor that divides the size exactly takes OpenCV's fast path; at most `factor - 1` pixels are dropped.
    if (reduced_.empty()) {
        const cv::Size size(bgr.cols / factor, bgr.rows / factor);
        cv::resize(bgr(cv::Rect(0, 0, size.width * factor, size.height * factor)), reduced_, size, 0, 0,
                   cv::INTER_AREA);
    }
    return reduced_;
}

namespace {

cv::Size within(const cv::Mat &image, int side) {
    const double scale = std::min(1.0, static_cast<double>(side) / std::max(image.cols, image.rows));
    return {std::max(1, cvRound(image.cols * scale)), std::max(1, cvRound(image.rows * scale))};
}

}  // namespace

const cv::Mat &cv_image::small() const {
    if (small_.empty()) small_ = cvision::shrunk(bgr, within(bgr, 512));
    return small_;
}

const cv::Mat &cv_image::gray_at(int side) const {
    const cv::Size size = within(gray, side);
    if (size == gray.size()) return gray;
    cv::Mat &made = grays_[side];
    if (made.empty()) made = cvision::shrunk(gray, size);
    return made;
}

namespace cvision {

cv::Mat shrunk(const cv::Mat &image, cv::Size size) {
    cv::Mat half = image, result;
    while (half.cols / 2 >= size.width && half.rows / 2 >= size.height && half.cols > 1 && half.rows > 1) {
        // The last row or column of an odd size is dropped.
        const cv::Size next(half.cols / 2, half.rows / 2);
        cv::resize(half(cv::Rect(0, 0, 2 * next.width, 2 * next.height)), result, next, 0, 0, cv::INTER_AREA);
        half = result;
        result = cv::Mat();
    }
    return half.size() == size ? half : averaged(half, size);
}

std::array<int, 256> histogram_of(const cv::Mat &values, const cv::Mat &mask) {
    if (values.empty()) return {};
    const int channel = 0, size = 256;
    const float bounds[] = {0, 256}, *ranges = bounds;
    cv::Mat counted;
    cv::calcHist(&values, 1, &channel, mask, counted, 1, &size, &ranges);
    std::array<int, 256> counts{};
    std::transform(counted.begin<float>(), counted.end<float>(), counts.begin(),
                   [](float count) { return static_cast<int>(count); });
    return counts;
}

double percentile(const std::array<int, 256> &histogram, double share) {
    const int count = std::accumulate(histogram.begin(), histogram.end(), 0);
    int seen = 0;
    for (int value = 0; value < 256; ++value) {
        seen += histogram[static_cast<size_t>(value)];
        if (seen >= share * count && seen > 0) return value;
    }
    return 255;
}

double percentile(const cv::Mat &values, const cv::Mat &mask, double share) {
    return percentile(histogram_of(values, mask), share);
}

cv_status check_size(uint64_t width, uint64_t height, const cv_image_limits &limits, cv_error *error) noexcept {
    if (width == 0 || height == 0) return fail(error, CV_CORRUPT_IMAGE, "the header declares an empty image");
    if (width > limits.max_side || height > limits.max_side)
        return fail(error, CV_TOO_MANY_PIXELS, "the header declares a side longer than the limit");
    if (width * height > limits.max_pixels)
        return fail(error, CV_TOO_MANY_PIXELS, "the header declares more pixels than the limit");
    return CV_OK;
}

uint32_t reduction_of(uint32_t longer, const cv_image_limits &limits) noexcept {
    // The halved image must keep the smallest text legible: an MRZ line of 44 characters is read best at 14 px per character or
    // more, so 4,000 px over a document that fills two thirds of the frame leave a wide margin.
    constexpr uint32_t halved_at_least = 4000;
    uint32_t divisor = longer >= 2 * halved_at_least ? 2 : 1;
    if (limits.enough_side > 0)
        while (divisor < 8 && longer / (2 * divisor) >= limits.enough_side) divisor *= 2;
    return divisor;
}

cv::Mat over_white(const cv::Mat &bgra) {
    cv::Mat bgr(bgra.size(), CV_8UC3);
    for (int y = 0; y < bgra.rows; ++y) {
        const uint8_t *in = bgra.ptr<uint8_t>(y);
        uint8_t *out = bgr.ptr<uint8_t>(y);
        for (int x = 0; x < bgra.cols; ++x, in += 4, out += 3) {
            const unsigned alpha = in[3];
            for (int channel = 0; channel < 3; ++channel)
                out[channel] = static_cast<uint8_t>((in[channel] * alpha + 255 * (255 - alpha) + 127) / 255);
        }
    }
    return bgr;
}

int exif_orientation(Source tiff) noexcept {
    constexpr uint16_t orientation_tag = 0x0112;  // CIPA DC-008 (Exif 2.32) §4.6.4
    if (tiff.length < 8) return 1;
    const bool little = tiff.bytes[0] == 'I' && tiff.bytes[1] == 'I';
    if (!little && !(tiff.bytes[0] == 'M' && tiff.bytes[1] == 'M')) return 1;
    const auto u16 = [&](size_t at) -> uint32_t {
        const uint32_t a = tiff.bytes[at], b = tiff.bytes[at + 1];
        return little ? (b << 8 | a) : (a << 8 | b);
    };
    const auto u32 = [&](size_t at) -> uint32_t {
        return little ? (u16(at + 2) << 16 | u16(at)) : (u16(at) << 16 | u16(at + 2));
    };
    const size_t directory = u32(4);
    if (u16(2) != 42 || directory > tiff.length - 2) return 1;
    const size_t entries = u16(directory);
    for (size_t index = 0; index < entries; ++index) {
        const size_t entry = directory + 2 + 12 * index;
        if (entry + 12 > tiff.length) return 1;
        if (u16(entry) != orientation_tag) continue;
        const bool one_short = u16(entry + 2) == 3 && u32(entry + 4) == 1;
        const uint32_t value = one_short ? u16(entry + 8) : 1;
        return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
    }
    return 1;
}

int combined_orientation(int first, int second) noexcept {
    // Where the stored image's right and down point to in the upright one (CIPA DC-008 §4.6.4).
    struct Turn {
        int right_x, right_y, down_x, down_y;
    };
    constexpr Turn turns[8] = {{1, 0, 0, 1}, {-1, 0, 0, 1}, {-1, 0, 0, -1}, {1, 0, 0, -1},
                               {0, 1, 1, 0}, {0, 1, -1, 0}, {0, -1, -1, 0}, {0, -1, 1, 0}};
    const Turn &a = turns[first - 1], &b = turns[second - 1];
    const Turn both{b.right_x * a.right_x + b.down_x * a.right_y, b.right_y * a.right_x + b.down_y * a.right_y,
                    b.right_x * a.down_x + b.down_x * a.down_y, b.right_y * a.down_x + b.down_y * a.down_y};
    for (int index = 0; index < 8; ++index) {
        const Turn &turn = turns[index];
        if (turn.right_x == both.right_x && turn.right_y == both.right_y && turn.down_x == both.down_x &&
            turn.down_y == both.down_y)
            return index + 1;
    }
    return 1;
}

namespace {

using Decoder = cv_status (*)(Source, const cv_image_limits &, StoredImage &, cv_error *);

bool starts_with(Source source, size_t offset, const char *magic, size_t length) {
    return source.length >= offset + length && std::memcmp(source.bytes + offset, magic, length) == 0;
}

/// A HEIF file by its brands (ISO/IEC 23008-12 §10.2 and B.4): the first box lists them. Films and AVIF have others, or are distinguished
/// by their items.
bool is_heif(Source source) {
    if (!starts_with(source, 4, "ftyp", 4) || source.length < 16) return false;
    const size_t length = static_cast<size_t>(source.bytes[2]) << 8 | source.bytes[3];
    if (source.bytes[0] != 0 || source.bytes[1] != 0 || length > source.length) return false;
    for (size_t at = 8; at + 4 <= length; at += at == 8 ? 8 : 4)
        for (const char *brand : {"heic", "heix", "heim", "heis", "mif1", "msf1"})
            if (starts_with(source, at, brand, 4)) return true;
    return false;
}

/// The allow-list: nothing else reaches a decoder.
bool recognise(Source source, cv_image_format &format, Decoder &decoder) {
    if (starts_with(source, 0, "\xFF\xD8\xFF", 3)) {
        format = CV_FORMAT_JPEG, decoder = decode_jpeg;
    } else if (starts_with(source, 0, "\x89PNG\r\n\x1A\n", 8)) {
        format = CV_FORMAT_PNG, decoder = decode_png;
    } else if (starts_with(source, 0, "RIFF", 4) && starts_with(source, 8, "WEBP", 4)) {
        format = CV_FORMAT_WEBP, decoder = decode_webp;
    } else if (starts_with(source, 0, "\0\0\0\x0CjP  \r\n\x87\n", 12) ||
               starts_with(source, 0, "\xFF\x4F\xFF\x51", 4)) {
        format = CV_FORMAT_JPEG2000, decoder = decode_jpeg2000;
    } else if (is_heif(source)) {
        format = CV_FORMAT_HEIC, decoder = decode_heic;
    } else if (starts_with(source, 0, "BM", 2)) {
        format = CV_FORMAT_BMP, decoder = decode_bmp;
    } else if (starts_with(source, 0, "%PDF-", 5)) {
        format = CV_FORMAT_PDF, decoder = decode_pdf;
    } else {
        return false;
    }
    return true;
}

/// Applies an EXIF orientation (CIPA DC-008 §4.6.4: where the stored row 0 and column 0 are in the upright image).
void turn_upright(cv::Mat &image, int orientation) {
    switch (orientation) {
    case 2: cv::flip(image, image, 1); break;
    case 3: cv::flip(image, image, -1); break;
    case 4: cv::flip(image, image, 0); break;
    case 5: cv::transpose(image, image); break;
    case 6: cv::rotate(image, image, cv::ROTATE_90_CLOCKWISE); break;
    case 7:
        cv::transpose(image, image);
        cv::flip(image, image, -1);
        break;
    case 8: cv::rotate(image, image, cv::ROTATE_90_COUNTERCLOCKWISE); break;
    default: break;
    }
}

}  // namespace
}  // namespace cvision

extern "C" cv_status cv_image_prepare(cv_error *error) {
    return cvision::guard(error, [&] {
        cvision::hevc::prepare();
        cvision::pdf::load_library();
        return CV_OK;
    });
}

extern "C" cv_status cv_image_decode(const uint8_t *bytes, size_t length, const cv_image_limits *limits,
                                     cv_image **image, cv_image_info *info, cv_error *error) {
    using namespace cvision;
    *image = nullptr;
    return guard(error, [&] {
        const Source source{bytes, length};
        cv_image_format format;
        Decoder decode;
        if (!recognise(source, format, decode))
            return fail(error, CV_UNSUPPORTED_FORMAT, "the first bytes are those of no known image format");
        StoredImage stored;
        if (const cv_status status = decode(source, *limits, stored, error); status != CV_OK) return status;
        if (stored.colours) to_srgb(stored.bgr, *stored.colours);
        turn_upright(stored.bgr, stored.orientation);
        auto decoded = std::make_unique<cv_image>();
        cv::cvtColor(stored.bgr, decoded->gray, cv::COLOR_BGR2GRAY);
        decoded->bgr = std::move(stored.bgr);
        // A turn puts the blocks elsewhere.
        if (stored.orientation == 1) decoded->coefficients = std::move(stored.coefficients);
        info->format = format;
        info->width = static_cast<uint32_t>(decoded->bgr.cols);
        info->height = static_cast<uint32_t>(decoded->bgr.rows);
        info->stored_width = stored.width;
        info->stored_height = stored.height;
        info->orientation = static_cast<uint32_t>(stored.orientation);
        info->is_grey = stored.grey;
        std::snprintf(info->software, sizeof info->software, "%s", stored.software.c_str());
        *image = decoded.release();
        return CV_OK;
    });
}

extern "C" bool cv_image_pixel(const cv_image *image, uint32_t x, uint32_t y, uint8_t bgr[3]) {
    if (x >= static_cast<uint32_t>(image->bgr.cols) || y >= static_cast<uint32_t>(image->bgr.rows)) return false;
    std::copy_n(image->bgr.ptr<uint8_t>(static_cast<int>(y), static_cast<int>(x)), 3, bgr);
    return true;
}

extern "C" void cv_image_free(cv_image *image) { delete image; }
