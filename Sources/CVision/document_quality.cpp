// Measures of image quality. The rules (InspectCore) have the limits.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <opencv2/imgproc.hpp>
#include <optional>
#include <vector>

#include "document.hpp"
#include "image.hpp"

namespace cvision {
namespace {

constexpr int reference_width = 1000;  // px of document width at which sharpness is compared
constexpr int least_view = 8;          // px: a side of the view at least
constexpr int widest_view = 1600;      // px; at this width, edges wider than one pixel are blur, not sampling

using Histogram = std::array<int, 256>;

double percentile(const Histogram &histogram, double share) {
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

/// Every how many of `count` rows or columns edges are looked at: the median over more of them is the same.
int stride_of(int count) { return count > 500 ? 4 : 2; }

/// Widths of the strong edges along every `stride`th row of `lines` (CV_8U): a monotone run's rise over its steepest step.
double edge_width_along_rows(const cv::Mat &lines, int stride, double least_rise) {
    std::vector<float> widths;
    for (int y = 0; y < lines.rows; y += stride) {
        const uint8_t *p = lines.ptr<uint8_t>(y);
        int start = 0, steepest = 0, direction = 0;
        const auto close = [&](int end) {
            const int rise = std::abs(p[end] - p[start]);
            if (rise >= least_rise && steepest > 0)
                widths.push_back(static_cast<float>(rise) / static_cast<float>(steepest));
        };
        for (int x = 1; x < lines.cols; ++x) {
            const int step = p[x] - p[x - 1];
            const int sign = step > 0 ? 1 : step < 0 ? -1 : direction;
            if (sign != direction) {
                close(x - 1);
                start = x - 1, steepest = 0, direction = sign;
            }
            steepest = std::max(steepest, std::abs(step));
        }
        close(lines.cols - 1);
    }
    if (widths.size() < 50) return 0;
    const auto middle = widths.begin() + static_cast<std::ptrdiff_t>(widths.size() / 2);
    std::nth_element(widths.begin(), middle, widths.end());
    return *middle;
}

/// Median edge width on the blurrier of the two axes: a hand that moves sideways leaves horizontal edges sharp.
double edge_width(const cv::Mat &gray) {
    cv::Mat smooth;
    cv::GaussianBlur(gray, smooth, {3, 3}, 0.8);
    const Histogram histogram = histogram_of(smooth, {});
    const double range = percentile(histogram, 0.98) - percentile(histogram, 0.02);
    const double least_rise = std::max(12.0, 0.3 * range);
    const int stride = stride_of(smooth.cols), columns = (smooth.cols + stride - 1) / stride;
    cv::Mat some(smooth.rows, columns, CV_8U), turned;
    for (int y = 0; y < smooth.rows; ++y) {
        const uint8_t *from = smooth.ptr<uint8_t>(y);
        uint8_t *to = some.ptr<uint8_t>(y);
        for (int x = 0; x < columns; ++x) to[x] = from[stride * x];
    }
    cv::transpose(some, turned);
    return std::max(edge_width_along_rows(smooth, stride_of(smooth.rows), least_rise),
                    edge_width_along_rows(turned, 1, least_rise));
}

/// How much the strong gradients of an image share one direction: coherence of the structure tensor (Bigün and Granlund 1987),
/// 0 to 1. Text has strokes in every direction; motion blur removes the edges across the movement.
double coherence(const cv::Mat &gray) {
    cv::Mat smooth;
    cv::GaussianBlur(gray, smooth, {5, 5}, 1.2);
    if (smooth.rows < 3 || smooth.cols < 3) return 0;
    // Every second row without the border, or its neighbours `x` and `y` away.
    const auto rows = [&](int x, int y) {
        return cv::Mat((smooth.rows - 1) / 2, smooth.cols - 2, CV_8U, smooth.ptr(1 + y) + 1 + x, 2 * smooth.step);
    };
    // The length within 12 %, without a square root: the larger part and half of the smaller, rounded down.
    cv::Mat ax, ay, half;
    cv::absdiff(rows(1, 0), rows(-1, 0), ax);
    cv::absdiff(rows(0, 1), rows(0, -1), ay);
    cv::Mat(cv::min(ax, ay)).convertTo(half, CV_8U, 0.5, -0.25);
    const cv::Mat lengths = cv::max(ax, ay) + half;
    const Histogram histogram = histogram_of(lengths, {});
    int64_t seen = 0;
    int strongest = 255;
    for (; strongest > 0; --strongest) {
        seen += histogram[static_cast<size_t>(strongest)];
        if (static_cast<double>(seen) > 0.01 * static_cast<double>(lengths.total())) break;
    }
    const cv::Mat weak = lengths < std::max(6, strongest * 3 / 10);
    cv::Mat gx, gy;
    cv::subtract(rows(1, 0), rows(-1, 0), gx, {}, CV_16S);
    cv::subtract(rows(0, 1), rows(0, -1), gy, {}, CV_16S);
    gx.setTo(0, weak);
    gy.setTo(0, weak);
    const double xx = gx.dot(gx), yy = gy.dot(gy), xy = gx.dot(gy);
    return xx + yy > 0 ? std::hypot(xx - yy, 2 * xy) / (xx + yy) : 0;
}

double laplacian_variance(const cv::Mat &gray) {
    cv::Mat laplacian;
    cv::Laplacian(gray, laplacian, CV_16S);
    cv::Scalar mean, deviation;
    cv::meanStdDev(laplacian, mean, deviation);
    return deviation[0] * deviation[0];
}

/// The darkest channel: high only where a pixel is bright and colourless.
cv::Mat darkest_channel(const cv::Mat &bgr) {
    std::vector<cv::Mat> channels;
    cv::split(bgr, channels);
    return cv::min(cv::min(channels[0], channels[1]), channels[2]);
}

/// max - min over the channels of an image that was blurred slightly: the chroma noise of a grey image is no colour.
cv::Mat spread_of(const cv::Mat &smooth) {
    std::vector<cv::Mat> channels;
    cv::split(smooth, channels);
    const cv::Mat high = cv::max(cv::max(channels[0], channels[1]), channels[2]);
    const cv::Mat low = cv::min(cv::min(channels[0], channels[1]), channels[2]);
    return high - low;
}

/// Thin dark marks on lighter paper, as text has them at the reference width.
cv::Mat find_strokes(const cv::Mat &low) {
    cv::Mat paper;
    cv::morphologyEx(low, paper, cv::MORPH_CLOSE, cv::getStructuringElement(cv::MORPH_RECT, {21, 21}));
    return (paper - low) > 0.4 * std::max(60.0, percentile(paper, {}, 0.5));
}

/// Saturated blobs whose surroundings fade gradually, on paper that is not itself saturated.
///
/// White paper is as bright as glare and covers up to 90 % of a specimen. Two things distinguish them: text on white paper has
/// saturated pixels next to its strokes, whereas glare hides the strokes; and glare fades out where a white panel ends sharply.
double glare_share(const cv::Mat &low, cv::Mat strokes) {
    constexpr int burnt_from = 247;  // of the darkest channel: bright and colourless at once
    constexpr double least_solidity =
        0.6;  // area over that of the convex hull: 1 is a disc, less than half wraps something
    constexpr double least_area = 0.002;  // of the document: smaller blobs hide nothing
    const cv::Mat burnt = low >= burnt_from;
    const double total = static_cast<double>(low.total());
    if (cv::countNonZero(burnt) < least_area * total) return 0;

    cv::Mat beside, core, labels, stats, centroids;
    // Twice by 5 is once by 9.
    const cv::Mat five = cv::getStructuringElement(cv::MORPH_RECT, {5, 5});
    cv::dilate(strokes, strokes, five);
    cv::dilate(strokes, beside, five);
    beside &= ~strokes;
    const double white_paper =
        cv::countNonZero(beside & burnt) / std::max(1.0, static_cast<double>(cv::countNonZero(beside)));
    if (white_paper > 0.5) return 0;

    cv::erode(burnt, core, cv::getStructuringElement(cv::MORPH_ELLIPSE, {17, 17}));
    const int count = cv::connectedComponentsWithStats(core, labels, stats, centroids);
    double glaring = 0;
    for (int index = 1; index < count; ++index) {
        if (stats.at<int>(index, cv::CC_STAT_AREA) < least_area * total) continue;
        constexpr int reach = 30;  // beyond the greatest distance that counts
        const cv::Rect around =
            cv::Rect(stats.at<int>(index, cv::CC_STAT_LEFT) - reach, stats.at<int>(index, cv::CC_STAT_TOP) - reach,
                     stats.at<int>(index, cv::CC_STAT_WIDTH) + 2 * reach,
                     stats.at<int>(index, cv::CC_STAT_HEIGHT) + 2 * reach) &
            cv::Rect(cv::Point(), labels.size());
        cv::Mat away, others = labels(around) != index;
        cv::distanceTransform(others, away, cv::DIST_L2, 3);
        const double near = percentile(low(around), (away > 9.5) & (away < 13), 0.5);
        const double far = percentile(low(around), (away > 20) & (away < 28), 0.5);
        const bool fades = near - far >= 3 || far >= burnt_from;
        if (near < 225 || !fades) continue;
        // The reflection of a lamp is a rounded blob; white paper surrounds text and images.
        std::vector<cv::Point> outline, hull;
        cv::findNonZero(~others, outline);
        cv::convexHull(outline, hull);
        const double solidity = stats.at<int>(index, cv::CC_STAT_AREA) / std::max(1.0, cv::contourArea(hull));
        if (solidity < least_solidity) continue;
        glaring += cv::countNonZero(away < 12);
    }
    return glaring / total;
}

/// The median of each channel in the `margin` pixels around a document.
cv::Vec3d median_outside(const cv::Mat &bgr, int margin) {
    cv::Mat around(bgr.size(), CV_8U, cv::Scalar(255));
    around(cv::Rect(margin, margin, bgr.cols - 2 * margin, bgr.rows - 2 * margin)).setTo(0);
    std::vector<cv::Mat> channels;
    cv::split(bgr, channels);
    cv::Vec3d median;
    for (int i = 0; i < 3; ++i) median[i] = percentile(channels[static_cast<size_t>(i)], around, 0.5);
    return median;
}

/// Skin-coloured regions (Chai and Ngan 1999: Cr 133–173, Cb 77–127) that reach from outside into the document.
/// `bgr` shows the document with `margin` pixels around it.
double occlusion(const cv::Mat &bgr, int margin) {
    cv::Mat colours, skin, labels, stats, centroids;
    cv::cvtColor(bgr, colours, cv::COLOR_BGR2YCrCb);
    cv::inRange(colours, cv::Scalar(60, 140, 77), cv::Scalar(255, 180, 122), skin);
    cv::morphologyEx(skin, skin, cv::MORPH_OPEN, cv::getStructuringElement(cv::MORPH_ELLIPSE, {9, 9}));
    // Only what is inside and connected to the document's edge.
    const int rim = std::max(3, bgr.cols / 100);
    const cv::Rect document(margin + rim, margin + rim, bgr.cols - 2 * (margin + rim), bgr.rows - 2 * (margin + rim));
    // The table's own colour, which may be like skin: wood often is.
    std::optional<cv::Vec3d> table;
    const cv::Mat inside = skin(document);
    const int count = cv::connectedComponentsWithStats(inside, labels, stats, centroids);
    double hidden = 0;
    for (int index = 1; index < count; ++index) {
        const int area = stats.at<int>(index, cv::CC_STAT_AREA);
        const int left = stats.at<int>(index, cv::CC_STAT_LEFT), top = stats.at<int>(index, cv::CC_STAT_TOP);
        const int width = stats.at<int>(index, cv::CC_STAT_WIDTH), height = stats.at<int>(index, cv::CC_STAT_HEIGHT);
        const bool touches = left == 0 || top == 0 || left + width == inside.cols || top + height == inside.rows;
        const int depth = std::min(width, height);
        if (!touches || depth < inside.cols / 25 || area > 0.4 * static_cast<double>(inside.total())) continue;
        // A hand continues outside and is no table; a coloured band of the document itself ends at its border.
        const cv::Scalar mean = cv::mean(bgr(document), labels == index);
        const cv::Vec3d hand(mean[0], mean[1], mean[2]);
        if (!table) table = median_outside(bgr, margin);
        int entering = 0, continued = 0;
        const auto cross = [&](int x, int y, int out_x, int out_y) {
            if (labels.at<int>(y, x) != index) return;
            ++entering;
            const cv::Vec3d colour = bgr.at<cv::Vec3b>(out_y, out_x);
            if (skin.at<uint8_t>(out_y, out_x) != 0 && cv::norm(colour - hand) < cv::norm(colour - *table)) ++continued;
        };
        const int across = std::max(0, margin - rim), right = bgr.cols - 1 - across, bottom = bgr.rows - 1 - across;
        for (int y = top; y < top + height; ++y) {
            cross(0, y, across, y + document.y);
            cross(inside.cols - 1, y, right, y + document.y);
        }
        for (int x = left; x < left + width; ++x) {
            cross(x, 0, x + document.x, across);
            cross(x, inside.rows - 1, x + document.x, bottom);
        }
        if (continued * 2 >= entering) hidden += area;
    }
    return hidden / static_cast<double>(inside.total());
}

/// The document, straightened, with `margin` pixels around it.
struct View {
    cv::Mat all;
    int margin;

    /// - Parameters:
    ///   - source: The image at `source_scale`; `corners` refer to the full-size image.
    ///   - native: Width and height of the document in the image.
    ///   - scale: Pixels of the view over those of the image.
    ///   - is_whole: Whether the image is the document, without margin: resizing it costs a fifth of a warp.
    View(const cv::Mat &source, double source_scale, const std::array<cv_point, 4> &corners, cv::Size2d native,
         double scale, int margin, bool is_whole)
        : margin(margin) {
        std::array<cv_point, 4> there;
        for (size_t i = 0; i < 4; ++i) there[i] = {corners[i].x * source_scale, corners[i].y * source_scale};
        const cv::Size size(std::max(least_view, cvRound(native.width * scale)),
                            std::max(least_view, cvRound(native.height * scale)));
        if (!is_whole) all = rectify(source, there.data(), size, margin);
        else if (scale == source_scale && size.width <= source.cols && size.height <= source.rows)
            all = source(cv::Rect(cv::Point(), size));
        else cv::resize(source, all, size, 0, 0, cv::INTER_LINEAR);
    }

    /// Without the border, where the outline is uncertain.
    cv::Mat core() const {
        const cv::Size size(all.cols - 2 * margin, all.rows - 2 * margin);
        const int inset = std::max(size.width, size.height) / 50;
        return all(cv::Rect(margin + inset, margin + inset, std::max(1, size.width - 2 * inset),
                            std::max(1, size.height - 2 * inset)));
    }
};

}  // namespace
}  // namespace cvision

extern "C" cv_status cv_document_quality(const cv_image *image, const cv_outline *outline, bool with_moire,
                                         cv_quality *quality, cv_error *error) {
    using namespace cvision;
    return guard(error, [&] {
        const cv::Size full = image->bgr.size();
        std::array<cv_point, 4> corners{
            {{0, 0}, {full.width - 1.0, 0}, {full.width - 1.0, full.height - 1.0}, {0, full.height - 1.0}}};
        if (outline != nullptr) std::copy_n(outline->corners, 4, corners.begin());
        const cv::Size2d native = quad_size(corners.data());
        const double longer = std::max({native.width, native.height, 1.0});
        quality->document_width = longer;

        // A grey view at the image's own sharpness for edges, and one in colour at the reference width.
        const cv::Mat &source = image->reduced();
        const double source_scale = static_cast<double>(source.cols) / full.width;
        const double view_scale = std::min(source_scale, widest_view / longer);
        cv::Mat gray_source = image->gray;
        if (source_scale < 1) cv::cvtColor(source, gray_source, cv::COLOR_BGR2GRAY);
        const bool is_whole = outline == nullptr;
        const View edges(gray_source, source_scale, corners, native, view_scale, 0, is_whole);
        const double to_reference = reference_width / std::max<double>(longer * view_scale, least_view);
        quality->edge_width = edge_width(edges.core()) * to_reference;

        cv::Mat reference_gray;
        if (to_reference < 1) reference_gray = averaged(edges.core(), to_reference);
        else cv::resize(edges.core(), reference_gray, {}, to_reference, to_reference, cv::INTER_LINEAR);
        quality->laplacian_variance = laplacian_variance(reference_gray);
        quality->coherence = coherence(reference_gray);
        cv::Scalar mean, deviation;
        cv::meanStdDev(reference_gray, mean, deviation);
        quality->brightness = mean[0];
        quality->contrast = deviation[0];

        const double colour_scale = std::min(source_scale, reference_width / longer);
        cv::Mat colour_source = source;
        if (colour_scale < source_scale / 2) colour_source = shrunk(source, {source.cols / 2, source.rows / 2});
        const double colour_source_scale = static_cast<double>(colour_source.cols) / full.width;
        const View colours(colour_source, colour_source_scale, corners, native, colour_scale,
                           is_whole ? 0 : static_cast<int>(colour_scale * longer / 16), is_whole);
        cv::Mat reference = colours.core();
        if (to_reference > 1) cv::resize(reference, reference, reference_gray.size());
        cv::Mat half;
        cv::resize(reference, half, {}, 0.5, 0.5, cv::INTER_AREA);
        quality->balanced_chroma = balanced_chroma(half);
        quality->chroma = percentile(spread_of(half), {}, 0.95);
        const cv::Mat low = darkest_channel(reference), strokes = find_strokes(low);
        quality->print_share = static_cast<double>(cv::countNonZero(strokes)) / static_cast<double>(strokes.total());
        quality->glare_share = glare_share(low, strokes);

        // Outside: everything but the document and a rim around it.
        const cv::Mat &small = image->small();
        const double small_scale = static_cast<double>(small.cols) / full.width;
        cv::Mat small_gray;
        cv::cvtColor(small, small_gray, cv::COLOR_BGR2GRAY);
        quality->midtone_share = static_cast<double>(cv::countNonZero((small_gray > 40) & (small_gray < 215))) /
                                 static_cast<double>(small_gray.total());
        quality->background_chroma = -1;
        quality->occlusion = -1;
        quality->missing_corner = -1;
        quality->punched_hole = -1;
        quality->torn_edge = -1;
        if (outline != nullptr) {
            cv::Mat outside(small.size(), CV_8U, cv::Scalar(255));
            std::vector<cv::Point> polygon;
            for (const cv_point &corner : corners)
                polygon.emplace_back(cvRound(corner.x * small_scale), cvRound(corner.y * small_scale));
            cv::fillConvexPoly(outside, polygon, cv::Scalar(0));
            cv::erode(outside, outside, cv::getStructuringElement(cv::MORPH_RECT, {11, 11}));
            if (cv::countNonZero(outside) > 0.03 * static_cast<double>(outside.total())) {
                cv::Mat smooth;
                cv::blur(small, smooth, {3, 3});
                quality->background_chroma = percentile(spread_of(smooth), outside, 0.95);
            }
            const double around_scale = std::min(1.0, 500.0 / std::max(colours.all.cols, colours.all.rows));
            const cv::Mat around = averaged(colours.all, around_scale);
            const int around_margin = static_cast<int>(colours.margin * around_scale);
            quality->occlusion = occlusion(around, around_margin);
            const cv::Size flat(around.cols - 2 * around_margin, around.rows - 2 * around_margin);
            quality->missing_corner = missing_corner(around, flat, around_margin);
            const MissingPieces pieces = missing_pieces(around, around_margin);
            quality->punched_hole = pieces.hole;
            quality->torn_edge = pieces.tear;
        }

        // The largest upright rectangle that is surely inside: the middle half of the sorted corner coordinates.
        std::array<double, 4> xs, ys;
        for (int i = 0; i < 4; ++i) xs[i] = corners[i].x, ys[i] = corners[i].y;
        std::sort(xs.begin(), xs.end());
        std::sort(ys.begin(), ys.end());
        const cv::Rect frame(0, 0, full.width, full.height);
        const cv::Rect safe(cv::Point(cvRound(xs[1]), cvRound(ys[1])), cv::Point(cvRound(xs[2]), cvRound(ys[2])));
        const Raster raster = with_moire ? find_raster(image->gray, safe & frame) : Raster{};
        quality->moire = raster.moire;
        quality->halftone = raster.halftone;
        return CV_OK;
    });
}
