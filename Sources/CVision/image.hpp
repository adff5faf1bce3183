// Shared by all files of this target: the pixels behind cv_image, and the guard that catches every exception.
#pragma once
#include <array>
#include <exception>
#include <map>
#include <memory>
#include <new>
#include <opencv2/core.hpp>

#include "CVision.h"

namespace cvision {
struct Coefficients;
}

struct cv_image {
    cv::Mat bgr;                                                // CV_8UC3, upright: EXIF orientation is already applied
    cv::Mat gray;                                               // CV_8UC1 of the same size
    std::shared_ptr<const cvision::Coefficients> coefficients;  // of a JPEG that was neither turned nor reduced

    /// `bgr` averaged down by a whole factor to about 1,800 px on its longer side; made on first use.
    const cv::Mat &reduced() const;
    /// What `reduced` divides lengths by.
    int reduction() const;
    /// `bgr` with at most 512 pixels on its longer side: enough for outlines and for a document's surroundings.
    const cv::Mat &small() const;
    /// `gray` reduced to at most `side` pixels on its longer side; each size is made once.
    const cv::Mat &gray_at(int side) const;

private:
    mutable cv::Mat reduced_, small_;  // an image stays on one thread
    mutable std::map<int, cv::Mat> grays_;
};

namespace cvision {

/// `image` reduced to `size`: halved while it stays larger, which costs a tenth, then averaged down.
cv::Mat shrunk(const cv::Mat &image, cv::Size size);

/// `image` averaged by area to `size`, or to `scale` of its size.
cv::Mat averaged(const cv::Mat &image, cv::Size size);
cv::Mat averaged(const cv::Mat &image, double scale);

/// A result of `size`: each of its pixels shows `image` where `map` takes it, and the border's nearest pixel beyond the border.
cv::Mat warped(const cv::Mat &image, const cv::Matx33d &map, cv::Size size);

/// Every second row of `image`, whose pixels it shares.
inline cv::Mat every_second_row(const cv::Mat &image) {
    return image.rows < 2 ? image : cv::Mat(image.rows / 2, image.cols, image.type(), image.data, 2 * image.step);
}

/// How often each value of an 8-bit channel occurs, where `mask` is not 0 or is empty.
std::array<int, 256> histogram_of(const cv::Mat &values, const cv::Mat &mask);

/// The lowest value that at least `share` of the counted ones do not exceed.
double percentile(const std::array<int, 256> &histogram, double share);
/// The same of an 8-bit channel, where `mask` is not 0 or is empty.
double percentile(const cv::Mat &values, const cv::Mat &mask, double share);

/// Records `status` and `message` in `error` (which may be null) and returns `status`.
cv_status fail(cv_error *error, cv_status status, const char *message) noexcept;

/// Runs `body` (returning cv_status) so that no C++ exception leaves this target.
template <typename Body>
cv_status guard(cv_error *error, Body body) noexcept {
    try {
        return body();
    } catch (const std::bad_alloc &) {
        return fail(error, CV_OUT_OF_MEMORY, "out of memory");
    } catch (const cv::Exception &failure) {
        // OpenCV reports a failed allocation by its own exception.
        const bool memory = failure.code == cv::Error::StsNoMem;
        return fail(error, memory ? CV_OUT_OF_MEMORY : CV_INTERNAL, memory ? "out of memory" : failure.what());
    } catch (const std::exception &failure) {
        return fail(error, CV_INTERNAL, failure.what());
    } catch (...) {
        return fail(error, CV_INTERNAL, "unknown C++ exception");
    }
}

}  // namespace cvision
