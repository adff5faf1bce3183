// Measures of a face image that ISO/IEC 29794-5 (through its reference implementation OFIQ) computes without a network.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <opencv2/imgproc.hpp>

#include "face_parts.hpp"
#include "image.hpp"

namespace cvision {

namespace {

// In the aligned face of face_chip the eye centres lie at (48, 47) and (102, 47), the base of the nose at (74, 88).
// The inner face: brows to below the lower lip, without hair and background.
const cv::Point inner_centre(75, 82);
const cv::Size inner_axes(40, 48);
// Squares of 0.3 eye distances on both cheeks (OFIQ, illumination uniformity).
const cv::Rect left_cheek(39, 76, 16, 16), right_cheek(95, 76, 16, 16);

// Extent of the head around the midpoint of the eyes in eye distances: an adult's head is about 2.4 eye distances wide
// and its crown and chin lie about 1.7 above and 1.9 below the eyes (proportions of ISO/IEC 19794-5, figure of the full
// frontal image). Approximate: five points do not show crown or chin.
constexpr double head_half_width = 1.2, head_above = 1.7, head_below = 1.9;

/// sRGB value 0–255 to linear light 0–1 (IEC 61966-2-1).
const std::array<float, 256> &linear_light() {
    static const std::array<float, 256> table = [] {
        std::array<float, 256> values{};
        for (int i = 0; i < 256; ++i) {
            const double v = i / 255.0;
            values[i] = static_cast<float>(v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4));
        }
        return values;
    }();
    return table;
}

/// Luminance 0–255 of linear light (ITU-R BT.709 weights).
cv::Mat luminance(const cv::Mat &rgb) {
    const auto &linear = linear_light();
    cv::Mat result(rgb.size(), CV_8UC1);
    for (int y = 0; y < rgb.rows; ++y) {
        const cv::Vec3b *row = rgb.ptr<cv::Vec3b>(y);
        for (int x = 0; x < rgb.cols; ++x) {
            const float value = 0.2126f * linear[row[x][0]] + 0.7152f * linear[row[x][1]] + 0.0722f * linear[row[x][2]];
            result.at<unsigned char>(y, x) = static_cast<unsigned char>(std::lround(255 * value));
        }
    }
    return result;
}

/// The share of each value where `mask` is not 0 or is empty.
std::array<double, 256> shares_of(const cv::Mat &values, const cv::Mat &mask) {
    const std::array<int, 256> counts = histogram_of(values, mask);
    const int total = std::max(1, std::accumulate(counts.begin(), counts.end(), 0));
    std::array<double, 256> shares;
    std::transform(counts.begin(), counts.end(), shares.begin(), [&](int count) { return double(count) / total; });
    return shares;
}

/// Intersection of the cheeks' histograms, in 16 bins as a cheek has only 256 pixels.
double uniformity(const cv::Mat &values) {
    const auto left = shares_of(values(left_cheek), {}), right = shares_of(values(right_cheek), {});
    double common = 0;
    for (int bin = 0; bin < 16; ++bin) {
        double a = 0, b = 0;
        for (int i = 0; i < 16; ++i) {
            a += left[16 * bin + i];
            b += right[16 * bin + i];
        }
        common += std::min(a, b);
    }
    return common;
}

void measure_geometry(cv::Size size, cv_face &face) {
    const Landmarks points = landmarks_of(face);
    const cv::Point2d left = (points[0] + points[1]) / 2, right = (points[2] + points[3]) / 2;
    const cv::Point2d middle = (left + right) / 2, along = right - left;
    const double distance = std::max(cv::norm(along), 1e-6);
    const cv::Point2d unit = along / distance, down(-unit.y, unit.x);
    face.inter_eye_distance = distance;
    face.roll = std::atan2(along.y, along.x) * 180 / CV_PI;
    face.yaw_offset = (points[4] - middle).dot(unit) / distance;
    face.centre_x = middle.x / size.width;
    face.eye_line_y = 1 - middle.y / size.height;
    face.head_width = 2 * head_half_width * distance / size.width;
    const auto corner = [&](double across, double below) {
        return cv::Point2f(middle + unit * (across * distance) + down * (below * distance));
    };
    const std::vector<cv::Point2f> head = {corner(-head_half_width, -head_above), corner(head_half_width, -head_above),
                                           corner(head_half_width, head_below), corner(-head_half_width, head_below)};
    const float w = static_cast<float>(size.width), h = static_cast<float>(size.height);
    const std::vector<cv::Point2f> frame = {{0, 0}, {w, 0}, {w, h}, {0, h}};
    std::vector<cv::Point2f> common;
    const double inside = cv::intersectConvexConvex(head, frame, common);
    face.background_gradient = -1;
    face.visible = inside / ((head_above + head_below) * 2 * head_half_width * distance * distance);
}

/// CIELAB of 8-bit sRGB, white D65. OpenCV would fill its tables on first use, by floating point in software: 13 % of the processor time
/// of a passport's inspection by a program just started (0.60 to 0.70 s, alternately, 5 rounds).
struct CIELab {
    static constexpr int steps = 8192;
    /// Linear light of each value; CIE's f from 0 to 1.
    std::array<float, 256> linear;
    std::array<float, steps + 2> lightness;

