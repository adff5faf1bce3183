// The emblem of EU cards: a blue rectangle with a ring of yellow stars around the state's sign, which is left blank.
#include <algorithm>
#include <cmath>
#include <memory>
#include <opencv2/imgproc.hpp>
#include <vector>

#include "components.hpp"
#include "document.hpp"
#include "image.hpp"
#include "text_page.hpp"

namespace cvision {
namespace {

constexpr double most_side = 1200;  // px of the whole card: letters of 2 mm are 28 px high then
// The part of the card's front where the emblem may stand.
constexpr double part_width = 0.4, part_height = 0.5;
constexpr int least_stars = 8;  // of twelve: glare or a hologram may hide some

/// Blue rectangles of an emblem's size and shape; clothes or a flag in the portrait may be others.
std::vector<cv::Rect> find_rectangles(const cv::Mat &hsv, double card_width) {
    cv::Mat blue;
    cv::inRange(hsv, cv::Scalar(98, 100, 35), cv::Scalar(132, 255, 255), blue);
    std::vector<cv::Rect> found;
    for (const Component &part : components_of(blue)) {
        const double width = part.box.width / card_width, aspect = 1.0 * part.box.width / part.box.height;
        if (width < 0.06 || width > 0.25 || aspect < 0.75 || aspect > 2) continue;
        // Stars and letters are holes.
        if (part.area > 0.6 * part.box.area()) found.push_back(part.box);
    }
    return found;
}

/// The radius of the ring of stars in `hsv`, around its middle; 0 if there is none.
double find_ring(const cv::Mat &hsv) {
    cv::Mat yellow;
    cv::inRange(hsv, cv::Scalar(15, 70, 90), cv::Scalar(40, 255, 255), yellow);
    const cv::Point2d middle(hsv.cols / 2.0, hsv.rows / 2.0);
    std::vector<double> distances;
    for (const Component &star : components_of(yellow))
        if (star.area >= 3 && star.box.width < 0.2 * hsv.cols) distances.push_back(cv::norm(star.centre - middle));
    if (distances.size() < least_stars) return 0;
    std::sort(distances.begin(), distances.end());
    const double radius = distances[distances.size() / 2];
    const auto on_ring = std::count_if(distances.begin(), distances.end(),
                                       [&](double distance) { return std::abs(distance - radius) < 0.2 * radius; });
    return on_ring >= least_stars ? radius : 0;
}

/// Dark letters on light paper: the sign inside the ring of `bgr`. Its line is left out if there is none.
void draw_sign(const cv::Mat &bgr, double radius, cv_text_page &page) {
    // Blue and yellow both lack a colour, the paper lacks none.
    std::vector<cv::Mat> channels;
    cv::split(bgr, channels);
    cv::Mat light = cv::min(cv::min(channels[0], channels[1]), channels[2]);
    cv::Mat inside = cv::Mat::zeros(light.size(), CV_8UC1);
    cv::circle(inside, {light.cols / 2, light.rows / 2}, cvRound(0.8 * radius), cv::Scalar(255), cv::FILLED);
    const double dark = percentile(light, inside, 0.2), bright = percentile(light, inside, 0.97);
    page.gray = cv::Mat(light.rows, light.cols, CV_8UC1, cv::Scalar(255 - cvRound(dark)));
    cv::Mat(255 - light).copyTo(page.gray, inside);
    if (bright - dark < 40) return;
    cv::Rect box;
    int marks = 0, height = 0;
    for (const Component &letter : components_of((light > (dark + bright) / 2) & inside)) {
        if (letter.box.height < 0.25 * radius) continue;
        box |= letter.box, height = std::max(height, letter.box.height), ++marks;
    }
    if (marks == 0 || marks > 3 || box.height > 1.3 * height) return;
    cv_text_line line{};
    line.x = box.x, line.y = box.y, line.width = box.width, line.height = box.height;
    line.character_height = height, line.marks = marks;
    page.lines.push_back(line);
}

}  // namespace
}  // namespace cvision

extern "C" cv_status cv_text_emblem_create(const cv_image *image, const cv_point *corners, cv_text_page **page,
                                           cv_error *error) {
    using namespace cvision;
    *page = nullptr;
    return guard(error, [&] {
        const cv::Size2d native = quad_size(corners);
        const double scale = most_side / std::max({native.width, native.height, 1.0});
        const cv::Size card(std::max(16, cvRound(native.width * scale)), std::max(16, cvRound(native.height * scale)));
        const cv::Size size(cvRound(part_width * card.width), cvRound(part_height * card.height));
        const cv::Matx33d back = from_rectified(corners, card);
        const auto at = [&](double x, double y) {
            const cv::Vec3d p = back * cv::Vec3d(x, y, 1);
            return cv_point{p[0] / p[2], p[1] / p[2]};
        };
        const double right = size.width, bottom = size.height;
        const cv_point part[4] = {at(0, 0), at(right, 0), at(right, bottom), at(0, bottom)};
        const int reduction = image->reduction();
        cv_point scaled[4];
        for (int i = 0; i < 4; ++i) scaled[i] = {part[i].x / reduction, part[i].y / reduction};
        const cv::Mat bgr = rectify(image->reduced(), scaled, size, 0);
        cv::Mat hsv;
        cv::cvtColor(bgr, hsv, cv::COLOR_BGR2HSV);
        for (const cv::Rect &rectangle : find_rectangles(hsv, card.width)) {
            const double radius = find_ring(hsv(rectangle));
            if (radius == 0) continue;
            auto made = std::make_unique<cv_text_page>();
            draw_sign(bgr(rectangle), radius, *made);
            for (cv_text_line &line : made->lines) {
                const double x = rectangle.x + line.x, y = rectangle.y + line.y;
                line.quad[0] = at(x, y), line.quad[1] = at(x + line.width, y);
                line.quad[2] = at(x + line.width, y + line.height), line.quad[3] = at(x, y + line.height);
            }
            *page = made.release();
            return CV_OK;
        }
        return CV_OK;
    });
}
