#include "face_measures.hpp"

#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>

namespace cvision {

namespace {

/// The parallelogram at `corner` with sides `across` and `along`, as `size` pixels.
cv::Mat patch(const cv::Mat &image, cv::Point2d corner, cv::Point2d across, cv::Point2d along, cv::Size size) {
    const double w = size.width - 1, h = size.height - 1;
    const cv::Matx23d map(across.x / w, along.x / h, corner.x, across.y / w, along.y / h, corner.y);
    cv::Mat result;
    cv::warpAffine(image, result, map, size, cv::INTER_LINEAR | cv::WARP_INVERSE_MAP, cv::BORDER_REPLICATE);
    return result;
}

double percentile(const cv::Mat &values, double share) {
    std::vector<unsigned char> sorted(values.begin<unsigned char>(), values.end<unsigned char>());
    const auto place = sorted.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(sorted.size() - 1));
    std::nth_element(sorted.begin(), place, sorted.end());
    return *place;
}

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

/// Height of the dark area between the lids over the eye's width: the upper tercile over the middle three fifths of the columns.
/// Dark means below the middle between the skin around the eye (85th percentile) and the darkest value of this eye so far, since
/// a closed eye does not show how dark its pupil is. Brows are higher than a fifth of the eye's width.
double eye_opening(const cv::Mat &gray, cv::Point2d left, cv::Point2d right, double &darkest) {
    constexpr int columns = 64, rows = 48;
    constexpr double height = 0.9;  // of the patch over the eye's width
    constexpr int brow_row = static_cast<int>((0.5 - 0.22 / height) * (rows - 1));
    const cv::Point2d across = right - left, down(-across.y, across.x);
    cv::Mat eye = patch(gray, left - 0.5 * height * down, across, height * down, {columns, rows});
    cv::GaussianBlur(eye, eye, {}, 1.6);
    const double skin = std::max(percentile(eye, 0.85), 1.0);
    const double dark =
        percentile(eye(cv::Rect(columns / 4, rows / 4, columns / 2, rows / 2 + 4)).clone(), 0.04) / skin;
    // Decays by a hundredth each frame, since the light may change.
    darkest = darkest > 0 ? std::min(dark, std::min(darkest * 1.01, 0.9)) : dark;
    const double limit = skin * (1 + darkest) / 2;
    std::vector<double> heights;
    for (int x = columns / 5; x < columns - columns / 5; ++x) {
        int longest = 0, run = 0;
        // From below the brow: the dark areas of a low brow and of the eye may touch.
        for (int y = brow_row; y < rows; ++y) {
            run = eye.at<unsigned char>(y, x) < limit ? run + 1 : 0;
            longest = std::max(longest, run);
        }
        heights.push_back(height * longest / rows);
    }
    const auto third = heights.begin() + static_cast<std::ptrdiff_t>(2 * heights.size() / 3);
    std::nth_element(heights.begin(), third, heights.end());
    return *third;
}

/// The mouth, below the base of the nose: how dark its middle is, and how long the line between the lips is.
void measure_mouth(const cv::Mat &gray, const FaceFrame &face, cv::Point2d nose, cv_face_frame &frame) {
    constexpr int columns = 96, rows = 56;
    constexpr double half_width = 0.85, top = 0.08, height = 1;
    cv::Mat mouth = patch(gray, nose - half_width * face.right + top * face.down, 2 * half_width * face.right,
                          height * face.down, {columns, rows});
    cv::GaussianBlur(mouth, mouth, {}, 1.1);
    // Beside the upper lip there is skin on both sides.
    cv::Mat beside;
    cv::hconcat(mouth(cv::Rect(0, 0, 20, 12)), mouth(cv::Rect(columns - 20, 0, 20, 12)), beside);
    const double skin = percentile(beside, 0.5);

    std::vector<double> dark, centre, band(columns);
    for (int x = 40; x < 56; ++x) {
        int count = 0;
        for (int y = 0; y < rows; ++y) count += mouth.at<unsigned char>(y, x) < 0.45 * skin;
        dark.push_back(static_cast<double>(count) / rows);
    }
    frame.mouth_opening = median(dark);

    // The line between the lips: where the middle columns are darkest against their own median.
    cv::Mat relief(rows, columns, CV_64F);
    for (int x = 0; x < columns; ++x) {
        const double level = percentile(mouth.col(x), 0.5);
        for (int y = 0; y < rows; ++y) relief.at<double>(y, x) = level - mouth.at<unsigned char>(y, x);
    }
    int line = 4;
    double darkest = -256;
    for (int y = 4; y < 44; ++y) {
        const double mean = cv::mean(relief(cv::Rect(36, y, 24, 1)))[0];
        if (mean > darkest) darkest = mean, line = y;
    }
    const cv::Rect rows_around(0, std::max(0, line - 6), columns, std::min(rows, line + 7) - std::max(0, line - 6));
    for (int x = 0; x < columns; ++x) {
        double most;
        cv::minMaxLoc(relief(rows_around).col(x), nullptr, &most);
        band[static_cast<size_t>(x)] = most;
    }
    for (int x = 40; x < 56; ++x) centre.push_back(band[static_cast<size_t>(x)]);
    const double limit = std::max(8.0, 0.4 * median(centre));
    int left = columns / 2, right = columns / 2;
    while (left > 0 && band[static_cast<size_t>(left)] > limit) --left;
    while (right < columns - 1 && band[static_cast<size_t>(right)] > limit) ++right;
    frame.mouth_width = 2 * half_width * (right - left) / columns;
}

/// sRGB value 0–255 to linear light 0–1 (IEC 61966-2-1).
double linear(int value) {
    const double v = value / 255.0;
    return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4);
}

