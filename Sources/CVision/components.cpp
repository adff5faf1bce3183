#include "components.hpp"

#include <algorithm>
#include <cstdint>
#include <opencv2/imgproc.hpp>

namespace cvision {

std::vector<Component> components_of(const cv::Mat &mask, cv::Mat &labels, int connectivity) {
    struct Sums {
        int left = INT32_MAX, right = -1, top = INT32_MAX, bottom = -1, area = 0;
        double x = 0, y = 0;
    };
    const int count = cv::connectedComponents(mask, labels, connectivity, CV_32S);
    std::vector<Sums> sums(static_cast<size_t>(count));
    for (int y = 0; y < labels.rows; ++y) {
        const int *row = labels.ptr<int>(y);
        for (int x = 0; x < labels.cols; ++x) {
            if (row[x] == 0) continue;
            Sums &of = sums[static_cast<size_t>(row[x])];
            of.left = std::min(of.left, x), of.right = std::max(of.right, x);
            of.top = std::min(of.top, y), of.bottom = y;
            of.x += x, of.y += y, ++of.area;
        }
    }
    std::vector<Component> components;
    for (size_t i = 1; i < sums.size(); ++i) {
        const Sums &of = sums[i];
        components.push_back({static_cast<int>(i),
                              {of.left, of.top, of.right - of.left + 1, of.bottom - of.top + 1},
                              of.area,
                              {of.x / of.area, of.y / of.area}});
    }
    return components;
}

}  // namespace cvision
