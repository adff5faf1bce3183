// Geometry of a document's outline: its shape without perspective, and the mapping between both.
#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>

#include "document.hpp"
#include "image.hpp"

namespace cvision {

double rectangle_aspect(const cv::Point2d corners[4], cv::Point2d centre) {
    const auto side = [&](int a, int b) {
        return std::hypot(corners[a].x - corners[b].x, corners[a].y - corners[b].y);
    };
    const double mean_width = (side(0, 1) + side(3, 2)) / 2, mean_height = (side(0, 3) + side(1, 2)) / 2;
    double ratio = mean_width / std::max(mean_height, 1.0);
    // Zhang and He, "Whiteboard scanning and image enhancement" (2007), equations 11, 12, 20 and 21.
    cv::Point3d m[4];  // their m1 top left, m2 top right, m3 bottom left, m4 bottom right
    const int order[4] = {0, 1, 3, 2};
    for (int i = 0; i < 4; ++i) m[i] = {corners[order[i]].x - centre.x, corners[order[i]].y - centre.y, 1};
    const double k2 = m[0].cross(m[3]).dot(m[2]) / m[1].cross(m[3]).dot(m[2]);
    const double k3 = m[0].cross(m[3]).dot(m[1]) / m[2].cross(m[3]).dot(m[1]);
    const cv::Point3d n2 = k2 * m[1] - m[0], n3 = k3 * m[2] - m[0];
    // Both pairs of sides must clearly converge; otherwise the focal length is noise.
    const double convergence = std::min(std::abs(n2.z), std::abs(n3.z));
    if (std::isfinite(k2) && std::isfinite(k3) && convergence > 0.04) {
        const double focal2 = -(n2.x * n3.x + n2.y * n3.y) / (n2.z * n3.z);
        const double extent = std::max(centre.x, centre.y);
        // Focal lengths of real cameras, in units of half the longer side; outside, the corners are too imprecise.
        if (focal2 > 1.2 * 1.2 * extent * extent && focal2 < 36 * extent * extent) {
            const double width2 = (n2.x * n2.x + n2.y * n2.y) / focal2 + n2.z * n2.z;
            const double height2 = (n3.x * n3.x + n3.y * n3.y) / focal2 + n3.z * n3.z;
            if (width2 > 0 && height2 > 0) ratio = std::sqrt(width2 / height2);
        }
    }
    return ratio < 1 ? 1 / ratio : ratio;
}

cv::Size2d quad_size(const cv_point corners[4]) {
    const auto side = [&](int a, int b) {
        return std::hypot(corners[a].x - corners[b].x, corners[a].y - corners[b].y);
    };
    return {(side(0, 1) + side(3, 2)) / 2, (side(0, 3) + side(1, 2)) / 2};
}

cv::Matx33d from_rectified(const cv_point corners[4], cv::Size size) {
    const float w = static_cast<float>(size.width), h = static_cast<float>(size.height);
    const cv::Point2f from[4] = {{0, 0}, {w, 0}, {w, h}, {0, h}};
    cv::Point2f to[4];
    for (int i = 0; i < 4; ++i) to[i] = {static_cast<float>(corners[i].x), static_cast<float>(corners[i].y)};
    return cv::getPerspectiveTransform(from, to);
}

cv::Mat rectify(const cv::Mat &image, const cv_point corners[4], cv::Size size, int margin) {
    const cv::Matx33d shift(1, 0, -margin, 0, 1, -margin, 0, 0, 1);
    const cv::Size whole(size.width + 2 * margin, size.height + 2 * margin);
    return warped(image, from_rectified(corners, size) * shift, whole);
}

}  // namespace cvision

extern "C" cv_status cv_document_thumbnail(const cv_image *image, const cv_outline *outline,
                                           uint8_t thumbnail[CV_THUMBNAIL_SIDE * CV_THUMBNAIL_SIDE], cv_error *error) {
    using namespace cvision;
    return guard(error, [&] {
        // Means over areas, since single pixels of a large image would be noise.
        constexpr int wide = 8 * CV_THUMBNAIL_SIDE;
        const double scale = std::min(1.0, 2.0 * wide / std::max(image->gray.cols, image->gray.rows));
        cv::Mat small;
        cv::resize(image->gray, small, {}, scale, scale, cv::INTER_AREA);
        cv_point corners[4];
        for (int i = 0; i < 4; ++i) corners[i] = {outline->corners[i].x * scale, outline->corners[i].y * scale};
        const cv::Mat flat = rectify(small, corners, {wide, wide}, 0);
        cv::Mat result(CV_THUMBNAIL_SIDE, CV_THUMBNAIL_SIDE, CV_8UC1, thumbnail);
        cv::resize(flat, result, result.size(), 0, 0, cv::INTER_AREA);
        return CV_OK;
    });
}