/// A histogram of one channel; a region may have several pieces.
struct Histogram {
    std::array<int, 256> counts{};
    int total = 0;

    void add(unsigned char value) {
        ++counts[value];
        ++total;
    }

    /// Mean of the linear light between the 20th and the 80th percentile: like a median, but finer than the steps of 8 bits.
    double trimmed_mean() const {
        const double low = 0.2 * total, high = 0.8 * total;
        double sum = 0, weight = 0, below = 0;
        for (int value = 0; value < 256; ++value) {
            const double from = std::max(low, below), to = std::min(high, below + counts[value]);
            if (to > from) {
                sum += (to - from) * linear(value);
                weight += to - from;
            }
            below += counts[value];
        }
        return weight > 0 ? sum / weight : 0;
    }
};

struct Region {
    std::array<Histogram, 3> channels;
    int saturated = 0;

    int pixels() const { return channels[0].total; }

    /// Adds the pixels within `half` eye distances of (x, y) in the face's plane.
    void add(const cv::Mat &bgr, const FaceFrame &face, cv::Point2d centre, cv::Size2d half) {
        const cv::Point2d corner = centre - half.width * face.right - half.height * face.down;
        // As many samples as the region has pixels, up to 48 each way.
        const int columns = std::clamp(static_cast<int>(2 * half.width * face.eye_distance), 4, 48);
        const int rows = std::clamp(static_cast<int>(2 * half.height * face.eye_distance), 4, 48);
        for (int j = 0; j < rows; ++j) {
            for (int i = 0; i < columns; ++i) {
                const cv::Point2d p = corner + (2 * half.width * (i + 0.5) / columns) * face.right +
                                      (2 * half.height * (j + 0.5) / rows) * face.down;
                const int x = static_cast<int>(std::lround(p.x)), y = static_cast<int>(std::lround(p.y));
                if (x < 0 || y < 0 || x >= bgr.cols || y >= bgr.rows) continue;
                const cv::Vec3b pixel = bgr.at<cv::Vec3b>(y, x);
                for (size_t channel = 0; channel < 3; ++channel)
                    channels[channel].add(pixel[static_cast<int>(channel)]);
                if (std::max({pixel[0], pixel[1], pixel[2]}) >= 250) ++saturated;
            }
        }
    }

    cv_light light() const {
        return {channels[2].trimmed_mean(), channels[1].trimmed_mean(), channels[0].trimmed_mean()};
    }
};

}  // namespace

FaceFrame::FaceFrame(const Landmarks &points) {
    const cv::Point2d left = (points[0] + points[1]) / 2, to = (points[2] + points[3]) / 2;
    origin = (left + to) / 2;
    right = to - left;
    eye_distance = std::max(cv::norm(right), 1.0);
    down = {-right.y, right.x};
}

void measure_motion(const cv::Mat &gray, const Landmarks &points, EyeMemory &eyes, cv_face_frame &frame) {
    const FaceFrame face(points);
    frame.eye_distance = face.eye_distance;
    frame.eye_opening =
        (eye_opening(gray, points[0], points[1], eyes.left) + eye_opening(gray, points[3], points[2], eyes.right)) / 2;
    const cv::Point2d nose = points[4] - face.origin;
    const double square = face.eye_distance * face.eye_distance;
    frame.nose_drop = nose.dot(face.down) / square;
    // The base of the nose lies about 0.3 eye distances before the eyes: 40° of yaw show 0.25 (labelled profiles).
    frame.yaw = std::atan(nose.dot(face.right) / square / 0.3) * 180 / CV_PI;
    measure_mouth(gray, face, points[4], frame);
}

void measure_light(const cv::Mat &bgr, const Landmarks &points, cv_face_frame &frame) {
    const FaceFrame face(points);
    Region forehead, cheeks, nose, background;
    forehead.add(bgr, face, face.at(0, -0.55), {0.3, 0.12});
    // Squares of 0.3 eye distances on both cheeks (OFIQ, illumination uniformity).
    cheeks.add(bgr, face, face.at(-0.52, 0.69), {0.15, 0.15});
    cheeks.add(bgr, face, face.at(0.52, 0.69), {0.15, 0.15});
    nose.add(bgr, face, face.origin + 0.6 * (points[4] - face.origin), {0.07, 0.14});
    // A head is about 2.4 eye distances wide (ISO/IEC 19794-5, figure of the full frontal image); hair hangs at its sides.
    background.add(bgr, face, face.at(-2.3, -0.2), {0.5, 0.9});
    background.add(bgr, face, face.at(2.3, -0.2), {0.5, 0.9});
    frame.forehead = forehead.light();
    frame.cheeks = cheeks.light();
    frame.nose = nose.light();
    frame.background = background.light();
    frame.has_background = background.pixels() >= 300;
    const int skin = forehead.pixels() + cheeks.pixels();
    frame.saturated = skin > 0 ? static_cast<double>(forehead.saturated + cheeks.saturated) / skin : 1;
}

cv::Mat aligned_face(const cv::Mat &gray, const Landmarks &points) {
    const FaceFrame face(points);
    cv::Mat result;
    patch(gray, face.at(-0.9, -0.6), 1.8 * face.right, 2.1 * face.down, {36, 42}).convertTo(result, CV_32F, 1 / 255.0);
    return result - cv::mean(result)[0];
}

}  // namespace cvision
