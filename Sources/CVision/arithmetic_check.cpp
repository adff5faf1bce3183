// Compares the arithmetic of image_average.cpp and document_warp.cpp, which depends on the processor, with OpenCV's.
#include <cmath>
#include <opencv2/imgproc.hpp>
#include <stdexcept>

#include "document.hpp"
#include "image.hpp"

namespace {

struct Comparison {
    int64_t compared = 0, different = 0;

    void add(const cv::Mat &ours, const cv::Mat &theirs) {
        if (ours.size() != theirs.size() || ours.type() != theirs.type())
            throw std::runtime_error("two ways to the same picture differ in its shape");
        cv::Mat difference;
        cv::absdiff(ours, theirs, difference);
        this->compared += static_cast<int64_t>(difference.total()) * difference.channels();
        this->different += cv::countNonZero(difference.reshape(1));
    }
};

}  // namespace

cv_status cv_image_check_arithmetic(uint64_t seed, int32_t pictures, int64_t *compared, int64_t *different, cv_error *error) {
    return cvision::guard(error, [&] {
        cv::RNG random(seed);
        Comparison comparison;
        for (int32_t number = 0; number < pictures; ++number) {
            cv::Mat whole(random.uniform(80, 700), random.uniform(80, 700), number % 2 == 0 ? CV_8UC1 : CV_8UC3);
            random.fill(whole, cv::RNG::UNIFORM, 0, 256);
            // A part of it: its rows do not lie one after the other.
            const cv::Mat image = whole(cv::Rect(random.uniform(0, 9), random.uniform(0, 9), whole.cols - random.uniform(9, 20),
                                                 whole.rows - random.uniform(9, 20)));

            const double scale = random.uniform(0.1, 1.0);
            cv::Mat theirs;
            cv::resize(image, theirs, {}, scale, scale, cv::INTER_AREA);
            comparison.add(cvision::averaged(image, scale), theirs);

            const cv::Size size(random.uniform(8, image.cols), random.uniform(8, image.rows));
            cv::resize(image, theirs, size, 0, 0, cv::INTER_AREA);
            comparison.add(cvision::averaged(image, size), theirs);

            // A document held askew, partly outside the picture.
            const double turn = random.uniform(-0.5, 0.5), tilt = 1e-3;
            const cv::Matx33d map(std::cos(turn), -std::sin(turn), random.uniform(-30.0, 30.0), std::sin(turn), std::cos(turn),
                                  random.uniform(-30.0, 30.0), random.uniform(-tilt, tilt), random.uniform(-tilt, tilt), 1);
            const cv::Size sheet(random.uniform(64, 600), random.uniform(16, 600));
            cv::warpPerspective(image, theirs, map, sheet, cv::INTER_LINEAR | cv::WARP_INVERSE_MAP, cv::BORDER_REPLICATE);
            comparison.add(cvision::warped(image, map, sheet), theirs);
        }
        *compared = comparison.compared;
        *different = comparison.different;
        return CV_OK;
    });
}
