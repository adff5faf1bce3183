// Measures of image quality. The rules (InspectCore) have the limits.
#include <algorithm>
#include <array>
#include <cmath>
#include <opencv2/imgproc.hpp>
#include <optional>
#include <vector>

#include "components.hpp"
#include "document.hpp"
#include "image.hpp"

namespace cvision {
namespace {

constexpr double widest_view = 500;    // px of the view in colour, with what it shows around the document
constexpr double certain_glare = 0.1;  // of the document; from here on, no second look is taken
constexpr double margins = 16;         // the document's longer side over what is shown around it

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
    cv::Mat colours, skin, labels;
    cv::cvtColor(bgr, colours, cv::COLOR_BGR2YCrCb);
    cv::inRange(colours, cv::Scalar(60, 140, 77), cv::Scalar(255, 180, 122), skin);
    // Only what is inside and connected to the document's edge.
    const int rim = std::max(3, bgr.cols / 100);
    const cv::Rect document(margin + rim, margin + rim, bgr.cols - 2 * (margin + rim), bgr.rows - 2 * (margin + rim));
    const cv::Mat seen = skin(document);
    const int crossing = cv::countNonZero(seen.row(0)) + cv::countNonZero(seen.row(seen.rows - 1)) +
                         cv::countNonZero(seen.col(0)) + cv::countNonZero(seen.col(seen.cols - 1));
    if (crossing == 0) return 0;
    cv::morphologyEx(skin, skin, cv::MORPH_OPEN, cv::getStructuringElement(cv::MORPH_ELLIPSE, {9, 9}));
    // The table's own colour, which may be like skin: wood often is.
    std::optional<cv::Vec3d> table;
    const cv::Mat inside = skin(document);
    double hidden = 0;
    for (const Component &found : components_of(inside, labels)) {
        const int area = found.area, left = found.box.x, top = found.box.y;
        const int width = found.box.width, height = found.box.height;
        const bool touches = left == 0 || top == 0 || left + width == inside.cols || top + height == inside.rows;
        const int depth = std::min(width, height);
        if (!touches || depth < inside.cols / 25 || area > 0.4 * static_cast<double>(inside.total())) continue;
        // A hand continues outside and is no table; a coloured band of the document itself ends at its border.
        const cv::Scalar mean = cv::mean(bgr(document), labels == found.label);
        const cv::Vec3d hand(mean[0], mean[1], mean[2]);
        if (!table) table = median_outside(bgr, margin);
        int entering = 0, continued = 0;
        const auto cross = [&](int x, int y, int out_x, int out_y) {
            if (labels.at<int>(y, x) != found.label) return;
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
    ///   - corners: In `source`.
    ///   - native: Width and height of the document there.
    ///   - scale: Pixels of the view over those of `source`.
    ///   - is_whole: Whether the image is the document, without margin: resizing it costs a fifth of a warp.
    View(const cv::Mat &source, const std::array<cv_point, 4> &corners, cv::Size2d native, double scale, bool is_whole)
        : margin(is_whole ? 0 : static_cast<int>(scale * std::max(native.width, native.height) / margins)) {
        const cv::Size size(std::max(1, cvRound(native.width * scale)), std::max(1, cvRound(native.height * scale)));
        if (!is_whole) all = rectify(source, corners.data(), size, margin);
        else if (scale == 1) all = source;
        else if (scale > 1) cv::resize(source, all, size, 0, 0, cv::INTER_LINEAR);
        else all = averaged(source, size);
    }

    cv::Mat core() const {
        return all(core_of({all.cols - 2 * margin, all.rows - 2 * margin}) + cv::Point(margin, margin));
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

        const bool is_whole = outline == nullptr;
        const cv::Mat &source = image->reduced();
        const double source_scale = static_cast<double>(source.cols) / full.width;
        cv::Mat gray_source = image->gray;
        if (source_scale < 1) cv::cvtColor(source, gray_source, cv::COLOR_BGR2GRAY);
        const auto corners_at = [&](double scale) {
            std::array<cv_point, 4> scaled;
            for (size_t i = 0; i < 4; ++i) scaled[i] = {corners[i].x * scale, corners[i].y * scale};
            return scaled;
        };
        const Sharpness sharpness = sharpness_of(gray_source, corners_at(source_scale), is_whole);
        quality->edge_width = sharpness.edge_width;
        quality->laplacian_variance = sharpness.laplacian_variance;
        quality->coherence = sharpness.coherence;
        quality->brightness = sharpness.brightness;
        quality->contrast = sharpness.contrast;

        const auto view_at = [&](const cv::Mat &pixels, double scale) {
            const int divisor = scale < source_scale / 2 ? 2 : 1;
            const cv::Mat reduced =
                shrunk(pixels, {std::max(1, pixels.cols / divisor), std::max(1, pixels.rows / divisor)});
            const double reduction = static_cast<double>(reduced.cols) / full.width;
            return View(reduced, corners_at(reduction), native * reduction, scale / reduction, is_whole);
        };
        const double scale = widest_view / (longer * (is_whole ? 1 : 1 + 2 / margins));
        const View colours = view_at(source, scale);
        const cv::Mat core = colours.core();
        const cv::Mat some = every_second_row(core);  // of half of the pixels, percentiles are the same
        quality->balanced_chroma = balanced_chroma(some);
        quality->chroma = percentile(spread_of(some), {}, 0.95);
        const cv::Mat low = darkest_channel(core), strokes = find_strokes(low, 0.5);
        quality->print_share = static_cast<double>(cv::countNonZero(strokes)) / static_cast<double>(strokes.total());
        quality->glare_share = glare_share(low, strokes, 0.5);
        if (quality->glare_share > 0 && quality->glare_share < certain_glare) {
            // Only at twice the size does glare, which fades, differ from small bright patches, which end sharply.
            const cv::Mat fine = view_at(darkest_channel(source), 2 * widest_view / longer).core();
            quality->glare_share = glare_share(fine, find_strokes(fine, 1), 1);
        }

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
                quality->background_chroma =
                    percentile(spread_of(every_second_row(smooth)), every_second_row(outside), 0.95);
            }
            const double around_scale = std::min(1.0, 1 / scale);
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