    CIELab() {
        for (int i = 0; i < 256; ++i) {
            const double value = i / 255.0;
            this->linear[static_cast<size_t>(i)] =
                static_cast<float>(value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4));
        }
        for (int i = 0; i < steps + 2; ++i) {
            const double share = static_cast<double>(i) / steps;
            this->lightness[static_cast<size_t>(i)] =
                static_cast<float>(share > 216.0 / 24389 ? std::cbrt(share) : (24389.0 / 27 * share + 16) / 116);
        }
    }

    float f(float share) const {
        const float at = std::clamp(share, 0.0f, 1.0f) * steps;
        const auto below = static_cast<size_t>(at);
        return this->lightness[below] +
               (at - static_cast<float>(below)) * (this->lightness[below + 1] - this->lightness[below]);
    }

    cv::Mat of(const cv::Mat &rgb) const {
        cv::Mat lab(rgb.size(), CV_32FC3);
        for (int y = 0; y < rgb.rows; ++y) {
            const cv::Vec3b *from = rgb.ptr<cv::Vec3b>(y);
            cv::Vec3f *to = lab.ptr<cv::Vec3f>(y);
            for (int x = 0; x < rgb.cols; ++x) {
                const float r = this->linear[from[x][0]], g = this->linear[from[x][1]], b = this->linear[from[x][2]];
                const float fx = this->f((0.412453f * r + 0.357580f * g + 0.180423f * b) / 0.950456f);
                const float fy = this->f(0.212671f * r + 0.715160f * g + 0.072169f * b);
                const float fz = this->f((0.019334f * r + 0.119193f * g + 0.950227f * b) / 1.088754f);
                to[x] = cv::Vec3f(116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz));
            }
        }
        return lab;
    }
};

}  // namespace

cv::Mat lab_of(const cv::Mat &rgb) {
    static const CIELab colours;
    return colours.of(rgb);
}

Landmarks landmarks_of(const cv_face &face) {
    Landmarks points;
    for (size_t i = 0; i < points.size(); ++i) points[i] = {face.landmarks[i].x, face.landmarks[i].y};
    return points;
}

