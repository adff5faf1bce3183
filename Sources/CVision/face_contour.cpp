// Eyes, mouth and pose by the 68 points of the 300-W scheme, numbered as in dlib: jaw 0–16, brows 17–26, nose 27–35, eyes
// 36–47, outer lips 48–59, inner lips 60–67.
#include <algorithm>
#include <opencv2/calib3d.hpp>

#include "face_parts.hpp"

namespace cvision {

namespace {

struct ModelPoint {
    int index;
    cv::Point3d place;
};

/// An average head in centimetres: right, down and away from the camera as the camera sees it. Brows, corners of the eyes,
/// nostrils, corners of the mouth, lower lip and chin (3-D morphable model as in dlib's and OpenFace's samples); mirror
/// images of each other except for the last two.
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

    std::vector<cv::Point3d> there;
    std::vector<cv::Point2d> here;
    for (const ModelPoint &point : head) {
        there.push_back(point.place);
        here.push_back(points[point.index]);
    }
    // A camera of usual width. From a head that looks straight into it the iteration cannot end with one behind it.
    const double focal = std::max(size.width, size.height);
    const cv::Matx33d camera(focal, 0, size.width / 2.0, 0, focal, size.height / 2.0, 0, 0, 1);
    cv::Vec3d rotation(0, 0, 0), place(0, 0, focal * 7 / between);
    if (!cv::solvePnP(there, here, camera, cv::noArray(), rotation, place, true, cv::SOLVEPNP_ITERATIVE)) return;
    cv::Matx33d matrix;
    cv::Rodrigues(rotation, matrix);
    const cv::Vec3d looks = matrix * cv::Vec3d(0, 0, -1);
    face.yaw = std::atan2(looks[0], -looks[2]) * 180 / CV_PI;
    face.pitch = std::asin(std::clamp(looks[1], -1.0, 1.0)) * 180 / CV_PI;
}

}  // namespace cvision
