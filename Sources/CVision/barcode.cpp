// Symbols by ZXing, where the picture looks like one: regions of dense edges are cut out, straightened and cleaned.
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

/// ZXing scans line by line; beyond this side a symbol's modules are far wider than it needs.
constexpr int widest_scan = 2200;
/// Longer side of the picture in which regions are looked for.
constexpr int region_side = 640;
/// Longer side of the whole picture's scan where no region looks like a symbol.
constexpr int quick_side = 1000;

/// How much the gradients of a region agree on one axis (0 to 1): 0.41 and more in PDF417, 0.28 and less in print.
constexpr double least_coherence = 0.3;
/// Extent of a region across its stripes over that along them.
constexpr double least_reach = 0.5;
/// How much of its rectangle a region fills.
constexpr double least_fill = 0.6;
/// Longer over shorter side of a region up to which it may be a square symbol.
constexpr double square = 1.35;
/// Ways in which a region is prepared before it is given up.
constexpr int rounds = 6;
/// Regions that are looked into, of each kind.
constexpr size_t most_regions = 2;

/// Processor time of the thread in milliseconds: a busy machine must not read less than an idle one.
double thread_time() {
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

/// Maps a point of a derived picture back to the image.
using Back = std::function<cv_point(cv::Point2d)>;

constexpr auto stacked = ZXing::BarcodeFormat::PDF417;
const ZXing::BarcodeFormats matrices =
    ZXing::BarcodeFormat::QRCode | ZXing::BarcodeFormat::DataMatrix | ZXing::BarcodeFormat::Aztec;

/// How thoroughly ZXing looks.
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

/// Reads all symbols of `gray` and adds those whose bytes are not there yet. True if any was read.
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

/// A rectangle of the image, turned by any angle, that is as densely striped as a symbol.
struct Region {
    cv::RotatedRect box;  // of the image; angle so that the stripes are upright
    bool striped;         // PDF417; else it may be a square symbol
    double weight;
};

/// The direction of the gradient (across the stripes) in `blob`, a mask of `gray` at `scale`, by the structure tensor
/// of the full picture: exact to a fraction of a degree because hundreds of stripes agree.
double stripe_direction(const cv::Mat &gray, const cv::Mat &blob, double scale, double &coherence) {
    const cv::Rect box = cv::boundingRect(blob);
    const cv::Rect full = cv::Rect(cv::Point(cvFloor(box.x / scale), cvFloor(box.y / scale)),
                                   cv::Point(cvCeil(box.br().x / scale), cvCeil(box.br().y / scale))) &
                          cv::Rect(0, 0, gray.cols, gray.rows);
    cv::Mat piece, mask, gx, gy;
    cv::GaussianBlur(gray(full), piece, {0, 0}, 1.0);
    cv::resize(blob(box), mask, full.size(), 0, 0, cv::INTER_NEAREST);
    cv::Scharr(piece, gx, CV_32F, 1, 0, 1.0 / 16);
    cv::Scharr(piece, gy, CV_32F, 0, 1, 1.0 / 16);
    const double xx = cv::mean(gx.mul(gx), mask)[0], yy = cv::mean(gy.mul(gy), mask)[0],
                 xy = cv::mean(gx.mul(gy), mask)[0];
    coherence = std::hypot(xx - yy, 2 * xy) / std::max(1e-6, xx + yy);
    return 0.5 * std::atan2(2 * xy, xx - yy);
}

/// Symbols are the regions where edges are dense in all of a neighbourhood: those of PDF417 agree on one direction.
///
/// - Parameter reduced: `gray` at `region_side`.
std::vector<Region> find_regions(const cv::Mat &gray, const cv::Mat &reduced) {
    const double scale = static_cast<double>(reduced.cols) / gray.cols;
    cv::Mat small, gx, gy, density, mask, labels, stats, centroids;
    cv::normalize(reduced, small, 0, 255, cv::NORM_MINMAX);
    cv::Scharr(small, gx, CV_32F, 1, 0, 1.0 / 16);
    cv::Scharr(small, gy, CV_32F, 0, 1, 1.0 / 16);
    cv::magnitude(gx, gy, density);
    cv::min(density, 60, density);
    const int window = std::max(9, std::max(small.cols, small.rows) / 40) | 1;
    cv::blur(density, density, {window, window});
    double highest;
    cv::minMaxLoc(density, nullptr, &highest);
    if (highest < 10) return {};
    mask = density > 0.5 * highest;
    cv::morphologyEx(mask, mask, cv::MORPH_CLOSE, cv::getStructuringElement(cv::MORPH_RECT, {window, window}));
    const int count = cv::connectedComponentsWithStats(mask, labels, stats, centroids);
    std::vector<Region> regions;
    for (int index = 1; index < count; ++index) {
        if (stats.at<int>(index, cv::CC_STAT_AREA) < 0.006 * static_cast<double>(small.total())) continue;
        const cv::Mat blob = labels == index;
        std::vector<std::vector<cv::Point>> contours;
        cv::findContours(blob, contours, cv::RETR_EXTERNAL, cv::CHAIN_APPROX_SIMPLE);
        if (contours.empty()) continue;
        double coherence;
        const double angle = stripe_direction(gray, blob, scale, coherence);
        // Extent of the blob along and across that direction.
        const double ux = std::cos(angle), uy = std::sin(angle);
        double low_u = 1e9, high_u = -1e9, low_v = 1e9, high_v = -1e9;
        for (const cv::Point &p : contours[0]) {
            const double u = p.x * ux + p.y * uy, v = -p.x * uy + p.y * ux;
            low_u = std::min(low_u, u), high_u = std::max(high_u, u), low_v = std::min(low_v, v),
            high_v = std::max(high_v, v);
        }
        const double fill = stats.at<int>(index, cv::CC_STAT_AREA) / std::max(1.0, (high_u - low_u) * (high_v - low_v));
        const double longer = std::max(high_u - low_u, high_v - low_v), shorter = std::min(high_u - low_u, high_v - low_v);
        // Lines of blurred print agree on a direction, too, but across their length.
        const bool striped = coherence >= least_coherence && high_u - low_u > least_reach * (high_v - low_v);
        if (fill < least_fill || (!striped && longer > square * shorter)) continue;
        const double u = (low_u + high_u) / 2, v = (low_v + high_v) / 2;
        Region region;
        region.box.center = {static_cast<float>((u * ux - v * uy + 0.5) / scale),
                             static_cast<float>((u * uy + v * ux + 0.5) / scale)};
        region.box.size = {static_cast<float>((high_u - low_u) / scale), static_cast<float>((high_v - low_v) / scale)};
        region.box.angle = static_cast<float>(angle * 180 / CV_PI);
        region.striped = striped;
        region.weight =
            cv::mean(density, blob)[0] * std::sqrt(static_cast<double>(stats.at<int>(index, cv::CC_STAT_AREA)));
        regions.push_back(region);
    }
    std::sort(regions.begin(), regions.end(), [](const Region &a, const Region &b) { return a.weight > b.weight; });
    for (const bool striped : {true, false}) {
        size_t kept = 0;
        regions.erase(std::remove_if(regions.begin(), regions.end(),
                                     [&](const Region &r) { return r.striped == striped && ++kept > most_regions; }),
                      regions.end());
    }
    return regions;
}

/// Cuts `box` out of the image, upright, with a quiet zone, `zoom` times as large.
cv::Mat cut(const cv::Mat &gray, const cv::RotatedRect &box, double zoom, cv::Matx23d &to_image) {
    const double pad = 0.06 * std::max(box.size.width, box.size.height) + 8;
    const double w = box.size.width + 2 * pad, h = box.size.height + 2 * pad;
    const double radians = box.angle * CV_PI / 180, c = std::cos(radians) / zoom, s = std::sin(radians) / zoom;
    const double cx = w * zoom / 2, cy = h * zoom / 2;
    to_image = {c, -s, box.center.x - c * cx + s * cy, s, c, box.center.y - s * cx - c * cy};
    cv::Mat result;
    cv::warpAffine(gray, result, to_image, {cvRound(w * zoom), cvRound(h * zoom)},
                   (zoom > 1 ? cv::INTER_CUBIC : cv::INTER_LINEAR) | cv::WARP_INVERSE_MAP, cv::BORDER_CONSTANT,
                   cv::Scalar(255));  // beyond the frame lies the quiet zone that the crop has lost
    return result;
}

/// The region's own black and white stretched to full range.
cv::Mat stretched(const cv::Mat &gray) {
    cv::Mat sorted = gray.reshape(1, 1).clone(), result;
    cv::sort(sorted, sorted, cv::SORT_ASCENDING);
    const double low = sorted.at<uint8_t>(0, sorted.cols / 50),
                 high = sorted.at<uint8_t>(0, sorted.cols - 1 - sorted.cols / 50);
    const double gain = 255 / std::max(8.0, high - low);
    gray.convertTo(result, CV_8U, gain, -low * gain);
    return result;
}

/// What `round` does to a region before it is read, from the cheapest on.
cv::Mat prepared(cv::Mat piece, int round) {
    switch (round) {
        case 2: cv::GaussianBlur(piece, piece, {3, 3}, 1.0); break;
        case 4: {
            cv::Mat soft;
            cv::GaussianBlur(piece, soft, {0, 0}, 3);
            cv::addWeighted(piece, 2, soft, -1, 0, piece);
            break;
        }
        case 5: cv::GaussianBlur(piece, piece, {5, 5}, 1.5); break;
        default: break;
    }
    return piece;
}

/// Looks into `regions` of `gray`, harder from round to round, until something is read or the time is up.
void try_regions(const cv::Mat &gray, const std::vector<Region> &regions, const cv::Matx33d &to_image, int first,
                 int rounds, double deadline, cv_barcodes &found) {
    constexpr int rounds_of_square = 2;
    for (int round = first; round < first + rounds; ++round) {
        for (const Region &region : regions) {
            if (round > 0 && thread_time() > deadline) return;
            if (!region.striped && round >= rounds_of_square) continue;
            const double longer = std::max(region.box.size.width, region.box.size.height);
            const double zoom = std::min(round >= 3 ? 2.0 : 1.0, widest_scan / longer);
            cv::Matx23d to_source;
            const cv::Mat piece = prepared(stretched(cut(gray, region.box, zoom, to_source)), round);
            const Back back = [&](cv::Point2d p) {
                const cv::Vec2d q = to_source * cv::Vec3d(p.x, p.y, 1);
                const cv::Vec3d r = to_image * cv::Vec3d(q[0], q[1], 1);
                return cv_point{r[0] / r[2], r[1] / r[2]};
            };
            Effort effort;
            if (round == 1) effort.binarizer = ZXing::Binarizer::GlobalHistogram;
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
        const double deadline = thread_time() + extra_milliseconds;
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
        try_regions(image->gray, regions, same, 0, 1, deadline, *found);
        if (found->entries.empty() && (striped || !only_likely)) whole(striped ? widest_scan : quick_side, striped);
        if (found->entries.empty()) try_regions(image->gray, regions, same, 1, rounds - 1, deadline, *found);
        if (striped && found->entries.empty() && outline != nullptr) {
            // Without perspective the symbol's stripes are parallel again.
            const cv::Size2d native = quad_size(outline->corners);
            const cv::Size size(std::max(16, cvRound(native.width)), std::max(16, cvRound(native.height)));
            const cv::Mat straight = rectify(image->gray, outline->corners, size, 0);
            const double later = thread_time() + extra_milliseconds / 2.0;
            const double reduction = std::min(1.0, static_cast<double>(region_side) / std::max(size.width, size.height));
            const cv::Size reduced(cvRound(size.width * reduction), cvRound(size.height * reduction));
            try_regions(straight, find_regions(straight, shrunk(straight, reduced)), from_rectified(outline->corners, size), 0, rounds, later, *found);
        }
        *barcodes = found.release();
        return CV_OK;
    });
}

extern "C" size_t cv_barcodes_count(const cv_barcodes *barcodes) { return barcodes->entries.size(); }

extern "C" cv_barcode cv_barcodes_get(const cv_barcodes *barcodes, size_t index) {
    const cv_barcodes::Entry &entry = barcodes->entries[index];
    cv_barcode barcode{entry.format,
                       reinterpret_cast<const uint8_t *>(entry.bytes.data()),
                       entry.bytes.size(),
                       entry.text.data(),
                       entry.text.size(),
                       {}};
    std::copy(entry.corners.begin(), entry.corners.end(), barcode.corners);
    return barcode;
}

extern "C" void cv_barcodes_free(cv_barcodes *barcodes) { delete barcodes; }
