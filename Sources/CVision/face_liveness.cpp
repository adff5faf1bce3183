// Presentation attack detection (PAD) signals. Single images are weak evidence: each signal measures how much the image looks
// like one kind of artefact, and none proves that a living person was present.
#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>

#include "face_parts.hpp"
#include "image.hpp"

namespace {

double clamped(double value) { return std::min(1.0, std::max(0.0, value)); }

/// 0 at `from`, 1 at `to`, linear between them.
double ramp(double value, double from, double to) { return clamped((value - from) / (to - from)); }

cv::Rect2d grown(const cv_face &face, double factor) {
    const double cx = face.x + face.width / 2, cy = face.y + face.height / 2;
    return {cx - factor * face.width / 2, cy - factor * face.height / 2, factor * face.width, factor * face.height};
}

cv::Rect inside(const cv::Rect2d &rect, const cv::Mat &image) {
    return cv::Rect(rect) & cv::Rect(0, 0, image.cols, image.rows);
}

/// The pixel grid of a photographed screen leaves isolated peaks in the spectrum; skin and hair leave a smooth slope. The signal
/// is the height of the strongest peak above the median of the ring of equal frequency, in (robust) standard deviations of the
/// ring's log magnitude.
double moire(const cv::Mat &gray, const cv_face &face) {
    // At the sensor's own resolution: scaling would remove the raster.
    constexpr int side = 256;
    if (face.width < 96) return 0;
    const cv::Point centre(static_cast<int>(face.x + face.width / 2), static_cast<int>(face.y + face.height / 2));
    const int extent = std::min<int>(side, static_cast<int>(face.width) & ~1);
    const cv::Rect window(centre.x - extent / 2, centre.y - extent / 2, extent, extent);
    if ((window & cv::Rect(0, 0, gray.cols, gray.rows)) != window) return 0;
    cv::Mat tile, taper, spectrum, planes[2], magnitude;
    gray(window).convertTo(tile, CV_32F);
    tile -= cv::mean(tile);
    cv::createHanningWindow(taper, tile.size(), CV_32F);
    cv::dft(tile.mul(taper), spectrum, cv::DFT_COMPLEX_OUTPUT);
    cv::split(spectrum, planes);
    cv::magnitude(planes[0], planes[1], magnitude);
    cv::log(magnitude + 1, magnitude);

    // Rings two bins wide; the lowest sixth holds the face itself.
    std::vector<std::vector<float>> rings(extent / 4);
    for (int y = 3; y <= extent / 2; ++y) {
        for (int x = 0; x < extent; ++x) {
            const int fx = x <= extent / 2 ? x : x - extent;
            // The axes hold the window's edges and JPEG's block grid.
            if (std::abs(fx) < 3) continue;
            const size_t ring = static_cast<size_t>(std::hypot(fx, y) / 2);
            if (ring >= rings.size() / 3 && ring < rings.size()) rings[ring].push_back(magnitude.at<float>(y, x));
        }
    }
    double strongest = 0;
    for (std::vector<float> &ring : rings) {
        if (ring.size() < 32) continue;
        const auto middle = ring.begin() + static_cast<std::ptrdiff_t>(ring.size() / 2);
        std::nth_element(ring.begin(), middle, ring.end());
        const float median = *middle, peak = *std::max_element(ring.begin(), ring.end());
        for (float &value : ring) value = std::abs(value - median);
        std::nth_element(ring.begin(), middle, ring.end());
        // 1.4826 median deviations are one standard deviation of a normal distribution, and peaks do not increase them.
        strongest = std::max(strongest, static_cast<double>(peak - median) / (1.4826 * *middle + 0.05));
    }
    // Over 93 portraits the strongest reached 3.7; a photographed screen 4.6, a clear raster 6 and more.
    return ramp(strongest, 3.8, 5.8);
}

/// Share of the face in small colourless saturated spots: gloss of a screen or of a laminated print.
double specular(const cv::Mat &bgr, const cv_face &face) {
    const cv::Rect window = inside(grown(face, 0.9), bgr);
    if (window.empty()) return 0;
    int spots = 0;
    for (int y = window.y; y < window.br().y; ++y) {
        const cv::Vec3b *row = bgr.ptr<cv::Vec3b>(y);
        for (int x = window.x; x < window.br().x; ++x) {
            const auto [low, high] = std::minmax({row[x][0], row[x][1], row[x][2]});
            if (low >= 240 && high - low <= 12) ++spots;
        }
    }
    return ramp(static_cast<double>(spots) / window.area(), 0, 0.05);
}

/// Straight edges near the face that bound one tilted rectangle inside the image: bezel of a screen, border of a print or a
/// card. Left, right and one of the other two must be there (the fourth is often outside the image or under a hand), parallel
/// or square to each other; the weakest of the three decides.
double frame(const cv::Mat &gray, const cv_face &face) {
    const double scale = std::min(1.0, 480.0 / std::max(gray.cols, gray.rows));
    const cv::Mat small = cvision::averaged(gray, scale);
    cv::Mat edges;
    cv::Canny(small, edges, 60, 150);
    // The box reaches into the background next to the cheeks: a bezel may run within its outer tenths.
    const cv::Rect2d inner = grown(face, 0.8), outer = grown(face, 2.4);
    const cv::Rect2d box(inner.x * scale, inner.y * scale, inner.width * scale, inner.height * scale);
    const cv::Rect2d near(outer.x * scale, outer.y * scale, outer.width * scale, outer.height * scale);
    std::vector<cv::Vec4i> lines;
    cv::HoughLinesP(edges, lines, 1, CV_PI / 180, 40, box.height * 0.5, 8);
    const double rim = 3;  // an edge on the image's own border is not a frame
    double best = 0;
    for (int tilt = -20; tilt <= 20; tilt += 4) {
        double left = 0, right = 0, above = 0, below = 0;
        for (const cv::Vec4i &line : lines) {
            const double x = (line[0] + line[2]) / 2.0, y = (line[1] + line[3]) / 2.0;
            if (x < rim || y < rim || x > small.cols - rim || y > small.rows - rim) continue;
            if (!near.contains({x, y})) continue;
            const double dx = line[2] - line[0], dy = line[3] - line[1];
            // Angle from the horizontal without the tilt, -90 to 90 degrees.
            double angle = std::atan2(dy, dx) * 180 / CV_PI - tilt;
            angle -= 180 * std::round(angle / 180);
            const double length = std::hypot(dx, dy) / box.height;
            if (std::abs(angle) <= 4) {
                if (y < box.y) above = std::max(above, length);
                if (y > box.br().y) below = std::max(below, length);
            } else if (std::abs(angle) >= 86) {
                if (x < box.x) left = std::max(left, length);
                if (x > box.br().x) right = std::max(right, length);
            }
        }
        best = std::max(best, std::min({left, right, std::max(above, below)}));
    }
    return ramp(best, 0.5, 1);
}

double detail(const cv::Mat &gray) {
    cv::Mat edges;
    cv::Scalar mean, deviation;
    cv::Laplacian(gray, edges, CV_32F);
    cv::meanStdDev(edges, mean, deviation);
    return deviation[0] * deviation[0] + 1;
}

/// The background of a person is at another distance; a print or a screen is as sharp next to the face as on it.
double flat_focus(const cv::Mat &gray, const cv_face &face) {
    const cv::Rect centre = inside(grown(face, 1), gray);
    const cv::Rect2d wide = grown(face, 2.2);
    const double top = std::max(0.0, face.y), bottom = face.y + face.height;
    const cv::Rect left = inside({wide.x, top, 0.4 * face.width, bottom - top}, gray);
    const cv::Rect right = inside({wide.br().x - 0.4 * face.width, top, 0.4 * face.width, bottom - top}, gray);
    if (centre.empty() || left.area() < 400 || right.area() < 400) return 0;
    const double around = (detail(gray(left)) + detail(gray(right))) / 2;
    return clamped(1 - std::abs(std::log(detail(gray(centre)) / around)) / std::log(8.0));
}

/// Standard deviation of the skin's chrominance (Cr, Cb): reproduction narrows it.
double narrow_colour(const cv::Mat &bgr, const cv_face &face) {
    const cv::Rect window = inside(grown(face, 0.8), bgr);
    if (window.empty()) return 0;
    cv::Mat chrominance;
    cv::cvtColor(bgr(window), chrominance, cv::COLOR_BGR2YCrCb);
    cv::Scalar mean, deviation;
    cv::meanStdDev(chrominance, mean, deviation);
    return 1 - ramp((deviation[1] + deviation[2]) / 2, 2, 8);
}

}  // namespace

cv_status cv_face_liveness(const cv_image *image, const cv_face *face, cv_face_signals *signals, cv_error *error) {
    return cvision::guard(error, [&] {
        *signals = {
            moire(image->gray, *face),
            specular(image->bgr, *face),
            frame(image->gray, *face),
            flat_focus(image->gray, *face),
            narrow_colour(image->bgr, *face),
            // Skin lies 15 to 35 CIELAB units from grey in daylight, never below 5 under any white light.
            1 - ramp(face->chroma, 2, 8),
            // The aligned face of a sharp image has a variance of several hundred, out of focus below 50.
            1 - ramp(face->sharpness, 20, 150),
        };
        return CV_OK;
    });
}
