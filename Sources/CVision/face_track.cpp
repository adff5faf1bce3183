// Follows one face over the frames of a capture.
#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>

#include "face_measures.hpp"
#include "image.hpp"

using cvision::FaceBox;
using cvision::Landmarks;

struct cv_face_tracker {
    cv::Rect2d box;  // of the last face; empty before the first
    int missed = 0;  // frames since then
    cv::Mat gray;    // of the last frame
    cv::Mat thumbnail;
    cvision::EyeMemory eyes;
    cv::Mat face;  // aligned, of the last frame; empty where it had none
};

namespace {

/// Size to which the face's box is scaled before the next search: a little more than the detector's smallest face.
constexpr double sought_box = 105;
/// A face that looks straight ahead with this score is the one followed; below it those that look aside are sought too.
constexpr double sure_score = 0.8;
/// From 0.76 to 1.5 times the last face's width.
const size_t follow_levels = cvision::levels_to(1.5 * sought_box / 80);
/// The window around the last box, in boxes.
constexpr double window = 1.9;
/// A lost face is searched for in the whole image once in this many frames.
constexpr int search_again = 4;

/// The best face of an image, which is searched whole at most once.
bool find(cv_face_engine &engine, const cv_image &image, cv::Rect2d &box) {
    const double scale = std::min(1.0, 480.0 / std::max(image.gray.cols, image.gray.rows));
    cv::Mat small = image.gray;
    if (scale < 1) small = cvision::averaged(image.gray, scale);
    const std::vector<FaceBox> faces = cvision::detector_of(engine).detect(small);
    const auto best = std::max_element(
        faces.begin(), faces.end(), [](const FaceBox &a, const FaceBox &b) { return a.rect.area() < b.rect.area(); });
    if (best == faces.end()) return false;
    box = {best->rect.x / scale, best->rect.y / scale, best->rect.width / scale, best->rect.height / scale};
    return true;
}

/// The face near its last position.
bool follow(cv_face_engine &engine, const cv::Mat &gray, cv::Rect2d &box) {
    const double scale = sought_box / box.width;
    const cv::Point2d centre = (box.tl() + box.br()) / 2;
    const double reach = window * box.width / 2;
    const cv::Rect region = cv::Rect(cv::Rect2d(centre.x - reach, centre.y - reach, 2 * reach, 2 * reach)) &
                            cv::Rect(0, 0, gray.cols, gray.rows);
    if (region.empty()) return false;
    cv::Mat near;
    if (scale < 1) near = cvision::averaged(gray(region), scale);
    else cv::resize(gray(region), near, {}, scale, scale, cv::INTER_LINEAR);
    double best = 0;
    bool found = false;
    for (const FaceBox &face : cvision::detector_of(engine).detect(near, sure_score, follow_levels)) {
        const cv::Rect2d there(face.rect.x / scale + region.x, face.rect.y / scale + region.y, face.rect.width / scale,
                               face.rect.height / scale);
        const double overlap = (there & box).area();
        if (overlap <= best) continue;
        best = overlap;
        box = there;
        found = true;
    }
    return found;
}

double correlation(const cv::Mat &a, const cv::Mat &b) {
    const cv::Mat x = a - cv::mean(a)[0], y = b - cv::mean(b)[0];
    const double norms = cv::norm(x) * cv::norm(y);
    // Images without any structure are alike.
    return norms > 1e-6 ? x.dot(y) / norms : 1;
}

bool is_same(const cv::Mat &a, const cv::Mat &b) { return a.size() == b.size() && cv::norm(a, b, cv::NORM_INF) == 0; }

}  // namespace

cv_status cv_face_tracker_create(cv_face_tracker **tracker, cv_error *error) {
    return cvision::guard(error, [&] {
        *tracker = new cv_face_tracker;
        return CV_OK;
    });
}

void cv_face_tracker_free(cv_face_tracker *tracker) { delete tracker; }

cv_status cv_face_track(cv_face_engine *engine, cv_face_tracker *tracker, const cv_image *image, cv_face_frame *frame,
                        cv_error *error) {
    return cvision::guard(error, [&] {
        *frame = {};
        cv::Mat thumbnail = cvision::shrunk(image->gray, cv::Size(32, 32));
        thumbnail.convertTo(thumbnail, CV_32F);
        frame->scene = tracker->thumbnail.empty() ? 1 : correlation(tracker->thumbnail, thumbnail);
        frame->is_repeated = !tracker->gray.empty() && is_same(tracker->gray, image->gray);
        tracker->thumbnail = thumbnail;
        tracker->gray = image->gray;

        cv::Rect2d box = tracker->box;
        bool found = !box.empty() && follow(*engine, image->gray, box);
        if (!found && (tracker->box.empty() || ++tracker->missed % search_again == 1)) {
            found = find(*engine, *image, box);
        }
        cv::Mat before = tracker->face;
        tracker->face.release();
        if (!found) return CV_OK;
        tracker->box = box;
        tracker->missed = 0;

        const Landmarks points = cvision::landmarker_of(*engine).locate(image->gray, box);
        frame->has_face = true;
        frame->x = box.x;
        frame->y = box.y;
        frame->width = box.width;
        frame->height = box.height;
        for (size_t i = 0; i < points.size(); ++i) frame->landmarks[i] = {points[i].x, points[i].y};
        cvision::measure_motion(image->gray, points, tracker->eyes, *frame);
        cvision::measure_light(image->bgr, points, *frame);
        tracker->face = cvision::aligned_face(image->gray, points);
        frame->has_change = !before.empty();
        if (frame->has_change) {
            frame->change = cv::norm(before, tracker->face, cv::NORM_L1) / static_cast<double>(before.total());
        }
        return CV_OK;
    });
}
