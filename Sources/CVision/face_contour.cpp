// Eyes, mouth and pose by the 68 points of the 300-W scheme, numbered as in dlib: jaw 0–16, brows 17–26, nose 27–35, eyes
// 36–47, outer lips 48–59, inner lips 60–67.
#include <algorithm>
#include <cmath>
#include <opencv2/core.hpp>

#include "face_parts.hpp"

namespace cvision {

namespace {

struct ModelPoint {
    int index;
    cv::Point3d place;
};

/// An average head in centimetres; axes: right, down, and away from the camera. Brows, corners of the eyes, nostrils, corners
/// of the mouth, lower lip and chin (3-D morphable model as in dlib's and OpenFace's samples). All but the last two are in
/// mirror-image pairs.
const std::array<ModelPoint, 14> head = {{{17, {-6.825897, -6.760612, -4.402142}},
                                          {21, {-1.330353, -7.122144, -6.903745}},
                                          {22, {1.330353, -7.122144, -6.903745}},
                                          {26, {6.825897, -6.760612, -4.402142}},
                                          {36, {-5.311432, -5.485328, -3.987654}},
                                          {39, {-1.789930, -5.393625, -4.413414}},
                                          {42, {1.789930, -5.393625, -4.413414}},
                                          {45, {5.311432, -5.485328, -3.987654}},
                                          {31, {-2.005628, -1.409845, -6.165652}},
                                          {35, {2.005628, -1.409845, -6.165652}},
                                          {48, {-2.774015, 2.080775, -5.048531}},
                                          {54, {2.774015, 2.080775, -5.048531}},
                                          {57, {0, 3.116408, -6.097667}},
                                          {8, {0, 7.415691, -4.070434}}}};

/// The rotation about `axis` by the angle of its length in radians (Rodrigues).
cv::Matx33d rotation_about(const cv::Vec3d &axis) {
    const double angle = cv::norm(axis);
    if (angle < 1e-12) return cv::Matx33d::eye();
    const cv::Vec3d u = axis / angle;
    const cv::Matx33d cross(0, -u[2], u[1], u[2], 0, -u[0], -u[1], u[0], 0);
    return cv::Matx33d::eye() + std::sin(angle) * cross + (1 - std::cos(angle)) * (cross * cross);
}

/// Fits the head's pose so that a camera with a focal length of `focal` pixels and its centre at `centre` sees its points at
/// `points`: least squares by Levenberg–Marquardt, starting from the arguments' values. False if it does not converge.
bool fit_head(const std::vector<cv::Point2d> &points, double focal, cv::Point2d centre, cv::Matx33d &rotation,
              cv::Vec3d &place) {
    using Matrix = cv::Matx<double, 6, 6>;
    using Vector = cv::Vec<double, 6>;
    const auto sum_of_squares = [&](const cv::Matx33d &r, const cv::Vec3d &t, Matrix *normal, Vector *gradient) {
        double sum = 0;
        for (const ModelPoint &point : head) {
            const cv::Vec3d turned = r * cv::Vec3d(point.place), p = turned + t;
            const double x = p[0] / p[2], y = p[1] / p[2], f = focal / p[2];
            const cv::Point2d off = cv::Point2d(focal * x, focal * y) + centre - points[point.index];
            sum += off.dot(off);
            if (normal == nullptr) continue;
            // Derivatives of the projected point by position and by rotation.
            const cv::Vec3d across(f, 0, -f * x), down(0, f, -f * y);
            const cv::Vec3d turn_across = turned.cross(across), turn_down = turned.cross(down);
            Vector rows[2];
            for (int i = 0; i < 3; ++i) {
                rows[0][i] = turn_across[i], rows[0][i + 3] = across[i];
                rows[1][i] = turn_down[i], rows[1][i + 3] = down[i];
            }
            *normal += rows[0] * rows[0].t() + rows[1] * rows[1].t();
            *gradient += rows[0] * off.x + rows[1] * off.y;
        }
        return sum;
    };
    constexpr int most_steps = 100;
    double damping = 1e-3;
    for (int step = 0; step < most_steps; ++step) {
        Matrix normal = Matrix::zeros();
        Vector gradient = Vector::all(0);
        const double before = sum_of_squares(rotation, place, &normal, &gradient);
        for (int i = 0; i < 6; ++i) normal(i, i) *= 1 + damping;
        const Vector move = -normal.solve(gradient, cv::DECOMP_CHOLESKY);
        if (!std::isfinite(cv::norm(move))) return false;
        const cv::Matx33d turned = rotation_about({move[0], move[1], move[2]}) * rotation;
        const cv::Vec3d moved = place + cv::Vec3d(move[3], move[4], move[5]);
        const double after = sum_of_squares(turned, moved, nullptr, nullptr);
        if (!(after <= before)) {
            damping *= 10;
            if (damping > 1e12) return std::isfinite(before);
            continue;
        }
        rotation = turned, place = moved;
        damping = std::max(damping / 10, 1e-12);
        if (cv::norm(move) < 1e-9 * (1 + cv::norm(place))) return true;
    }
    return std::isfinite(cv::norm(place));
}

}  // namespace

void measure_contour(const std::vector<cv::Point2d> &points, cv::Size size, cv_face &face) {
    if (points.size() != 68) return;
    const auto distance = [&](int a, int b) { return cv::norm(points[a] - points[b]); };
    const auto middle = [&](int first) {
        cv::Point2d sum;
        for (int i = first; i < first + 6; ++i) sum += points[i];
        return sum / 6;
    };
    const double length = cv::norm((middle(36) + middle(42)) / 2 - points[8]);
    const double between = cv::norm(middle(42) - middle(36));
    if (!(length > 1 && between > 1)) return;
    face.has_contour = true;
    face.face_length = length;
    const double left = (distance(37, 41) + distance(38, 40)) / 2, right = (distance(43, 47) + distance(44, 46)) / 2;
    face.eye_opening = std::min(left, right) / length;
    face.eye_aspect = (left / std::max(distance(36, 39), 1e-6) + right / std::max(distance(42, 45), 1e-6)) / 2;
    face.mouth_opening = distance(62, 66) / length;
    face.smile_width = distance(48, 54) / between;

    // A usual focal length. Starting from a frontal head, the iteration cannot end with one behind the camera.
    const double focal = std::max(size.width, size.height);
    cv::Matx33d matrix = cv::Matx33d::eye();
    cv::Vec3d place(0, 0, focal * 7 / between);
    if (!fit_head(points, focal, {size.width / 2.0, size.height / 2.0}, matrix, place)) return;
    const cv::Vec3d looks = matrix * cv::Vec3d(0, 0, -1);
    face.yaw = std::atan2(looks[0], -looks[2]) * 180 / CV_PI;
    face.pitch = std::asin(std::clamp(looks[1], -1.0, 1.0)) * 180 / CV_PI;
}

}  // namespace cvision