void measure_face(const cv_image &image, cv_face &face) {
    measure_geometry(image.gray.size(), face);

    const cv::Mat chip = face_chip(image.bgr, landmarks_of(face));
    cv::Mat mask = cv::Mat::zeros(chip.size(), CV_8UC1);
    cv::ellipse(mask, inner_centre, inner_axes, 0, 0, 360, 255, cv::FILLED);

    const cv::Mat light = luminance(chip);
    const auto shares = shares_of(light, mask);
    double mean = 0, square = 0, entropy = 0, dark = 0, bright = 0;
    for (int i = 0; i < 256; ++i) {
        const double value = i / 255.0;
        mean += shares[i] * value;
        square += shares[i] * value * value;
        if (shares[i] > 0) entropy -= shares[i] * std::log2(shares[i]);
        if (i <= 25) dark += shares[i];
        if (i >= 247) bright += shares[i];
    }
    face.luminance_mean = mean;
    face.luminance_variance = square - mean * mean;
    face.over_exposed = bright;
    face.under_exposed = dark;
    face.dynamic_range = entropy;
    face.illumination_uniformity = uniformity(light);

    cv::Mat gray, edges;
    cv::cvtColor(chip, gray, cv::COLOR_RGB2GRAY);
    cv::Laplacian(gray, edges, CV_32F);
    cv::Scalar average, deviation;
    cv::meanStdDev(edges, average, deviation, mask);
    face.sharpness = deviation[0] * deviation[0];

    const cv::Mat lab = lab_of(chip);
    std::vector<cv::Mat> planes;
    cv::split(lab, planes);
    cv::Mat distance;
    cv::magnitude(planes[1], planes[2], distance);
    face.chroma = cv::mean(distance, mask)[0];

    // Distance of both cheeks' mean from a in 5…25 and b in 5…35 (OFIQ, natural colour).
    const cv::Scalar left = cv::mean(lab(left_cheek)), right = cv::mean(lab(right_cheek));
    const double a = (left[1] + right[1]) / 2, b = (left[2] + right[2]) / 2;
    face.colour_distance = std::hypot(a - std::clamp(a, 5.0, 25.0), b - std::clamp(b, 5.0, 35.0));
}

void measure_background(const cv_image &image, cv_face &face) {
    // An ellipse around head and hair and everything below the chin are left out: five points show neither hair nor shoulders.
    constexpr double side = 320;
    const double scale = side / std::max(image.gray.cols, image.gray.rows);
    cv::Mat small, across, down, gradient;
    if (scale < 1) small = shrunk(image.gray, {cvRound(image.gray.cols * scale), cvRound(image.gray.rows * scale)});
    else cv::resize(image.gray, small, {}, scale, scale, cv::INTER_LINEAR);
    cv::Sobel(small, across, CV_32F, 1, 0);
    cv::Sobel(small, down, CV_32F, 0, 1);
    cv::magnitude(across, down, gradient);
    const Landmarks points = landmarks_of(face);
    const cv::Point2d middle = (points[0] + points[1] + points[2] + points[3]) / 4;
    const cv::Point2d along = (points[2] + points[3] - points[0] - points[1]) / 2;
    const double distance = cv::norm(along);
    const cv::Point2d below(-along.y, along.x);
    cv::Mat mask(small.size(), CV_8UC1, cv::Scalar(255));
    const cv::Point2d centre = (middle + below * 0.1) * scale;
    // A face larger than the image leaves no background; drawing beyond this would only cost time.
    const auto axis = [&](double length) { return static_cast<int>(std::min(length * distance * scale, 4 * side)); };
    const double angle = std::atan2(along.y, along.x) * 180 / CV_PI;
    cv::ellipse(mask, cv::Point(centre), cv::Size(axis(1.8), axis(2.3)), angle, 0, 360, 0, cv::FILLED);
    for (int y = 0; y < mask.rows; ++y) {
        for (int x = 0; x < mask.cols; ++x) {
            const cv::Point2d from = cv::Point2d(x, y) / scale - middle;
            if (from.dot(below) > 1.4 * distance * distance) mask.at<unsigned char>(y, x) = 0;
        }
    }
    // A quarter of Sobel's result is the step from pixel to pixel. Too few pixels around the head mean nothing.
    const bool enough = cv::countNonZero(mask) > 0.03 * static_cast<double>(mask.total());
    face.background_gradient = enough ? cv::mean(gradient, mask)[0] / 4 : -1;
}

}  // namespace cvision
