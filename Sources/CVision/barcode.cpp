// Barcodes by ZXing, where the image looks like one: regions of dense edges are cut out, straightened and sharpened.
#define ZX_USE_UTF8 1
#include <ZXing/ReadBarcode.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <functional>
#include <memory>
#include <opencv2/imgproc.hpp>
#include <string>
#include <vector>

#include "barcode_regions.hpp"
#include "document.hpp"
#include "image.hpp"

struct cv_barcodes {
    struct Entry {
        cv_barcode_format format;
        std::string bytes, text;
        std::array<cv_point, 4> corners;
    };
    std::vector<Entry> entries;
};

namespace cvision {
namespace {

/// ZXing scans line by line; beyond this side a barcode's modules are far wider than it needs.
constexpr int widest_scan = 2200;
/// Longer side of the whole image's scan if no region looks like a barcode.
constexpr int quick_side = 1000;

/// Processor time of the thread: a busy machine must not read less than an idle one.
double thread_milliseconds() {
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

/// Maps a point of a derived image back to the image.
using Back = std::function<cv_point(cv::Point2d)>;

constexpr auto stacked = ZXing::BarcodeFormat::PDF417;
const ZXing::BarcodeFormats matrices =
    ZXing::BarcodeFormat::QRCode | ZXing::BarcodeFormat::DataMatrix | ZXing::BarcodeFormat::Aztec;

/// How thoroughly ZXing searches.
struct Effort {
    ZXing::Binarizer binarizer = ZXing::Binarizer::LocalAverage;
    bool harder = true, rotate = true, downscale = true;
};

cv_barcode_format format_of(ZXing::BarcodeFormat format) {
    switch (format) {
    case ZXing::BarcodeFormat::QRCode: return CV_BARCODE_QR;
    case ZXing::BarcodeFormat::DataMatrix: return CV_BARCODE_DATA_MATRIX;
    case ZXing::BarcodeFormat::Aztec: return CV_BARCODE_AZTEC;
    default: return CV_BARCODE_PDF417;
    }
}

/// Reads all barcodes of `gray` and adds those with new bytes. True if any was read.
bool scan(const cv::Mat &gray, ZXing::BarcodeFormats formats, const Effort &effort, const Back &back,
          cv_barcodes &found) {
    if (gray.empty()) return false;
    ZXing::DecodeHints hints;
    hints.setFormats(formats);
    hints.setTryHarder(effort.harder);
    hints.setTryRotate(effort.rotate);
    hints.setTryDownscale(effort.downscale);
    hints.setBinarizer(effort.binarizer);
    const ZXing::ImageView view(gray.data, gray.cols, gray.rows, ZXing::ImageFormat::Lum, static_cast<int>(gray.step));
    bool any = false;
    for (const ZXing::Result &result : ZXing::ReadBarcodes(view, hints)) {
        if (!result.isValid()) continue;
        any = true;
        cv_barcodes::Entry entry;
        entry.format = format_of(result.format());
        entry.bytes.assign(result.bytes().begin(), result.bytes().end());
        entry.text = result.text();
        for (size_t i = 0; i < 4; ++i)
            entry.corners[i] =
                back({static_cast<double>(result.position()[i].x), static_cast<double>(result.position()[i].y)});
        const bool known = std::any_of(found.entries.begin(), found.entries.end(), [&](const auto &other) {
            const auto middle = [](const auto &e) {
                return cv::Point2d((e.corners[0].x + e.corners[2].x) / 2, (e.corners[0].y + e.corners[2].y) / 2);
            };
            const cv::Point2d apart = middle(other) - middle(entry);
            const double rows =
                std::hypot(entry.corners[0].x - entry.corners[3].x, entry.corners[0].y - entry.corners[3].y);
            return other.bytes == entry.bytes && std::hypot(apart.x, apart.y) < rows / 2;
        });
        if (!known) found.entries.push_back(std::move(entry));
    }
    return any;
}

/// Length of the rows and of the stripes of `corners`, the first side being a row.
cv::Size2d extent(const Corners &corners) {
    return {(cv::norm(corners[1] - corners[0]) + cv::norm(corners[2] - corners[3])) / 2,
            (cv::norm(corners[3] - corners[0]) + cv::norm(corners[2] - corners[1])) / 2};
}

/// Cuts `corners` out of the image, straight and upright, with a quiet zone, `zoom` times as large.
cv::Mat cut(const cv::Mat &gray, const Corners &corners, double zoom, cv::Matx33d &to_image) {
    const cv::Size2d size = extent(corners);
    const double pad = (0.06 * std::max(size.width, size.height) + 8) * zoom;
    const auto left = static_cast<float>(pad), right = static_cast<float>(pad + size.width * zoom);
    const auto bottom = static_cast<float>(pad + size.height * zoom);
    const Corners upright{{{left, left}, {right, left}, {right, bottom}, {left, bottom}}};
    to_image = cv::Matx33d(cv::getPerspectiveTransform(upright.data(), corners.data()));
    cv::Mat result;
    cv::warpPerspective(gray, result, to_image, {cvRound(right + pad), cvRound(bottom + pad)},
                        (zoom > 1 ? cv::INTER_CUBIC : cv::INTER_LINEAR) | cv::WARP_INVERSE_MAP, cv::BORDER_CONSTANT,
                        cv::Scalar(255));  // beyond the frame: the quiet zone that the crop lost
    return result;
}

/// The region with its own black and white stretched to the full range.
cv::Mat stretched(const cv::Mat &gray) {
    const std::array<int, 256> histogram = histogram_of(gray, {});
    // The value of one pixel, were all sorted.
    const auto ranked = [&](int rank) {
        int value = 0;
        for (int seen = histogram[0]; seen <= rank && value < 255;) seen += histogram[static_cast<size_t>(++value)];
        return value;
    };
    const int count = static_cast<int>(gray.total());
    const double low = ranked(count / 50), high = ranked(count - 1 - count / 50);
    cv::Mat result;
    const double gain = 255 / std::max(8.0, high - low);
    gray.convertTo(result, CV_8U, gain, -low * gain);
    return result;
}

/// One way to prepare and read a region.
struct Round {
    bool own;      ///< cut by the region's own four sides, which follow perspective; else by the gradients' rectangle
    double zoom;   ///< of the image's size
    double sigma;  ///< width of the blur to remove, in pixels of an image not enlarged; 0: unchanged
    double gain;   ///< how much of it; below 0 blurs instead, against noise
    ZXing::Binarizer binarizer = ZXing::Binarizer::LocalAverage;
};

/// PDF417, the likeliest first. In photos, modules usually have 2 to 5 pixels and blur up to half of their width; sharpened,
/// they also decode in half the time, because fewer codewords are wrong.
constexpr std::array<Round, 8> stacked_rounds{{
    {true, 1, 1.5, 1},
    {true, 1, 2, 3},
    {false, 1, 0, 0},
    {true, 1, 0, 0},
    {true, 1.5, 3, 1},
    {true, 1, 0, 0, ZXing::Binarizer::GlobalHistogram},
    {true, 1, 1, -1},
    {true, 1.5, 2, 3},
}};
/// The rounds that run before the whole image is read, whatever the time limit: a third of a second if all fail on a true
/// barcode, almost nothing if there is none.
constexpr size_t quick_rounds = 3;
/// Square barcodes are large for their modules.
constexpr std::array<Round, 2> square_rounds{{
    {false, 1, 0, 0},
    {false, 1, 0, 0, ZXing::Binarizer::GlobalHistogram},
}};

/// `piece` prepared for `round`.
cv::Mat prepared(const cv::Mat &piece, const Round &round) {
    if (round.sigma == 0) return piece;
    cv::Mat soft;
    cv::GaussianBlur(piece, soft, {0, 0}, round.sigma * round.zoom);
    if (round.gain < 0) return soft;
    cv::addWeighted(piece, 1 + round.gain, soft, -round.gain, 0, soft);
    return soft;
}

/// Reads `regions` of `gray`, round after round with more effort, until something is read or the time is up.
void try_regions(const cv::Mat &gray, const std::vector<Region> &regions, const cv::Matx33d &to_image, size_t first,
                 size_t last, double deadline_milliseconds, cv_barcodes &found) {
    for (size_t index = first; index < last; ++index) {
        for (const Region &region : regions) {
            if (index >= quick_rounds && thread_milliseconds() > deadline_milliseconds) return;
            if (!region.striped && index >= square_rounds.size()) continue;
            Round round = region.striped ? stacked_rounds[index] : square_rounds[index];
            const Corners &corners = round.own ? region.quad : region.box;
            const cv::Size2d size = extent(corners);
            round.zoom = std::min(round.zoom, widest_scan / std::max(size.width, size.height));
            cv::Matx33d to_source;
            const cv::Mat piece = prepared(stretched(cut(gray, corners, round.zoom, to_source)), round);
            const cv::Matx33d map = to_image * to_source;
            const Back back = [&](cv::Point2d p) {
                const cv::Vec3d q = map * cv::Vec3d(p.x, p.y, 1);
                return cv_point{q[0] / q[2], q[1] / q[2]};
            };
            Effort effort;
            effort.binarizer = round.binarizer;
            // The rows are level already, perhaps upside down; if reduced, modules of few pixels would merge.
            if (region.striped) effort.rotate = effort.downscale = false;
            scan(piece, region.striped ? ZXing::BarcodeFormats(stacked) : matrices, effort, back, found);
        }
        if (!found.entries.empty()) return;
    }
}

}  // namespace
}  // namespace cvision

extern "C" cv_status cv_barcode_read(const cv_image *image, const cv_outline *outline, bool only_likely,
                                     uint32_t extra_milliseconds, cv_barcodes **barcodes, cv_error *error) {
    using namespace cvision;
    *barcodes = nullptr;
    return guard(error, [&] {
        auto found = std::make_unique<cv_barcodes>();
        const std::vector<Region> regions = find_regions(image->gray, image->gray_at(region_side));
        const auto whole = [&](int side, bool harder) {
            const cv::Mat &gray = image->gray_at(side);
            const double scale = static_cast<double>(gray.cols) / image->gray.cols;
            const Back back = [&](cv::Point2d p) { return cv_point{p.x / scale, p.y / scale}; };
            Effort effort;
            effort.harder = effort.downscale = harder;
            scan(gray, stacked, effort, back, *found);
        };
        const bool striped = std::any_of(regions.begin(), regions.end(), [](const Region &r) { return r.striped; });
        const cv::Matx33d same = cv::Matx33d::eye();
        const size_t quick = striped ? quick_rounds : 1;
        // Cut out of a large image that it fills, a barcode would be prepared and read again and again at full size.
        const bool whole_first = std::any_of(regions.begin(), regions.end(), [&](const Region &region) {
            const cv::Size2d size = extent(region.box);
            return region.striped && size.area() > 0.8 * image->gray.total() &&
                   std::max(size.width, size.height) > quick_side;
        });
        if (whole_first) whole(widest_scan, true);
        if (found->entries.empty()) try_regions(image->gray, regions, same, 0, quick, 0, *found);
        if (striped && found->entries.empty() && outline != nullptr) {
            // Without perspective the barcode's stripes are parallel again, and its sides can be distinguished from what touches them.
            const cv::Size2d native = quad_size(outline->corners);
            const cv::Size size(std::max(16, cvRound(native.width)), std::max(16, cvRound(native.height)));
            const cv::Mat straight = rectify(image->gray, outline->corners, size, 0);
            const double reduction = std::min(1.0, double{region_side} / std::max(size.width, size.height));
            const cv::Size reduced(cvRound(size.width * reduction), cvRound(size.height * reduction));
            const std::vector<Region> seen = find_regions(straight, shrunk(straight, reduced));
            try_regions(straight, seen, from_rectified(outline->corners, size), 0, quick, 0, *found);
        }
        if (found->entries.empty() && !whole_first && (striped || !only_likely))
            whole(striped ? widest_scan : quick_side, striped);
        if (found->entries.empty()) {
            const double deadline_milliseconds = thread_milliseconds() + extra_milliseconds;
            try_regions(image->gray, regions, same, quick, stacked_rounds.size(), deadline_milliseconds, *found);
        }
        *barcodes = found.release();
        return CV_OK;
    });
}

extern "C" size_t cv_barcodes_count(const cv_barcodes *barcodes) { return barcodes->entries.size(); }

extern "C" cv_barcode cv_barcodes_get(const cv_barcodes *barcodes, size_t index) {
    const cv_barcodes::Entry &entry = barcodes->entries[index];
    cv_barcode barcode{entry.format,       reinterpret_cast<const uint8_t *>(entry.bytes.data()),
                       entry.bytes.size(), entry.text.data(),
                       entry.text.size(),  {}};
    std::copy(entry.corners.begin(), entry.corners.end(), barcode.corners);
    return barcode;
}

extern "C" void cv_barcodes_free(cv_barcodes *barcodes) { delete barcodes; }
